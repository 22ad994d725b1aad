"""Log directories of a quorum's nodes, as far as elections look at them."""

import struct
from pathlib import Path

from kcli.grammar import messages
from kcli.records.builder import build_control_batch
from tests.snapshots.quorums import metadata_batch

DIRECTORIES = {number: f"ZGlyZWN0b3J5LW9mLW5v{number}A" for number in range(1, 6)}
CLUSTER = "Y2x1c3RlcmNsdXN0ZXIxMQ"


def voters_batch(offset: int, ids: list[int], epoch: int = 1) -> bytes:
    """The control batch that makes a quorum of these voters dynamic."""
    feature = {"minSupportedVersion": 0, "maxSupportedVersion": 1}
    voters = [
        {
            "voterId": number,
            "voterDirectoryId": DIRECTORIES[number],
            "endpoints": [{"name": "CONTROLLER", "host": f"c{number}", "port": 9093}],
            "kRaftVersionFeature": feature,
        }
        for number in ids
    ]
    version = messages.data("KRaftVersionRecord", 0).write({"version": 0, "kRaftVersion": 1})
    value = messages.data("VotersRecord", 0).write({"version": 0, "voters": voters})
    rows = [(struct.pack(">hh", 0, kind), each) for kind, each in ((5, version), (6, value))]
    return build_control_batch(rows, 1, offset, partition_leader_epoch=epoch)


def make_node(
    folder: Path,
    number: int,
    *runs: tuple[int, int],
    voters: list[int] | None = None,
    directory: str | None = None,
    cluster: str = CLUSTER,
    static: str = "",
) -> str:
    """Write a node's folder. runs: (epoch, the end of its records); static: a quorum-state in place of voters."""
    log_dir = folder / f"node{number}"
    place = log_dir / "__cluster_metadata-0"
    place.mkdir(parents=True)
    known = {"version": 1, "node.id": number, "cluster.id": cluster, "directory.id": directory or DIRECTORIES[number]}
    (log_dir / "meta.properties").write_text("".join(f"{name}={value}\n" for name, value in known.items()))
    parts = [] if static else [voters_batch(0, voters or [1, 2, 3])]
    offset = 0 if static else 2
    for epoch, end in runs:
        parts.append(metadata_batch(offset, *[("NoOpRecord", {})] * (end - offset), epoch=epoch))
        offset = end
    (place / f"{0:020d}.log").write_bytes(b"".join(parts))
    if static:
        (place / "quorum-state").write_text(static)
    return str(log_dir)
