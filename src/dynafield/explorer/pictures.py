"""The four pictures of a tab, and which parts of them belong to the present setting."""

from typing import Any

from dynafield.explorer.curve_plot import PINS, CurvePlot
from dynafield.explorer.kernel_plot import KernelPlot
from dynafield.explorer.limit_plot import LimitPlot
from dynafield.explorer.pins import Pin
from dynafield.explorer.setting import Setting
from dynafield.explorer.weight_plot import WeightPlot

__all__ = ["Pictures"]

Found = dict[str, Any] | None
"""An answer of a job, with the setting it was computed for; None before the first one."""


class Pictures:
    """Draws answers of jobs; what was computed for another setting is grey."""

    def __init__(self):
        self.curves, self.limits = CurvePlot(), LimitPlot()
        self.weights, self.kernels = WeightPlot(), KernelPlot()
        self.limit: Found = None
        self.curve: Found = None
        self.line: Found = None
        self.kernel: Found = None

    def forget(self, t_max: float) -> None:
        """Show nothing but the axes of a curve that is still to come."""
        self.limit = self.curve = self.line = self.kernel = None
        self.curves.show_curve(None)
        self.curves.show_stages([], t_max)
        self.curves.show_limit(None, t_max)
        self.curves.await_curve(t_max)
        self.limits.show_line(None)
        self.limits.point.data = {"x": [], "y": []}
        self.weights.show(None, 1.0)
        self.weights.show_limit({})
        self.kernels.show(None)

    def fresh_limit(self, setting: Setting) -> bool:
        """Whether fixed point, rate and stages belong to a setting; they do not depend on T or accuracy."""
        return self.limit is not None and not self.limit["setting"].differs(setting.alone) - {"t_max", "tol"}

    def fresh_curve(self, setting: Setting) -> bool:
        """Whether the curve belongs to a setting."""
        return self.curve is not None and self.curve["setting"] == setting.alone

    def fresh_line(self, setting: Setting, axis: str) -> bool:
        """Whether the line of fixed points belongs to a setting and an axis."""
        still = {"t_max", "tol"} | ({"alpha", "lam"} if axis == "tradeoff" else {axis})
        line = self.line
        return (
            line is not None and line["axis"] == axis and not line["setting"].differs(setting.alone) - still
        )

    def fresh_kernel(self, setting: Setting, name: str) -> bool:
        """Whether the heat map belongs to a setting and a kernel."""
        return self.kernel is not None and (self.kernel["setting"], self.kernel["name"]) == (
            setting.alone,
            name,
        )

    def grey(self, setting: Setting, axis: str, kernel: str) -> None:
        """Grey everything that does not belong to the present setting."""
        old_limit, old_curve = not self.fresh_limit(setting), not self.fresh_curve(setting)
        self.curves.grey(old_curve)
        self.limits.grey(not self.fresh_line(setting, axis), old_limit)
        self.weights.grey(old_curve, old_limit)
        self.kernels.grey(not self.fresh_kernel(setting, kernel))

    def draw_limit(self, setting: Setting, axis: str) -> None:
        """Stages and fixed point in all pictures."""
        found = self.limit
        if found is None:
            return
        self.curves.show_stages(found["stages"], setting.t_max)
        self.curves.show_limit(found.get("test_error"), setting.t_max)
        self.limits.show_point(found["setting"], axis, found)
        self.weights.show_limit(found)

    def draw_pins(self, pins: list[Pin]) -> None:
        """Pinned curves that are known."""
        coloured = zip(pins, PINS, strict=False)
        known = [(pin.label, colour, pin.curve) for pin, colour in coloured if pin.curve is not None]
        self.curves.show_pins(known)

    def draw_networks(self, setting: Setting, networks: Found, pins: list[Pin]) -> None:
        """Finite networks of the present setting and of the pins, if they are known."""
        shown: list[Any] = []
        if networks is not None:
            shown.append((f"d = {setting.d}", None, networks))
        for pin, colour in zip(pins, PINS, strict=False):
            if pin.networks is not None:
                shown.append((f"{pin.label}, d = {pin.setting.d}", colour, pin.networks))
        self.curves.show_networks(shown)
