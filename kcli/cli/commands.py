"""The table of kcli's commands: the module of each, and its line in help."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

# Each command lives in a module of its own, imported only when it is called: a cold start pays for what it uses.
COMMANDS: Mapping[str, str | Mapping[str, str]] = {
    "audit": "audit:audit_captures",
    "capture": "capture.command:capture",
    "check": {
        "batch": "check:batch",
        "request": "check:request",
    },
    "compare": "compare.command:compare",
    "completion": "completion:completion",
    "broker": {
        "ctl": "broker.ctl:ctl",
        "move-leader": "broker.move_leader:move_leader",
        "serve": "broker.serve:serve",
    },
    "decode": {
        "batch": "decode.batch:batch",
        "data": "decode.data:data",
        "pcap": "decode.pcap.command:pcap",
        "request": "decode.message:request",
        "response": "decode.message:response",
        "segment": "decode.segment:segment",
    },
    "diagnose": "diagnose.command:diagnose",
    "diff": {
        "batch": "diff.command:batch",
        "message": "diff.command:message",
    },
    "down-convert": "down_convert:down_convert",
    "encode": {
        "batch": "encode.records:batch",
        "request": "encode.message:request",
        "response": "encode.message:response",
    },
    "fetch-session": {
        "explain": "session.explain:explain",
        "lint": "session.explain:lint",
        "replay": "session.replay:replay_command",
    },
    "pipeline": {
        "compact": "pipeline.upkeep:compact",
        "forget": "pipeline.upkeep:forget",
        "history": "pipeline.upkeep:history",
        "report": "pipeline.report:report",
        "run": "pipeline.run:run",
        "tables": "pipeline.run:tables",
        "vacuum": "pipeline.upkeep:vacuum",
    },
    "produce": "cluster.produce:produce",
    "proxy": "cluster.proxy:proxy",
    "records": "records.command:records",
    "redact": "redact:redact",
    "replay": "replay.command:replay_command",
    "report": "report.command:report",
    "schema": {
        "check": "schema.check:check",
        "diff": "schema.tables:diff",
        "doc": "schema.doc:doc",
        "export": "schema.export:export",
        "import": "schema.importing:import_",
        "list": "schema.tables:list_",
        "show": "schema.tables:show",
        "vectors": "schema.vectors:vectors_command",
    },
    "send": "cluster.send:send",
    "sql": "sql.command:sql",
    "snapshot": {
        "backup": "snapshot.backup:backup",
        "check": "snapshot.check:check",
        "create": "snapshot.create:create",
        "diff": "snapshot.diff:diff",
        "doctor": "snapshot.doctor:doctor",
        "drift": "snapshot.drift:drift",
        "extract": "snapshot.extract:extract",
        "fetch": "snapshot.fetch:fetch",
        "image": "snapshot.image:image",
        "inspect": "snapshot.inspect:inspect",
        "log": "snapshot.log:log",
        "plan": "snapshot.plan:plan",
        "restore": "snapshot.restore:restore",
        "verify": "snapshot.verify:verify",
        "watch": "snapshot.watch:watch",
    },
    "stats": "stats.command:stats",
    "top": "top.command:top",
}

# The lines in `--help` of a group on its members, so that it need not import them.
HELP = {
    "broker": "An embedded broker: a small Kafka for tests, with real logs and faults on demand.",
    "broker ctl": "Control an embedded broker remotely: topics, records, faults, nodes, clock.",
    "broker move-leader": "Move leaders of partitions to other nodes, on an embedded or a real cluster.",
    "broker serve": "Serve topics to any Kafka client.",
    "capture": "Capture traffic on an interface, show it live, and keep the latest packets.",
    "audit": "List the clients of a capture that a Kafka release would refuse.",
    "check": "Check whether a broker would accept requests and batches.",
    "check batch": "Check whether a broker would accept record batches from a producer.",
    "check request": "Check whether a broker would accept requests.",
    "compare": "Compare captures before and after a change: what is new, gone, worse and better.",
    "completion": "Print a shell completion script.",
    "decode batch": "Decode record batches or message sets of any magic.",
    "decode data": "Decode the messages of consumers, Connect and Streams in bytes fields.",
    "decode pcap": "Decode network captures: every request with its response.",
    "decode request": "Decode a request; its header has the API and version.",
    "decode response": "Decode a response, given its API and version.",
    "decode segment": "Decode and verify log segments and the indexes beside them.",
    "diagnose": "Find what is wrong in captures, who causes it, and what to do.",
    "diff": "Compare two encodings of the same message or batch.",
    "diff batch": "Show the fields that differ between record batches.",
    "diff message": "Show the fields that differ between two requests or responses.",
    "down-convert": "Convert record batches to an older magic, as brokers do for old clients.",
    "encode batch": "Encode record batches of any magic from JSON.",
    "encode request": "Encode requests from JSON.",
    "encode response": "Encode responses from JSON.",
    "fetch-session explain": "Explain fetch sessions in captures: client, partitions, bytes saved, end.",
    "fetch-session lint": "Check fetch sessions against the rules of KIP-227.",
    "fetch-session replay": "Replay captured fetch sessions against a broker, and compare the responses.",
    "pipeline": "Read many captures into tables and report on them, on Spark or in one process.",
    "pipeline compact": "Merge the files of each table and day into one.",
    "pipeline forget": "Remove captures from the tables, as if they had never been read.",
    "pipeline history": "List the runs that made the tables.",
    "pipeline report": "Report on the tables: an HTML page with charts, or tables on the terminal.",
    "pipeline run": "Read captures into tables.",
    "pipeline tables": "List the tables, or the columns of one.",
    "pipeline vacuum": "Delete files that no run uses.",
    "produce": "Write records to a topic; show rates and latency percentiles.",
    "proxy": "Run a proxy in front of a cluster, and show its traffic.",
    "records": "Show the records in captures and log segments, one per line.",
    "redact": "Anonymize captures for sharing: replace names, addresses and data, keep the rest.",
    "replay": "Replay captured traffic, and compare the responses.",
    "report": "Write an HTML report on captures: errors, latency, top talkers, sessions.",
    "schema check": "Check drafts of messages for errors, and for changes that break a release.",
    "schema diff": "Show what changed between two versions of a message, or two releases.",
    "schema doc": "Print messages as a document: fields, changes by version, byte diagrams.",
    "schema export": "Write all messages for another tool: a Wireshark dissector, Kaitai Struct, JSON Schema.",
    "schema import": "Import message definitions from Kafka's jars or sources.",
    "schema list": "List the messages in the tables.",
    "schema show": "Show the fields of a message.",
    "schema vectors": "Print a message as bytes and JSON, in all versions, to test other implementations.",
    "send": "Send one request to a broker and decode its response.",
    "sql": "Answer questions about captures, segments, snapshots and tables in SQL.",
    "snapshot": "KRaft snapshots: inspect, verify, query, compare, write and fetch them.",
    "snapshot backup": "Copy a node's metadata log into a new folder, and verify the copy.",
    "snapshot check": "Check whether another metadata.version or release can load the metadata.",
    "snapshot create": "Write a snapshot from a metadata log.",
    "snapshot diff": "Show what changed between two snapshots or offsets.",
    "snapshot doctor": "Find out why a quorum has no leader, and what to do.",
    "snapshot drift": "Compare the metadata of a quorum's nodes.",
    "snapshot extract": "Reassemble snapshots from a capture.",
    "snapshot fetch": "Fetch the latest snapshot of a live quorum.",
    "snapshot image": "Query the metadata in a snapshot and the log after it.",
    "snapshot inspect": "Show the contents of a snapshot or a metadata log segment.",
    "snapshot log": "Show what changed in a cluster's metadata, and when.",
    "snapshot plan": "Show when snapshots are due, how the log grows, and the cost of a lost file or broker.",
    "snapshot restore": "Start a new quorum from a snapshot: check the snapshot, and print the steps.",
    "snapshot verify": "Check snapshots, log segments or a directory against Kafka's rules.",
    "snapshot watch": "Follow a live quorum's metadata: show each change when it is committed.",
    "stats": "Count exchanges in captures by API, client, topic and more: sizes, latencies, errors.",
    "top": "Show live traffic on the whole terminal: requests by client, latencies, findings.",
    "decode": "Decode Kafka's bytes: any FILE by its kind, or captures, messages, batches, segments.",
    "encode": "Encode Kafka's bytes from JSON.",
    "fetch-session": "Explain, check and replay the fetch sessions (KIP-227) in captures.",
    "schema": "The message tables: list, show, compare and import them.",
}

# The commands in the order of `kcli --help`: by input.
GROUPS = {
    "Understand a capture": (
        "diagnose",
        "compare",
        "report",
        "stats",
        "decode",
        "records",
        "sql",
        "audit",
        "fetch-session",
    ),
    "Capture live": ("capture", "proxy", "top"),
    "Talk to a cluster": ("send", "produce", "replay"),
    "Metadata of a cluster": ("snapshot",),
    "Bytes and protocol": ("encode", "check", "diff", "schema", "down-convert"),
    "Test and share": ("broker", "redact", "pipeline", "completion"),
}
# Common questions, and the command that answers each.
QUESTIONS = {
    "What is wrong?": "kcli night.pcap",
    "Errors?": "kcli decode pcap night.pcap --errors",
    "Who is slow?": "kcli stats night.pcap --by broker --by api",
    "Consumer stuck?": "kcli diagnose night.pcap --group orders",
    "No leader?": "kcli snapshot doctor DIR...",
    "Disk of a dead controller?": "kcli __cluster_metadata-0",
}
FRONT = "front.command:front"  # what `kcli FILE...` runs


def loaded(target: str) -> click.Command:
    """Import a command by "module:attribute"."""
    module, _, attribute = target.partition(":")
    command: click.Command = getattr(importlib.import_module(f"kcli.cli.{module}"), attribute)
    return command
