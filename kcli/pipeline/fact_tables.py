"""The facts: rows of single connections, kept under _kcli, from which some tables are made over all runs.

They are internal; their columns may change with any release of kcli.
"""

from __future__ import annotations

from kcli.tables.definition import Table, define
from kcli.tables.exchanges import WHO
from kcli.tables.rule_facts import RULE_FACTS

FACTS: dict[str, Table] = {}

define(
    FACTS,
    "client_uses",
    "What was asked on one connection.",
    """
connection     string   "server-client"
client_id      string   of the requests
address        string   the client's
software       string   as it says
software_version string version of the client's software
negotiates     bool     ApiVersions was asked
api_key        int16    number of the API
api_version    int16    the version
requests       int64    number of requests
free           bool     a newer version was offered, or none
""",
    dated=False,
)
define(
    FACTS,
    "connection_sums",
    "What the exchanges of a connection come to, and what TCP says of it; in parts, which add up.",
    """
connection     string   "server-client"
client_id      string   of the first exchange that had one
completed_ns   int64    ns since 1970: as in exchanges, of that one; null: none had
first_request  instant  time of the first request, null without one
last_request   instant  time of the last request, null without one
requests       int64    number of requests
unanswered     int64    requests without a response
with_errors    int64    exchanges whose response has an error
request_bytes  int64    bytes of all requests, with headers and lengths
response_bytes int64    bytes of all responses
round_trip_ms  float64  of its handshake, null where that was not seen
""",
    dated=False,
)
define(
    FACTS,
    "logins",
    "Who a connection logged in as, step by step.",
    """
connection     string   "server-client"
principal      string?  User:NAME; empty: refused; null: this step says nothing of it
completed_ns   int64    ns since 1970: when it was answered
login          string?  User:NAME, as it tried to
mechanism      string?  of SASL
login_result   string?  accepted, unanswered, or the name of the error; null: that is not known yet
""",
    dated=False,
)
define(
    FACTS,
    "outcomes",
    "Answers about one partition on one connection, of one kind and in a row.",
    """
connection     string   "server-client"
server         string   the server that answered
client_id      string   of the requests
client_address string   the client's
api            string   PRODUCE or FETCH
topic          string   name or id
partition      int32    index
error          int16    0: fine
first_request_ns int64  of the first
first_ns       int64    when the first was answered
last_ns        int64    when the last was
answers        int64    how many
hint_leader    int32    node id, -1: none
hint_server    string   its endpoint
""",
    dated=False,
)
define(
    FACTS,
    "snapshot_parts",
    "Answers to FetchSnapshot.",
    WHO,
    """
topic          string   the log's topic
partition      int32    the log's partition
end_offset     int64    of the snapshot
epoch          int32    of the snapshot
position       int64    of these bytes in it
size_bytes     int64    of the whole snapshot
received_bytes int64    in the answer
error          string   name, null without one
answered_ns    int64    when
""",
    dated=False,
)
define(
    FACTS,
    "topic_names",
    "Topic ids and the names that messages gave them.",
    """
topic_id       string   the id
topic          string   the name
learnt_ns      int64    when a message first had both
""",
    dated=False,
)
define(
    FACTS,
    "fetch_frames",
    "Fetch, ListOffsets and OffsetFetch as they were on the wire, the records of Fetch left out.",
    """
server         string   the broker's address:port
connection     string   "server-client"
completed_ns   int64    ns since 1970: as in exchanges
request_ns     int64    ns since 1970: the request's last packet
response_ns    int64?   ns since 1970: the response's last packet, null without one
request        binary   without its length
response       binary?  without its length and without records; null without one
cuts           binary?  int64 pairs: where in the response records were, and how many bytes
""",
    dated=False,
)
define(
    FACTS,
    "noted_exchanges",
    "Exchanges that were throttled, and those in which groups are joined.",
    """
timestamp      instant  when the request's last packet was captured
connection     string   "server-client"
server         string   the broker's address:port
client_id      string   from the request's header
api            string   its name
request        string   JSON: the request, of a group's
response       string   JSON: the response of a group's; of others the throttle time
latency_ms     float64  from the request's last packet to the response's
errors         strings  names of the errors in the response, each once
completed_ns   int64    ns since 1970: as in exchanges
""",
    dated=False,
)
define(
    FACTS,
    "exchange_facts",
    "What rules and the report ask of exchanges.",
    """
timestamp      instant  when the request's last packet was captured
connection     string   "server-client"
server         string   the broker's address:port
address        string   the client's
client_id      string   from the request's header
correlation_id int32    of request and response
api_version    int16    of request and response
api_key        int16    number of the API
api            string   its name, null where no message has that number
request_bytes  int64    with the length before it
response_bytes int64    with the length before it, null without a response
latency_ms     float64  from the request's last packet to the response's
errors         strings  names of the errors in the response, each once, null where it is cut off
completed_ns   int64    ns since 1970: when the exchange was complete
replica_id     int64    of a Fetch, -1: no replica asks, null where it is cut off
session_id     int64    of a Fetch
session_epoch  int64    of a Fetch
granted_id     int64    the session that a Fetch was given
max_wait_ms    int64    of a Fetch
min_bytes      int64    of a Fetch
isolation_level int64   of a Fetch; 1: read_committed
acks           int64    of a Produce
throttle_ms    int64    of the response
is_cut         bool     the snapshot length cuts off request or response, so their partitions and batches are unknown
""",
    dated=False,
)
FACTS |= RULE_FACTS
