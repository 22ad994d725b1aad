"""Replays one fetcher at the brokers rebuilt from its capture: each request unchanged, to the node that it went to.

Session ids, epochs, offsets and the order of partitions are the captured ones, whatever the responses are. A different
response does not change the next requests, so that each difference comes from the broker, and is found once.
"""

from __future__ import annotations

from kcli.replay.sessions.fetching import Fetching
from kcli.replay.sessions.live_fetch import LiveFetch
from kcli.replay.sessions.plan import ReplayStep
from kcli.sessions.trace import TOPIC_IDS_SINCE, Captured, Key
from kcli.sessions.values import FetchRequest, Position


class VerbatimFetching(Fetching):
    """The fetches of one captured client, unchanged. `brokers` is required."""

    async def finish(self) -> None:
        """Leave sessions in their captured state."""

    async def run_step(self, step: ReplayStep) -> LiveFetch:
        captured = step.captured
        assert self.brokers is not None
        if step.reconnect:
            await self.close()
        number = self.brokers.node(captured)
        if number is None:
            number = await self.nodes.any_number()
        await self.nodes.open(number, captured.replica_id)
        if step is self.fetcher.steps[0]:
            steps = [each.captured for each in self.fetcher.steps]
            self.brokers.adopt(self.fetcher.label, steps, self.fetcher.carried)
        version = self.nodes.version(self.nodes.by_number[number], captured.version)
        self.rhythm.sending(step)
        live, _, problem = await self.exchange(number, captured, self.captured_request(captured, version), version)
        self.keys.translate(live)
        return LiveFetch(step, live, problem)

    def captured_request(self, captured: Captured, version: int) -> FetchRequest:
        """Return the captured request, with the rebuilt brokers' topics."""
        positions = {
            self.key(key): Position(offset, start, most, *epochs)
            for key, (offset, start, most, *epochs) in captured.asked
        }
        return FetchRequest(
            captured.session_id,
            captured.session_epoch,
            positions,
            tuple(map(self.key, captured.forgotten)),
            version >= TOPIC_IDS_SINCE,
            captured.replica_id,
        )

    def key(self, captured: Key) -> Key:
        """Return the partition by the name that the rebuilt brokers use."""
        assert self.brokers is not None
        made = self.brokers.key(captured)
        self.keys.captured[made] = captured
        return made
