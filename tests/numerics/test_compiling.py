"""How hard the compiler works."""

from dynafield.numerics.compiling import LIGHT, options


def test_what_the_environment_says_to_the_compiler_is_left_as_it_is(monkeypatch):
    """A compiler that does not know our words gets none."""
    for said, left in (("", LIGHT), ("--xla_backend_optimization_level=0", ["xla_cpu_use_fusion_emitters"])):
        monkeypatch.setenv("XLA_FLAGS", said)
        options.cache_clear()
        assert set(options()) in (set(left), set())
    options.cache_clear()
