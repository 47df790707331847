"""The scikit-learn estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import dynafield as df
from dynafield import DiagonalNetworkRegressor as Regressor


@pytest.fixture
def sparse_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 120)) * rng.uniform(0.5, 3.0, 120) + rng.normal(size=120)
    coef = np.zeros(120)
    coef[:6] = [3.0, -2.0, 1.5, 2.0, -1.0, 2.5]
    return X, X @ coef + 4.0 + 0.1 * rng.standard_normal(60), coef


def test_it_is_a_scikit_learn_estimator():
    """All of scikit-learn's own checks, none excused."""
    results = check_estimator(Regressor())
    assert len(results) > 30
    assert all(r["status"] in ("passed", "skipped") for r in results)
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}, skipped


@pytest.mark.slow
def test_it_is_one_at_other_settings_too():
    check_estimator(Regressor(lam=0.01, depth=3, standardize=False))


def test_small_initialization_finds_the_sparse_truth(sparse_data):
    X, y, coef = sparse_data
    rich, lazy = Regressor(alpha=1e-3).fit(X, y), Regressor(alpha=10.0).fit(X, y)
    assert rich.converged_
    assert np.linalg.norm(rich.coef_ - coef) < 0.1 * np.linalg.norm(lazy.coef_ - coef)
    assert rich.intercept_ == pytest.approx(4.0, abs=0.3)


def test_weight_decay_is_the_lasso_of_the_scaled_data(sparse_data):
    X, y, _ = sparse_data
    model = Regressor(alpha=0.5, lam=0.5, tol=1e-6).fit(X, y)
    scale = X.std(axis=0) * np.sqrt(120)
    lasso = Lasso(alpha=0.5 / 120, tol=1e-12, max_iter=100_000).fit((X - X.mean(axis=0)) / scale, y)
    np.testing.assert_allclose(model.coef_ * scale, lasso.coef_, atol=1e-6 * np.max(np.abs(lasso.coef_)))
    assert model.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ model.coef_)


def test_a_lazy_network_with_weight_decay_is_not_stopped_before_it_turns_sparse(sparse_data):
    X, y, _ = sparse_data
    small, large = (Regressor(alpha=a, lam=0.5).fit(X, y) for a in (0.5, 300.0))
    np.testing.assert_allclose(large.coef_, small.coef_, atol=0.01)


@pytest.mark.parametrize(
    ("truth", "alpha", "lam"),
    [((3.0, 1.0), 1e-4, 0.0), ((10.0, 1.0), 1e-3, 0.0), ((10.0, 0.1), 0.1, 0.0), ((10.0, 1.0), 1e-4, 0.1)],
)
def test_it_does_not_stop_on_a_plateau_between_activations(truth, alpha, lam):
    X = np.random.default_rng(0).standard_normal((200, 2))
    model = Regressor(alpha=alpha, lam=lam).fit(X, X @ np.array(truth))
    assert model.converged_
    # weight decay shrinks each coefficient by about λ/√d in these units
    np.testing.assert_allclose(model.coef_, truth, atol=0.002 + 1.1 * lam / np.sqrt(2), rtol=1e-3)


def test_plenty_of_data_is_least_squares():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((80, 5)), rng.standard_normal(80)
    model = Regressor(alpha=1.0, tol=1e-6).fit(X, y)
    reference = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-4, atol=1e-5)
    assert model.score(X, y) == pytest.approx(reference.score(X, y), abs=1e-8)


def test_early_stopping_and_the_path(sparse_data):
    X, y, _ = sparse_data
    short, full = Regressor(alpha=0.5, t_max=0.05).fit(X, y), Regressor(alpha=0.5).fit(X, y)
    assert not short.converged_
    assert short.t_[-1] == 0.05
    assert full.train_error_[0] == pytest.approx(np.var(y))
    assert np.all(np.diff(full.train_error_) < 1e-9 * np.var(y))
    assert np.interp(0.05, full.t_, full.train_error_) == pytest.approx(short.train_error_[-1], rel=0.1)
    assert np.mean((short.predict(X) - y) ** 2) == pytest.approx(short.train_error_[-1])


def test_it_works_in_pipelines_and_searches(sparse_data):
    X, y, _ = sparse_data
    search = GridSearchCV(make_pipeline(StandardScaler(), Regressor(t_max=50.0)),
                          {"diagonalnetworkregressor__alpha": [0.01, 10.0]}, cv=3)  # fmt: skip
    search.fit(X, y)
    assert search.best_params_ == {"diagonalnetworkregressor__alpha": 0.01}


