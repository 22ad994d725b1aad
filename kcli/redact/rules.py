"""The rule of redaction for each field of Kafka's messages. Rules follow from the message tables, so that a new message
is safe.

Numbers stay. A string is a name, and is replaced by one of its shape, unless its field is listed here as something
else. Kafka's own words (states, assignors, features, names of configs) stay in the fields that have such words. Bytes
are left out, except those whose grammar is known. docs/how-to/redact.md shows this as a table for users.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

from kcli.schemas.catalog import catalog
from kcli.schemas.config_names import PASSWORDS, PLAIN
from kcli.schemas.model import Field
from kcli.topic_names import CLUSTER_METADATA

Method = Literal["name", "text", "host", "principal", "resource", "coordinator", "address", "uuid", "frame", "inside",
              "mechanism", "login", "records", "nothing"]  # fmt: skip

# The kinds that `--keep` can name.
KINDS = ("topics", "groups", "clients", "transactions", "principals", "hosts", "addresses", "racks", "clusters")


class FieldRule(NamedTuple):
    """The rule of redaction for a field.

    method: "name", "host", "principal" (TYPE:NAME), "resource" (a name, or a broker's number), "coordinator" (a group,
    a transactional id, or group:topic id:partition), "address", "uuid"; "text" and "nothing": only the size stays;
    "frame": a message with its header; "inside": the message `inside` after its version; "mechanism", "login": the
    mechanism that a SASL client asks for, and the tokens it sends; "records". kind: one of KINDS; None: is never kept.
    words: words that stay.
    """

    method: Method
    kind: str | None = None
    words: frozenset[str] = frozenset()
    inside: str = ""


def stays(rule: FieldRule, keep: frozenset[str]) -> bool:
    """Return whether a field stays because its kind is kept. A host may be an address, which is a kind of its own."""
    return rule.kind in keep and (rule.method != "host" or "addresses" in keep)


NO_RULE = FieldRule("nothing")  # for fields that the tables lack


def words(text: str) -> frozenset[str]:
    """Split a text into its words."""
    return frozenset(text.split())


KIND_OF_NAME: Mapping[str, str] = {
    name: kind
    for kind, names in {
        "topics": "topic topicName topicNames topics topicId subscribedTopicNames sourceTopics sinkTopic"
        " repartitionSinkTopics",
        "groups": "group groupId groupIds groups groupsNames",
        "clients": "clientId clientSoftwareName clientSoftwareVersion memberId leader groupInstanceId instanceId"
        " clientInstanceId processId",
        "transactions": "transactionalId transactionalIds v3AndBelowTransactionalId",
        "principals": "user owner requester renewers ownerPrincipalName principalName tokenRequesterPrincipalName",
        "racks": "rack rackId racks",
        "clusters": "clusterId",
    }.items()
    for name in names.split()
}

METADATA = frozenset({CLUSTER_METADATA})

# The fields and messages whose field `name` is a topic, or a user.
TOPICS = words(
    "topics topicData responses v3AndBelowTopics resultsByTopicV3AndBelow topicResults repartitionSourceTopics"
    " stateChangelogTopics TopicRecord"
)
USERS = words(
    "users deletions upsertions UserScramCredentialRecord RemoveUserScramCredentialRecord DefaultPrincipalData"
)

STATES = words(
    "Unknown Stable Empty Dead PreparingRebalance CompletingRebalance Assigning Reconciling NotReady Ongoing"
    " PrepareCommit PrepareAbort CompleteCommit CompleteAbort PrepareEpochFence classic consumer share streams"
    " Classic Consumer Share Streams"
)
ASSIGNORS = words("range roundrobin sticky cooperative-sticky uniform simple default compatible sessioned")
FEATURES = words(
    "metadata.version kraft.version group.version transaction.version share.version streams.version"
    " eligible.leader.replicas.version"
)
LISTENERS = words("PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL CONTROLLER EXTERNAL INTERNAL BROKER CLIENT")
QUOTAS = words(
    "producer_byte_rate consumer_byte_rate request_percentage controller_mutation_rate connection_creation_rate"
)

# The words that stay, by field; fields called `name` or `key` with the field or message that has them.
WORDS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("groupState", "groupType", "transactionState"), STATES),
    **dict.fromkeys(("statesFilter", "typesFilter", "stateFilters", "unknownStateFilters"), STATES),
    **dict.fromkeys(("mechanism", "mechanisms"),
                    words("PLAIN GSSAPI OAUTHBEARER SCRAM-SHA-256 SCRAM-SHA-512")),
    "protocolType": frozenset({"consumer", "connect"}),
    **dict.fromkeys(("protocol", "protocolName", "protocolData", "assignorName", "serverAssignor"), ASSIGNORS),
    **dict.fromkeys(("protocols.name", "supportedProtocols.name", "assignors.name", "clientAssignors.name"), ASSIGNORS),
    **dict.fromkeys(("feature", "features.name", "supportedFeatures.name", "finalizedFeatures.name"), FEATURES),
    **dict.fromkeys(("FeatureLevelRecord.name", "RemoveFeatureLevelRecord.name"), FEATURES),
    **dict.fromkeys(("listener", "listeners.name", "endPoints.name", "leaderEndpoints.name", "endpoints.name"),
                    LISTENERS),
    **dict.fromkeys(("ops.key", "values.key", "ClientQuotaRecord.key"), QUOTAS),
    **dict.fromkeys(("configs.name", "synonyms.name", "configurationKeys", "topicConfigs.key",
                     "lastAssignmentConfigs.key", "ConfigRecord.name"), PLAIN | PASSWORDS),
    "entityType": frozenset({"user", "client-id", "ip"}),
    **dict.fromkeys(("principalType", "ownerPrincipalType", "tokenRequesterPrincipalType",
                     "DefaultPrincipalData.type"), frozenset({"User"})),
}  # fmt: skip

# The rules of strings that are not names, by field.
FIELD_RULES: Mapping[str, FieldRule] = {
    **dict.fromkeys(("host", "clientHost", "hostFilter", "hostName", "v0Host"), FieldRule("host", "hosts")),
    **dict.fromkeys(("principal", "principalFilter"), FieldRule("principal", "principals")),
    **dict.fromkeys(("resourceName", "resourceNameFilter"), FieldRule("resource")),
    **dict.fromkeys(("key", "coordinatorKeys"), FieldRule("coordinator")),
    **dict.fromkeys(("acknowledgeErrorMessage", "batchIndexErrorMessage", "errorMessage", "reason", "documentation",
                     "statusDetail", "value", "metadata", "committedMetadata"), FieldRule("text")),
}  # fmt: skip
BYTES: Mapping[str, FieldRule] = {
    "clientHostAddress": FieldRule("address", "addresses"),
    "requestData": FieldRule("frame"),
    "responseData": FieldRule("frame"),
    "authBytes": FieldRule("login"),
    "requestPrincipal": FieldRule("inside", inside="DefaultPrincipalData"),
    "subscription": FieldRule("inside", inside="ConsumerProtocolSubscription"),
    "memberMetadata": FieldRule("inside", inside="ConsumerProtocolSubscription"),
    "metadata": FieldRule("inside", inside="ConsumerProtocolSubscription"),
    "assignment": FieldRule("inside", inside="ConsumerProtocolAssignment"),
    "memberAssignment": FieldRule("inside", inside="ConsumerProtocolAssignment"),
}
COORDINATORS = ("FindCoordinatorRequest", "FindCoordinatorResponse")


@cache
def rules_of(message: str, dialect: str | None = None) -> Mapping[str, FieldRule]:
    """Return the rules of a message's fields that are not numbers, by path without indices, for all its layouts."""
    found = catalog(dialect).message(message)
    rules: dict[str, FieldRule] = {}
    for fields in (found.fields, *(variant.message.fields for variant in found.variants)):
        collect(rules, fields, message, "")
    return rules


