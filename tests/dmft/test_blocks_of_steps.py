"""Many steps of training as one block: sums, single steps, closed forms, instability, records."""

import numpy as np
import pytest

import dynafield as df
from dynafield.dmft.discrete.curvature import CAUTION, curvature, most_curvature
from dynafield.dmft.ensemble import course_of, entering, lanes_at_rest, moved
from dynafield.dmft.refine import first_plan
from dynafield.dmft.rules import Stepping, StepTime, Stretch
from dynafield.dmft.solve import checked
from dynafield.numerics.spectra import MarchenkoPastur

TASK = df.Task(0.5, 0.1, df.Bernoulli(0.1))
UNIT = 0.11
COUNT = 240
NUMBERS = np.arange(COUNT)
WARM_UP = 0.2 * (0.01 + 0.5 * (1 + np.cos(np.pi * NUMBERS / COUNT))) * np.minimum(1.0, (NUMBERS + 1) / 40)


@pytest.mark.parametrize("steps", [np.full(40, 0.1), np.geomspace(1.0, 0.05, 40)], ids=["even", "falling"])
@pytest.mark.parametrize("heavy", [False, True])
def test_a_block_sums_parabolas_exactly(steps, heavy):
    """In time, or in the number of the step where there is a velocity."""
    clock = np.concatenate([[0.0], np.cumsum(steps)])
    time = StepTime(clock, Stepping(heavy, False), True)
    cut = time.cut(clock[[5, 28]])
    places = np.arange(41.0) if heavy else clock
    values = 1.0 - 2 * places + 0.3 * places**2
    nodes = np.searchsorted(clock, cut.times[0])
    assert nodes[-1] == 28
    for i, last in enumerate(nodes):
        assert cut.integral[0, i] @ values[nodes] == pytest.approx(np.sum((steps * values[:-1])[5:last]))
        assert cut.count[0, i] @ values[nodes] == pytest.approx(np.sum(values[5:last]))


@pytest.mark.parametrize("count", [6, 7, 11, 40, 1000])
def test_a_block_is_stable_wherever_its_steps_are(count):
    """A mode of curvature z shrinks by |R| < 1 in a block for all z in (0, 2), where (1 - z)^K does."""
    clock = np.arange(count + 1.0)
    A = StepTime(clock, Stepping(False, False), True).cut(clock[[0, -1]]).integral[0]
    for z in np.concatenate([np.geomspace(1e-6, 1e-2, 20), np.linspace(0.02, 2.0, 60)]):
        assert np.all(np.abs(np.linalg.solve(np.eye(3) + z * A, np.ones(3))) < 1)


CASES = [
    (TASK, df.DiagonalNetwork(0.3, 0.01), df.GradientDescent(0.05), COUNT),
    (TASK, df.DiagonalNetwork(0.5), df.GradientDescent(WARM_UP, 0.8), COUNT),
    (
        df.Task(2.0, 0.5, df.Gaussian(1.0)),
        df.models.logistic_flow(0.1),
        df.GradientDescent(0.05, 0.7, True),
        COUNT,
    ),
    (TASK, df.DiagonalNetwork(0.5, 0.01, 3), df.GradientDescent(0.05), 2000),
]


@pytest.mark.parametrize(
    ("task", "net", "trainer", "count"),
    [*CASES[:3], pytest.param(*CASES[3], marks=pytest.mark.slow)],
    ids=["steps", "warm-up", "logistic", "2000"],
)
def test_blocks_are_single_steps(task, net, trainer, count):
    """Curve by curve: time may use a fifth of the tolerance, directions dropped otherwise half as much.

    Both have the same points, so that scatter is no excuse. In 2,000 steps what is dropped differently grows:
    there two standard errors are allowed, which contain it.
    """
    long = count > COUNT
    t_max = float(trainer.times(1e9 if trainer.scheduled else count * trainer.step)[-1])
    arguments = dict(trainer=trainer, tol=1e-2) | (dict(points=256) if long else dict(preview=True))
    blocks = df.solve(task, net, t_max, **arguments)
    single = df.solve(task, net, t_max, grid=trainer.times(t_max), **arguments)
    assert len(single.edges) == count + 1
    assert len(blocks.edges) < 0.4 * count
    t = blocks.t
    measure = "error" if isinstance(net, df.DiagonalNetwork) else "loss"
    for name in (f"train_{measure}", f"test_{measure}"):
        a, b = getattr(blocks.at(t), name), getattr(single.at(t), name)
        bar = np.hypot(getattr(blocks.at(t), f"{name}_se"), getattr(single.at(t), f"{name}_se"))
        assert np.all(np.abs(a - b) < 0.3 * 1e-2 * b[0] + 2 * long * bar)


