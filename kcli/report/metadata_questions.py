"""The sections of the page on a metadata log, in their order, each with the columns of its answer."""

from kcli.report.questions import ReportQuestion

SERIES = 8  # lines of a chart
SHORT = 1000  # rows of a table

QUESTIONS: tuple[tuple[ReportQuestion, tuple[str, ...]], ...] = (
    (
        ReportQuestion(
            "states_over_time",
            "Partitions over time",
            "How many lacked a replica in sync or a leader, or were being moved: the most at one time.",
            "",
            "No log shows how it came to this state.",
            drawn=True,
        ),
        ("time_ns", "state", "partitions"),
    ),
    (
        ReportQuestion(
            "changes_over_time",
            "Changes over time",
            "Records of the metadata log, by type. A NO_OP_RECORD only moves the log on.",
            "",
            "No log, no changes.",
            drawn=True,
        ),
        ("time_ns", "record", "records", "bytes"),
    ),
    (
        ReportQuestion("brokers", "Brokers", "As they stand at the log's end.", "", "No broker is registered."),
        ("broker", "state", "host", "rack", "directories", "replicas", "not_in_sync", "leads", "preferred", "changes"),
    ),
    (
        ReportQuestion(
            "broker_events",
            "Brokers that came and went",
            "Registered, fenced, in controlled shutdown: the latest first.",
            "",
            "No broker changed its state.",
        ),
        ("time_ns", "offset", "broker", "before", "state"),
    ),
    (
        ReportQuestion(
            "short_partitions",
            "Partitions that lack something",
            "At the log's end.",
            "",
            "Every partition has a leader, and all its replicas in sync.",
        ),
        ("topic", "partition", "state", "leader", "replicas", "missing"),
    ),
    (
        ReportQuestion(
            "leaders",
            "Partitions by leader changes",
            "Another leader, or none; the leader epoch counts them since the partition was made.",
            "",
            "No partition got another leader.",
        ),
        ("topic", "partition", "changes", "leader", "leader_epoch", "last_ns"),
    ),
    (
        ReportQuestion(
            "epochs",
            "Leaders of the quorum",
            "Each leader epoch of the metadata log, the latest first. Without a leader: its record is no longer there.",
            "",
            "There is no log.",
        ),
        ("epoch", "leader", "from_offset", "from_ns", "records", "held_ms"),
    ),
    (
        ReportQuestion(
            "growth",
            "Growth by type of record",
            "Of the whole log that is there, and what that makes a day.",
            "",
            "There is no log.",
        ),
        ("record", "records", "bytes", "daily_bytes"),
    ),
    (
        ReportQuestion(
            "files",
            "Files",
            "Which later snapshot covers each, and what its loss would take of the state (kcli snapshot plan).",
            "",
        ),
        ("file", "from_offset", "to_offset", "bytes", "covered_by", "loss"),
    ),
    (
        ReportQuestion("nodes", "Nodes", "Where each node's files end (kcli snapshot drift compares them).", ""),
        ("node", "log_end", "epoch", "behind"),
    ),
)
