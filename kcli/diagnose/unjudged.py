"""The parts of a capture that no rule can judge, each with its remedy."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.capture.io.capture_file import NO_CAPTURE
from kcli.capture.kafka.clock import SECOND, day_time, instant
from kcli.capture.kafka.events import BEFORE_FRAMES, BROKEN_REQUEST, CUT_OFF, IN_BROKEN_FRAME, REST_MISSING
from kcli.capture.nothing import NothingReadError
from kcli.counting import counted, few_of, span_text
from kcli.diagnose.store import FactStore
from kcli.errors import InputError, UnreadableError
from kcli.finding import Finding, Unjudged
from kcli.rules.captured_times import AHEAD_NS, SET_BACK
from kcli.rules.judgement import NAMELESS
from kcli.rules.second_hops import SecondHop
from kcli.rules.signs import CLOCKS_APART_MS, STEADY_RATES

Row = Mapping[str, Any]
WHOLE_PACKETS = "whole packets (tcpdump -s 0)"
NAMED = 3  # most servers in one text
OF_HANDSHAKES = ("expired-certificate", "tls-mismatch", "plaintext-on-tls", "tls-on-plaintext")
STEADY_CLOCK = "a capture on a machine whose clock is steady (chrony or ntpd that slews it)"
JUMPS = 3  # most jumps of the clock to name
SHORT_S = 5.0  # seconds: shorter captures hardly show repeated or changing behaviour


# The topic in a row, or its id if no name is known.
OF_CLIENTS = f"""
WITH nameless AS ({NAMELESS})
SELECT DISTINCT topic
FROM (SELECT topic, client_id FROM fetched UNION ALL SELECT topic, client_id FROM produced) AS p
WHERE client_id NOT IN (SELECT client_id FROM inner_clients) AND topic IN (SELECT topic_id FROM nameless)
ORDER BY topic
"""


def unjudged_parts(store: FactStore, seconds: float) -> list[Unjudged]:
    """List the parts that were not judged, but for those that `undecodable` yields. seconds: the captured time."""
    return [
        *unjoined(store),
        *one_way(store),
        *two_clocks(store),
        *wrong_clock(store),
        *mid_stream(store),
        *unknown_schemas(store),
        *nameless(store),
        *short(store, seconds),
    ]


def unread_parts(damage: InputError | None) -> list[Unjudged]:
    """Name the part of damaged files that could not be read."""
    if damage is None or isinstance(damage, NothingReadError):
        return []
    if damage.text.startswith(NO_CAPTURE):
        return [Unjudged(f"a file without a packet: {damage}", "leave it out, or capture anew", unread=True)]
    if isinstance(damage, UnreadableError):
        return [Unjudged(f"a file that can't be read: {damage}", "the right to read it; or leave it out", unread=True)]
    remedy = "a whole copy of it; what could be read is judged here"
    return [Unjudged(f"a part of a damaged file: {damage}", remedy, unread=True)]


def second_hop(hop: SecondHop) -> Unjudged:
    """Return the part for the second hop of a proxy, or the second side of a NAT."""
    links = counted(hop.connections, "connection")
    if hop.proxy == hop.server:
        return Unjudged(
            f"{links} to {hop.server}, whose requests are those from other addresses once more (both sides of a NAT): "
            "they count once",
            "a capture of that side alone",
        )
    return Unjudged(
        f"{links} to {hop.server}, whose requests are those to {hop.proxy} once more (both hops of a proxy): "
        "they count once",
        "a capture of that hop alone",
    )


# Bytes that are there, but lack those beside them.
INCOMPLETE = f"(reason IN ('{REST_MISSING}', '{IN_BROKEN_FRAME}') OR reason LIKE '%, {BROKEN_REQUEST}')"
# By kind of connections in which no Kafka traffic was recognized: in words, the remedy, and whether it may be there.
PERHAPS_KAFKA = {
    "cut-foreign": (
        "{links} to {to}, maybe Kafka's: the snapshot length cuts off their packets",
        WHOLE_PACKETS,
        True,
    ),
    "half": (
        "{links} to {to}, maybe Kafka's: packets of one direction alone are in the capture",
        "a capture of both directions",
        True,
    ),
    "foreign": ("{links} without Kafka, to {to}", "--port N where it is Kafka all the same", False),
}
# By kind of bytes that are not there: in words, and the remedy.
MISSING = {
    "cut": ("that the snapshot length cuts off", WHOLE_PACKETS),
    "lost": ("that are not in the capture", "a bigger capture buffer (tcpdump -B); of a ring of files, all of them"),
}
IN_HOLE = "larger packets than pass do not reach this place of capture: see path-mtu"
# Connections of TLS whose handshake did not end well: nothing of Kafka's is in them. Either end said so in an alert, or
# the client sent its hello alone.
UNFINISHED = (
    "coalesce(c_alert, 0) > 0 OR coalesce(s_alert, 0) > 0 OR s_first_bytes LIKE '1503%' "
    "OR (opened AND c_first_bytes LIKE '16%' AND c_data_segments <= 1)"
)
# `mid_stream` reports connections that began before the capture; parts cut by a reset or the capture's end are no
# fault.
PARTS = f"""
WITH unfinished AS (SELECT connection FROM tcp WHERE {UNFINISHED}),
one_way AS (SELECT connection FROM tcp WHERE (c_segments = 0 AND s_data_segments > 0)
                                          OR (s_segments = 0 AND c_data_segments > 0))
