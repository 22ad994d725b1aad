import asyncio
import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.client.fake import hang, server
from tests.client.test_tls import DATA as CERTIFICATES
from tests.client.test_tls import server_context
from tests.snapshots.quorum.folders import make_node
from tests.snapshots.quorums import metadata_batch

Captured = pytest.CaptureFixture[str]


def test_findings_have_diagnose_s_form(tmp_path: Path, capfd: Captured) -> None:
    node = make_node(tmp_path, 2, (1, 50))
    assert main(["snapshot", "doctor", node, "--format", "jsonl"]) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert {tuple(row) for row in rows} == {("finding", "severity", "subject", "evidence", "advice")}
    assert rows[0]["subject"]["node"] == 1
    assert f"kcli snapshot restore {node}" in rows[0]["advice"]
    assert rows[-1]["evidence"]["electable"] == []


def test_a_controller_s_certificate_has_expired(capfd: Captured) -> None:
    async def ask() -> int:
        async with server(hang, server_context("expired")) as port:
            settings = [f"ssl.truststore.location={CERTIFICATES / 'expired.pem'}", "ssl.truststore.type=PEM"]
            words = [word for each in ["security.protocol=SSL", *settings] for word in ("--client-config", each)]
            line = ["snapshot", "doctor", f"127.0.0.1:{port}", *words, "--format", "jsonl"]
            return await asyncio.to_thread(main, line)

    assert asyncio.run(ask()) == 1
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [row["finding"] for row in rows] == ["certificate", "no-leader"]
    assert "certificate has expired" in rows[0]["evidence"]["error"]


def test_text(tmp_path: Path, capfd: Captured) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    assert main(["snapshot", "doctor", *nodes]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].split() == ["node", "folder", "directory", "id", "log", "end", "epoch", "votes", "can", "win"]
    assert lines[-1] == "info      healthy: can be elected with just these nodes: 1, 2, 3"
    (tmp_path / "node3" / "meta.properties").write_text("version=1\nnode.id=3\ncluster.id=other\n")
    assert main(["snapshot", "doctor", "-q", *nodes]) == 1
    first, advice, *_ = capfd.readouterr().out.splitlines()
    assert first.startswith("WARNING   cluster-id-mismatch: node 3 is of cluster other")
    assert advice.startswith("          do: ")


def test_what_can_t_be_read_is_said_beside_the_findings(tmp_path: Path, capfd: Captured) -> None:
    node = make_node(tmp_path, 2, (1, 50))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["snapshot", "doctor", str(empty)]) == 3
    assert main(["snapshot", "doctor", str(tmp_path / "nowhere")]) == 3
    capfd.readouterr()
    assert main(["snapshot", "doctor", node, str(empty)]) == 3
    captured = capfd.readouterr()
    assert "voter-missing" in captured.out
    assert "neither a snapshot nor a log segment" in captured.err


def test_restore_of_several_folders_begins_with_the_survivor(tmp_path: Path, capfd: Captured) -> None:
    one = make_node(tmp_path, 1, (1, 90))
    two = make_node(tmp_path, 2, (1, 40), (2, 60))
    main(["snapshot", "restore", one, two, "--format", "jsonl"])
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    (survivor,) = (row for row in rows if row.get("finding") == "survivor")
    assert survivor["subject"] == {"node": 2, "path": two}
    assert [row["subject"]["node"] for row in rows if row.get("finding") == "log-diverged"] == [1]
    assert main(["snapshot", "restore", one, str(tmp_path / "nowhere")]) == 3


def test_a_follower_of_a_running_quorum_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    """Logs that grow while they are read are those of nodes that run, and one is read before the other."""
    nodes = [make_node(tmp_path, number, (1, end)) for number, end in ((1, 50), (2, 49), (3, 50))]
    command = ["snapshot", "doctor", *nodes, "--format", "jsonl"]
    monkeypatch.setattr("kcli.cli.snapshot.doctor.PAUSE", 0)
    assert main(command) == 1
    assert '"finding":"log-behind","severity":"warning"' in capfd.readouterr().out

    def meanwhile(_: float) -> None:
        log = tmp_path / "node1" / "__cluster_metadata-0" / f"{0:020d}.log"
        log.write_bytes(log.read_bytes() + metadata_batch(50, ("NoOpRecord", {}), epoch=1))

    monkeypatch.setattr("kcli.cli.snapshot.doctor.time.sleep", meanwhile)
    assert main(command) == 0
    assert '"finding":"log-behind","severity":"info"' in capfd.readouterr().out
