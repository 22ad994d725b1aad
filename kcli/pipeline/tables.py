"""The pipeline's tables: every column, its type and meaning (docs/reference/tables.md shows them).

A kind is the name of an Arrow type; "instant" is a timestamp in microseconds, UTC (Spark reads no nanoseconds),
"strings" a list of strings. Bytes are as on the wire unless a column says otherwise. Where Kafka uses -1 or null, the
columns do, too.
"""

from __future__ import annotations

from dataclasses import replace

from kcli.capture.tables.partition_tables import (
    DOWN_CONVERSIONS,
    FETCH_PARTITIONS,
    PRODUCE_PARTITIONS,
    RECORD_BATCHES,
    REMOTE_FETCHES,
)
from kcli.tables.call_views import CALL_TABLES
from kcli.tables.captured import CAPTURED, EVENT_COLUMNS, PIPELINE_EXCHANGE_COLUMNS
from kcli.tables.definition import Table, columns, define

TABLES: dict[str, Table] = {}


def without_file(table: Table) -> Table:
    """Return a table without the column `file`, because the facts of a connection come from many files."""
    return replace(table, columns=tuple(each for each in table.columns if each.name != "file"))


TABLES["exchanges"] = Table(
    "exchanges",
    "Every request with its response, as `kcli decode pcap --format jsonl` prints them.",
    PIPELINE_EXCHANGE_COLUMNS,
)
TABLES |= {each.name: each for each in (FETCH_PARTITIONS, PRODUCE_PARTITIONS, RECORD_BATCHES)}
define(
    TABLES,
    "fetch_sessions",
    "Fetch sessions (KIP-227), as in `kcli fetch-session explain`; every run updates it.",
    """
timestamp      instant  when the session was first seen
server         string   the broker's address:port
connection     string   the connection on which it was opened or first seen
client_id      string   of its fetches
replica_id     int32    a follower's broker id; -1: a consumer
api_version    int16    of its fetches
session_id     int32    0: fetches of a client without any session
opened         instant  time of its first full fetch; null: before the capture
ended          instant  time of its end; null: it did not end
end_reason     string   why it ended
complete       bool     the whole session is in the capture
partitions_first int32  number of partitions at the start
partitions_most int32   largest number of partitions
partitions_last int32   number of partitions at the end
fetches        int64    number of fetches
full           int64    full fetches
incremental    int64    incremental fetches
empty_polls    int64    responses without records
unanswered     int64    requests without a response
request_bytes  int64    bytes of all requests
response_bytes int64    bytes of all responses
records_bytes  int64    bytes of records in the responses
full_request_bytes int64 bytes of all requests if each were a full fetch
full_response_bytes int64 bytes of all responses if each were to a full fetch
not_granted    int64    for session 0: full fetches that requested a session and got none
p50_ms         float64  median latency
p99_ms         float64  99th percentile of latency
error_counts   string   JSON: number of responses by error name
never_delivered int32   partitions that never returned records
findings       int64    number of findings of `kcli fetch-session lint`
""",
    dated=False,
)
define(
    TABLES,
    "clients",
    "Requests of each client by API and version, and whether Kafka's newest release still accepts them; every run "
    "makes it anew.",
    """
client_id      string   from the request's header
address        string   the client's address
software       string   name of the client's software (KIP-511); null: not sent
software_version string version of the client's software
negotiates     bool     it requests the broker's API versions (ApiVersions)
api_key        int16    number of the API
api            string   the API's name
api_version    int16    the version it used
requests       int64    number of requests
connections    int32    number of the client's connections
accepted_min   int16    lowest version that the release accepts; null: no such API
accepted_max   int16    highest version that the release accepts
verdict        string   ok, refused, or unsure: it may support a newer version that the broker did not offer
reason         string   why it is refused
release        string   release of Kafka
""",
    dated=False,
)
for name in ("connections", "groups", "hourly", "throttling"):
    TABLES[name] = without_file(CAPTURED[name])
