"""Compares a captured response with the live one to the same request; differences are named by Kafka's fields."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from kcli.errors import InputError
from kcli.grammar.secrets import Hidden, is_hidden_config
from kcli.records.batches import scan
from kcli.redact.rules import words
from kcli.replay.traffic.fields import FieldPlan, plan_of
from kcli.replay.traffic.identities import Identities, Scope
from kcli.replay.traffic.mapping import aligned, scope_in
from kcli.schemas.apikeys import API_VERSIONS, DESCRIBE_CLUSTER, FETCH, METADATA, SHARE_FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import ALWAYS, secret_fields

Level = Literal["none", "errors", "shape", "strict"]
LEVELS: tuple[Level, ...] = ("none", "errors", "shape", "strict")
Body = Mapping[str, Any]

# Fields of a response that depend on the cluster and its clock, not on the request.
OF_CLUSTER = words(
    "throttleTimeMs host port rack clusterId controllerId brokers nodeEndpoints logAppendTimeMs timestamp"
    " replicaNodes isrNodes offlineReplicas leaderId nodeId leaderEpoch epoch eligibleLeaderReplicas lastKnownElr"
    " endpoints preferredReadReplica sessionLifetimeMs errorMessage batchIndexErrorMessage metadata clientHost"
    " timeoutMs supportedFeatures finalizedFeatures finalizedFeaturesEpoch zkMigrationReady"
    " sessionId topicAuthorizedOperations clusterAuthorizedOperations highWatermark lastStableOffset"
)
# The partitions in a response of these APIs depend on timing, so that their sums by API are compared instead.
OF_THE_MOMENT = frozenset([FETCH, SHARE_FETCH])
# APIs whose responses also name other objects of the cluster.
OF_THE_WHOLE = frozenset([API_VERSIONS, METADATA, DESCRIBE_CLUSTER])


def differences(
    api_key: int, captured: Body, live: Body, identities: Identities, level: Level, dialect: str | None = None
) -> Iterator[str]:
    """Yield the differences of two responses of one API in their common form: "topics.partitions.errorCode: 0, live 3".

    level: "shape" compares errors and the entries that are answered, "strict" every value except the cluster's own
    """
    if level not in ("shape", "strict") or api_key == API_VERSIONS:
        return
    message = catalog(dialect).known(api_key).response
    partial = api_key in OF_THE_MOMENT | OF_THE_WHOLE
    comparer = Comparer(identities, secret_fields(message), strict=level == "strict", partial=partial)
    yield from comparer.compare(captured, live, plan_of(message, dialect), Spot(Scope()))


class Spot(NamedTuple):
    """A place in two responses. resource: the type of the resource that the configs there belong to."""

    scope: Scope
    path: str = ""
    resource: int = 0


class Comparer:
    """Compares two responses. secrets: as kcli.schemas.secrets.secret_fields, of which only sizes are shown; partial:
    entries may be on one side only.
    """

    def __init__(self, identities: Identities, secrets: Mapping[str, str], *, strict: bool, partial: bool) -> None:
        self.identities, self.secrets, self.strict, self.partial = identities, secrets, strict, partial

    def compare(self, captured: Body, live: Body, plan: FieldPlan | None, outer: Spot) -> Iterator[str]:
        """Yield the differences of two structs. outer: the place of the structs."""
        scope = outer.scope if plan is None else scope_in(captured, plan, outer.scope, self.identities)
        resource = captured.get("resourceType", outer.resource)
        for name, value in captured.items():
            if name not in live or name in OF_CLUSTER or name.startswith("_"):
                continue
            other, spot = live[name], Spot(scope, f"{outer.path}.{name}" if outer.path else name, resource)
            if name.endswith("rrorCode"):
                if value != other:
                    yield f"{spot.path}: {value}, live {other}"
            elif self.strict and value != other and self.is_secret(spot, captured):
                yield f"{spot.path}: {brief(hidden(value))}, live {brief(hidden(other))}"
            else:
                yield from self.compare_items(value, other, None if plan is None else plan.fields.get(name), spot)

    def is_secret(self, spot: Spot, captured: Body) -> bool:
        how = self.secrets.get(spot.path)
        return how is not None and (how == ALWAYS or is_hidden_config(captured, spot.resource))

    def compare_items(self, captured: Any, live: Any, field_plan: str | FieldPlan | None, spot: Spot) -> Iterator[str]:
        """Yield the differences of two fields, or two entries of lists."""
        if isinstance(captured, dict) and isinstance(live, dict):
            yield from self.compare(captured, live, field_plan if isinstance(field_plan, FieldPlan) else None, spot)
        elif isinstance(captured, list) and isinstance(live, list):
            if not self.partial and len(captured) != len(live):
                yield f"{spot.path}: {len(captured)} entries, live {len(live)}"
            for left, right in aligned(captured, live, self.identities):
                yield from self.compare_items(left, right, field_plan, spot)
        elif self.strict:
            yield from self.compare_values(captured, live, field_plan, spot)

    def compare_values(self, captured: Any, live: Any, field_plan: Any, spot: Spot) -> Iterator[str]:
        if field_plan == "records":
            if not self.partial and content_of(captured) != content_of(live):
                yield f"{spot.path}: other records"
            return
        if field_plan in ("inside", "node", "leader epoch"):
            return
        is_same = field_plan is None or captured is None
        expected = captured if is_same else self.identities.live(field_plan, captured, spot.scope)
        if expected != live:
            yield f"{spot.path}: {brief(expected)}, live {brief(live)}"


def hidden(secret: bytes | str | None) -> Hidden | None:
    """Return the redacted form of a secret; None without a secret."""
    if secret is None:
        return None
    return Hidden(len(secret.encode(errors="surrogatepass") if isinstance(secret, str) else secret))


def brief(value: Any) -> str:
    if isinstance(value, Hidden):
        return f"({value!r})"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def content_of(data: Any) -> list[tuple[Any, ...]]:
    """Return [(key, value, headers)] of a records field; its bytes if it can't be decoded."""
    if not data:
        return []
    try:
        return [(row.key, row.value, row.headers) for batch in scan(data, check=False, damages=[])
                for row in batch.records()]  # fmt: skip
    except InputError:
        return [(bytes(data),)]


def records_in(body: Body, plan: FieldPlan) -> Iterator[bytes]:
    """Yield every records field with content in a message."""
    for name, field_plan in plan.fields.items():
        item = body.get(name)
        if not item:
            continue
        if field_plan == "records":
            yield item
        elif isinstance(field_plan, FieldPlan):
            for each in item if isinstance(item, list) else (item,):
                yield from records_in(each, field_plan)