def collect(rules: dict[str, FieldRule], fields: tuple[Field, ...], holder: str, path: str) -> None:
    """Add the rules of fields and of their subfields. holder: the field that has them, or the message."""
    for field in fields:
        place = f"{path}{field.name}"
        if field.fields:
            collect(rules, field.fields, field.name, f"{place}.")
            continue
        kind = field.type.removeprefix("[]")
        if kind == "string":
            rules[place] = rule_of_string(field.name, holder)
        elif kind == "bytes":
            rules[place] = BYTES.get(field.name, FieldRule("nothing"))
        elif kind == "uuid":
            rules[place] = FieldRule("uuid", KIND_OF_NAME.get(field.name))
        elif kind == "records":
            rules[place] = FieldRule("records")


def rule_of_string(name: str, holder: str) -> FieldRule:
    """Return the rule of a string, by its name and the field or message that has it."""
    kept = WORDS.get(f"{holder}.{name}") or WORDS.get(name)
    if kept is not None:
        return FieldRule("mechanism" if name == "mechanism" else "name", words=kept)
    if name == "key" and holder not in ("coordinators", *COORDINATORS):
        return FieldRule("name")
    if name == "name" and holder in TOPICS | USERS:
        return name_of("topics" if holder in TOPICS else "principals")
    return FIELD_RULES.get(name) or name_of(KIND_OF_NAME.get(name))


def name_of(kind: str | None) -> FieldRule:
    """Return the rule for names of that kind. Kafka's metadata log has a well-known id, which reveals its name
    anyway.
    """
    return FieldRule("name", kind, METADATA if kind == "topics" else frozenset())
