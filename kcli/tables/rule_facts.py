"""The facts that rules, and the tables of members and transactions, are derived from: requests and responses about
groups, transactions, metadata and logins, and facts about TCP connections.
"""

from kcli.tables.definition import Column, Table, define
from kcli.tables.exchanges import LEADING_COLUMNS

RULE_FACTS: dict[str, Table] = {}
COMPLETED = "completed_ns   int64\n"

define(
    RULE_FACTS,
    "group_calls",
    "Requests of members of groups, each with its response.",
    LEADING_COLUMNS,
    COMPLETED,
    """
api            string
group_id       string
member_id      string?  of the request, or else the one in the response
instance_id    string?  group.instance.id
generation     int32?   of the request; a member's epoch (KIP-848)
answered_generation int32? of the response
error          string?
reason         string?  why the member leaves or joins, as it says
protocols      string?  protocol type and names of the assignors that a JoinGroup offers
session_timeout_ms int32? of a JoinGroup
rebalance_timeout_ms int32? of a JoinGroup: max.poll.interval.ms
assignment     strings? topic-partition: assigned by the response; KIP-848 and Streams: an id, no name
answered       bool?
""",
    dated=False,
)
define(
    RULE_FACTS,
    "commits",
    "Partitions of OffsetCommit.",
    LEADING_COLUMNS,
    COMPLETED,
    """
group_id       string
member_id      string?  of the request
topic          string?
topic_id       string?  its id, of a request that has that in place of the name
partition      int32
committed_offset int64  what is committed
error          string?  name of the partition's error
""",
    dated=False,
)
define(
    RULE_FACTS,
    "metadata_calls",
    "Metadata requests.",
    LEADING_COLUMNS,
    COMPLETED,
    """
all_topics     bool     it asks for all topics
topics         int32?   topics in the response; null: it is cut off
response_bytes int64?   of the response
""",
    dated=False,
)
define(
    RULE_FACTS,
    "metadata_topics",
    "Topics of Metadata responses with an error.",
    LEADING_COLUMNS,
    COMPLETED,
    """
topic          string?
error          string   name of its error
named          bool     the request named the topic
""",
    dated=False,
)
define(
    RULE_FACTS,
    "metadata_told",
    "Topics of Metadata responses.",
    LEADING_COLUMNS,
    COMPLETED,
    """
told           int64    number of the state of the topic's partitions in the response: as in partition_states
""",
    dated=False,
)
define(
    RULE_FACTS,
    "partition_states",
    "States of partitions in Metadata responses: one row for all responses with the same state of a topic.",
    """
told           int64    number of the state
topic          string
topic_id       string?
partition      int32
leader         int32
leader_epoch   int32?
leader_address string?
replicas       string
isr            string
replica_count  int32
isr_count      int32
error          string?  name of the partition's error
""",
    dated=False,
)
define(
    RULE_FACTS,
    "advertised",
    "Brokers named in Metadata and FindCoordinator responses, each once.",
    """
server         string   the server that answered
node_id        int32    the broker
address        string   host:port
""",
    dated=False,
)
define(
    RULE_FACTS,
    "voters",
    "Controllers as Vote and BeginQuorumEpoch requests name them, each once.",
    """
server         string   the server that is asked
node_id        int32    the voter
""",
    dated=False,
)
define(
    RULE_FACTS,
    "cluster_ids",
    "Clusters named in Metadata responses, each once for a broker.",
    """
server         string   the server that answered
cluster_id     string   the cluster's id
""",
    dated=False,
)
define(
    RULE_FACTS,
    "coordinator_asks",
    "FindCoordinator requests, a row for each key.",
    LEADING_COLUMNS,
    COMPLETED,
    """
group_id       string?  the group; null: another kind of key
coordinator_key string? the key, whatever its kind
error          string?  name of its error
kind           string?  what the key names: group, transactional id or share partition; null: unknown
""",
    dated=False,
)
define(
    RULE_FACTS,
    "transaction_calls",
    "Requests of transactional and idempotent producers.",
    LEADING_COLUMNS,
    COMPLETED,
    """
api            string
transactional_id string? null: an idempotent producer
producer_id    int64?   of the request, or else the one in the response
producer_epoch int32?   of the request, or else the one in the response
committed      bool?    of EndTxn
timeout_ms     int32?   of InitProducerId
partitions     strings? topic-partition: what it adds to the transaction
error          string?
answered       bool?
""",
    dated=False,
)
define(
    RULE_FACTS,
    "sasl_calls",
    "SaslHandshake and SaslAuthenticate.",
    LEADING_COLUMNS,
    COMPLETED,
    """
api            string
mechanism      string?  of a SaslHandshake
principal      string?  of a first message of SCRAM, which names it in the clear
error          string?
message        string?  what the broker says of the error
session_lifetime_ms int64? how long the login is good; null or 0: no limit
answered       bool?
""",
    dated=False,
)
define(
    RULE_FACTS,
    "refused_records",
    "Partitions of Produce whose records the broker did not take: INVALID_RECORD, INVALID_TIMESTAMP, "
    "NOT_ENOUGH_REPLICAS.",
    """
connection     string
correlation_id int32
topic          string?
partition      int32
error          string   name of the partition's error
message        string?  what the broker says of it (from Produce v8 on)
records        int32    records that it names
first_record   int32?   the first of them: its place in the batch
record_message string?  what the broker says of that
""",
    dated=False,
)
define(
    RULE_FACTS,
    "uncommitted",
    "Partitions of OffsetFetch responses of which the group has committed no offset.",
    """
connection     string
correlation_id int32
group_id       string?
topic          string?
topic_id       string?  its id, of a response that has that in place of the name
partition      int32
""",
    dated=False,
)
define(
    RULE_FACTS,
    "share_calls",
    "Partitions of ShareFetch and ShareAcknowledge that give or acknowledge records, in offsets.",
    """
connection     string
correlation_id int32
group_id       string?  the share group
member_id      string?  of the request
topic          string?  the topic's name, or its id if no name is known
partition      int32
acquired       int64    given to the member
again          int64    of these: given before
deliveries     int32?   how often the one given most often was given
up_to          int64?   the offset after the last one given for the first time
accepted       int64    that the member processed
released       int64    that it gives back, to be given again
rejected       int64    that nobody is to get again
acknowledged   int64    of all types
error          string?  name of the error for these acknowledgements
lock_ms        int32?   how long a member has before they are given to another
""",
    dated=False,
)
define(
    RULE_FACTS,
    "topic_changes",
    "Topics that CreateTopics and DeleteTopics name.",
    LEADING_COLUMNS,
    COMPLETED,
    """
api            string
topic          string?  the topic's name; its id if it is deleted by id and the response has no name
error          string?
""",
    dated=False,
)
define(
    RULE_FACTS,
    "software",
    "What clients called themselves in ApiVersions requests, of each connection.",
    """
client         string?  the client's end of the connection
software       string?  the client's name for itself (KIP-511)
software_version string? its version
""",
    dated=False,
)
define(
    RULE_FACTS,
    "offers",
    "APIs that brokers offered in ApiVersions responses, each once.",
    """
server         string
api            string   the API's name, or its number
newest_version int32    the newest that it speaks
""",
    dated=False,
)
define(
    RULE_FACTS,
    "tcp",
    "TCP connections: every one, whether Kafka is in it or not. Of the client's side (c_) and of the server's (s_).",
    """
connection     string
server         string   the end that was connected to; the lower port where that was not seen
client         string   the other end
first_ns       int64    ns since 1970: first packet
last_ns        int64    ns since 1970: last packet
opened         bool     its SYN is in the capture
syns           int32    SYNs that the client sent for it
accepted       bool     a SYN-ACK is in the capture
syn_ms         float64? from the SYN to the SYN-ACK: between this capture and the server, and back
ack_ms         float64? from the SYN-ACK to its acknowledgement: between this capture and the client, and back
back_ms        float64? the farthest that a packet's time is before that of the packet before it, of the same end
""",
    "".join(
        f"{side}{name} {kind} of the {who}: {says}\n"
        for side, who in (("c_", "client"), ("s_", "server"))
        for name, kind, says in (
            ("segments", "int64", "segments"),
            ("bytes", "int64", "bytes of payload, repeated ones too"),
            ("data_segments", "int64", "segments with payload"),
            ("resent", "int64", "segments that were sent again"),
            ("holes", "int64", "gaps in the sequence numbers when a later segment arrived"),
            ("out_of_order", "int64", "segments that were overtaken: sent before those that came first"),
            ("duplicate_acks", "int64", "acknowledgements that say the same again while bytes are under way"),
            ("zero_windows", "int64", "times that it closed its window"),
            ("zero_window_ms", "float64", "how long it was closed"),
            ("syn_ns", "int64?", "time of its SYN"),
            ("fin_ns", "int64?", "time of its FIN"),
            ("rst_ns", "int64?", "time of its reset"),
            ("resent_wait_ms", "float64", "the longest wait before it sent a segment again"),
            ("unacked_ns", "int64?", "since when nothing of what it sends is acknowledged"),
            ("unacked_silence_ms", "float64?", "how long the connection was silent before that"),
            ("unacked_resent", "int64", "segments that it sent again since"),
            ("alert", "int32?", "TLS alert: its description; 255: one that ends a handshake of TLS 1.3, unreadable"),
            ("alert_ns", "int64?", "time of that"),
            ("first_bytes", "string", "its first 8 bytes in hexadecimal"),
            ("first_size", "int64", "bytes of its first segment with payload"),
            ("first_data_ns", "int64?", "time of that segment"),
            ("last_ns", "int64?", "time of its last packet"),
            ("rtt_samples", "int64", "measured times from its data to their acknowledgement"),
            ("rtt_min_ms", "float64?", "the shortest of them"),
            ("rtt_p50_ms", "float64?", "their median"),
            ("rtt_p99_ms", "float64?", "of 99 in 100"),
            ("sacks", "int64", "acknowledgements that tell of a hole (SACK)"),
            ("repeats", "int64", "acknowledgements that tell of bytes that came twice (D-SACK)"),
            ("early", "int64", "segments that are acknowledged before they are captured"),
            ("early_ms", "float64?", "how long before, on average; null: none is"),
        )
    ),
    dated=False,
)
define(
    RULE_FACTS,
    "unread_payloads",
    "Keys and values of records that can't be read, by topic; where payloads are decoded.",
    """
topic          string
part           string   key or value
records        int64    that can't be read
unknown        int64    whose schema could not be looked up
readable       int64    others of the topic, that can be read
reasons        strings  why
schemas        strings  ids of the schemas that they name
partitions     strings  topic-partition
places         strings  partition@offset of the first
writers        strings  client ids that produced them
readers        strings  client ids that fetched them
""",
    dated=False,
)

