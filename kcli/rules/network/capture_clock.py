"""The clock of the machine that captured is off."""

from kcli.rules.captured_times import OTHER_UNIT
from kcli.rules.rule import INFO, Rule

# Producers on several machines, or of several clients, rarely have clocks that are off alike: the packets' times are.
# A broker that refuses their timestamps has another clock than they have.
RULE = Rule(
    finding="capture-clock",
    title="the clock of the capturing machine",
    severity=INFO,
    when="steady_clock AND skewed_batches >= 10 AND errors NOT LIKE '%,INVALID_TIMESTAMP,%'",
    sql=f"""
WITH stamped AS (
  SELECT client_id, ns, max_timestamp / 1e3 - ns / 1e9 AS ahead
  FROM batches
  WHERE api = 'PRODUCE' AND max_timestamp > 0 AND timestamp_type != 'LogAppendTime' AND NOT is_control
    AND {OTHER_UNIT} IS NULL
),
by_client AS (
  SELECT client_id, count(*) AS batches, percentile_approx(ahead, 0.5) AS ahead, percentile_approx(ahead, 0.1) AS p10,
         percentile_approx(ahead, 0.9) AS p90, min(ns) AS first_ns, max(ns) AS last_ns
  FROM stamped
  GROUP BY client_id
),
together AS (
  SELECT count(*) AS producers, sum(batches) AS batches, min(ahead) AS least, max(ahead) AS most,
         max(p90 - p10) AS spread, min(first_ns) AS first_ns, max(last_ns) AS last_ns
  FROM by_client
)
SELECT producers, batches, (least + most) / 2 AS ahead_seconds, abs(least + most) / 7200.0 AS hours,
       CASE WHEN most < 0 THEN 'ahead of' ELSE 'behind' END AS way, first_ns, last_ns, batches AS weight
FROM together
WHERE producers >= 2 AND batches >= 10 AND least * most > 0 AND abs(least + most) / 2 >= 600 AND most - least <= 60
  AND spread <= 60
""",
    subject={},
    evidence=("producers", "batches", "ahead_seconds"),
    text="the clock of the machine that captured is {hours} h {way} those of all {producers} producers "
    "({batches} batches, all alike)",
    ruled_out="one producer with a wrong clock: all agree",
    advice="set the clock of that machine (NTP), or move the capture's times (editcap -t); all times here are off "
    "by as much",
    see='sql "SELECT client_id, count(*) AS batches, min(max_timestamp - epoch_ms(timestamp)) AS least_ms, '
    "max(max_timestamp - epoch_ms(timestamp)) AS most_ms FROM record_batches WHERE api = 'PRODUCE' GROUP BY ALL\" "
    "{files}",
    source="pcap: times are those of the machine that captures",
    explains={"clock-skew": ()},
)
