"""Objects of a metadata image as text in the form of `kafka-metadata-shell` (4.3), and Kafka's names for codes."""

from base64 import b64decode
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from kcli.calendar import moment_text
from kcli.jsontext import float_word
from kcli.schemas.acl_codes import Operation, Pattern, Permission, Resource
from kcli.schemas.field_codes import ConfigResource, names_of
from kcli.schemas.secrets import SCRAM_KEYS
from kcli.snapshots.image.image import Image, Partition, Provenance
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.rules.levels import level_name

Value = dict[str, Any]
HIDDEN = "[hidden]"

CONFIG_TYPES = names_of(ConfigResource)
RESOURCE_TYPES, PATTERN_TYPES = ({each.value: each.name for each in codes} for codes in (Resource, Pattern))
ACL_OPERATIONS, PERMISSIONS = ({each.value: each.name for each in codes} for codes in (Operation, Permission))
SCRAM_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
RECOVERY = {0: "RECOVERED", 1: "RECOVERING"}
ZK_MIGRATION_STATES = dict(enumerate(["NONE", "MIGRATION", "PRE_MIGRATION", "POST_MIGRATION"]))  # their order differs


def named(names: dict[int, str], code: int) -> str:
    """Return Kafka's name for a code, or the number."""
    return names.get(code, str(code))


def list_text(items: Iterable[object]) -> str:
    return f"[{', '.join(map(str, items))}]"


def partition_text(partition: Partition) -> str:
    """Format a partition as Kafka's PartitionRegistration.toString."""
    return (
        f"PartitionRegistration(replicas={list_text(partition['replicas'])}, "
        f"directories={list_text(partition['directories'])}, isr={list_text(partition['isr'])}, "
        f"removingReplicas={list_text(partition['removingReplicas'])}, "
        f"addingReplicas={list_text(partition['addingReplicas'])}, "
        f"elr={list_text(partition['eligibleLeaderReplicas'])}, "
        f"lastKnownElr={list_text(partition['lastKnownElr'])}, leader={partition['leader']}, "
        f"leaderRecoveryState={named(RECOVERY, partition['leaderRecoveryState'])}, "
        f"leaderEpoch={partition['leaderEpoch']}, partitionEpoch={partition['partitionEpoch']})"
    )


def broker_text(broker: Value) -> str:
    """Format a broker as Kafka's BrokerRegistration.toString."""
    rack = broker.get("rack")
    return (
        f"BrokerRegistration(id={broker['brokerId']}, epoch={broker['brokerEpoch']}, "
        f"incarnationId={broker['incarnationId']}, {endpoints_text(broker)}, {features_text(broker)}, "
        f"rack={'Optional.empty' if rack is None else f'Optional[{rack}]'}, "
        f"fenced={java_bool(broker.get('fenced', True))}, "
        f"inControlledShutdown={java_bool(broker.get('inControlledShutdown', False))}, "
        f"isMigratingZkBroker={java_bool(broker.get('isMigratingZkBroker', False))}, "
        f"directories={list_text(sorted_ids(broker.get('logDirs') or ()))}, "
        f"cordonedDirectories={list_text(sorted_ids(broker.get('cordonedLogDirs') or ()))})"
    )


def controller_text(controller: Value) -> str:
    """Format a controller as Kafka's ControllerRegistration.toString."""
    return (
        f"ControllerRegistration(id={controller['controllerId']}, incarnationId={controller['incarnationId']}, "
        f"zkMigrationReady={java_bool(controller['zkMigrationReady'])}, {endpoints_text(controller)}, "
        f"{features_text(controller)})"
    )


def endpoints_text(node: Value) -> str:
    points = sorted(node["endPoints"], key=lambda each: str(each["name"]))
    return f"listeners={list_text(map(endpoint_text, points))}"


def endpoint_text(point: Value) -> str:
    protocol = named(SECURITY_PROTOCOLS, point["securityProtocol"])
    where = f"host='{point['host']}', port={point['port']}"
    return f"Endpoint(listenerName='{point['name']}', securityProtocol={protocol}, {where})"


def features_text(node: Value) -> str:
    features = sorted(node["features"], key=lambda each: each["name"])
    pairs = (f"{each['name']}: {range_text(each)}" for each in features)
    return f"supportedFeatures={{{', '.join(pairs)}}}"


