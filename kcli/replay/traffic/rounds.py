"""Rounds of a group's members that join together: live rounds get as many members as the captured ones.

Timing decides which members a coordinator takes into one generation. A member whose round was too small joins again, as
a client does that learns of another member, and so do the others in that round.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from kcli.capture.kafka.exchange import Exchange

MOST = 10_000  # the most live rounds that are remembered
LEADER_SECONDS = 1.0  # how long members wait for their leader's response

Round = tuple[str, int]  # a group and its generation


class Rounds:
    """The rounds of one client of all groups. captured: number of members in each captured round."""

    def __init__(self, captured: Mapping[Round, int]) -> None:
        self.captured = captured
        self.small: dict[Round, asyncio.Future[bool]] = {}  # {live round: whether it has fewer members}

    async def is_small(self, captured: Exchange, live: Mapping[str, Any]) -> bool:
        """Return whether a live JoinGroup's response is of a round with fewer members than the captured one."""
        if captured.response is None or captured.response["errorCode"] or live["errorCode"]:
            return False
        group = captured.request["groupId"]
        size = self.captured.get((group, captured.response["generationId"]), 1)
        if size == 1:
            return False
        known = self.round(group, live["generationId"])
        if live["members"] and not known.done():  # only the leader's response lists the members
            known.set_result(len(live["members"]) < size)
        await asyncio.wait([known], timeout=LEADER_SECONDS)
        return known.done() and known.result()

    def round(self, group: str, generation: int) -> asyncio.Future[bool]:
        """Return the future of a live round; its leader's response sets whether the round is small."""
        if len(self.small) > MOST:
            del self.small[next(iter(self.small))]
        return self.small.setdefault((group, generation), asyncio.get_running_loop().create_future())
