"""Captures against a live cluster that has nothing: a line for each, with its exit code and what differs.

    python -m tests.real.replay_table [--bootstrap HOST:PORT | --release VERSION] WHAT FILE... [-- OPTION...]

WHAT: `fetch-session` is `kcli fetch-session replay --fill --compare shape`, `all` is `kcli replay --fill`. All topics
and groups of the cluster are deleted before each capture. Exit 1 when one of them differs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.schemas.apikeys import DELETE_GROUPS, DELETE_TOPICS, LIST_GROUPS, METADATA
from tests.real.lab import Cluster

__all__ = ["emptied", "main"]

COMMANDS = {
    "fetch-session": ("fetch-session", "replay", "--compare", "shape"),
    "all": ("replay",),
}
SECONDS = 90
BY_NAME = 5  # the newest DeleteTopics of names alone


def main(words: list[str]) -> int:
    own, _, more = " ".join(words).partition(" -- ")
    options = parsed(own.split())
    code = 0
    with cluster(options.bootstrap, options.release) as bootstrap:
        for file in options.files:
            asyncio.run(emptied(bootstrap))
            line, differs = outcome(bootstrap, options.command, file, more.split())
            code |= differs
            print(line, flush=True)
    return code


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.real.replay_table")
    parser.add_argument("--bootstrap")
    parser.add_argument("--release", default="4.4.0")
    parser.add_argument("command", choices=list(COMMANDS))
    parser.add_argument("files", nargs="+", type=Path)
    return parser.parse_args(words)


@contextmanager
def cluster(bootstrap: str | None, release: str) -> Iterator[str]:
    if bootstrap:
        yield bootstrap
        return
    with Cluster(release) as made:
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
