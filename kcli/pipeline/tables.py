"""The pipeline's tables: every column, its type and meaning (docs/reference/tables.md shows them).

A kind is the name of an Arrow type; "instant" is a timestamp in microseconds, UTC (Spark reads no nanoseconds),
"strings" a list of strings. Bytes are as on the wire unless a column says otherwise; -1 and null are Kafka's own
where it has them.
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
from kcli.tables.captured import CAPTURED, PIPELINE_EXCHANGE_COLUMNS
from kcli.tables.definition import Table, columns, define

TABLES: dict[str, Table] = {}


def without_file(table: Table) -> Table:
    """Return a table without the column `file`: the facts of a connection come from many files."""
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
    "Fetch sessions (KIP-227) as `kcli fetch-session explain` has them; brought up to date by every run.",
    """
timestamp      instant  when the session was first seen
server         string   the broker's end
connection     string   where it was opened, or first seen
client_id      string   of its fetches
replica_id     int32    a follower's broker id; -1: a consumer
api_version    int16    of its fetches
session_id     int32    0: fetches of a client without any session
opened         instant  null where the session was there before the capture
ended          instant  when it ended, null where it did not
end_reason     string   why
complete       bool     nothing of it is missing in the capture
partitions_first int32  partitions at first
partitions_most int32   ... at most
partitions_last int32   ... at last
fetches        int64    in all
full           int64    of them full ones
incremental    int64    of them incremental ones
empty_polls    int64    answers without records
unanswered     int64    requests without an answer
request_bytes  int64    of all requests
response_bytes int64    of all responses
records_bytes  int64    of records in them
full_request_bytes int64 what the requests would have been as full ones
full_response_bytes int64 what the responses would have been to full ones
not_granted    int64    session 0: full fetches that asked for a session and got none
p50_ms         float64  median time to an answer
p99_ms         float64  ... of 99 in 100
error_counts   string   JSON: error name -> how often
never_delivered int32   partitions that never had records
findings       int64    of `kcli fetch-session lint`
""",
    dated=False,
)
define(
    TABLES,
    "clients",
    "What each client asked, by API and version, and whether Kafka's newest release still takes it; made anew "
    "by every run.",
    """
client_id      string   from the request's header
address        string   the client's address
software       string   as it says (KIP-511), null where it does not
software_version string as it says
negotiates     bool     it asks what the broker speaks (ApiVersions)
api_key        int16    number of the API
api            string   the API's name
api_version    int16    the version it used
requests       int64    how often
connections    int32    of the client, in all
accepted_min   int16    lowest version that the release takes, null: no such API
accepted_max   int16    highest version that the release takes
verdict        string   ok, refused, or unsure: it may know a newer version and was offered none
reason         string   why it is refused
release        string   of Kafka
""",
    dated=False,
)
for name in ("connections", "groups", "hourly", "throttling"):
    TABLES[name] = without_file(CAPTURED[name])
TABLES["down_conversions"] = DOWN_CONVERSIONS
define(
    TABLES,
    "leader_changes",
    "Requests that met a broker which no longer leads, and how long it took the client to go on (KIP-951); "
    "brought up to date by every run.",
    """
timestamp      instant  when the error was answered
client_id      string   of the request
client_address string   the client's address
api            string   PRODUCE or FETCH
topic          string   name, or id where that is all there is
partition      int32    the partition's index
error          string   NOT_LEADER_OR_FOLLOWER or FENCED_LEADER_EPOCH
from_server    string   who answered so
error_answers  int64    answers with that error until it went on
hint_sent      bool     the answer said who leads (KIP-951)
hint_leader    int32    node id of the leader in the hint
hint_server    string   its endpoint in the hint
to_server      string   who took the next good request, null: none in the capture
recovered      instant  when that one was answered
lost_ms        float64  from the first error to the first good answer
hint_saves_ms  float64  of it before the request that succeeded was sent: with a hint it would have gone at once
""",
    dated=False,
)
TABLES["remote_fetches"] = REMOTE_FETCHES
define(
    TABLES,
    "quorum",
    "Snapshots of the metadata log fetched over the wire (KIP-630); brought up to date by every run.",
    """
