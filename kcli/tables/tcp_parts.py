"""Merges rows of `tcp` for a connection whose parts several runs of a pipeline read."""

from collections.abc import Mapping

from kcli.tables.rule_facts import RULE_FACTS

SUMMED = "sum({0})"
EARLIEST = "min({0})"
LARGEST = "max({0})"
ANY = "bool_or({0})"
OF_FIRST_PART = "arg_min({0}, first_ns)"
OF_LAST_PART = "last({0} ORDER BY last_ns)"  # null if that part has none
OF_FIRST_DATA = "coalesce(arg_min({0}, {1}first_data_ns), min({0}))"
OF_FIRST_ALERT = "arg_min({0}, {1}alert_ns)"
OF_MOST_SAMPLES = "arg_max({0}, {1}rtt_samples)"
# How each column is merged from the parts. {0}: the column; {1}: the prefix of its end, "c_" or "s_".
OF_TALK: Mapping[str, str] = {
    "server": OF_FIRST_PART, "client": OF_FIRST_PART, "first_ns": EARLIEST, "last_ns": LARGEST, "opened": ANY,
    "syns": SUMMED, "accepted": ANY, "syn_ms": EARLIEST, "ack_ms": EARLIEST,
    "back_ms": LARGEST,
}  # fmt: skip
OF_END: Mapping[str, str] = {
    **dict.fromkeys(
        ("segments", "bytes", "data_segments", "resent", "holes", "out_of_order", "duplicate_acks", "zero_windows",
         "zero_window_ms", "rtt_samples", "sacks", "repeats", "early"),
        SUMMED,
    ),
    **dict.fromkeys(("syn_ns", "fin_ns", "rst_ns", "first_data_ns", "alert_ns", "rtt_min_ms"), EARLIEST),
    **dict.fromkeys(("resent_wait_ms", "last_ns", "early_ms"), LARGEST),
    **dict.fromkeys(("unacked_ns", "unacked_silence_ms", "unacked_resent"), OF_LAST_PART),
    **dict.fromkeys(("first_bytes", "first_size"), OF_FIRST_DATA),
    **dict.fromkeys(("rtt_p50_ms", "rtt_p99_ms"), OF_MOST_SAMPLES),
    "alert": OF_FIRST_ALERT,
}  # fmt: skip


def whole_connections(parts: str) -> str:
    """Return DuckDB's SQL for one row per connection. parts: SQL for rows of `tcp`, several for one connection.

    Events that need packets of two parts (a hole, a retransmission, a round trip) are in neither.
    """
    merged = (f"{merged_column(name)} AS {name}" for name in RULE_FACTS["tcp"].names if name != "connection")
    return f"SELECT connection, {', '.join(merged)} FROM ({parts}) AS parts GROUP BY connection"


def merged_column(name: str) -> str:
    """Return the SQL that merges a column. Raises KeyError for a column without a rule."""
    rule = OF_TALK[name] if name in OF_TALK else OF_END[name[2:]]
    return rule.format(name, name[:2])
