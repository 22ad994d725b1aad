"""`kcli broker move-leader` as a script sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kcli.broker.embedded import embedded_broker
from kcli.cli.main import main


def test_a_partition_that_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("t:x", "t:²", ":1"):
        assert main(["broker", "move-leader", "--bootstrap", "127.0.0.1:1", text]) == 2
        assert f"{text}: TOPIC or TOPIC:PARTITION expected" in capsys.readouterr().err


def test_the_command_moves_leaders() -> None:
    with embedded_broker(nodes=3) as server:
        server.call(lambda broker: broker.controller.create_topic("t", [(1, 2), (2, 3), (3,)]))

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [
                sys.executable,
                "-m",
                "kcli.cli",
                "broker",
                "move-leader",
                "--bootstrap",
                server.bootstrap_servers,
            ]
            return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=120)

        done = run("t:0", "t:1")
        assert (done.returncode, done.stdout) == (0, "t[0] leader 1 -> 2\nt[1] leader 2 -> 3\n"), done.stderr
        done = run("t", "--to", "1")
        assert done.returncode == 0, done.stderr
        assert [each.leader for each in server.call(lambda broker: broker.topics.by_name["t"].partitions)] == [1, 1, 1]
        for arguments, code, complaint in (
            (("t:2",), 2, "no other replica"),
            (("t:9",), 2, "the topic has 3 partitions"),
            (("u",), 4, "UNKNOWN_TOPIC_OR_PARTITION"),
            (("t", "--to", "9"), 4, "INVALID_REPLICA_ASSIGNMENT"),
        ):
            done = run(*arguments)
            assert done.returncode == code, done.stderr
            assert complaint in done.stderr