TABLES["down_conversions"] = DOWN_CONVERSIONS
define(
    TABLES,
    "leader_changes",
    "Requests to a broker that no longer leads the partition, and the time until the client continued (KIP-951); "
    "every run updates it.",
    """
timestamp      instant  time of the response with the error
client_id      string   of the request
client_address string   the client's address
api            string   PRODUCE or FETCH
topic          string   the topic's name, or its id if only that is known
partition      int32    the partition's index
error          string   NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH
from_server    string   the server that answered with the error
error_answers  int64    responses with that error until the client continued
hint_sent      bool     the response names the new leader (KIP-951)
hint_leader    int32    node id of the leader in the response
hint_server    string   endpoint of the leader in the response
to_server      string   the server of the next successful request; null: none in the capture
recovered      instant  time of that response
lost_ms        float64  from the first error to the first successful response
hint_saves_ms  float64  the part of it before the successful request was sent, which a leader hint saves
""",
    dated=False,
)
TABLES["remote_fetches"] = REMOTE_FETCHES
define(
    TABLES,
    "quorum",
    "Snapshots of the metadata log that were fetched (KIP-630); every run updates it.",
    """
timestamp      instant  of the first request
server         string   the server that sent it
client         string   the client that fetched it
client_id      string   of the request
topic          string   the log's topic
partition      int32    the log's partition
end_offset     int64    the snapshot's end offset: the first one that it does not contain
epoch          int32    of the snapshot
size_bytes     int64    size of the snapshot, from the responses
received_bytes int64    bytes of the snapshot in the responses
requests       int64    number of requests
error_names    string   errors of the responses, separated by commas; null: none
complete       bool     all bytes of the snapshot were received
seconds        float64  from the first request to the last response
""",
    dated=False,
)
TABLES |= CALL_TABLES
define(
    TABLES,
    "findings",
    "Findings of `kcli diagnose`; every run makes it anew.",
    """
rank           int32    1 is the most important
finding        string   id of the finding
severity       string   critical, warning or info
subject        string   JSON: the subjects by kind: client, group, topic, partition, broker, ...
evidence       string   JSON: figures by name; from, to: times of the first and last exchange; addresses: of clients
text           string   what is wrong, in one line
ruled_out      string?  causes that were ruled out
advice         string   what to do
see            string?  a command that shows more
source         string   source of the rule's limits
""",
    dated=False,
)
EVENTS = {each.name: each for each in EVENT_COLUMNS}
define(
    TABLES,
    "undecodable",
    "Bytes that are in no exchange, and requests without a response: kind, position and reason.",
    [EVENTS[name] for name in ("timestamp", "event", "connection", "sender", "file")],
    [EVENTS[name] for name in ("offset", "bytes", "captured", "reason")],
    "data binary? the bytes, for a frame that could not be decoded (at most 1 MiB of them)",
)
define(
    TABLES,
    "lineage",
    "An account of all packets and bytes, by file and by share of connections; the counts add up.",
    """
run            int64    number of the run that read it
scope          string   file; share: connections of one task; open: ends of open connections, until a later run
name           string   the file, or the share's number (and time window's); packets left out are outside the sample
bytes          int64    of the file
packets        int64    packets in the file, or read for the share
tcp_packets    int64    TCP packets
other_packets  int64    other packets
cut_packets    int64    packets truncated within their headers
fragments      int64    IP fragments of incomplete datagrams
unknown_links  int64    packets of an unknown link layer
payload_bytes  int64    captured bytes of TCP payload
exchange_bytes int64    payload in exchanges
event_bytes    int64    payload in rows of `undecodable`
duplicate_bytes int64   payload sent or captured more than once
stray_bytes    int64    payload after the end of its connection, on other ports, or outside the sample
tls_bytes      int64    TLS overhead of decrypted connections: handshakes, headers, tags
carried_bytes  int64    payload kept for the next run, minus that kept by the preceding run
exchanges      int64    rows of `exchanges`
events         int64    rows of `undecodable`
first          instant  time of the first packet
last           instant  time of the last packet
""",
    dated=False,
)
RUNS = Table(
    "runs",
    "The runs that made the Delta tables: their captures, and the version of each table.",
    columns("""
run            int64    its number; numbers increase, and a run that died leaves a gap
ended          instant  time of its end
kcli           string   the version of kcli
captures       int64    number of captures that it read
exchanges      int64    number of exchanges that it found; those that wait for a response count again in the next run
sample         float64? share of the connections that it read (`--sample`); null: all
in_place_of    string   JSON: numbers of the runs that it replaces
inputs         string   JSON: the captures, each with size, mtime, and a digest of its beginning and end
versions       string   JSON: the version of each table after the run
state          string   JSON: the state from which the next run continues
"""),
    dated=False,
)
# Columns of dated tables with the origin of a row; null in rows of a kcli that did not write them.
ORIGIN = columns("""
cluster        string?  the cluster, from the capture's path by `--origin`
host           string?  the host of the capture, from its path by `--origin`
file           string?  the capture with its last packet; unanswered: with its request; null: an earlier run's
run            int64?   number of the run that read it
""")


def with_origin(table: Table) -> Table:
    """Return a table with the columns of its files: ORIGIN is added, if it is dated."""
    added = (each for each in ORIGIN if each.name not in table.names)
    return replace(table, columns=(*table.columns, *added)) if table.dated else table


# Made with `--records`, with the same columns as in `kcli sql`. It is partitioned by the day of its exchanges, because
# a record may have any time.
RECORDS = CAPTURED["records"]
FILED: dict[str, Table] = {name: with_origin(table) for name, table in (TABLES | {RECORDS.name: RECORDS}).items()}
SHOWN = FILED | {RUNS.name: RUNS}  # tables for readers of an output folder
