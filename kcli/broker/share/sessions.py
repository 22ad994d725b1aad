"""The share sessions of a node: the partitions that each member of a share group fetches (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcli.broker.partition import Key
from kcli.records.acceptance import RefusedError

if TYPE_CHECKING:
    from kcli.broker.share.group import ShareGroup

FIRST, LAST = 0, -1
LARGEST = (1 << 31) - 1


class ShareSession:
    """A share session. epoch: of the next request; partitions: those that it fetches, in order.

    client: the connection that began the session and ends it.
    """

    def __init__(self, group: ShareGroup, member: str, client: object) -> None:
        self.group, self.member, self.client = group, member, client
        self.epoch = 1
        self.partitions: dict[Key, None] = {}

    def follow(self, added: Iterable[Key], forgotten: Iterable[Key]) -> None:
        """Add and remove partitions; release the member's records of removed ones."""
        self.partitions |= dict.fromkeys(added)
        forgotten_keys = list(forgotten)
        for each in forgotten_keys:
            self.partitions.pop(each, None)
        self._release(forgotten_keys)

    def release(self) -> None:
        """Release the records that the member acquired, as its session ends."""
        self._release(self.partitions)

    def _release(self, partitions: Iterable[Key]) -> None:
        for key in partitions:
            if key in self.group.partitions:
                self.group.partitions[key].release_all(self.member)

    def rotate(self) -> None:
        """Move the first partition to the end, so that another one is first in the next response."""
        first = next(iter(self.partitions), None)
        if first is not None:
            self.partitions[first] = self.partitions.pop(first)


class ShareSessions:
    """The sessions by group and member. most: the limit on their number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._sessions: dict[tuple[str, str], ShareSession] = {}

    def fetch(self, group: ShareGroup, member: str, epoch: int, client: object) -> ShareSession:
        """Return the session of a fetch. Epoch 0 begins a new one; -1 removes it. Raises RefusedError."""
        if epoch != FIRST:
            return self.known(group, member, epoch)
        if len(self._sessions) >= self.most and (group.id, member) not in self._sessions:
            raise RefusedError("SHARE_SESSION_LIMIT_REACHED", f"there are {self.most} share sessions")
        made = self._sessions[group.id, member] = ShareSession(group, member, client)
        return made

    def known(self, group: ShareGroup, member: str, epoch: int) -> ShareSession:
        """Return an existing session and advance its epoch; epoch -1 removes it.

        Raises RefusedError if there is none, or its epoch is another.
        """
        session = self._sessions.get((group.id, member))
        if session is None:
            raise RefusedError("SHARE_SESSION_NOT_FOUND", f"no share session of member {member}")
        if epoch == LAST:
            del self._sessions[group.id, member]
            return session
        if epoch != session.epoch:
            raise RefusedError("INVALID_SHARE_SESSION_EPOCH", f"epoch {epoch}: {session.epoch} expected")
        session.epoch = session.epoch + 1 if session.epoch < LARGEST else 1
        return session

    def disconnect(self, client: object) -> None:
        """End the sessions that a connection began, and release the records of their members."""
        for key, session in [each for each in self._sessions.items() if each[1].client is client]:
            del self._sessions[key]
            session.release()
