"""Makes the live requests of a replay: captured ones with live names, ids and sequences, in a version of the broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kcli.capture.kafka.exchange import Exchange
from kcli.client.handshake import Session
from kcli.grammar import frames
from kcli.records.acceptance import MAGIC_2_SINCE
from kcli.replay.produced_batches import renumbered, to_magic_2, without_refused
from kcli.replay.traffic.destinations import Destinations
from kcli.replay.traffic.mapping import Mapper
from kcli.replay.traffic.positions import LivePositions
from kcli.replay.traffic.producers import Producers
from kcli.replay.traffic.rhythm import CapturedRhythm
from kcli.replay.traffic.versions import converted
from kcli.schemas.apikeys import CREATE_TOPICS, FETCH, JOIN_GROUP, PRODUCE


class Learnt(Protocol):
    """The knowledge of the live cluster that requests need."""

    suffix: str
    mapper: Mapper
    producers: Producers
    destinations: Destinations
    rhythm: CapturedRhythm
    free: bool


class Requests:
    """Makes the live requests of one client."""

    def __init__(self, learnt: Learnt, positions: LivePositions) -> None:
        """Prepare requests. positions: of the connection's fetches."""
        self.learnt, self.positions = learnt, positions

    def body(self, exchange: Exchange, version: int, session: Session) -> Mapping[str, Any]:
        """Return the live request's body. Raises SchemaError, EncodeError if the captured one has no form in this
        version.
        """
        key, topics = exchange.api_key, self.learnt.mapper.topics
        body: Mapping[str, Any] = self.learnt.mapper.request(key, exchange.request, exchange.link.server)
        if key == FETCH:
            body = dict(body)
            if self.learnt.free:
                scale = self.learnt.rhythm.scale
                body["maxWaitMs"] = int(body["maxWaitMs"] / scale) if scale else 0
            self.positions.request(exchange.request, body)
        if key == PRODUCE:
            body = self.with_records(exchange, body, version)
        elif key == CREATE_TOPICS:
            body = self.learnt.destinations.placed(body)
        return converted(key, body, exchange.api_version, version, topics, session.dialect)

    def framed(self, exchange: Exchange, version: int, session: Session, body: Mapping[str, Any]) -> bytes:
        """Return the live request's frame. Raises EncodeError."""
        header = {name: item for name, item in exchange.header.items() if name != "requestApiKeyName"}
        if version != exchange.api_version:
            header = {name: item for name, item in header.items() if not name.startswith("_")}
        header |= {"requestApiVersion": version, "correlationId": session.connection.next_correlation()}
        if header.get("clientId") is not None:
            header["clientId"] += self.learnt.suffix
        return frames.encode_request(header, dict(body), session.dialect)

    def again(self, frame: bytes, exchange: Exchange, version: int, session: Session) -> bytes:
        """Return the frame of a request that is sent again. A Produce keeps its sequences."""
        if exchange.api_key != PRODUCE:
            body = self.body(exchange, version, session)
            if exchange.api_key == JOIN_GROUP:  # the member may have its id by now
                known = self.learnt.mapper.identities.members.get((exchange.response or {}).get("memberId", ""))
                body = {**body, "memberId": known or body["memberId"]}
            return self.framed(exchange, version, session, body)
        return frame[:4] + session.connection.next_correlation().to_bytes(4, "big") + frame[8:]

    def with_records(self, exchange: Exchange, body: Mapping[str, Any], version: int) -> dict[str, Any]:
        """Return a Produce with the producer fields of its batches replaced by live ones."""
        topics = []
        for captured, topic in zip(exchange.request["topicData"], body["topicData"], strict=True):
            name = self.learnt.mapper.topics.captured_name(captured.get("topicId") or captured["name"])
            kept = without_refused(captured, topic["partitionData"], exchange.response)
            parts = [dict(part) | {"records": self.records(part, name, version)} for part in kept]
            topics.append(topic | {"partitionData": parts})
        return dict(body) | {"topicData": [each for each in topics if each["partitionData"]]}

    def records(self, part: Mapping[str, Any], topic: str, version: int) -> bytes | None:
        """Return the batches of a partition, for this version of Produce."""
        data = part["records"]
        if not data:
            return None if data is None else bytes(data)
        numbers = self.learnt.producers.renumbered
        data = renumbered(bytes(data), lambda old, count: numbers(old, count, topic, part["index"]))
        return to_magic_2(data) if version >= MAGIC_2_SINCE else data