def test_heavy_ball_in_blocks_at_large_alpha():
    """Marchenko–Pastur averages of the polynomials of 240 steps, of which most are in blocks, at α = 30."""
    alpha, count, trainer, law = 30.0, COUNT, df.HeavyBall(2e-5, 0.8), MarchenkoPastur(0.5)

    def shrunk(x):
        now, move, all_ = np.ones_like(x), np.zeros_like(x), []
        for _ in range(count + 1):
            all_.append(now)
            move = trainer.momentum * move - alpha**2 * trainer.step * x * now
            now = now + move
        return np.stack(all_)

    curves = df.solve(
        TASK, df.DiagonalNetwork(alpha), count * trainer.step, tol=1e-2, trainer=trainer, preview=True
    )
    assert len(curves.edges) < count / 2
    noise = law.average(lambda x: (1 - shrunk(x)) ** 2 / np.where(x > 0, x, 1.0))
    test = 0.1 * law.average(lambda x: shrunk(x) ** 2) + 0.01 / 0.5 * noise + 0.01
    wanted = test[np.round(curves.t / trainer.step).astype(int)]
    assert np.max(np.abs(curves.test_error - wanted)) < 1e-2 * UNIT


def test_short_steps_are_the_flow():
    """20,000 of them; E(η) - E(0) is of the first order in η, below 1e-3 here. The points are the same."""
    net = df.DiagonalNetwork(0.5)
    steps = df.solve(TASK, net, 20.0, tol=2e-3, trainer=df.GradientDescent(1e-3), preview=True)
    flow = df.solve(TASK, net, 20.0, tol=2e-3, preview=True)
    at = np.array([0.1, 1.0, 5.0, 20.0])
    for name in ("train_error", "test_error"):
        assert getattr(steps.at(at), name) == pytest.approx(getattr(flow.at(at), name), abs=1.5e-3 * UNIT)
    assert len(steps.edges) < 40


def lazy_step(factor, alpha):
    return factor / (alpha * (1 + 0.5**-0.5)) ** 2


def test_curvature_at_the_start_is_the_edge_of_the_spectrum():
    order = checked(
        TASK, df.DiagonalNetwork(1.5), 1.0, 1e-2, None, df.GradientDescent(0.01), None, None, 0, 4.0, False
    )
    plan = first_plan(order)
    course = course_of(order.equations, plan, order.time.first_kind, 1)
    (lane,) = lanes_at_rest(order.equations, order.problems, plan, 1, [(0, 0)])
    lane = entering(lane, course, 2, 0.0)
    lane = moved(course, lane, order.time.pages(order.time.clock, Stretch(course.kind, 0, 1), 2), 1)
    found = curvature(lane.ready.members, lane.going.states, 0.0)
    assert found == pytest.approx((1.5 * (1 + 0.5**-0.5)) ** 2, rel=0.05)
    assert most_curvature(order.equations) == 2 * CAUTION


@pytest.mark.parametrize("factor", [2.1, 3.0])
def test_catapults_are_taken_step_by_step(factor):
    step = lazy_step(factor, 3.0)
    trainer, count = df.GradientDescent(step), 160
    arguments = dict(trainer=trainer, tol=1e-2, preview=True)
    net, t_max = df.DiagonalNetwork(3.0), count * step
    found = df.solve(TASK, net, t_max, **arguments)
    single = df.solve(TASK, net, t_max, grid=trainer.times(t_max), **arguments)
    unstable = int(np.argmax(single.train_error)) + 1
    assert single.train_error.max() > 1.2 * UNIT
    assert np.all(np.diff(trainer.number("edges", found.edges))[:unstable] == 1)
    assert found.train_error[:unstable] == pytest.approx(single.train_error[:unstable], rel=1e-6)


def test_a_schedule_with_one_unstable_stretch_is_taken_step_by_step_there():
    """Steps are three times the limit for thirty steps amid short ones: no block has them inside."""
    step = np.full(300, lazy_step(0.3, 1.0))
    step[150:180] = lazy_step(3.0, 1.0)
    trainer = df.GradientDescent(step)
    t_max = float(np.sum(step))
    found = df.solve(TASK, df.DiagonalNetwork(1.0), t_max, tol=2e-2, trainer=trainer, preview=True)
    numbers = trainer.number("edges", found.edges)
    taken = np.diff(numbers)[(numbers[1:] > 151) & (numbers[:-1] < 179)]
    assert np.all(taken == 1)
    assert len(numbers) < 300


def test_divergence_is_reported_at_the_same_step():
    step = lazy_step(4.0, 3.0)
    trainer, t_max = df.GradientDescent(step), 300 * step
    told = []
    for grid in (None, trainer.times(t_max)):
        with pytest.raises(df.SolveError, match="training blew up in step") as caught:
            df.solve(TASK, df.DiagonalNetwork(3.0), t_max, tol=1e-2, trainer=trainer, grid=grid)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_records_of_blocks(tmp_path):
    trainer = df.GradientDescent(0.05)
    curves = df.solve(TASK, df.DiagonalNetwork(0.5), 15.0, tol=2e-2, trainer=trainer, preview=True)
    assert len(curves.t) < 150
    assert np.all(trainer.number("t", curves.t) >= 0)  # whole steps
    every = curves.at(trainer.times(15.0))
    assert np.all(np.diff(every.train_error) < 0)
    again = df.load(curves.save(tmp_path / "blocks.nc"))
    assert np.array_equal(again.at([7.35]).test_error, curves.at([7.35]).test_error)
    with pytest.raises(
        df.InputError, match=r"R_w is not made where many steps .* grid=trainer.times\(t_max\)"
    ):
        _ = curves.R_w
