"""The facts: rows of single connections, kept under _kcli, from which some tables are made over all runs.

They are internal; their columns may change with any release of kcli.
"""

import hashlib
from functools import cache

from kcli.tables.definition import Table, define
from kcli.tables.exchanges import LEADING_COLUMNS
from kcli.tables.rule_facts import RULE_FACTS

FACTS: dict[str, Table] = {}


@cache
def facts_mark() -> str:
    """Return a hash of the tables of facts and their columns. A run of a kcli with other facts has another."""
    defined = {name: [(each.name, each.kind) for each in table.columns] for name, table in FACTS.items()}
    return hashlib.blake2b(repr(sorted(defined.items())).encode(), digest_size=8).hexdigest()


define(
    FACTS,
    "client_uses",
    "Requests of one connection, by API and version.",
    """
connection     string
client_id      string   from the requests' headers
address        string   the client's IP address
software       string
software_version string
negotiates     bool     true: the client sent ApiVersions
api_key        int16
api_version    int16    version of the requests
requests       int64
free           bool     true: not the newest version that the broker offered
""",
    dated=False,
)
define(
    FACTS,
    "connection_sums",
    "Sums over the exchanges of a connection, and its TCP figures; several rows for a connection add up.",
    """
connection     string
client_id      string   of the first exchange that has one
completed_ns   int64    ns since 1970: of that exchange, as in exchanges; null: no exchange has one
first_request  instant  time of the first request; null: none
last_request   instant  time of the last request; null: none
requests       int64
unanswered     int64    requests without a response
with_errors    int64
request_bytes  int64
response_bytes int64
round_trip_ms  float64  from the client's SYN to its ACK; null: the handshake was not captured
""",
    dated=False,
)
define(
    FACTS,
    "logins",
    "Steps of the logins of a connection: SaslHandshake and SaslAuthenticate.",
    """
connection     string
principal      string?  User:NAME; empty: refused; null: this step does not name the user
completed_ns   int64    ns since 1970: time of the response
login          string?  User:NAME that the client sent; null: none in this step
mechanism      string?  SASL mechanism, from SaslHandshake
login_result   string?  accepted, unanswered, or the name of the error; null: the login continues
""",
    dated=False,
)
define(
    FACTS,
    "outcomes",
    "Consecutive responses for a partition on one connection with the same error.",
    """
connection     string
server         string   the server that answered
client_id      string   from the requests' headers
client_address string   the client's IP address
api            string   PRODUCE or FETCH
topic          string   the topic's name, or its id if only that is known
partition      int32
error          int16    error code; 0: no error
first_request_ns int64  ns since 1970: time of the first request
first_ns       int64    ns since 1970: time of the first response
last_ns        int64    ns since 1970: time of the last response
answers        int64    number of responses
hint_leader    int32    node id of the leader in the response (KIP-951); -1: not named
hint_server    string   host:port of that leader; null: not named
""",
    dated=False,
)
define(
    FACTS,
    "snapshot_parts",
    "Responses to FetchSnapshot.",
    LEADING_COLUMNS,
    """
topic          string   the log's topic
partition      int32    the log's partition
end_offset     int64    of the snapshot
epoch          int32    of the snapshot
position       int64    of the response's bytes in the snapshot
size_bytes     int64    size of the whole snapshot
received_bytes int64    bytes of the snapshot in the response
error          string   name of the error; null: no error
answered_ns    int64    ns since 1970: time of the response
""",
    dated=False,
)
define(
    FACTS,
    "topic_names",
    "Names of topics by id, from messages with both.",
    """
topic_id       string   the id
topic          string   the name
learnt_ns      int64    ns since 1970: time of the first message with both
""",
    dated=False,
)
define(
    FACTS,
    "fetch_frames",
    "Frames of Fetch, ListOffsets and OffsetFetch as on the wire, without the records of Fetch.",
    """
server         string
connection     string
completed_ns   int64
request_ns     int64    ns since 1970: the request's last packet
response_ns    int64?   ns since 1970: the response's last packet; null: no response
request        binary   without its length
response       binary?  without its length and without records; null: no response
cuts           binary?  int64 pairs: position and size in bytes of the records that were cut out of the response
""",
    dated=False,
)
define(
    FACTS,
    "noted_exchanges",
    "Exchanges that were throttled, and those in which groups are joined.",
    """
timestamp      instant
connection     string
server         string
client_id      string
api            string
request        string   JSON: the request; null: not of a group
response       string   JSON: the response; of other APIs only the throttle time
latency_ms     float64
errors         strings  names of the errors in the response, each once
completed_ns   int64
""",
    dated=False,
)
define(
    FACTS,
    "exchange_facts",
    "Columns of exchanges for the rules of diagnose and the report.",
    """
timestamp      instant
connection     string
server         string
address        string   the client's IP address
client_id      string
correlation_id int32
api_version    int16
api_key        int16
api            string   the API's name; null: no message has that number
request_bytes  int64    with the length before it
response_bytes int64    with the length before it; null: no response
latency_ms     float64
errors         strings  names of the errors in the response, each once; null: it is cut off
completed_ns   int64    ns since 1970: when the exchange was complete
replica_id     int64    of a Fetch; -1: a consumer; null: it is cut off
session_id     int64    of a Fetch
session_epoch  int64    of a Fetch
granted_id     int64    id of the session in the response to a Fetch; 0: none
max_wait_ms    int64    of a Fetch
min_bytes      int64    of a Fetch
isolation_level int64   of a Fetch; 1: read_committed
acks           int64    of a Produce
throttle_ms    int64    of the response
is_cut         bool     request or response is not whole in the capture, so their partitions and batches are unknown
""",
    dated=False,
)
FACTS |= RULE_FACTS
