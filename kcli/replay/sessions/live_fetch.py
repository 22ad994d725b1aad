"""The live exchange of one step of a replay, merged if several brokers responded."""

from kcli.replay.sessions.plan import ReplayStep
from kcli.sessions.fetch_exchange import Captured


class LiveFetch:
    """One step at live brokers. live: its exchange, in captured partitions; problem: a text, "" without one."""

    def __init__(self, step: ReplayStep, live: Captured, problem: str = "") -> None:
        self.step, self.live, self.problem = step, live, problem


def merged(parts: list[Captured], full: bool) -> Captured:
    """Merge fetches of one step from several brokers: all partitions, the first error, bytes summed.

    full: whether the captured fetch was a full one. A live fetch of the same kind comes first and keeps its session id
    and epoch, because a session with a new leader begins in full while the others continue.
    """
    first, *others = sorted(parts, key=lambda part: (part.session_epoch <= 0) != full)
    for other in others:
        first.asked += other.asked
        first.reported += other.reported
        first.forgotten += other.forgotten
        first.request_bytes += other.request_bytes
        first.response_bytes += other.response_bytes
        first.error = first.error or other.error
        if other.response_ns is not None and first.response_ns is not None:
            first.response_ns = max(first.response_ns, other.response_ns)
    return first
