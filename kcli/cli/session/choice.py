"""The fetch sessions and findings that `kcli fetch-session explain` and `lint` show: all are followed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.capture.filters import Filter
from kcli.cli.options.exchange_sources import holds_rows
from kcli.cli.options.filter import filter_of, say_what_there_is
from kcli.cli.terminal.console import warn
from kcli.counting import few_of
from kcli.errors import UsageError
from kcli.sessions.draft_trace import FETCHES
from kcli.sessions.registry import SessionlessFetches
from kcli.sessions.session import ObservedSession

MOST_IDS = 1000  # that are remembered, to name some where none fits


class SessionChoice:
    """Sessions with a fetch that the options choose, of the ids that they name; `found`: how many there were."""

    def __init__(self, options: dict[str, Any], files: Sequence[str], ids: Sequence[int] = ()) -> None:
        """Choose sessions. Raises UsageError for invalid options, or a condition on lines of JSON."""
        self.files, self.options, self.ids = files, options, frozenset(ids)
        self.filter = filter_of(options, files)
        self.rows = frozenset(file for file in files if holds_rows(file))
        if self.filter.where is not None and self.rows:
            raise UsageError(f"--where: {min(self.rows)} has lines of JSON without columns (a capture expected)")
        self.takes_all = self.filter.takes_all and not self.ids
        self.found = 0  # sessions, and clients without one
        self.seen: dict[int, None] = {}

    def wants(self, session: ObservedSession | SessionlessFetches) -> bool:
        """Return whether a session, or a client's fetches without one, is chosen."""
        number = session.session_id if isinstance(session, ObservedSession) else 0
        if number and len(self.seen) < MOST_IDS:
            self.seen[number] = None
        wanted = (not self.ids or number in self.ids) and (session.chosen or self.filter.takes_all)
        self.found += wanted
        return wanted

    def conclude(self) -> int:
        """Return the exit code: 1 where nothing was chosen, with a line that names what there is."""
        if self.takes_all or self.found:
            return 0
        if not self.filter.takes_all:
            captures = [file for file in self.files if file not in self.rows]
            say_what_there_is(captures or ["-"], self.filter, self.options, Filter(frozenset(FETCHES)))
        else:
            warn(f"nothing matches; sessions here: {few_of([*map(str, self.seen)])}", self.options["quiet"])
        return 1