SELECT kind, array_agg(DISTINCT tls) AS tls, count(DISTINCT connection) AS connections, sum(bytes) AS bytes,
       array_agg(DISTINCT server) AS servers, bool_or(keyless) AS keyless
FROM (SELECT connection, server, bytes, kind, reason LIKE '%: its keys are in no key log' AS keyless,
             CASE WHEN kind = 'encrypted'
                  THEN substring(reason, 1, position(':' IN concat(reason, ':')) - 1) END AS tls
      FROM (SELECT u.*, e.server, CASE WHEN event = 'not-kafka' AND u.connection IN (SELECT connection FROM unfinished)
                                THEN 'unfinished'
                           WHEN event = 'not-kafka' AND reason LIKE 'TLS%' THEN 'encrypted'
                           WHEN event = 'not-kafka' AND reason LIKE '%{CUT_OFF}' THEN 'cut-foreign'
                           WHEN event = 'not-kafka' AND u.connection IN (SELECT connection FROM one_way) THEN 'half'
                           WHEN event = 'not-kafka' THEN 'foreign'
                           WHEN u.connection IS NULL OR event NOT IN ('gap', 'truncated', 'undecodable') THEN NULL
                           WHEN NOT captured AND event = 'truncated' THEN 'cut'
                           WHEN NOT captured AND event = 'gap' THEN 'lost'
                           WHEN {INCOMPLETE} THEN 'rest'
                           WHEN event = 'undecodable' AND reason != '{BEFORE_FRAMES}' THEN 'unreadable'
                      END AS kind
            FROM undecodable u LEFT JOIN link_ends e ON u.connection = e.connection) AS named) AS parts
WHERE kind IS NOT NULL GROUP BY kind, CASE WHEN kind IN ('encrypted', 'unfinished') THEN server END
ORDER BY position(concat(' ', kind, ' ') IN ' encrypted unfinished cut-foreign half foreign cut lost rest unreadable '),
         connections DESC, min(server)
"""


SEE = """kcli sql "SELECT timestamp, connection, bytes, reason FROM undecodable WHERE event != 'not-kafka'\""""


def undecodable(store: FactStore, files: str, found: Sequence[Finding]) -> Iterator[Unjudged]:
    """Yield the parts that are not Kafka, and the Kafka parts that cannot be read. files: names of the captures for
    commands. found: the findings; a part that they name is left out.
    """
    if not store.has("undecodable"):
        return
    kinds: dict[str, list[Row]] = {}
    for row in store.ask(PARTS):
        kinds.setdefault(row["kind"], []).append(row)
    yield from encrypted(kinds.get("encrypted", ()))
    yield from failed_handshakes(kinds.get("unfinished", ()), found)
    alone = {kind: rows[0] for kind, rows in kinds.items()}  # of the other kinds there is one row each
    for kind, (text, remedy, unread) in PERHAPS_KAFKA.items():
        if kind in alone:
            links, to = links_of(alone[kind]), servers_of(alone[kind])
            yield Unjudged(text.format(links=links, to=to), remedy, unread=unread)
    holed = any(each.finding == "path-mtu" for each in found)
    yield from unread_bytes(store, {kind: row for kind, row in alone.items() if row["bytes"]}, f"{SEE} {files}", holed)


