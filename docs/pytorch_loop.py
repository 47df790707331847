"""A training loop in PyTorch, and the theory of the infinite network over it."""

import numpy as np
import torch

import dynafield as df

task = df.Task(delta=0.5, sigma=0.1, prior=df.Bernoulli(0.1))
net = df.DiagonalNetwork(alpha=0.5)
d, runs, step, updates = 500, 6, 0.3, 40
n = int(task.delta * d)

train_error, test_error = np.zeros((2, runs, updates + 1))
for run in range(runs):
    torch.manual_seed(run)
    X = torch.randn(n, d, dtype=torch.float64) / d**0.5
    w_star = (torch.rand(d, dtype=torch.float64) < 0.1).double()
    y = X @ w_star + task.sigma * torch.randn(n, dtype=torch.float64)
    u = torch.full((d,), net.alpha, dtype=torch.float64, requires_grad=True)
    v = torch.full((d,), net.alpha, dtype=torch.float64, requires_grad=True)
    # steps here are those of (d/2) times the gradient of |Xw - y|²/(2n)
    optimizer = torch.optim.SGD([u, v], lr=step * d / 2, momentum=0.5)
    for k in range(updates + 1):
        w = (u**2 - v**2) / 2
        residual = X @ w - y
        train_error[run, k] = torch.mean(residual**2).item()
        test_error[run, k] = torch.mean((w - w_star) ** 2).item() + task.sigma**2
        optimizer.zero_grad()
        (torch.mean(residual**2) / 2).backward()
        optimizer.step()

trainer = df.GradientDescent(step, momentum=0.5)
t = step * np.arange(updates + 1)
theirs = df.results.Runs.of(task, net, t, train_error, test_error, d=d, trainer=trainer)
both = df.compare(task, net, t[-1], tol=1e-2, trainer=trainer, runs=theirs)
print(both)
both.plot().figure.savefig("pytorch.png", dpi=150)
