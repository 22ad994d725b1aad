"""`kcli broker move-leader` as a script sees it."""

from __future__ import annotations

import subprocess
import sys

from kcli.broker.embedded import embedded_broker


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