def failed_handshakes(rows: Iterable[Row], found: Iterable[Finding]) -> Iterator[Unjudged]:
    """Yield the failed TLS handshakes with each server, unless a finding names the server."""
    reported = {name for each in found if each.finding in OF_HANDSHAKES for name in each.names("broker")}
    for row in rows:
        if row["servers"][0] not in reported:
            shakes = counted(row["connections"], "TLS handshake")
            text = f"{shakes} with {servers_of(row)} that failed: no Kafka traffic in them"
            yield Unjudged(text, "the logs of both ends")


def unread_bytes(store: FactStore, rows: Mapping[str, Row], see: str, holed: bool) -> Iterator[Unjudged]:
    """Yield the bytes of Kafka that are not in the capture, and those that can't be decoded. rows: by kind. holed:
    large packets do not reach the place of capture.
    """
    lacking = [kind for kind in MISSING if kind in rows]
    for kind in lacking:
        text, remedy = MISSING[kind]
        beside = f", and {rows['rest']['bytes']:,} in the same frames" if "rest" in rows and kind == lacking[0] else ""
        beside += cut_exchanges(store) if kind == "cut" else ""
        remedy = IN_HOLE if holed and kind == "lost" else remedy
        yield Unjudged(f"{amount_of(rows[kind])} {text}{beside}", remedy, see, unread=True)
    for kind in ("unreadable",) if lacking else ("rest", "unreadable"):
        if kind in rows:
            text = f"{amount_of(rows[kind])} that are captured and can't be decoded"
            yield Unjudged(text, "the table undecodable says where and why", see)


def links_of(row: Row) -> str:
    return counted(row["connections"], "connection")


def servers_of(row: Row) -> str:
    return few_of(sorted(row["servers"]), NAMED)


def amount_of(row: Row) -> str:
    return f"{row['bytes']:,} bytes on {links_of(row)}"


def cut_exchanges(store: FactStore) -> str:
    """Return of how many exchanges the snapshot length leaves only the beginning, as the end of a text."""
    (row,) = store.ask("SELECT count(*) AS exchanges, sum(CASE WHEN is_cut THEN 1 ELSE 0 END) AS cut FROM calls")
    return f": topics, records or errors of {row['cut']:,} of {row['exchanges']:,} exchanges" if row["cut"] else ""


def unjoined(store: FactStore) -> Iterator[Unjudged]:
    if store.unjoined:
        yield Unjudged(
            f"{counted(store.unjoined, 'IP fragment')} whose datagram is not whole in the capture",
            "a filter that does not lose them, as only a datagram's first fragment has ports "
            "(tcpdump 'port 9092 or ip[6:2] & 0x1fff != 0')",
        )


def encrypted(rows: Iterable[Row]) -> Iterator[Unjudged]:
    """Yield the connections of TLS: one part per server, or for several servers with the same TLS version and suite."""
    servers: dict[str, list[str]] = {}
    links: Counter[str] = Counter()
    keyless = set[str]()  # a key log was given, and it is another one
    for row in rows:
        spoken = tls_text(row["tls"])
        keyless |= {spoken} if row["keyless"] else set()
        servers.setdefault(spoken, []).extend(row["servers"])
        links[spoken] += row["connections"]
    for spoken, named in servers.items():
        text = f"{counted(links[spoken], 'connection')} of {spoken} to {few_of(sorted(named), NAMED)}"
        which = "of these connections, which the given key log lacks" if spoken in keyless else "of TLS"
        yield Unjudged(text, f"--key-log FILE with the secrets {which}", unread=True)


def tls_text(spoken: Iterable[str]) -> str:
    """Describe a server's TLS: version, suite and certificate, or only the versions if there are several suites."""
    every = sorted(spoken)
    if len(every) == 1:
        return every[0]
    parts = [each.split(", ") for each in every if "," in each]  # the others ended before the handshake chose a suite
    if not parts:
        return " and ".join(every)
    suites = {each[1] for each in parts}
    named = suites.pop() if len(suites) == 1 else f"{len(suites)} suites,"
    return f"{' and '.join(dict.fromkeys(each[0] for each in parts))}, {named}"


