"""The scikit-learn classifier."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import dynafield as df
from dynafield import DiagonalNetworkClassifier as Classifier


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return train_test_split(X, np.array(["malignant", "benign"])[y], train_size=100, random_state=0)


@pytest.fixture(scope="module")
def model(cancer):
    X, _, y, _ = cancer
    return Classifier(alpha=[0.1, 1.0]).fit(X, y)


def test_it_tells_classes_apart_and_knows_how_well(model, cancer):
    _, X, _, y = cancer
    assert list(model.classes_) == ["benign", "malignant"]
    right = model.predict_proba(X)[np.arange(len(y)), (y == "malignant").astype(int)]
    loss, error = -np.mean(np.log(right)), 1 - model.score(X, y)
    best = int(np.argmin(model.estimated_test_loss_))
    assert error < 0.07
    assert abs(model.estimated_test_loss_[best] - loss) < 3 * model.estimated_test_loss_se_[best]
    assert abs(model.estimated_test_error_[best] - error) < 3 * model.estimated_test_error_se_[best]
    assert model.alpha_ == model.alphas_[best]
    assert model.coef_.shape == (1, 30)
    assert model.plot_path().get_ylabel() == "coefficient"


def test_it_works_in_a_pipeline(cancer):
    X, fresh, y, truth = cancer
    pipeline = make_pipeline(StandardScaler(), Classifier(alpha=0.3, t_max=10.0)).fit(X, y)
    assert pipeline.score(fresh, truth) > 0.93


def test_its_scale_of_columns_does_not_matter(model, cancer):
    X, fresh, y, _ = cancer
    other = Classifier(alpha=[0.1, 1.0]).fit(X * np.geomspace(1e-3, 1e3, 30) + 5.0, y)
    np.testing.assert_allclose(
        other.predict_proba(fresh * np.geomspace(1e-3, 1e3, 30) + 5.0), model.predict_proba(fresh), atol=1e-6
    )


def test_bad_input_is_refused(cancer):
    X, _, y, _ = cancer
    with pytest.raises(df.InputError, match="t_max must be"):
        Classifier(t_max=None).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        Classifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="binary"):
        Classifier().fit(X, np.arange(len(y)) % 3)


@pytest.mark.slow
def test_it_is_a_scikit_learn_estimator():
    check_estimator(Classifier(alpha=0.5, t_max=2.0, probes=2))