# The tables of exchanges are views: over the exchanges, and over their distinct contents, each stored once (see
# `sayings`).
CALLS = {name: table for name, table in RULE_FACTS.items() if table.columns[: len(LEADING_COLUMNS)] == LEADING_COLUMNS}
SAYING = Column("saying", "int64", "number of what an exchange says", False)
OF_CLIENT = tuple(each for each in LEADING_COLUMNS if each.name in ("client_id", "api_version"))
# Columns that differ between exchanges that say the same otherwise. They refer to the list `offsets` of the exchange.
VARYING = {"committed_offset": Column("place", "int32", "its place among the offsets, from 1 on", False)}
for name, table in CALLS.items():
    said = (SAYING, *OF_CLIENT, *(VARYING.get(each.name, each) for each in table.columns[len(LEADING_COLUMNS) + 1 :]))
    RULE_FACTS[f"{name}_said"] = Table(f"{name}_said", f"What is said. {table.text}", said, False)
    del RULE_FACTS[name]
define(
    RULE_FACTS,
    "called",
    "Exchanges that say something, each a row.",
    [SAYING],
    """
link           int64    number of its connection
correlation_id int32
timestamp      instant
""",
    COMPLETED,
    """
offsets        integers? of an OffsetCommit: what is committed, in the order of its partitions
""",
    dated=False,
)
define(
    RULE_FACTS,
    "called_links",
    "Connections of those exchanges.",
    """
link           int64    its number
connection     string
server         string
client         string
""",
    dated=False,
)


def calls_query(table: Table) -> str:
    """Return the query for a table of exchanges."""
    columns = ", ".join(
        f"element_at(c.offsets, s.place) AS {each.name}" if each.name in VARYING else f"s.{each.name}"
        for each in table.columns[len(LEADING_COLUMNS) + 1 :]
    )
    return f"""
SELECT c.timestamp, l.connection, l.server, l.client, s.client_id, c.correlation_id, s.api_version, c.completed_ns,
       {columns}
FROM called c JOIN {table.name}_said s ON c.saying = s.saying JOIN called_links l ON c.link = l.link
"""
