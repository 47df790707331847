"""Compiled code in one process."""

import jax
import jax.numpy as jnp
import pytest

from dynafield import compiled


@pytest.mark.parametrize(("maps", "kept"), [((60_000, 65_530), 0), ((20_000, 65_530), 1), (None, 1)])
def test_compiled_code_is_dropped_before_a_process_has_too_many_memory_maps(monkeypatch, maps, kept):
    double = jax.jit(lambda x: 2 * x)
    double(jnp.ones(3))
    monkeypatch.setattr(compiled, "memory_maps", lambda: maps)
    monkeypatch.setattr(compiled.Watch, "looked", -compiled.PAUSE)
    compiled.make_room()
    assert double._cache_size() == kept
    assert double(jnp.ones(3))[0] == 2


def test_a_process_knows_its_memory_maps():
    maps = compiled.memory_maps()
    assert maps is None or 100 < maps[0] < maps[1]
