"""The tables of captures, log segments and snapshots that one process makes (`kcli sql`, Parquet files)."""

from kcli.tables import connections
from kcli.tables.definition import Column, Table, columns
from kcli.tables.exchange_views import GROUPS, THROTTLING
from kcli.tables.exchanges import EXCHANGE_COLUMNS, EXCHANGES
from kcli.tables.hourly import HOURLY

# Files lack the columns whose values are also in the texts `request` and `response`; `kcli sql` makes these columns
# from a capture on demand. In the pipeline an exchange has no file, as its packets may be in several.
FILED_COLUMNS = tuple(each for each in EXCHANGE_COLUMNS if not each.fields)
PIPELINE_EXCHANGE_COLUMNS = tuple(each for each in FILED_COLUMNS if each.name != "file")
EVENT_COLUMNS = columns("""
timestamp      instant  time of the event; 1970 if damage in a file hides it
connection     string?  "server-client"; null for an event of a file
event          string   gap, truncated, undecodable, not-kafka or unanswered-at-end
sender         string?  client or server
offset         int64    position in that direction of the connection, or in the file
bytes          int64    number of bytes
captured       bool     the bytes are in the capture (true), or missing
reason         string   what is wrong
file           string   the capture that was read at that time, or that is damaged
""")
# A file of `kcli decode pcap --format parquet` has exchanges and events, to keep their order. Exchanges have none of
# the event columns, and events few of the others. Columns whose values are in others, too, are left out.
LEFT_OUT = ("request_header", "completed_ns", "sender", "captured")
PARQUET_COLUMNS: tuple[Column, ...] = tuple(
    {each.name: each for each in (*FILED_COLUMNS, *EVENT_COLUMNS) if each.name not in LEFT_OUT}.values()
)
CAPTURED: dict[str, Table] = {
    each.name: each
    for each in (
        EXCHANGES,
        Table("events", "Bytes that are in no exchange, with the reason, and missing responses.", EVENT_COLUMNS),
        Table(
            "connections",
            "Each connection with a request, and each undecrypted TLS connection.",
            (*connections.COLUMNS, connections.FILE),
            dated=False,
        ),
        Table("throttling", "Each response with a throttle time (quotas).", THROTTLING, dated=False),
        Table(
            "groups",
            "Each group that a member joined: classic, consumer (KIP-848) and share (KIP-932).",
            GROUPS,
            dated=False,
        ),
        HOURLY,
        Table(
            "records",
            "Every record of log segments, and of Produce, Fetch and ShareFetch in captures.",
            columns("""
topic          string?  the topic's name; null: only its id is known
topic_id       string?  the topic's id, in versions that have one
partition      int32?
offset         int64    offset in the partition; for a Produce from the response; -1: the response has none
timestamp      instant? the record's timestamp (to the millisecond); null: it has none, or it is outside the calendar
timestamp_ms   int64?   the record's timestamp in ms since 1970; null: it has none
key            string?  text, or {"base64": ...} if it is not text
value          string?  text, or {"base64": ...} if it is not text
headers        headers  its headers: [{"key": ..., "value": ...}]
key_schema_id  string?  the schema that the key names; null: none, or keys and values are not decoded
key_data       string?  JSON: the key as its schema or format reads it; null: it is not decoded
key_reason     string?  why it could not be decoded
value_schema_id string? the schema that the value names
value_data     string?  JSON: the value; of Kafka's own topics the whole record
value_reason   string?  why it could not be decoded
api            string?  PRODUCE, FETCH or SHARE_FETCH; null for a segment
client_id      string?  from the request's header; null for a segment
connection     string?  "server-client"; null for a segment
base_offset    int64    offset of the batch's first record; for a Produce the client's, which begins at 0
magic          int8
compression    string
timestamp_type string
is_transactional bool
partition_leader_epoch int32
producer_id    int64
producer_epoch int16
base_sequence  int32
file           string   the segment, or the capture that completed the exchange
"""),
        ),
        Table(
            "metadata",
            "Every record of snapshots and of segments of the metadata log, in Kafka's form.",
            columns("""
offset         int64    offset in the log; for a snapshot the position in the snapshot
type           string?  PARTITION_RECORD and others; null: could not be decoded
version        int16?   of the record
data           string   JSON: the record
reason         string?  why it could not be decoded
file           string   the snapshot or segment
"""),
        ),
    )
}  # fmt: skip
