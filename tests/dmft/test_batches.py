"""Noise of old steps: what is remembered of it, and what is forgotten."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dynafield.dmft.discrete.batches import DEGREES, batch_at_rest, batched, new_numbers
from dynafield.dmft.member import Numbers
from dynafield.dmft.rows import Sampled


def numbers(fraction=0.5):
    return Numbers(*(np.asarray(x) for x in (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, fraction, 0.0)))


def after(steps, outputs):
    """Mini-batches after some steps whose numbers are unit vectors: each row is a step."""
    side = Sampled(np.ones(steps), np.zeros(steps), np.ones(()), np.zeros((1, 0)))
    side, batch, outputs = jax.tree.map(
        jnp.asarray, (side, batch_at_rest(steps, np.zeros(steps, int)), outputs)
    )

    def step(k, batch):
        return batched(batch, side, numbers(), outputs, 1.0, jnp.eye(steps)[k])[0]

    return jax.lax.fori_loop(0, steps, step, batch)


@pytest.mark.parametrize("steps", [9, 100, 333])
def test_memory_that_is_a_polynomial_of_the_step_is_kept(steps):
    """A cubic in the step number: nothing of it is lost by joining blocks, and numbers stay orthonormal."""
    k = np.linspace(-1, 1, steps)
    cubic = 1 + k - 2 * k**2 + k**3
    batch = after(steps, cubic)
    kept = np.asarray(batch.normals)
    kept = kept[np.any(kept != 0, axis=1)]
    assert np.allclose(kept @ kept.T, np.eye(len(kept)), atol=1e-12)
    assert np.allclose(kept.T @ (kept @ cubic), cubic, atol=1e-10)
    assert float(batch.lost) < 1e-10
    assert len(kept) <= min(steps, 8 * DEGREES * np.log2(steps))


def test_what_is_lost_is_told():
    """Signs that alternate are no polynomial: all that joined blocks had of them is lost."""
    signs = (-1.0) ** np.arange(100)
    batch = after(100, 1e-3 * signs)
    kept = np.asarray(batch.normals)
    left = np.sum((kept @ signs) ** 2) / 100
    assert 0.2 < left < 0.8
    assert float(batch.lost) == pytest.approx(1e-6 * 100 * (1 - left), rel=1e-3)  # of E_train = 1


def test_new_numbers_are_white_in_every_stratum():
    rng = np.random.default_rng(0)
    part = rng.integers(0, 2, 400)
    parts = np.stack([(part == s) / np.sum(part == s) for s in (0, 1)])
    known = np.zeros((30, 400))
    for k in range(30):
        xi = jnp.asarray(rng.standard_normal(400))
        known[k] = new_numbers(xi, jnp.asarray(parts), (jnp.asarray(known),))
    for s in (0, 1):
        here = known[:, part == s]
        assert np.allclose(here @ here.T / here.shape[1], np.eye(30), atol=1e-6)
        assert np.allclose(np.mean(here, axis=1), 0, atol=1e-6)
