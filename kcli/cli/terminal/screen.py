"""rich's console, with markup and control codes in values shown as they are."""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from kcli.legible import legible, legible_lines


class Screen(Console):
    """No markup, no emoji codes, no control characters but those of rich's own styles."""

    def __init__(self, **options: object) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)  # type: ignore[arg-type]

    def on_broken_pipe(self) -> None:
        """Leave a broken pipe to `kcli.cli.main`, as of any other output: rich ends the process with 1."""
        raise

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(legible_lines(segment.text), segment.style)


def shown(text: str, style: str = "") -> Text:
    """Return a value, or a line with values in it, that stays on one line; in one of rich's styles."""
    return Text(legible(text), style=style)
