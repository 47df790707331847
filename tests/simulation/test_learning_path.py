"""Training on given data, and the test error that it estimates of itself."""

import numpy as np
import pytest

import dynafield as df
from dynafield.simulation import followers

N, D = 60, 80
NET = df.DiagonalNetwork(0.4)


def sparse_data(n, d, seed, sigma=0.3, rows=None):
    """Inputs of variance 1/d, labels of a tenth of the features, and the truth."""
    rng = np.random.default_rng(seed)
    w_star = np.zeros(d)
    w_star[rng.permutation(d)[: d // 10]] = 1.0
    X = (rng.standard_normal((n, d)) if rows is None else rows(rng, n, d)) / np.sqrt(d)
    return X, X @ w_star + sigma * rng.standard_normal(n), w_star


def true_error(path, w_star, sigma=0.3):
    """Population error of Gaussian inputs at all times."""
    return np.sum((path.weights - w_star) ** 2, axis=1) / path.d + sigma**2


@pytest.fixture(scope="module")
def data():
    return sparse_data(N, D, 1)


TRAINED = {
    "deep flow": (df.DiagonalNetwork(0.6, 0.01, 3), df.GradientFlow(), False, 2e-3),  # two integrations
    "intercept": (NET, df.GradientFlow(), True, 2e-3),
    "heavy ball": (NET, df.HeavyBall(0.25, 0.5), True, 1e-9),
    "huber": (
        df.models.diagonal_flow(NET, loss=df.models.huber_flow(0.2)),
        df.GradientDescent(0.25),
        False,
        1e-9,
    ),
}


@pytest.mark.parametrize("kind", TRAINED)
def test_leaving_out_exactly_is_training_without_the_datum(data, kind):
    net, trainer, intercept, close = TRAINED[kind]
    X, y, _ = data
    options = dict(trainer=trainer, fit_intercept=intercept)
    path = df.learning_path(X, y, net, 20.0, exact=True, probes=2, **options)
    for i in (0, 17):
        kept = np.arange(N) != i
        without = df.learning_path(X[kept], y[kept], net, 20.0, probes=0, **options)
        alone = without.predict(X[i : i + 1], 20.0)[0]
        assert path.left_out[-1, i] == pytest.approx(alone, abs=close * np.std(y))


def test_training_is_that_of_simulate(data):
    X, y, w_star = data
    path = df.learning_path(X, y, NET, 20.0, probes=0, tol=1e-5)
    runs = df.simulate(
        df.Task(N / D, 0.0, df.Empirical(w_star)),
        NET,
        20.0,
        d=D,
        runs=1,
        t_eval=[20.0],
        inputs=X,
        targets=w_star,
    )
    clean = df.learning_path(X, X @ w_star, NET, 20.0, probes=0, tol=1e-5)
    np.testing.assert_allclose(clean.weights[-1], runs.w[0], rtol=1e-4, atol=1e-4)
    assert path.train_error[0] == pytest.approx(np.mean(y**2))
    assert np.isnan(path.test_error).all()
    assert path.best_stop == 20.0  # the last: nothing is estimated
    assert "best stop" not in repr(path)


def test_a_path_gets_more_accurate_with_tol(data):
    X, y, _ = data
    ends = [df.learning_path(X, y, NET, 50.0, probes=0, tol=tol).weights[-1] for tol in (1e-2, 1e-3, 1e-6)]
    off = [np.linalg.norm(end - ends[-1]) / np.linalg.norm(ends[-1]) for end in ends[:2]]
    assert off[0] < 5e-2
    assert off[1] < 5e-3
    assert off[1] < 0.5 * off[0]


@pytest.mark.parametrize("depth", [2, 3])
def test_the_response_gives_what_leaving_out_gives(depth):
    """n = 60: 48 probes against 60 trainings; a sixtieth of the data is a finite, not a small, change."""
    X, y, _ = sparse_data(N, D, 2)
    net = df.DiagonalNetwork(0.4 if depth == 2 else 0.6, 0.0, depth)
    exact = df.learning_path(X, y, net, 20.0, exact=True, probes=2)
    path = df.learning_path(X, y, net, 20.0, exact=False, probes=48)
    learning = path.t <= exact.best_stop
    np.testing.assert_allclose(path.test_error[learning], exact.test_error[learning], rtol=0.04)
    assert np.all(np.abs(path.test_error - exact.test_error) < 0.5 * path.test_error_se)
    # datum by datum: leverages beyond the length of a row are not known
    off = np.sqrt(np.mean((path.left_out - exact.left_out) ** 2, axis=1) / exact.test_error)
    assert np.max(off) < 0.25


def test_linear_models_have_their_closed_forms():
    """Ridge flow: outputs and their trace by the spectrum, left-out ones by the same without a row."""
    X, y, _ = sparse_data(N, D, 2)
    path = df.learning_path(X, y, df.models.ridge_flow(), 10.0, exact=True, probes=40, tol=1e-5)
    values, vectors = np.linalg.eigh(X @ X.T * (D / N))
    grown = 1 - np.exp(-np.outer(path.t, np.maximum(values, 0)))
    train = ((1 - grown) * (vectors.T @ y)) ** 2
    np.testing.assert_allclose(path.train_error, train.sum(axis=1) / N, rtol=2e-4)
    # sqrt(2 · 60/40) of a trace that 40 probes measure, if all entries of the matrix were of order one
    np.testing.assert_allclose(path.degrees_of_freedom, grown.sum(axis=1), atol=1.75)
    kept = np.arange(N) != 5
    pull, turn = np.linalg.eigh(X[kept].T @ X[kept] * (D / (N - 1)))
    pull = np.maximum(pull, 1e-12)
    w = turn @ (-np.expm1(-10.0 * pull) / pull * (turn.T @ (X[kept].T @ y[kept]) * (D / (N - 1))))
    assert path.left_out[-1, 5] == pytest.approx(X[5] @ w, abs=1e-4)


def test_an_intercept_is_one_degree_of_freedom():
    """Labels without signal, almost no training: left-out residuals are those of a mean, n/(n-1) times."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((N, D)) / np.sqrt(D), 5.0 + rng.standard_normal(N)
    for exact, close in ((True, 1e-9), (False, 2e-3)):  # probes take leverages to be those of the rows
        path = df.learning_path(X, y, NET, 1e-4, exact=exact, probes=2 if exact else 8, fit_intercept=True)
        assert path.intercept[0] == pytest.approx(y.mean())
        assert path.test_error[0] == pytest.approx(np.var(y) * (N / (N - 1)) ** 2, rel=close)
        assert path.degrees_of_freedom[0] == pytest.approx(1.0, abs=1e-9)


@pytest.fixture(scope="module")
def many():
    """Paths of 24 small data sets, with the truth."""
    found = []
    for seed in range(24):
        X, y, w_star = sparse_data(40, 50, seed)
        path = df.learning_path(X, y, NET, 20.0, exact=True, probes=2)
        found.append((path, true_error(path, w_star)))
    return found


def test_the_estimate_is_right_on_average_and_its_error_bar_too(many):
    last = [(path.test_error[k], path.test_error_se[k], true[k]) for path, true in many for k in (-1,)]
    best = [(path.test_error[k], path.test_error_se[k], true[k]) for path, true in many for k in (path.best,)]
    for rows in (last, best):
        value, error, true = np.array(rows).T
        ratio = value / true - 1
        scatter = np.std(ratio) / np.sqrt(len(ratio))
        # one datum of forty less is about 3 %; the least of a noisy curve is low by as much
        assert abs(np.mean(ratio)) < 4 * scatter + 0.03
        assert np.mean(np.abs(value - true) < 2 * error) > 0.77  # 24 sets: 90 % within two sd of counting
        # neither twice too wide nor twice too narrow: an rms of 24 is known to 14 %
        assert 0.55 < np.sqrt(np.mean(((value - true) / error) ** 2)) < 1.5


def test_stopping_where_the_estimate_is_least_costs_little(many):
    loss = [true[path.best] / np.min(true) - 1 for path, true in many]
    end = [true[-1] / np.min(true) - 1 for _, true in many]
    assert np.mean(loss) < 0.12  # n = 40; .7 % at n = 400
    assert np.mean(loss) < 0.5 * np.mean(end)


def test_against_the_theory():
    """d = 600: the estimate from one data set is the curve of the infinite network, within its error bar."""
    task = df.Task(0.5, 0.3, df.Bernoulli(0.1))
    data = df.data.training_data(task, 600, seed=3)
    path = df.learning_path(data.X, data.y, df.DiagonalNetwork(0.5), 30.0)
    assert not path.exact
    assert path.complete
    curves = df.solve(task, df.DiagonalNetwork(0.5), 30.0, tol=1e-2)
    theory = curves.at(np.minimum(path.t, 30.0)).test_error
    off = (path.test_error - theory) / path.test_error_se
    assert np.max(np.abs(off)) < 3.0
    assert np.min(np.abs(path.test_error_se / theory)) > 0.02  # of 300 data it is not less
    freedom = path.degrees_of_freedom
    assert np.all(np.diff(freedom) > -4)
    assert 225 < freedom[-1] < 300


def test_generalized_cross_validation_is_wrong_here():
    """The known estimate E_train/(1 - df/n)² is far off along training where ours is not."""
    X, y, _ = sparse_data(N, D, 4)
    path = df.learning_path(X, y, NET, 20.0, exact=False, probes=48)
    exact = df.learning_path(X, y, NET, 20.0, exact=True, probes=2)
    known = path.train_error / (1 - path.degrees_of_freedom / N) ** 2
    place = int(np.argmin(np.abs(path.degrees_of_freedom - 0.75 * N)))
    ours = abs(path.test_error[place] / exact.test_error[place] - 1)
    assert abs(known[place] / exact.test_error[place] - 1) > 4 * ours


def test_logistic_losses_are_estimated():
    X, f, _ = sparse_data(N, D, 5)
    y = np.sign(f)
    net = df.models.diagonal_flow(NET, loss=df.models.logistic_flow())
    path = df.learning_path(X, y, net, 30.0, exact=True, probes=4)
    kept = np.arange(N) != 3
    without = df.learning_path(X[kept], y[kept], net, 30.0, probes=0)
    assert path.left_out[-1, 3] == pytest.approx(without.predict(X[3:4], 30.0)[0], abs=5e-3)
    losses = np.log1p(np.exp(-y * path.left_out))
    np.testing.assert_allclose(path.test_loss, losses.mean(axis=1))
    np.testing.assert_allclose(path.test_error, np.mean(y * path.left_out < 0, axis=1) + 0.5 * (path.t == 0))
    assert path.by_loss
    assert path.best == np.argmin(path.test_loss)
    near = df.learning_path(X, y, net, 30.0, exact=False, probes=48)
    k = path.best
    assert near.test_loss[k] == pytest.approx(path.test_loss[k], rel=0.05)


def test_training_that_chooses_its_end_goes_beyond_the_best_stop(data):
    X, y, _ = data
    path = df.learning_path(X, y, NET)
    assert path.complete
    assert path.t[-1] >= 5.9 * path.best_stop > 0
    assert path.test_error[-1] > path.test_error[path.best]


def test_long_rows_are_told_from_short_ones(monkeypatch):
    """Rows of different lengths: leverages keep the estimate near to leaving out, and one for all do not."""
    n, d = 200, 100
    lengths = np.where(np.arange(n) % 3 == 0, 1.6, 0.5)[:, None]
    X, y, _ = sparse_data(n, d, 6, rows=lambda rng, n, d: lengths * rng.standard_normal((n, d)))
    exact = df.learning_path(X, y, NET, 5.0, exact=True, probes=2).test_error
    off = []
    for _ in range(2):
        path = df.learning_path(X, y, NET, 5.0, exact=False, probes=32)
        off.append(np.max(np.abs(path.test_error / exact - 1)))
        monkeypatch.setattr(followers, "leverages", lambda given: np.ones(n))
    assert off[0] < 0.04  # 32 probes
    assert off[1] > 2 * off[0]


def test_it_is_saved_and_drawn(data, tmp_path):
    X, y, _ = data
    path = df.learning_path(X, y, NET, 5.0, probes=4, coordinates=[3, 1], trainer=df.GradientDescent(0.25))
    again = df.load(path.save(tmp_path / "path.nc"))
    assert isinstance(again, df.results.LearningPath)
    assert repr(again) == repr(path)
    np.testing.assert_array_equal(again.test_error_se, path.test_error_se)
    assert again.trainer == path.trainer
    assert (again.net.alpha, again.probes, again.exact) == (0.4, 4, True)
    assert list(path.feature) == [1, 3]
    with pytest.raises(df.InputError, match="weights of 2 of 80"):
        _ = path.w
    ax = path.plot()
    left, right = ax.figure.axes
    assert left is ax
    assert (left.get_xlabel(), right.get_ylabel()) == ("training time t", "estimated test error")
    shown = ["test error, estimated", "± 2 standard errors", "training error"]
    assert [text.get_text() for text in ax.get_legend().get_texts()][:3] == shown
    np.testing.assert_array_equal(right.lines[0].get_ydata(), path.test_error[path.t > 0])
    assert "GradientDescent(step=0.25)" in ax.figure.get_suptitle()
    weights = path.plot_weights()
    assert weights.get_ylabel() == "weight"
    assert {text.get_text() for text in weights.get_legend().get_texts()} >= {"1", "3"}
    net, trainer, *_ = TRAINED["huber"]
    flow = df.learning_path(X, y, net, 5.0, probes=2, trainer=trainer)
    assert df.load(flow.save(tmp_path / "flow.nc")).net.name == flow.net.name


def test_an_interrupted_path_ends_where_it_was(data):
    X, y, _ = data

    def stop(share, words):
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted: the path stops at"):
        path = df.learning_path(X, y, NET, 20.0, progress=stop)
    assert not path.complete
    assert 0 < path.t[-1] < 20
    assert np.all(np.isfinite(path.test_error_se))
    assert "stopped before t=20" in repr(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(net=3), "net must be a network or a flow"),
        (dict(net=df.DiagonalNetwork(np.array([0.1, 0.2]))), "alpha must be one number"),
        (dict(net=df.models.huber_flow(1.0, outliers=df.Gaussian(1.0))), "no randomness z"),
        (dict(net=df.models.phase_retrieval_flow()), "does not depend on w"),
        (dict(t_max=-1.0), "t_max must be"),
        (dict(trainer=df.SGD(0.1, 0.5)), "without noise and batches"),
        (dict(trainer="adam"), "trainer must be"),
        (dict(probes=-1), "probes must be"),
        (dict(net=df.models.logistic_flow(), fit_intercept=True), "fit_intercept must be False"),
        (dict(coordinates=[100]), "coordinates must be"),
        (dict(tol=1.0), "tol must be"),
        (dict(y=np.zeros(N), t_max=None), "t_max must be given"),
        (dict(net=df.models.logistic_flow(), y=np.ones(N) * (np.arange(N) % 2)), "y must be -1 or 1"),
        (dict(exact=True, probes=0), "probes must be > 0"),
        (dict(trainer=df.GradientDescent(1.0), t_max=0.3), "at least one step"),
    ],
)
def test_bad_input_is_refused(data, options, message):
    X, y, _ = data
    given = dict(X=X, y=y, net=NET, t_max=1.0) | options
    with pytest.raises(df.InputError, match=message):
        df.learning_path(**given)


def test_a_copy_that_is_stiffer_than_the_run_is_followed():
    """Without a datum of large leverage the network grows, and its rates with it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2)) / np.sqrt(2)
    y = 5 * X[:, 0] + 0.3 * rng.standard_normal(20)
    X[0], y[0] = [4.0, 0.0], -12.0
    path = df.learning_path(X, y, df.DiagonalNetwork(0.5), 300.0, probes=2)
    without = df.learning_path(X[1:], y[1:], df.DiagonalNetwork(0.5), 300.0, probes=0)
    assert path.left_out[-1, 0] == pytest.approx(without.predict(X[:1], 300.0)[0], rel=1e-3)


