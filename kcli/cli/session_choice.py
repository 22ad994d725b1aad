"""Which fetch sessions and findings `kcli fetch-session explain` and `lint` show: all are followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from kcli.capture.filters import matches
from kcli.cli.filter_options import WHEN, moment
from kcli.sessions.registry import SessionlessFetches
from kcli.sessions.session import ObservedSession

__all__ = ["SessionChoice", "session_options"]

Command = TypeVar("Command", bound=Callable[..., Any])

Session = ObservedSession | SessionlessFetches
NAMED = 5  # clients that are named where nothing fits
MOST_CLIENTS = 1000  # that are remembered for that
OPTIONS = (
    click.option(
        "--client-id",
        "--client",
        metavar="ID",
        help="Only sessions of this client; * and ? stand for other characters.",
    ),
    click.option("--connection", metavar="TEXT", help="Only connections with this text in an address: 10.0.0.7:41202."),
    click.option("--since", metavar="T", help=f"Only what happened at or after this time ({WHEN})."),
    click.option("--until", metavar="T", help="Only what happened at or before this time."),
)


def session_options(command: Command) -> Command:
    """The options that choose sessions and findings."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


class SessionChoice:
    """What those options choose; `found`: how much of it there was."""

    def __init__(self, options: dict[str, Any], files: Sequence[str]) -> None:
        """files: that times like +22.4 are counted from. UsageError: no time."""
        self.client_id, self.connection = options["client_id"], options["connection"]
        self.since, self.until = (moment(name, options[name], files) for name in ("since", "until"))
        self.takes_all = all(options[name] is None for name in ("client_id", "connection", "since", "until"))
        self.found = 0  # sessions, and clients without one
        self.clients: dict[str, None] = {}

    def wants(self, client_id: str, connection: str, first_ns: int, last_ns: int) -> bool:
        """Whether something of a client that lasted from one time (ns) to another is chosen."""
        return (
            (self.client_id is None or matches(client_id, self.client_id))
            and (self.connection is None or matches(connection, self.connection, part=True))
            and (self.since is None or last_ns >= self.since)
            and (self.until is None or first_ns <= self.until)
        )

    def wants_session(self, session: Session) -> bool:
        """Whether a session, or a client's fetches without one, is chosen."""
        if len(self.clients) < MOST_CLIENTS:
            self.clients[session.client_id] = None
        connection = session.connection if isinstance(session, ObservedSession) else session.server
        wanted = self.wants(session.client_id, connection, session.first_ns, session.last_ns)
        self.found += wanted
        return wanted

    def there(self) -> str:
        """What there is instead."""
        names = [*self.clients]
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        return f"nothing matches; clients here: {', '.join(names[:NAMED])}{more}" if names else "nothing matches"
