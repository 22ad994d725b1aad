"""The pipeline's tables: every column, its type and meaning (docs/reference/tables.md shows them).

A kind is the name of an Arrow type; "instant" is a timestamp in microseconds, UTC (Spark reads no nanoseconds),
"strings" a list of strings. Bytes are as on the wire unless a column says otherwise. Where Kafka uses -1 or null, the
columns do, too.
"""

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
server         string
connection     string?  the connection on which it was opened or first seen; null for session 0
client_id      string?  client id of its Fetch requests
replica_id     int32    the follower's broker id; -1: a consumer
api_version    int16    version of its Fetch requests
session_id     int32    id of the session; 0: all fetches of a client outside any session, in one row
opened         instant? time of the full fetch that opened it; null: before the capture, or session 0
ended          instant? time of its end, for session 0 of its last fetch; null: it had not ended
end_reason     string?  why it ended: closed, replaced, connection lost, capture end, ...; null for session 0
complete       bool?    true: the whole session is in the capture, from its first fetch on; null for session 0
partitions_first int32? partitions in the session at its start; null for session 0
partitions_most int32?  largest number of partitions in the session; null for session 0
partitions_last int32?  partitions in the session at its end; null for session 0
fetches        int64    Fetch requests
full           int64    full fetches: requests that name every partition
incremental    int64    incremental fetches: requests that name only changed partitions
empty_polls    int64    responses without records
unanswered     int64    Fetch requests without a response
request_bytes  int64    bytes of its Fetch requests, with headers and lengths
response_bytes int64    bytes of their responses, with headers and lengths
records_bytes  int64    bytes of record batches in the responses
full_request_bytes int64? request_bytes if every fetch had been full; null: unknown
full_response_bytes int64? response_bytes if every fetch had been full; null: unknown
not_granted    int64?   full fetches that requested a session and got none; null except for session 0
p50_ms         float64? median latency of its fetches; null: no response
p99_ms         float64? 99th percentile of their latency; null: no response
error_counts   string?  JSON: {error name: number of responses}; null: no errors
never_delivered int32?  partitions of the session that never returned records; null for session 0
findings       int64?   number of its findings in `kcli fetch-session lint`; null for session 0
""",
    dated=False,
)
define(
    TABLES,
    "clients",
    "Requests of each client by API and version, and whether Kafka's newest release still accepts them; every run "
    "makes it anew.",
    """
client_id      string?
address        string   the client's IP address, without the port
software       string?
software_version string?
negotiates     bool     true: the client requests the broker's API versions (ApiVersions)
api_key        int16
api            string?  the API's name, as in a broker's log: PRODUCE
api_version    int16    version of the requests
requests       int64    requests with this API and version
connections    int32    connections of the client, with any API
accepted_min   int16?   lowest version that `release` accepts; null: it lacks the API
accepted_max   int16?   highest version that `release` accepts; null: it lacks the API
verdict        string   ok, refused, or unsure: the client may support a newer version that the broker did not offer
reason         string?  why it is refused or unsure; null: ok
release        string   the newest release of Kafka that kcli knows
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
client_id      string?
client_address string   the client's IP address, without the port
api            string   PRODUCE or FETCH
topic          string?  the topic's name, or its id if only that is known
partition      int32
error          string   the first error: NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH
from_server    string   address:port of the broker that returned the first error
error_answers  int64    responses with such an error until the client continued
hint_sent      bool     true: one of these responses names the new leader (KIP-951)
hint_leader    int32?   node id of the leader in that response; null: not named
hint_server    string?  host:port of the leader in that response; null: not named
to_server      string?  address:port of the broker of the next successful request; null: none in the capture
recovered      instant? time of the response to that request; null: none in the capture
lost_ms        float64? from `timestamp` to `recovered`; null: the client did not continue in the capture
hint_saves_ms  float64? the part of lost_ms that a hint would save: until the successful request was sent; 0: hint_sent
""",
    dated=False,
)
TABLES["remote_fetches"] = REMOTE_FETCHES
define(
    TABLES,
    "quorum",
    "Snapshots of the metadata log that were fetched (KIP-630); every run updates it.",
    """
