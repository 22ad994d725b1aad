"""Share sessions of a node: which partitions a member of a share group fetches, request by request (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable

from kcli.broker.partition import Key
from kcli.records.acceptance import RefusedError

FIRST, LAST = 0, -1
LARGEST = (1 << 31) - 1


class ShareSession:
    """epoch: of the next request; partitions: those it fetches, in their order."""

    def __init__(self) -> None:
        self.epoch = 1
        self.partitions: dict[Key, None] = {}

    def follow(self, added: Iterable[Key], forgotten: Iterable[Key]) -> None:
        """Fetch other partitions, too, and some not any more."""
        self.partitions |= dict.fromkeys(added)
        for each in forgotten:
            self.partitions.pop(each, None)

    def rotate(self) -> None:
        """Rotate the partitions, so that another one is first the next time."""
        first = next(iter(self.partitions), None)
        if first is not None:
            self.partitions[first] = self.partitions.pop(first)


class ShareSessions:
    """The sessions by group and member. most: how many at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._sessions: dict[tuple[str, str], ShareSession] = {}

    def fetch(self, group: str, member: str, epoch: int) -> ShareSession:
        """Return the session of a fetch: a new one for epoch 0, and none is left with epoch -1. RefusedError."""
        if epoch != FIRST:
            return self.known(group, member, epoch)
        if len(self._sessions) >= self.most and (group, member) not in self._sessions:
            raise RefusedError("SHARE_SESSION_LIMIT_REACHED", f"there are {self.most} share sessions")
        made = self._sessions[group, member] = ShareSession()
        return made

    def known(self, group: str, member: str, epoch: int) -> ShareSession:
        """Return a session that goes on, or ends with epoch -1. RefusedError: there is none, or it is at another."""
        session = self._sessions.get((group, member))
        if session is None:
            raise RefusedError("SHARE_SESSION_NOT_FOUND", f"no share session of member {member}")
        if epoch == LAST:
            del self._sessions[group, member]
            return session
        if epoch != session.epoch:
            raise RefusedError("INVALID_SHARE_SESSION_EPOCH", f"epoch {epoch}: {session.epoch} expected")
        session.epoch = session.epoch + 1 if session.epoch < LARGEST else 1
        return session