def test_training_that_chooses_its_end_ends_without_signal():
    """Labels of pure noise; with a decay that leaves nothing of any weight, too."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((N, D)) / np.sqrt(D), rng.standard_normal(N)
    path = df.learning_path(X, y, NET, probes=2)
    assert path.t[-1] < 1e4
    decaying = df.learning_path(X, y, df.DiagonalNetwork(0.3, 50.0), probes=2)
    assert decaying.t[-1] < 1e4
    assert np.max(np.abs(decaying.weights[-1])) < 1e-3
    steps = df.learning_path(X, y, NET, trainer=df.GradientDescent(0.1), probes=0)
    assert steps.complete


def test_short_rows_and_few_data(data):
    """A row of length zero learns nothing of itself; signs of few data are not orthogonal."""
    X, y, _ = data
    X = X.copy()
    X[:10] = 0.0
    path = df.learning_path(X, y, NET, 5.0, exact=False, probes=48)
    assert np.all(path.left_out[:, :10] == 0.0)
    few = df.learning_path(X[10:30, :5], y[10:30], df.models.ridge_flow(), 20.0, fit_intercept=True)
    assert few.degrees_of_freedom[0] == pytest.approx(1.0)
    assert abs(few.degrees_of_freedom[-1] - 6.0) < 1.5  # five features and an intercept, 8 probes of 20 data


def test_steps_that_diverge_are_told(data):
    X, y, _ = data
    with pytest.raises(df.SolveError, match="diverged between"):
        df.learning_path(X, y, NET, 4000.0, trainer=df.GradientDescent(50.0), probes=2)


def ar_rows(rng, n, d):
    """Rows whose neighbouring entries are correlated, .8."""
    out = rng.standard_normal((n, d))
    for j in range(1, d):
        out[:, j] = 0.8 * out[:, j - 1] + 0.6 * out[:, j]
    return out


LAWS = {
    "gaussian": None,
    "binary": lambda rng, n, d: rng.choice([-1.0, 1.0], (n, d)),
    "correlated": ar_rows,
    "heavy tails": lambda rng, n, d: rng.standard_t(5, (n, d)) * np.sqrt(3 / 5),
}


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("law", LAWS)
def test_bias_and_coverage_over_data_sets(law, depth):
    """Of Gaussian inputs a hundred data sets, of the others forty; that count may be two errors low."""
    n, d, sigma = 100, 150, 0.3
    count = 100 if law == "gaussian" and depth == 2 else 40
    net, rows = df.DiagonalNetwork(0.4 if depth == 2 else 0.6, 0.0, depth), LAWS[law]
    ratios, inside = [], []
    for seed in range(count):
        X, y, w_star = sparse_data(n, d, seed, sigma, rows)
        path = df.learning_path(X, y, net, 20.0)
        draw = np.random.default_rng([seed, 1])
        fresh = (draw.standard_normal((4000, d)) if rows is None else rows(draw, 4000, d)) / np.sqrt(d)
        true = np.mean(((path.weights - w_star) @ fresh.T) ** 2, axis=1) + sigma**2
        ratios.append(path.test_error / true - 1)
        inside.append(np.abs(path.test_error - true) < 2 * path.test_error_se)
    least = min(map(len, ratios))
    ratios, inside = (np.array([row[-least:] for row in part]) for part in (ratios, inside))
    error = np.std(ratios, axis=0) / np.sqrt(count)
    assert np.all(np.abs(np.mean(ratios, axis=0)) < 0.02 + 3 * error)
    assert np.min(np.mean(inside, axis=0)) >= 0.9 - 2 * np.sqrt(0.9 * 0.1 / count)


@pytest.mark.parametrize("t", [None, -1.0, 0.0, np.nan, "abc", [2.0, 1.0]])
def test_times_of_training_are_refused_by_their_name(data, t):
    with pytest.raises(ValueError, match=r"^t must be"):
        df.train(*data[:2], NET, t)
