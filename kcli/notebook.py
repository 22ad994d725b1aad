"""Shows values in notebooks and prompts: short text for `repr`, small tables for `_repr_html_`.

Text from decoded bytes is escaped and cut, so that a value of any size takes a few lines.
"""

from collections.abc import Mapping
from typing import Any

from kcli.legible import legible_lines

SHORT = 60  # characters of a value in a repr
LINE = 400  # characters of a line of text
LONG = 4000  # characters of a text in a notebook
CELL = "style='text-align:left'"


def quoted(value: str | bytes) -> str:
    """Return a Python literal of at most 60 characters or bytes, followed by the full length if it was cut."""
    if len(value) <= SHORT:
        return repr(value)
    return f"{value[:SHORT]!r}...({len(value):,})"


def shortened(text: str, most: int = LINE) -> str:
    """Return legible text of at most `most` characters; "…" marks a cut."""
    return legible_lines(text if len(text) <= most else text[:most] + "…")


def card(title: str, facts: Mapping[str, Any], texts: Mapping[str, bytes | str] | None = None) -> str:
    """Return HTML: a table of facts under a title, and each text folded below it. A fact of None is left out."""
    rows = "".join(
        f"<tr><th {CELL}>{safe(name, SHORT)}</th><td {CELL}>{safe(value, LINE)}</td></tr>"
        for name, value in facts.items()
        if value is not None
    )
    folds = "".join(fold(name, text) for name, text in (texts or {}).items())
    return f"<div><b>{safe(title, SHORT)}</b><table>{rows}</table>{folds}</div>"


def fold(name: str, text: bytes | str) -> str:
    shown = text[: LONG + 1].decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"<details><summary>{safe(name, SHORT)}</summary><pre>{safe(shown, LONG)}</pre></details>"


def safe(value: Any, most: int) -> str:
    """Escape a value for HTML, cut to `most` characters."""
    from html import escape  # its table of entities takes a tenth of kcli's start

    return escape(shortened(str(value), most))
