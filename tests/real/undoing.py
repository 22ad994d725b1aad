"""Random deletions on a real cluster, undone by the lines that `kcli snapshot diff --commands` prints.

    python -m tests.real.undoing [DELETIONS [SEED [RELEASE]]]      30 on 4.4.0 by default; exit code 1: not as before

Objects of every kind that a tool of Kafka's makes are made, then some of them removed or changed, in a random order.
The printed lines run as they are; afterwards the metadata is as it was, but for ids, epochs and times.
"""

import random
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import inside
from tests.real.lab import Cluster

__all__ = ["trial"]

TOOLS = {"kafka-topics": "TopicCommand", "kafka-configs": "ConfigCommand", "kafka-acls": "AclCommand"}
# What moves by itself, or is new each time: ids, epochs, the order and the registrations of nodes.
ITS_OWN = ("broker ", "controller ", "producer ids", "voter ", "feature ")
TOPIC_CONFIGS = {
    "retention.ms": "8640000",
    "cleanup.policy": "compact,delete",
    "follower.replication.throttled.replicas": "0:1,1:1",
    "leader.replication.throttled.replicas": "",
    "compression.type": "zstd",
}
ENTITIES = (
    ("users", "CN=a,O=b c", "request_percentage", "12.5"),
    ("users", "bob", "consumer_byte_rate", "2000"),
    ("users", None, "producer_byte_rate", "1048576"),
    ("clients", "it's", "producer_byte_rate", "3000000000"),
    ("clients", None, "controller_mutation_rate", "0.25"),
    ("ips", "10.0.0.7", "connection_creation_rate", "7"),
    ("ips", None, "connection_creation_rate", "70"),
    ("brokers", None, "log.cleaner.threads", "2"),
    ("brokers", "1", "max.connections", "900"),
    ("brokers", "1", "max.connections.per.ip.overrides", "127.0.0.1:200,10.0.0.1:7"),
    ("groups", "readers", "consumer.session.timeout.ms", "50000"),
    ("client-metrics", "all", "metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer."),
)
SINCE = {"groups": (4, 0), "client-metrics": (3, 7)}
ACLS = (
    ("--allow-principal", "User:CN=a,O=b c", "--operation", "IdempotentWrite", "--cluster"),
    ("--deny-principal", "User:al", "--operation", "Read", "--topic", "o", "--resource-pattern-type", "prefixed"),
    ("--allow-principal", "User:*", "--allow-host", "10.1.2.3", "--operation", "Describe", "--group", "g 1"),
    ("--allow-principal", "User:x", "--operation", "All", "--transactional-id", "*"),
    ("--allow-principal", "User:x", "--operation", "DescribeTokens", "--user-principal", "User:y"),
    ("--deny-principal", "User:x", "--deny-host", "::1", "--operation", "AlterConfigs", "--topic", "*"),
)

STAY = 3  # things that are not removed
Command = tuple[str, ...]
Thing = tuple[list[Command], list[Command]]  # the commands that make it, and one of those that remove or change it


def things(release: tuple[int, ...], chance: random.Random) -> Iterator[Thing]:
    """Yield what is made and removed."""
    for number in range(16):
        name = f"orders-{number}.v_1"
        chosen = chance.sample(sorted(TOPIC_CONFIGS), chance.randrange(3))
        created = ["TopicCommand", "--create", "--topic", name, "--partitions", f"{chance.randrange(1, 5)}"]
        configs = [("topics", name, key, TOPIC_CONFIGS[key]) for key in chosen]
        make = [tuple(created), *(altered(*each) for each in configs)]
        drop: list[Command] = [("TopicCommand", "--delete", "--topic", name)]
        drop += [altered(kind, entity, key, None) for kind, entity, key, _ in configs]
        drop += [altered("topics", name, "max.message.bytes", f"{number + 1000}")]
        yield make, drop
    for kind, entity, key, value in ENTITIES:
        if release >= SINCE.get(kind, ()):
            yield [altered(kind, entity, key, value)], [altered(kind, entity, key, None)]
    for acl in ACLS:
        yield [("AclCommand", "--add", *acl)], [("AclCommand", "--remove", "--force", *acl)]


def altered(kind: str, entity: str | None, key: str, value: str | None) -> Command:
    """The command that sets a value of an entity, or removes it."""
    named = ("--entity-default",) if entity is None else ("--entity-name", entity)
    change = ("--delete-config", key) if value is None else ("--add-config", f"{key}=[{value}]")
    return "ConfigCommand", "--alter", "--entity-type", kind, *named, *change


def trial(cluster: Cluster, folder: Path, count: int, seed: int) -> list[str]:
    """Make, remove, undo; what is not as before."""
    chance = random.Random(seed)
    made = list(things(cluster.release, chance))
    made = chance.sample(made, min(count + STAY, len(made)))
    for make, _ in made:
        run(cluster, make)
    before = saved(cluster, folder / "before")
    removed = chance.sample([drop for _, drop in made], count)
    run(cluster, [chance.choice(drop) for drop in removed])
    after = saved(cluster, folder / "after")
    lines = kcli("diff", before, after, "--commands", "--bootstrap", cluster.bootstrap).splitlines()
    for line in lines:
        tool, *words = shlex.split(line)
        cluster.run(TOOLS[tool], *words)
    again = saved(cluster, folder / "again")
    changes = [line[2:] for line in kcli("diff", before, again).splitlines()]
    left = [line for line in changes if not line.startswith((*ITS_OWN, "topic ", "partition ", "ACL "))]
    ids = [f"{one} instead of {other}" for one, other in zip(kinds(again), kinds(before), strict=True) if one != other]
    return [*left, *ids] if lines else ["nothing was printed"]


def run(cluster: Cluster, commands: list[Command]) -> None:
    """Run commands of Kafka's."""
    for name, *words in commands:
        cluster.run(name, "--bootstrap-server", cluster.bootstrap, *words)


def kcli(*arguments: str) -> str:
    done = inside.kcli("snapshot", *arguments)
    done.check_returncode()
    return done.stdout


def saved(cluster: Cluster, folder: Path) -> str:
    """A snapshot of what the log holds now."""
    folder.mkdir()
    return kcli("create", "--log", str(cluster.log_dirs[0]), "-o", str(folder)).strip()


def kinds(snapshot: str) -> list[str]:
    """The topics with their partitions, and the ACLs, without ids."""
    topics = (line.partition("byName/")[2] for line in kcli("image", snapshot, "find", "topics/byName").splitlines())
    acls = (line.strip() for line in kcli("image", snapshot, "tree", "acls/byId").splitlines())
    return [
        ", ".join(sorted(each for each in topics if each.rpartition("/")[2] not in ("id", "name"))),
        ", ".join(sorted(each for each in acls if each.startswith("StandardAcl"))),
    ]


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else 30
    seed = int(arguments[1]) if len(arguments) > 1 else 1
    release = arguments[2] if len(arguments) > 2 else "4.4.0"
    with Cluster(release, acl=True, heap="256m") as cluster, TemporaryDirectory() as folder:
        wrong = trial(cluster, Path(folder), count, seed)
    print(f"{release}, seed {seed}: {count} deletions; {len(wrong)} left as they should not be", *wrong, sep="\n    ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
