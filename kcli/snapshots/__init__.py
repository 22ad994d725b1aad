"""KRaft snapshots (KIP-630): read, verify, query, compare, write, fetch.

survey(data, file)             what is in a snapshot or metadata log segment, by type; RecordLines: every record as JSON
verify(data, file)             what is wrong with it, as findings
load_snapshot(data), Loader    the metadata image of a snapshot, and of the log behind it; ask, image_tree, TABLES
diff_images(a, b)              what changed between two images
write_snapshot(image, write)   an image as a snapshot that a controller loads
Policy, due, advance, ...      when to take one, which may go; estimate: the KIP's arithmetic
SnapshotFetch                  fetching one from a quorum, as a state machine; pieces_of: out of a capture

Names are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.snapshots.diff import Change, diff_images
    from kcli.snapshots.extract import Assembly, pieces_of
    from kcli.snapshots.fetch import SnapshotFetch
    from kcli.snapshots.findings import SnapshotFinding
    from kcli.snapshots.image import Image, Topic
    from kcli.snapshots.lines import RecordLines
    from kcli.snapshots.load import Loader, load_snapshot
    from kcli.snapshots.names import SnapshotId, parse_snapshot_name
    from kcli.snapshots.policy import Policy, advance, deletable, due, estimate, violations
    from kcli.snapshots.questions import ask
    from kcli.snapshots.surveys import Survey, survey
    from kcli.snapshots.tables import TABLES
    from kcli.snapshots.tree import image_tree
    from kcli.snapshots.verification import verify
    from kcli.snapshots.write import write_snapshot

__all__ = [
    "TABLES",
    "Assembly",
    "Change",
    "Image",
    "Loader",
    "Policy",
    "RecordLines",
    "SnapshotFetch",
    "SnapshotFinding",
    "SnapshotId",
    "Survey",
    "Topic",
    "advance",
    "ask",
    "deletable",
    "diff_images",
    "due",
    "estimate",
    "image_tree",
    "load_snapshot",
    "parse_snapshot_name",
    "pieces_of",
    "survey",
    "verify",
    "violations",
    "write_snapshot",
]

__getattr__ = importing(
    __name__,
    {
        "diff": "Change diff_images",
        "extract": "Assembly pieces_of",
        "fetch": "SnapshotFetch",
        "findings": "SnapshotFinding",
        "image": "Image Topic",
        "lines": "RecordLines",
        "load": "Loader load_snapshot",
        "names": "SnapshotId parse_snapshot_name",
        "policy": "Policy advance deletable due estimate violations",
        "questions": "ask",
        "surveys": "Survey survey",
        "tables": "TABLES",
        "tree": "image_tree",
        "verification": "verify",
        "write": "write_snapshot",
    },
)
