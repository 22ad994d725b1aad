"""Captures against a live cluster that has nothing: a line for each, with its exit code and what differs.

    python -m tests.real.replay_table [--bootstrap HOST:PORT | --release V [--nodes N]] WHAT FILE... [-- OPTION...]

WHAT: `fetch-session` is `kcli fetch-session replay --fill --compare shape`, `all` is `kcli replay --fill`. V: a release
of Kafka, or `embedded`: a new one for each capture; in the cluster at HOST:PORT all topics and groups are deleted
before. Exit 1 when one of them differs. --records DUMP: also count how many of the dump's records a topic has
afterwards, at their offsets (JSON lines with topic, partition, offset, key and value as {"len", "b64" or "sha256"};
gzip).
"""

import argparse
import asyncio
import base64
import gzip
import hashlib
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import kcli
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.records.batches import Record, scan
from kcli.schemas.apikeys import DELETE_GROUPS, DELETE_TOPICS, FETCH, LIST_GROUPS, METADATA
from tests.real.lab import Cluster

__all__ = ["emptied", "main"]

COMMANDS = {
    "fetch-session": ("fetch-session", "replay", "--compare", "shape"),
    "all": ("replay",),
}
SECONDS = 90
SHORT = 120  # bytes that the dump has in full
BY_TOPIC_NAME = 12  # the newest Fetch of topic names
BY_NAME = 5  # the newest DeleteTopics of names alone


def main(words: list[str]) -> int:
    own, _, more = " ".join(words).partition(" -- ")
    options = parsed(own.split())
    code = 0
    for file in options.files:
        with cluster(options.bootstrap, options.release, options.nodes) as bootstrap:
            line, differs = outcome(bootstrap, options.command, file, more.split())
            code |= differs
            print(line, flush=True)
            if options.records:
                asyncio.run(compare_records(bootstrap, options.records))
    return code


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real.replay_table")
    parser.add_argument("--bootstrap")
    parser.add_argument("--release", default="4.4.0")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--records", type=Path)
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("files", nargs="+", type=Path)
    return parser.parse_args(words)


@contextmanager
def cluster(bootstrap: str | None, release: str, nodes: int) -> Iterator[str]:
    """An empty cluster: the one that is there, or a new one."""
    if bootstrap:
        asyncio.run(emptied(bootstrap))
        yield bootstrap
        return
    if release == "embedded":
        with kcli.embedded_broker(nodes=nodes) as broker:
            yield broker.bootstrap_servers
        return
    with Cluster(release, nodes) as made:
        yield made.bootstrap


async def emptied(bootstrap: str) -> None:
    """Delete a cluster's topics and groups. It waits for static members, which stay for their session's time-out."""
    async with Client(ClientConfig({"bootstrap.servers": bootstrap})) as client:
        for _ in range(SECONDS * 10):
            groups = [each["groupId"] for each in (await client.call(LIST_GROUPS, {}))["groups"]]
            listed = await client.call(METADATA, {"topics": None})
            names = [each["name"] for each in listed["topics"] if not each["isInternal"]]
            if not groups and not names:
                return
            if groups:
                await client.call(DELETE_GROUPS, {"groupsNames": groups})
            if names:
                await client.call(DELETE_TOPICS, {"topicNames": names, "timeoutMs": 10_000}, high=BY_NAME)
            await asyncio.sleep(0.1)
    raise TimeoutError(f"{bootstrap} still has {names} and {groups}")


def outcome(bootstrap: str, command: str, file: Path, more: list[str]) -> tuple[str, bool]:
    """A capture's lines, and whether it differs."""
    begun = time.monotonic()
    words = [*COMMANDS[command], str(file), "--bootstrap", bootstrap, "--fill", "--format", "jsonl", *more]
    if (keys := file.with_suffix(".keys")).exists():
        words += ["--key-log", str(keys)]
    ran = subprocess.run([sys.executable, "-m", "kcli.cli", *words], capture_output=True, text=True, check=False)
    kinds: Counter[str] = Counter()
    for row in map(json.loads, ran.stdout.splitlines()):
        for each in row.get("differences", ()):
            kinds[f"{row['api']}: {each}" if isinstance(each, str) else " ".join(map(str, each.values()))] += 1
        for each, count in row.get("lacking", {}).items():
            kinds[f"{row['api']}, not compared: {each}"] += count
    notes = [f"  {line.strip()}" for line in ran.stderr.splitlines()]
    lines = [f"{file.name}: exit {ran.returncode}, {time.monotonic() - begun:.1f} s"]
    lines += [f"  {count} x {kind}"[:300] for kind, count in kinds.items()]
    return "\n".join(lines + notes), ran.returncode == 1


async def compare_records(bootstrap: str, dump: Path) -> None:
    """Print how many of the dump's records each topic has, and how many it has besides."""
    wanted: dict[str, dict[tuple[int, int], object]] = {}
    with gzip.open(dump, "rt") as lines:
        for row in map(json.loads, lines):
            topic = wanted.setdefault(row["topic"], {})
            topic[row["partition"], row["offset"]] = (row["key"], row["value"], row["headers"])
    async with Client(ClientConfig({"bootstrap.servers": bootstrap})) as client:
        await client.refresh(None)
        for name in sorted(wanted.keys() & client.metadata.topics.keys()):
            found: dict[tuple[int, int], object] = {}
            for index in range(client.metadata.topics[name].partitions):
                async for each in records_of(client, name, index):
                    headers = [[key, bytes_of(value)] for key, value in each.headers]
                    found[index, each.offset] = (bytes_of(each.key), bytes_of(each.value), headers)
            equal = sum(found.get(place) == value for place, value in wanted[name].items())
            print(f"  {name}: {equal} of {len(wanted[name])} records equal, {len(found)} are there", flush=True)


async def records_of(client: Client, topic: str, index: int) -> AsyncIterator[Record]:
    """The records of a partition, those of aborted transactions too."""
    at = 0
    while True:
        part = {"partition": index, "fetchOffset": at, "partitionMaxBytes": 1 << 24}
        body = {"maxWaitMs": 0, "minBytes": 0, "maxBytes": 1 << 24, "sessionEpoch": -1}
        leader = client.leader(topic, index)
        assert leader is not None
        topics = [{"topic": topic, "partitions": [part]}]
        answer = await client.call(FETCH, body | {"topics": topics}, node=leader.node, high=BY_TOPIC_NAME)
        row = answer["responses"][0]["partitions"][0]
        batches = list(scan(row["records"] or b"", damages=[]))
        if not batches:
            return
        for batch in batches:
            for record in batch.records() if not batch.is_control else ():
                yield record
            at = batch.last_offset + 1


def bytes_of(data: bytes | None) -> dict[str, object] | None:
    """Bytes as the dump has them."""
    if data is None:
        return None
    if len(data) <= SHORT:
        return {"len": len(data), "b64": base64.b64encode(data).decode()}
    return {"len": len(data), "sha256": hashlib.sha256(data).hexdigest()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
