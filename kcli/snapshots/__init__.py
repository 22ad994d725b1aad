"""KRaft snapshots (KIP-630): read, verify, query, compare, write, fetch.

survey(data, file)             what is in a snapshot or metadata log segment, by type; RecordLines: every record as JSON
verify(data, file)             what is wrong with it, as findings
load_snapshot(data), Loader    the metadata image of a snapshot, and of the log after it; ask, image_tree, TABLES
diff_images(a, b)              what changed between two images
write_snapshot(image, write)   an image as a snapshot that a controller loads
Policy, due, advance, ...      when to take a snapshot, which may be deleted; estimate: the KIP's arithmetic
SnapshotFetch                  fetching a snapshot from a quorum, as a state machine; pieces_of: out of a capture

Each name's module is imported when the name is first used.
"""

from typing import TYPE_CHECKING

from kcli.lazy import importing

if TYPE_CHECKING:
    from kcli.snapshots.image.diff import Change, diff_images
    from kcli.snapshots.image.image import Image, Topic
    from kcli.snapshots.image.image_tables import TABLES
    from kcli.snapshots.image.questions import ask
    from kcli.snapshots.image.tree import image_tree
    from kcli.snapshots.json_lines import RecordLines
    from kcli.snapshots.live.extract import Assembly, pieces_of
    from kcli.snapshots.live.snapshot_fetch import SnapshotFetch
    from kcli.snapshots.reading.file_survey import Survey, survey
    from kcli.snapshots.reading.load import Loader, load_snapshot
    from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name
    from kcli.snapshots.rules.findings import SnapshotFinding
    from kcli.snapshots.rules.policy import Policy, advance, deletable, due, estimate, violations
    from kcli.snapshots.rules.verification import verify
    from kcli.snapshots.writing.write import write_snapshot

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
        "image.diff": "Change diff_images",
        "live.extract": "Assembly pieces_of",
        "live.snapshot_fetch": "SnapshotFetch",
        "rules.findings": "SnapshotFinding",
        "image.image": "Image Topic",
        "json_lines": "RecordLines",
        "reading.load": "Loader load_snapshot",
        "reading.names": "SnapshotId parse_snapshot_name",
        "rules.policy": "Policy advance deletable due estimate violations",
        "image.questions": "ask",
        "reading.file_survey": "Survey survey",
        "image.image_tables": "TABLES",
        "image.tree": "image_tree",
        "rules.verification": "verify",
        "writing.write": "write_snapshot",
    },
)