timestamp      instant  time of the first FetchSnapshot request
server         string   address:port of the controller or broker that sent it
client         string   address:port of the node that fetched it
client_id      string?
topic          string   the log's topic: __cluster_metadata
partition      int32    the log's partition
end_offset     int64    the snapshot's end offset: the first offset that it does not contain
epoch          int32    leader epoch of the snapshot's last record
size_bytes     int64?   size of the snapshot, as the responses state it; null: no response without an error
received_bytes int64    bytes of the snapshot in the responses, each position once
requests       int64    FetchSnapshot requests
error_names    string?  errors of the responses, separated by commas; null: none
complete       bool     true: all bytes of the snapshot were received
seconds        float64? from the first request to the last response; null: no response
""",
    dated=False,
)
TABLES |= CALL_TABLES
define(
    TABLES,
    "findings",
    "Findings of `kcli diagnose`; every run rewrites it.",
    """
rank           int32    1 is the most important
finding        string   id of the finding
severity       string   critical, warning or info
subject        string   JSON: names by kind (client, group, topic, partition, broker): {"client": "a", "topic": ["b"]}
evidence       string   JSON: values by name; from, to: times of the first and last exchange; addresses: the clients'
text           string   what is wrong, in one line
ruled_out      string?  other causes, each with the evidence against it; null: none was checked
advice         string   what to do
see            string?  a command that shows the exchanges or figures; null: none
source         string   where the rule's limits come from: KIPs, configs and metrics of Kafka, RFCs
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
    "data binary? the bytes of a frame that could not be decoded, at most 1 MiB; null: none, or they are secret",
)
define(
    TABLES,
    "lineage",
    "An account of all packets and bytes, by file and by share of connections; the counts add up.",
    """
run            int64    number of the run that read it
scope          string   file: a capture; share: connections of a task; open: ends of open connections, until a later run
name           string   the file, or the share's number (and its time window's)
bytes          int64?   size of the file; null for shares
packets        int64    packets in the file, or read for the share; those that the share lacks are outside the sample
tcp_packets    int64    TCP packets
other_packets  int64    packets without TCP
cut_packets    int64    packets truncated within their headers
fragments      int64    IP fragments of incomplete datagrams
unknown_links  int64    packets of an unknown link layer
payload_bytes  int64    captured bytes of TCP payload
exchange_bytes int64?   payload in exchanges; null for files
event_bytes    int64?   payload in rows of `undecodable`; null for files
duplicate_bytes int64?  payload sent or captured more than once; null for files
stray_bytes    int64?   payload after its connection's end, on other ports, or outside the sample; null for files
tls_bytes      int64?   TLS overhead of decrypted connections: handshakes, headers, tags; null for files
carried_bytes  int64?   payload kept for the next run minus that of the preceding one (can be negative); null for files
exchanges      int64?   rows of `exchanges`; null for files
events         int64    rows of `undecodable`
first          instant? time of the first packet; null: no packet
last           instant? time of the last packet; null: no packet
""",
    dated=False,
)
RUNS = Table(
    "runs",
    "The runs that made the Delta tables: their captures, and the version of each table.",
    columns("""
run            int64    number of the run; numbers increase, and a failed run leaves a gap
ended          instant  when the run ended
kcli           string   version of the kcli that ran
captures       int64    captures that the run read
exchanges      int64    exchanges in them; a request without a response at the end counts again in the next run
sample         float64? share of the connections that the run read (`--sample`): 0.1 is a tenth; null: all
in_place_of    string   JSON: numbers of the earlier runs whose rows it replaces
inputs         string   JSON: the captures, each with size, mtime, and a digest of its beginning and end
versions       string   JSON: the version of each table after the run
state          string   JSON: the state from which the next run continues
"""),
    dated=False,
)
# Columns of dated tables with the origin of a row; null in rows of a kcli that did not write them.
ORIGIN = columns("""
cluster        string?  the cluster, from the capture's path by `--origin`; null: the path does not name it
host           string?  the host of the capture, from its path by `--origin`; null: the path does not name it
file           string?  the capture with its last packet; unanswered: with its request; null: an earlier run's
run            int64?   number of the pipeline's run that wrote the row; null: an older kcli wrote it
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