def one_way(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT count(DISTINCT connection) AS connections FROM calls
WHERE connection IN (SELECT connection FROM tcp WHERE s_segments = 0 AND c_data_segments > 1) HAVING count(*) > 0
"""):
        yield Unjudged(
            f"responses on {counted(row['connections'], 'connection')}: no packet of the broker is in the capture",
            "a capture of both directions",
        )


# The connections whose servers' packets have the times of another clock, and by how much that is ahead (ns). An answer
# to a SYN is on its way meanwhile, which is short against the times that matter.
CLOCKS = f"""
SELECT server, count(*) AS connections, percentile_approx({AHEAD_NS}, 0.5) AS ahead_ns
FROM tcp
WHERE {AHEAD_NS} IS NOT NULL AND (SELECT {CLOCKS_APART_MS} FROM tcp) > 0
GROUP BY server ORDER BY connections DESC, server
"""


def two_clocks(store: FactStore) -> Iterator[Unjudged]:
    """Yield the part if the two directions of connections were captured by two clocks."""
    rows = [*store.ask(CLOCKS)]
    if rows:
        ahead, servers = rows[0]["ahead_ns"] / SECOND, few_of([row["server"] for row in rows], NAMED)
        yield Unjudged(
            f"how long anything takes: packets of {servers} are dated by a clock about "
            f"{span_text(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} that of the clients' packets",
            "a capture of both directions by one clock, or the times of one moved (editcap -t, then mergecap)",
        )


# How far the clock was set back within a connection, and the requests that waited too long for any reason.
CLOCK = f"""
SELECT (SELECT max(greatest(first_ns - last_ns, back_ms * 1e6)) FROM tcp WHERE {SET_BACK}) AS back_ns,
       (SELECT {STEADY_RATES} FROM tcp) AS steady_rates, count(*) AS late
FROM timed
WHERE own_ms > 1000
"""


def wrong_clock(store: FactStore) -> Iterator[Unjudged]:
    """Yield the times at which the clock of the capture jumped, as far as that is known."""
    [row] = store.ask(CLOCK)
    if row["back_ns"] is not None:
        back = span_text(row["back_ns"] / SECOND)
        lost = "how long anything takes" if row["steady_rates"] else "how long anything takes, and how often"
        yield Unjudged(f"{lost}: the capture's clock was set back by {back} or more", STEADY_CLOCK)
    elif row["late"] > 1:
        for each in [*store.ask("SELECT from_ns, to_ns FROM pauses ORDER BY from_ns")][:JUMPS]:
            span = span_text((each["to_ns"] - each["from_ns"]) / SECOND)
            at = day_time(instant(each["from_ns"]), dated=False)
            yield Unjudged(
                f"{span} from {at}Z, without any message though requests wait: the capture's clock was set "
                "forward, its machine paused, or a file is missing",
                STEADY_CLOCK,
            )


def mid_stream(store: FactStore) -> Iterator[Unjudged]:
    for row in store.ask("""
SELECT count(DISTINCT connection) AS connections FROM calls
WHERE connection IN (SELECT connection FROM tcp WHERE NOT opened) HAVING count(*) > 0
"""):
        yield Unjudged(
            f"logins and versions of {counted(row['connections'], 'connection')} that began before the capture",
            "a capture that begins before the clients",
        )


def unknown_schemas(store: FactStore) -> Iterator[Unjudged]:
    if not store.has("unread_payloads"):
        return
    for row in store.ask("""
SELECT sum(unknown) AS payloads, array_agg(DISTINCT topic) AS topics FROM unread_payloads HAVING sum(unknown) > 0
"""):
        of = ", ".join(sorted(row["topics"])[:3])
        yield Unjudged(
            f"{counted(row['payloads'], 'key or value', 'keys and values')} of {of}, whose schema is not known",
            "--schema-registry URL, or --schemas DIR",
        )


def nameless(store: FactStore) -> Iterator[Unjudged]:
    """Yield the topics that clients use by an id for which no name is known."""
    if not store.may_be_nameless():
        return
    ids = [row["topic"] for row in store.ask(OF_CLIENTS, ["nameless"])]
    if ids:
        yield Unjudged(
            f"{counted(len(ids), 'topic')} known by id alone: {few_of(ids, NAMED)}",
            f"a capture that begins before the clients; their names: kafka-topics.sh --describe --topic-id {ids[0]}",
        )


def short(store: FactStore, seconds: float) -> Iterator[Unjudged]:
    if 0 < seconds < SHORT_S and store.has("exchange_facts"):
        yield Unjudged(
            f"problems that take longer than these {span_text(seconds)} to show", "a capture of a minute or more"
        )
