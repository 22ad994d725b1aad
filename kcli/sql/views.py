"""Tables that are made from other tables, in SQL."""

from kcli.sql.traffic import LOGIN, ROUND_TRIP
from kcli.tables.captured import CAPTURED
from kcli.tables.connections import EXCHANGE, FILE, TCP, TLS, connections_query, traffic_part
from kcli.tables.exchange_views import EXCHANGE_VIEWS, exchange_view
from kcli.tables.hourly import KEYS, hourly_query

TRAFFIC = "_traffic"  # the source of most views: exchanges, events, and rows of kcli.sql.traffic
# The same tables as the pipeline has written them.
WRITTEN = {name: f"_{name}" for name in ("connections", "hourly", *EXCHANGE_VIEWS)}
EACH = traffic_part(
    f"{TRAFFIC} WHERE connection IS NOT NULL", "file", "timestamp", **EXCHANGE,
    **{each.name: each.name for each in (*LOGIN, ROUND_TRIP)}, **TCP, tls=f"coalesce({TLS}, false)",
)  # fmt: skip
MADE = connections_query(EACH, file=FILE.sql, seen="min(timestamp)")

VIEWS = {
    "connections": f"""
SELECT {", ".join(CAPTURED["connections"].names)}
FROM ({MADE} UNION ALL BY NAME SELECT *, first_request AS seen FROM {WRITTEN["connections"]})
ORDER BY seen, connection
""",
    "throttling": f"{exchange_view('throttling', TRAFFIC, file=True)} UNION ALL BY NAME FROM {WRITTEN['throttling']}",
    "groups": f"""
{exchange_view("groups", TRAFFIC, file=True)} UNION ALL BY NAME FROM {WRITTEN["groups"]} ORDER BY group_id
""",
    "hourly": f"""
{hourly_query(TRAFFIC, file=True)} UNION ALL BY NAME FROM {WRITTEN["hourly"]} ORDER BY {", ".join(KEYS)}
""",
}
