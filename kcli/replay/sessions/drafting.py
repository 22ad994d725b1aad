"""Replays a fetcher in the third draft of KIP-227: a client of that draft sends the captured fetches.

A full fetch (Fetch v7 of the dialect) registers the partitions, and its response has a uuid. IncrementalFetch names the
uuid and the partitions that moved. Another set of partitions needs a full fetch. The exchanges are reported in the
terms of the final design.
"""

from collections.abc import Mapping
from typing import Any

from kcli.client.calls import Call, call_of
from kcli.client.fetch_wire import session_response
from kcli.client.handshake import Session
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.replay.sessions.fetching import Fetching, Stage
from kcli.replay.sessions.plan import Fetcher, ReplayStep
from kcli.schemas.apikeys import FETCH, INCREMENTAL_FETCH
from kcli.sessions.draft import NO_UUID, DraftClient, DraftRequest, DraftResponse
from kcli.sessions.draft_exchange import DIALECT, FULL_VERSION, plain_response
from kcli.sessions.fetch_exchange import Captured
from kcli.sessions.values import Position


class DraftFetching(Fetching):
    """The fetches of one client in the draft. Its sessions have no id and no epoch: the report has epoch 0 for a full
    fetch, 1 for the others.
    """

    dialect = DIALECT

    def __init__(self, fetcher: Fetcher, config: ClientConfig, stage: Stage) -> None:
        super().__init__(fetcher, config, stage)
        self.drafts: dict[int, DraftClient] = {}

    async def finish(self) -> None:
        """Leave sessions open, because the draft has no way to close one."""

    async def fetch(self, number: int, step: ReplayStep) -> tuple[Captured, str]:
        """Send a step as a fetch of KIP-227's draft. Returns (exchange in the final protocol's terms, problem or
        "").
        """
        node = self.nodes.by_number[number]
        assert node.link is not None
        check_draft(node.link)
        draft = self.drafts.setdefault(number, DraftClient(client_id=self.config["client.id"]))
        request = self.next_request(number, draft)
        made, body = self.body(request, step.captured)
        live, response, problem = await self.ask(number, step.captured, made, FULL_VERSION, body)
        if response is None:
            draft.lose(request)
            self.keys.translate(live.read(in_final_terms(request, body), None))
            return live, problem
        reported = response if request.uuid is None else plain_response(response)
        uuid, error_code = response["uuid"], response.get("errorCode", 0)
        final = {**reported, "errorCode": error_code, "sessionId": int(uuid != NO_UUID)}
        live.read(in_final_terms(request, body), final)
        good = draft.accept(request, DraftResponse(error_code, uuid, session_response(live).partitions))
        self.take_records(final)
        self.keys.translate(live)
        return live, "" if good else f"error {error_code}" if error_code else "the answer is not the request's"

    def next_request(self, number: int, draft: DraftClient) -> DraftRequest:
        """Return a node's next request, for the partitions that are wanted there."""
        self.update_machine(number, draft, FULL_VERSION)
        return draft.build()

    def body(self, request: DraftRequest, captured: Captured) -> tuple[Call, dict[str, Any]]:
        """Return the call and the body of a request of the draft."""
        limits = self.limits(captured)
        if request.uuid is None:
            topics = rows(request, "topic", full_row)
            body = {
                "maxWaitMs": limits.max_wait_ms,
                "minBytes": limits.min_bytes,
                "maxBytes": limits.max_bytes,
                "isolationLevel": limits.isolation,
                "topics": topics,
            }
            return call_of(FETCH, FULL_VERSION, DIALECT), body
        body = {
            "uuid": request.uuid,
            "maxWaitTime": limits.max_wait_ms,
            "minBytes": limits.min_bytes,
            "isolationLevel": limits.isolation,
            "topics": rows(request, "topicName", moved_row),
        }
        return call_of(INCREMENTAL_FETCH, 0, DIALECT), body


def check_draft(link: Session) -> None:
    if link.dialect != DIALECT:
        raise NetworkError(
            f"{link.versions.broker} does not speak the draft {DIALECT} (it has no IncrementalFetch, api key"
            f" {INCREMENTAL_FETCH})"
        )


def rows(request: DraftRequest, field: str, row: Any) -> list[dict[str, Any]]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, index), position in request.partitions.items():
        topics.setdefault(topic, []).append(row(index, position))
    return [{field: topic, "partitions": parts} for topic, parts in topics.items()]


def full_row(index: int, position: Position) -> dict[str, Any]:
    return {
        "partition": index,
        "fetchOffset": position.fetch_offset,
        "logStartOffset": position.log_start_offset,
        "partitionMaxBytes": position.max_bytes,
    }


def moved_row(index: int, position: Position) -> dict[str, Any]:
    """Return the row of a partition that moved. The draft's request has the partition's number as decimal digits."""
    return {
        "partitionId": str(index),
        "fetchOffset": position.fetch_offset,
        "startOffset": position.log_start_offset,
        "maxBytes": position.max_bytes,
    }


def in_final_terms(request: DraftRequest, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of the draft as a Fetch request of the final design."""
    return {
        **body,
        "sessionId": 0 if request.uuid is None else 1,
        "sessionEpoch": 0 if request.uuid is None else 1,
        "topics": rows(request, "topic", full_row),
    }
