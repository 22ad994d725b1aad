"""Errors of reading: each one line on standard error, the last of them as the command's own error."""

from collections.abc import Iterable

from kcli.cli.terminal.console import warn
from kcli.counting import counted
from kcli.errors import InputError

MOST = 20  # lines


def conclude(problems: Iterable[InputError], quiet: bool = False, *, count: int | None = None) -> None:
    """End a command that has written what could be read. Raises the last problem as InputError, if there is one.

    The others are warnings, which -q leaves out; a problem that came twice is reported once. count: how many there
    were, where not all of them are given.
    """
    found = list({str(each): each for each in problems}.values())
    if not found:
        return
    for each in found[: MOST - 1] if len(found) > MOST else found[:-1]:
        warn(str(each), quiet)
    more = max(len(found), count or 0) - min(len(found), MOST)
    if more > 0:
        warn(f"{counted(more, 'more problem is', 'more problems are')} not shown", quiet)
    raise found[-1]
