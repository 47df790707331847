"""How hard the compiler works."""

from dynafield.numerics.compiling import LIGHT, options


def test_what_the_environment_says_to_the_compiler_is_left_as_it_is(monkeypatch):
    """A compiler that does not know our words gets none; one that does gets all but what is said."""
    level = "xla_backend_optimization_level"
    found = []
    for said in ("", f"--{level}=0"):
        monkeypatch.setenv("XLA_FLAGS", said)
        options.cache_clear()
        found.append(options())
    options.cache_clear()
    assert found[0] in (LIGHT, {})
    assert found[1] == {name: value for name, value in found[0].items() if name != level}
