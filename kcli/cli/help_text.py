"""Help texts that a narrow terminal does not break inside an option's name."""

from __future__ import annotations

from collections.abc import Iterable

import click

UNBROKEN = "\u2011"  # NON-BREAKING HYPHEN


class HelpFormatter(click.HelpFormatter):
    """Breaks lines between words. click also breaks them behind a hyphen: "--slower-" and "than"."""

    def write(self, string: str) -> None:
        super().write(string.replace(UNBROKEN, "-"))

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(term, text.replace("-", UNBROKEN)) for term, text in rows], col_max, col_spacing)


class HelpContext(click.Context):
    """A command's context, whose help has whole words."""

    formatter_class = HelpFormatter
