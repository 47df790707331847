"""Loops: their derivatives, and how often their code is transformed for these."""

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Primitive
from jax.interpreters import ad

from dynafield.numerics.loops import repeated


def plain(going, step, first, _):
    return jax.lax.while_loop(going, step, first)


def nested(loop, function):
    """Three times three steps of x → f(x + a), in two loops whose states begin as constants."""

    def of(a):
        def step(carry):
            return carry[0] + 1, function(carry[1] + a)

        def outer(carry):
            inner = loop(lambda one: one[0] < 3, step, (0, jnp.zeros(())), a)
            return carry[0] + 1, carry[1] + inner[1] * a

        return loop(lambda one: one[0] < 3, outer, (0, jnp.zeros(())), a)[1]

    return of


def by_hand(a):
    x = 0.0
    for _ in range(3):
        x = jnp.sin(x + a)
    return 3 * x * a


def test_derivatives_are_those_of_the_same_steps_by_hand():
    value, slope = jax.jvp(nested(repeated, jnp.sin), (0.3,), (1.0,))
    assert value == pytest.approx(float(by_hand(0.3)), rel=1e-14)
    assert slope == pytest.approx(float(jax.grad(by_hand)(0.3)), rel=1e-14)


def test_loops_in_loops_are_transformed_once_for_all_derivatives():
    """A function that counts how often somebody asks for its derivative."""
    asked, counted = [], Primitive("counted")
    counted.def_abstract_eval(lambda x: x)

    def derivative(primals, tangents):
        asked.append(1)
        return counted.bind(*primals), counted.bind(*tangents)

    ad.primitive_jvps[counted] = derivative
    counts = []
    for loop in (plain, repeated):
        asked.clear()
        jax.make_jaxpr(lambda a, loop=loop: jax.jvp(nested(loop, counted.bind), (a,), (1.0,)))(0.3)
        counts.append(len(asked))
    assert counts[0] > counts[1] == 1


def test_a_number_that_is_infinite_leaves_the_state_alone():
    found = repeated(lambda x: x < 5.0, lambda x: x + 2.0, jnp.zeros(()), jnp.asarray(jnp.inf))
    assert found == 6.0
