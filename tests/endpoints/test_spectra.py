"""Message passing on features of different variances, and its state evolution."""

import numpy as np
import pytest

import dynafield as df

TASK = df.Task(0.6, 0.3, df.GaussBernoulli(0.2), spectrum=df.data.Spectrum.groups([(0.2, 4.0), (0.8, 0.25)]))
NETS = {"lasso": df.DiagonalNetwork(0.3, 0.05), "interpolating": df.DiagonalNetwork(0.3)}


@pytest.mark.parametrize("name", NETS)
def test_message_passing_follows_state_evolution_to_the_fixed_point(name):
    """Mean of 8 data sets of d = 500 within four standard errors and 1 %; the end to 1e-6."""
    net = NETS[name]
    evolution = df.endpoints.state_evolution(TASK, net, 400)
    assert evolution.test_error[-1] == pytest.approx(df.fixed_point(TASK, net).test_error, rel=1e-6)
    taus = []
    for run in range(8):
        data = df.data.training_data(TASK, d=500, run=run)
        taus.append(
            df.endpoints.amp(data.X, data.y, net, iterations=8, throw=False, variances=data.variance).tau[:8]
        )
    mean, error = np.mean(taus, axis=0), np.std(taus, axis=0, ddof=1) / np.sqrt(8)
    assert np.all(np.abs(mean - evolution.tau[:8]) < 4 * error + 0.01 * mean)


def test_message_passing_ends_at_the_minimizer():
    data, net = df.data.training_data(TASK, d=300), NETS["lasso"]
    found = df.endpoints.amp(data.X, data.y, net, variances=data.variance)
    assert found.w == pytest.approx(df.endpoints.minimizer(data.X, data.y, net).w, abs=1e-7)
    with pytest.raises(df.InputError, match="variances must have one entry"):
        df.endpoints.amp(data.X, data.y, net, variances=[1.0, 2.0])
