"""Rounds of a group's members that join together: the live ones have as many members as the captured ones.

Which of several members a coordinator takes into one generation is decided by the moment. A member whose round was too
small joins again, as a client does that learns of another member, and so does who was in that round with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from kcli.capture.kafka.exchange import Exchange

MOST = 10_000  # live rounds that are remembered
LEADER_SECONDS = 1.0  # how long members wait for what their leader was told

Round = tuple[str, int]  # a group and its generation


class Rounds:
    """Those of one client of all groups. captured: how many members each round had."""

    def __init__(self, captured: Mapping[Round, int]) -> None:
        self.captured = captured
        self.small: dict[Round, asyncio.Future[bool]] = {}  # live ones: whether they have fewer

    async def is_small(self, captured: Exchange, live: Mapping[str, Any]) -> bool:
        """Return whether a live JoinGroup's answer is of a round that has fewer members than the captured one."""
        if captured.response is None or captured.response["errorCode"] or live["errorCode"]:
            return False
        group = captured.request["groupId"]
        size = self.captured.get((group, captured.response["generationId"]), 1)
        if size == 1:
            return False
        known = self.round(group, live["generationId"])
        if live["members"] and not known.done():  # the leader is told of all
            known.set_result(len(live["members"]) < size)
        await asyncio.wait([known], timeout=LEADER_SECONDS)
        return known.done() and known.result()

    def round(self, group: str, generation: int) -> asyncio.Future[bool]:
        """Return the state of a live round after its leader got its response."""
        if len(self.small) > MOST:
            del self.small[next(iter(self.small))]
        return self.small.setdefault((group, generation), asyncio.get_running_loop().create_future())