def range_text(feature: Value) -> str:
    low, high = feature["minSupportedVersion"], feature["maxSupportedVersion"]
    return str(low) if low == high else f"{low}-{high}"


def sorted_ids(ids: Iterable[str]) -> list[str]:
    """Sort ids in the order of Kafka's Uuid: two signed longs."""
    return sorted(ids, key=lambda text: (signed(id_bytes(text)[:8]), signed(id_bytes(text)[8:])))


def signed(data: bytes) -> int:
    return int.from_bytes(data, signed=True)


def java_bool(value: object) -> str:
    return "true" if value else "false"


def acl_text(acl: Value) -> str:
    """Format an ACL as Kafka's StandardAcl.toString."""
    return (
        f"StandardAcl[resourceType={named(RESOURCE_TYPES, acl['resourceType'])}, resourceName={acl['resourceName']}, "
        f"patternType={named(PATTERN_TYPES, acl['patternType'])}, principal={acl['principal']}, host={acl['host']}, "
        f"operation={named(ACL_OPERATIONS, acl['operation'])}, "
        f"permissionType={named(PERMISSIONS, acl['permissionType'])}]"
    )


def token_text(token: Value) -> str:
    """Format a delegation token as the shell does, with its unclosed brackets."""
    return (
        f"DelegationTokenDatatokenId={token['tokenId']}(owner={token['owner']}"
        f"(tokenRequester={token.get('requester', token['owner'])}(renewers={' '.join(token['renewers'])}, "
        f"issueTimestamp={token['issueTimestamp']}, maxTimestamp={token['maxTimestamp']}), "
        f"expiryTimestamp={token['expirationTimestamp']}"
    )


def credential_text(credential: Value, secrets: bool) -> str:
    """Format a credential. secrets: show salt and keys."""
    shown = ", ".join(f"{name}={hexadecimal(credential.get(name)) if secrets else HIDDEN}" for name in SCRAM_KEYS)
    return f"ScramCredentialData({shown}, iterations={credential['iterations']})"


def hexadecimal(data: bytes | str | None) -> str:
    if data is None:
        return ""
    return (b64decode(data) if isinstance(data, str) else bytes(data)).hex()


def level_text(image: Image) -> str:
    """Format the metadata.version as Kafka's Optional<MetadataVersion>."""
    level = image.level
    return "Optional.empty" if level is None else f"Optional[{level_name(level)}]"


def provenance_text(provenance: Provenance) -> str:
    """Format the provenance; the offset is the last one in the image."""
    time = java_time(provenance.timestamp)
    return f"offset {provenance.end_offset - 1}, epoch {provenance.epoch}, time {time}"


def java_time(ms: int) -> str:
    """Format a time (ms) as java.time prints a ZonedDateTime, which omits seconds that are 0."""
    seconds, rest = divmod(ms, 1000)
    try:
        text = moment_text(datetime.fromtimestamp(seconds, UTC), "minutes")
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"  # out of datetime's range
    if rest or seconds % 60:
        text += f":{seconds % 60:02d}" + (f".{rest:03d}" if rest else "")
    return text + "Z[UTC]"


def entity_text(entity: Iterable[tuple[str, str | None]]) -> str:
    """Format the entity of quotas: `client-id=a,user=<default>`."""
    return ",".join(f"{kind}={'<default>' if name is None else name}" for kind, name in entity)


def java_double(value: float) -> str:
    """Format a double as Java does: 4000.0, 1.5E9, 0.25."""
    if value != value or value in (float("inf"), float("-inf")):
        return float_word(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value) if "e" not in repr(value) else f"{value:f}".rstrip("0")
        return text if "." in text else text + ".0"
    digits, _, exponent = f"{value:.17e}".partition("e")
    for precision in range(17):
        digits, _, exponent = f"{value:.{precision}e}".partition("e")
        if float(f"{digits}e{exponent}") == value:
            break
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def migration_state(image: Image) -> str | None:
    """Return the state of a migration from ZooKeeper; None if there is none (ZkMigrationState.NONE)."""
    number = image.zk_migration_state
    return named(ZK_MIGRATION_STATES, number) if number else None