@pytest.mark.parametrize(("alpha", "lam"), [(0.01, 0.1), (1.0, 0.01), (3.0, 1.0)])
def test_training_with_weight_decay_comes_to_an_end(alpha, lam):
    """Its approach is slower than any exponential; followed it is near, and the last weights are the end."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 100))
    y = X[:, :5].sum(axis=1) + 0.5 * rng.standard_normal(50)
    model = Regressor(alpha, lam).fit(X, y)
    assert model.converged_
    before, end = model.coef_path_[-2:]
    assert np.linalg.norm(before - end) < 0.1 * np.linalg.norm(end)
    assert model.t_[-1] < 50 / lam
    assert model.train_error_[-1] == pytest.approx(np.mean((y - model.predict(X)) ** 2), rel=1e-9)


def test_training_to_a_time_after_which_nothing_moves_has_ended(sparse_data):
    X, y, _ = sparse_data
    assert Regressor(alpha=0.1, lam=5.0, t_max=300.0).fit(X, y).converged_
    assert not Regressor(alpha=0.1, lam=5.0, t_max=1.0).fit(X, y).converged_


def test_a_search_over_weight_decay_just_works(sparse_data):
    X, y, _ = sparse_data
    search = GridSearchCV(Regressor(alpha=0.01), {"lam": [0.1, 1.0, 1e3]}, cv=2).fit(X, y)
    assert search.best_params_["lam"] < 1e3


def test_constant_columns_and_targets(sparse_data):
    X, y, _ = sparse_data
    X[:, 3] = 7.0
    model = Regressor().fit(X, y)
    assert model.coef_[3] == 0
    still = Regressor().fit(X, np.full(60, 2.5))
    assert np.all(still.coef_ == 0)
    assert still.intercept_ == 2.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(alpha=-1.0), "alpha must be"),
        (dict(alpha=np.ones(2)), "t_max must be"),
        (dict(alpha=[]), "alpha must be"),
        (dict(depth=[2, 1]), "depth must be"),
        (dict(lam=-0.1), "lam must be"),
        (dict(depth=1), "depth must be"),
        (dict(t_max=0.0), "t_max must be"),
        (dict(tol=0.0), "tol must be"),
    ],
)
def test_bad_parameters_are_refused(sparse_data, options, message):
    X, y, _ = sparse_data
    with pytest.raises(df.InputError, match=message):
        Regressor(**options).fit(X, y)


def test_bad_data_are_refused(sparse_data):
    X, y, _ = sparse_data
    for bad, labels in ((X[:1], y[:1]), (X * np.nan, y), (X, y[:-1])):
        with pytest.raises(ValueError, match=r"sample|NaN|inconsistent"):
            Regressor().fit(bad, labels)


@pytest.fixture(scope="module")
def chosen():
    """A fit that has chosen initial scale and stop, with fresh data."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2040, 20)) * rng.uniform(0.5, 3.0, 20) + rng.normal(size=20)
    coef = np.zeros(20)
    coef[:4] = [3.0, -2.0, 1.5, 2.0]
    y = 4.0 + X @ coef + 3.0 * rng.standard_normal(2040)
    return Regressor(alpha="auto", t_max="auto").fit(X[:40], y[:40]), X, y


def test_it_chooses_initial_scale_and_stop_by_its_own_estimate(chosen):
    model, X, y = chosen
    best = int(np.argmin(model.estimated_test_error_))
    assert len(model.alphas_) == len(model.estimated_test_error_) == 6
    assert model.alpha_ == model.alphas_[best]
    assert model.stop_ == model.t_[model.n_iter_] == model.path_.best_stop
    np.testing.assert_array_equal(model.coef_, model.coef_path_[model.n_iter_])
    true = np.mean((model.predict(X[40:]) - y[40:]) ** 2)
    assert abs(model.estimated_test_error_[best] - true) < 3 * model.estimated_test_error_se_[best]
    plain = Regressor(alpha=float(model.alpha_)).fit(X[:40], y[:40])
    assert true < np.mean((plain.predict(X[40:]) - y[40:]) ** 2)
    # the same training, by the same units: centred and scaled columns
    again = Regressor(alpha=float(model.alpha_), t_max=model.stop_).fit(X[:40], y[:40])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=0.02 * np.max(np.abs(model.coef_)))


def test_units_do_not_change_the_choice(chosen):
    model, X, y = chosen
    other = Regressor(alpha="auto", t_max="auto").fit(0.1 * X[:40], 1000.0 * y[:40] - 7.0)
    assert other.n_iter_ == model.n_iter_
    np.testing.assert_allclose(other.coef_, 10_000.0 * model.coef_, rtol=1e-3, atol=1.0)


def test_it_chooses_from_lists_of_weight_decay_and_depth(chosen):
    _, X, y = chosen
    model = Regressor(alpha=[0.3], lam=[0.0, 0.2], depth=[2, 3], t_max=5.0).fit(X[:40], y[:40])
    assert list(model.lams_) == [0.0, 0.2, 0.0, 0.2]
    assert list(model.depths_) == [2, 2, 3, 3]
    assert model.stop_ == 5.0
    assert (model.lam_, model.depth_) == (
        model.lams_[np.argmin(model.estimated_test_error_)],
        model.depths_[np.argmin(model.estimated_test_error_)],
    )


def test_the_path_is_drawn(chosen):
    model, _, _ = chosen
    ax = model.plot_path()
    assert ax.get_ylabel() == "coefficient"
    assert any("best stop" in text.get_text() for text in ax.get_legend().get_texts())
    assert clone(model).alpha == "auto"


def test_a_second_fit_forgets_the_first(chosen):
    _, X, y = chosen
    again = Regressor(alpha=[0.3], t_max="auto").fit(X[:40], y[:40])
    assert hasattr(again, "path_")
    again.set_params(alpha=0.1, t_max=1.0).fit(X[:40], -y[:40])
    assert not hasattr(again, "path_")
    assert not hasattr(again, "estimated_test_error_")


def test_labels_without_signal_are_fitted_by_their_mean():
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = Regressor(alpha="auto", t_max="auto").fit(X, np.full(30, 2.0))
    assert np.all(model.coef_ == 0)
    assert model.intercept_ == 2.0
    constant = Regressor(alpha="auto", t_max="auto").fit(np.full((20, 3), 0.1), np.arange(20.0))
    assert np.all(constant.coef_ == 0)
    assert constant.intercept_ == 9.5


def test_a_choice_needs_a_time(sparse_data):
    X, y, _ = sparse_data
    with pytest.raises(df.InputError, match="t_max must be"):
        Regressor(alpha="auto").fit(X, y)
    with pytest.raises(df.InputError, match="alpha must be"):
        Regressor(alpha="best").fit(X, y)


@pytest.mark.slow
def test_it_is_a_scikit_learn_estimator_when_it_chooses():
    check_estimator(Regressor(lam=[0.0], t_max="auto", probes=2))
