"""The best α, or λ with weight decay: looked for when a button is pressed, told, and marked."""

from collections.abc import Callable
from typing import Any

from dynafield.explorer.setting import Setting
from dynafield.explorer.words import best, message
from dynafield.figures.style import SYMBOLS

__all__ = ["Best"]


class Best:
    """The best value that a tab shows, for as long as it belongs to the present problem.

    `show` writes HTML below the panel of fixed points, `mark` draws the mark there (None removes it), and
    `move` gives a dial a new value.
    """

    def __init__(
        self,
        show: Callable[[str], Any],
        mark: Callable[[dict[str, Any] | None, str], Any],
        move: Callable[[str, str], Any],
    ):
        self.show, self.mark, self.move = show, mark, move
        self.found: dict[str, Any] | None = None

    def await_answer(self, setting: Setting) -> None:
        """Say that the search has begun."""
        words = (
            f"looking for the best {SYMBOLS[setting.decisive]}; new code may take a minute to compile, once"
        )
        self.show(message(words, "busy"))

    def take(self, present: Setting, found: dict[str, Any]) -> None:
        """Show the answer. The dial moves there if it lies inside its range and was not moved meanwhile."""
        name, value, asked = found["name"], found["value"], found["setting"]
        if asked.question() != present.question():
            return
        self.found = found
        self.draw()
        self.show(message(best(found), "done"))
        now, text = getattr(present, name), "" if value is None else f"{value:.3g}"
        if text and not found["end"] and getattr(asked, name) == now != float(text):
            self.move(name, text)

    def fail(self, text: str) -> None:
        """Say why there is none."""
        self.forget()
        self.show(message(text, "error"))

    def forget(self) -> None:
        """Remove mark and words."""
        self.found = None
        self.draw()
        self.show("")

    def draw(self) -> None:
        """Mark the best value, where the axis has a place for it."""
        self.mark(self.found, "" if self.found is None else best(self.found))
