"""The best α, or λ with weight decay: asked for by a button, said, marked, and forgotten in time."""

from typing import TYPE_CHECKING, Any

from dynafield.explorer.setting import Setting
from dynafield.explorer.words import best, message
from dynafield.figures.style import SYMBOLS

if TYPE_CHECKING:
    from dynafield.explorer.page import Page

__all__ = ["Best"]


class Best:
    """The optimum that a tab shows, if it has asked for one since its task is what it is."""

    def __init__(self, page: "Page"):
        self.page = page
        self.found: dict[str, Any] | None = None

    def ask(self) -> None:
        """The user wants to know."""
        page, setting = self.page, self.page.setting.alone
        desk, code = page.desks.quick, setting.kind()
        page.tab.ask(desk, "best", "best", (setting,), self.take, self.fail, rank=1, code=code)
        # code for finer integrals is compiled where they are needed, which nobody knows before
        words = (
            f"looking for the best {SYMBOLS[setting.decisive]}; where code is compiled, up to a minute, once"
        )
        page.widgets.show_best(message(words, "busy"))

    def take(self, found: dict[str, Any]) -> None:
        """It has come; the dial moves there if it is inside its range, unless it has been moved meanwhile."""
        page, name, value = self.page, found["name"], found["value"]
        asked = found["setting"]
        if asked.question() != page.setting.question():
            return
        self.found = found
        self.draw()
        page.widgets.show_best(message(best(found), "done"))
        present, text = getattr(page.setting, name), "" if value is None else f"{value:.3g}"
        if text and not found["end"] and getattr(asked, name) == present != float(text):
            page.change(name, text)

    def fail(self, text: str) -> None:
        """There is none: why."""
        self.forget()
        self.page.widgets.show_best(message(text, "error"))

    def follow(self, old: Setting) -> None:
        """The setting was another one; what no longer belongs to it is forgotten."""
        if old.question() != self.page.setting.question():
            self.forget()

    def forget(self) -> None:
        """Nothing is known or wanted any more."""
        self.page.tab.forget("best")
        self.found = None
        self.draw()
        self.page.widgets.show_best("")

    def draw(self) -> None:
        """The mark, where the axis has a place for it."""
        words = "" if self.found is None else best(self.found)
        self.page.plots[1].show_best(self.page.axis, self.found, words)
