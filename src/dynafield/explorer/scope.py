"""Which formulas hold for which trainer. They were derived for gradient flow; some hold for steps as well."""

from dynafield.explorer.setting import Setting

__all__ = ["no_limit", "no_rate", "no_stages"]


def no_limit(setting: Setting) -> str:
    """Why the fixed point of gradient flow is not where this training ends; empty where it is.

    Training with all data in every step ends at the minimum of the loss where that is unique: with weight
    decay, or with more samples than dimensions. Of many interpolating solutions, which one is reached
    depends on the steps. Mini-batches of noisy data keep the weights moving.
    """
    if setting.step is None:
        return ""
    unique = setting.lam > 0 or setting.delta > 1
    if unique and (setting.batch_fraction is None or setting.batch_fraction == 1):
        return ""
    if setting.lam == 0 and setting.delta > 1 and setting.sigma == 0:
        return ""
    if unique:
        return "mini-batches of constant step keep the weights moving: there is no fixed point"
    return (
        "which interpolating solution steps reach depends on the steps: the formula holds for gradient flow"
    )


def no_rate(setting: Setting) -> str:
    """Why the rate γ is not that of this training; empty where it is."""
    return "" if setting.step is None else "the rate γ is that of gradient flow; steps have another"


def no_stages(setting: Setting) -> str:
    """Why the stages are not those of this training; empty where they are."""
    return "" if setting.step is None else "the formulas of the stages hold for gradient flow only"