timestamp      instant  of the first request
server         string   who sent it
client         string   who fetched it
client_id      string   of the request
topic          string   the log's topic
partition      int32    the log's partition
end_offset     int64    of the snapshot: the first offset that is not in it
epoch          int32    of the snapshot
size_bytes     int64    of the whole snapshot, as the answers say
received_bytes int64    of it in the answers
requests       int64    that it took
error_names    string   of the answers, with commas between; null without any
complete       bool     all of it was received
seconds        float64  from the first request to the last answer
""",
    dated=False,
)
TABLES |= CALL_TABLES
define(
    TABLES,
    "findings",
    "What is wrong, as `kcli diagnose` finds it; made anew by every run.",
    """
rank           int32    1: the most important
finding        string   its id
severity       string   critical, warning or info
subject        string   JSON: who it is about, by kind: client, group, topic, partition, broker, ...
evidence       string   JSON: figures by name; from, to: times of the exchanges that count; addresses: of clients
text           string   what is wrong, in a line
ruled_out      string?  what it is not
advice         string   what to do
see            string?  the command that shows more
source         string   where the rule's limits come from
""",
    dated=False,
)
define(
    TABLES,
    "undecodable",
    "Every byte that is in no exchange, and every request without an answer: kind, place and reason.",
    """
timestamp      instant  when; 1970 where damage in a file hides it
event          string   gap, truncated, undecodable, not-kafka or unanswered-at-end
connection     string   null: of a file
sender         string   client or server
file           string   the capture that was read when it was noticed
offset         int64    bytes from the start of that direction, or of the file
bytes          int64    how many
captured       bool     the bytes are in the capture, and in no exchange
reason         string   what is wrong
data           binary   the bytes, for a frame that could not be decoded (at most 1 MiB of them)
""",
)
define(
    TABLES,
    "lineage",
    "Where every packet and byte went, by file and by share of connections; the counts add up.",
    """
run            int64    number of the run that read it
scope          string   file; share: connections that one task read; open: their end, until a later run knows better
name           string   the file, or the share's number (and time window's); packets left out are outside the sample
bytes          int64    of the file
packets        int64    in the file, or read for the share
tcp_packets    int64    of them TCP
other_packets  int64    of them not TCP
cut_packets    int64    of them cut off within their headers
fragments      int64    of them IP fragments, but for those that made a datagram whole
unknown_links  int64    of them of a link layer that kcli does not know
payload_bytes  int64    of TCP, captured
exchange_bytes int64    of it in exchanges
event_bytes    int64    of it in rows of `undecodable`
duplicate_bytes int64   of it sent, or captured, more than once
stray_bytes    int64    of it after the end of its connection, or of connections on other ports or outside the sample
tls_bytes      int64    of it TLS's own, of connections that were decrypted: handshakes, headers, tags
carried_bytes  int64    of it kept for the run to come, less what the one before had kept
exchanges      int64    rows of `exchanges`
events         int64    rows of `undecodable`
first          instant  time of the first packet
last           instant  time of the last packet
""",
    dated=False,
)
RUNS = Table(
    "runs",
    "Every run that Delta tables are of: what it has read, and the version of each table that goes with it.",
    columns("""
run            int64    its number: they grow; a run that died leaves a gap
ended          instant  when it was done
kcli           string   the version of kcli
captures       int64    how many it has read
exchanges      int64    how many it has found
sample         float64? share of the connections that it has read (`--sample`); null: all, also before kcli wrote this
in_place_of    string   JSON: numbers of the runs whose captures it has read again
inputs         string   JSON: the captures, each with its size, its time, and a digest of its ends
versions       string   JSON: table -> its version with which the run is there
state          string   JSON: what the next run goes on from
"""),
    dated=False,
)
# Of dated tables, where a row comes from; None before kcli wrote these columns.
ORIGIN = columns("""
cluster        string?  of the capture, as `--origin` finds it in the path
host           string?  where it was captured, as `--origin` finds it in the path
file           string?  the capture whose packet completed it
run            int64?   number of the run that has read it
""")


def with_origin(table: Table) -> Table:
    """Return a table as its files have it: with ORIGIN, if it is dated."""
    added = (each for each in ORIGIN if each.name not in table.names)
    return replace(table, columns=(*table.columns, *added)) if table.dated else table


# Made where a run is asked for it (`--records`), of the same columns as `kcli sql` has. It is partitioned by the day of
# its exchanges: a record may say any time.
RECORDS = CAPTURED["records"]
FILED: dict[str, Table] = {name: with_origin(table) for name, table in (TABLES | {RECORDS.name: RECORDS}).items()}
SHOWN = FILED | {RUNS.name: RUNS}  # to readers of an output folder
