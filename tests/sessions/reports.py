"""Reports made of captured rows."""

from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.fetch_statistics import Recorder, SessionReport
from tests.sessions.captured import Row, rows_of
from tests.sessions.test_incremental_checks import session

__all__ = ["evicted_rows", "report"]

NAMES = {"UN81GBVGSGmhiqBEPXpYyw": "orders"}


def report(rows: list[Row], label: str = "s", names: dict[str, str] = NAMES) -> SessionReport:
    """The report of captured rows, each with a latency of 5 ms."""
    recorder = Recorder(label, client_id="c")
    for row in rows:
        x = FetchExchange("b:1", "b:1-c:2", row["requestHeader"], 0, 5_000_000)
        x.request_bytes, x.response_bytes = row["requestBytes"], row["responseBytes"] or 0
        recorder.add(x.read(row["request"], row["response"]), names)
    return recorder.report()


def evicted_rows() -> list[Row]:
    """The rows of a session that its broker evicts."""
    return session(rows_of("fetch-session-eviction"), 0)
