"""Views worth starting from."""

from typing import NamedTuple

from dynafield.explorer.setting import Setting, View

__all__ = ["PRESETS"]


class Preset(NamedTuple):
    """A view and what to look at in it."""

    view: View
    words: str


PRESETS = {
    "sparse regression": Preset(
        View(Setting()), "Half as many samples as dimensions, one target in ten is 1: stop early, or not?"
    ),
    "grokking": Preset(
        View(Setting(alpha=10.0, lam=0.2), axis="lam"),
        "Large α with weight decay: data are fitted at once, the test error falls near t = 2 log(α)/λ + 18.",
    ),
    "incremental learning": Preset(
        View(
            Setting(alpha=1e-3, delta=20.0, prior="discrete:0@0.7,0.5@0.1,1@0.1,2@0.1", t_max=60.0),
            at=0.85,
        ),
        "Tiny α: targets 2, 1 and ½ are learnt one after the other, at t = 2 log(1/α)/|w*|.",
    ),
    "lazy": Preset(
        View(Setting(alpha=4.0, t_max=10.0), (Setting(alpha=0.05, t_max=10.0),)),
        "Large α without decay is a linear model: fast, and as good as ridgeless. Pinned: small α.",
    ),
    "double descent": Preset(
        View(Setting(alpha=3.0, delta=0.7, sigma=0.3, t_max=30.0, tol=0.01), axis="delta"),
        "The test error at the end of training peaks at δ = 1 (lower panel); drag δ, and compare best stop.",
    ),
    "depth 3": Preset(
        View(Setting(depth=3), (Setting(),)),
        "Three layers beside two (pinned): a longer search, a sharper bias.",
    ),
    "large steps": Preset(
        View(Setting(alpha=1.0, step=0.5, t_max=20.0), (Setting(alpha=1.0, t_max=20.0),)),
        "Gradient descent with steps of 0.5 beside the flow (pinned): raise the step until it breaks.",
    ),
    "momentum": Preset(
        View(
            Setting(alpha=1.0, step=0.1, momentum=0.9, t_max=10.0, tol=0.01),
            (Setting(alpha=1.0, step=0.1, t_max=10.0, tol=0.01),),
            scale="linear",
        ),
        "A heavy ball beside plain steps of the same size (pinned): ten times as fast, and it swings.",
    ),
    "mini-batches": Preset(
        View(
            Setting(alpha=1.0, delta=2.0, sigma=0.3, step=0.1, batch_fraction=0.2, t_max=10.0, tol=0.01),
            (Setting(alpha=1.0, delta=2.0, sigma=0.3, step=0.1, t_max=10.0, tol=0.01),),
            scale="linear",
        ),
        "A fifth of the data in every step beside all of them (pinned): the noise of the batches stays.",
    ),
    "own prior": Preset(
        View(Setting(prior="discrete:-1@0.05,0@0.85,0.5@0.1")),
        "Any distribution of targets: VALUE@PROB, …, or bernoulli:P, gaussian:STD, gauss-bernoulli:P,STD.",
    ),
}
