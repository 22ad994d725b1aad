"""SQL for the times in which clients are busy: a calm before or after does not lower the rate of a busy time."""

SHORTEST = 5_000_000_000  # ns
OVER = 10_000_000_000  # ns: a shorter busy time was a burst, as of a client that catches up after a pause
# Text with the client's whole time, if that is longer than the `seconds` of the finding.
OF_TIME = """CASE WHEN all_seconds > seconds + 1 THEN concat(' (in all: ', round(all_seconds, 1), ' s)')
            ELSE '' END AS of_time"""


def busy_windows(events: str, per_second: float, each: str = "count(*)", every: int = 1) -> str:
    """Return the SQL of a table of clients' busy times. It is a client's whole time in a captured period if the mean
    rate is high enough. Otherwise it is the busiest stretch without a calm of `SHORTEST`: from the first to the last
    time with nearly that rate. events: a table, or a query in parentheses, with client_id and ns. each: the aggregate
    to compare with the rate. every: seconds per interval; rare events need longer intervals. Columns: client_id,
    from_ns, to_ns, all_seconds (the client's whole time).
    """
    is_busy = f"times >= {0.7 * per_second * every}"
    is_whole = f"times >= {per_second} * greatest((last_ns - first_ns) / 1e9, 1)"
    is_long = f"to_ns - from_ns >= CASE WHEN last_ns - to_ns <= 2000000000 THEN {SHORTEST} ELSE {OVER} END"
    return f"""
SELECT client_id, max_by(from_ns, busy) AS from_ns, max_by(to_ns, busy) AS to_ns, sum(seconds) AS all_seconds
FROM (
  SELECT client_id, (last_ns - first_ns) / 1e9 AS seconds,
         CASE WHEN {is_whole} THEN first_ns ELSE from_ns END AS from_ns,
         CASE WHEN {is_whole} THEN last_ns ELSE to_ns END AS to_ns,
         CASE WHEN {is_whole} THEN times WHEN {is_long} THEN busy END AS busy
  FROM (
    SELECT client_id, min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(times) AS times, max(busy) AS busy,
           max_by(from_ns, busy) AS from_ns, max_by(to_ns, busy) AS to_ns
    FROM (
      SELECT client_id, captured, min(first_ns) AS first_ns, max(last_ns) AS last_ns, sum(times) AS times,
             sum(CASE WHEN {is_busy} THEN times ELSE 0 END) AS busy,
             min(CASE WHEN {is_busy} THEN first_ns END) AS from_ns,
             max(CASE WHEN {is_busy} THEN last_ns END) AS to_ns
      FROM (
        SELECT *, sum(CASE WHEN {is_busy} AND first_ns - coalesce(before_ns, 0) > {SHORTEST} THEN 1 ELSE 0 END)
                    OVER (PARTITION BY client_id, captured ORDER BY second ROWS UNBOUNDED PRECEDING) AS stretch
        FROM (
          SELECT *, max(CASE WHEN {is_busy} THEN last_ns END)
                      OVER (PARTITION BY client_id, captured ORDER BY second
                            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
          FROM (
            SELECT s.*, t.first_ns AS captured
            FROM (
              SELECT client_id, floor(ns / {every}e9) AS second, {each} AS times, min(ns) AS first_ns,
                     max(ns) AS last_ns
              FROM {events} AS e
              GROUP BY client_id, floor(ns / {every}e9)
            ) AS s
            LEFT JOIN stretches t ON s.first_ns BETWEEN t.first_ns AND t.last_ns
          ) AS c
        ) AS b
      ) AS n
      GROUP BY client_id, captured, stretch
    ) AS p
    GROUP BY client_id, captured
  ) AS w
) AS f
GROUP BY client_id
HAVING max(busy) IS NOT NULL
"""


def covered_time(answers: str, ms: str, slot_ns: int) -> str:
    """Return the SQL of a table of the time that late answers of each server cover: the longest of each slot of time.
    answers: a table with server, completed_ns and late. ms: its column of durations. Columns: server, late_slots,
    covered_seconds.
    """
    return f"""
SELECT server, count(*) AS late_slots, sum(longest_ms) / 1e3 AS covered_seconds
FROM (
  SELECT server, max({ms}) AS longest_ms FROM {answers} WHERE late GROUP BY server, floor(completed_ns / {slot_ns})
) AS slots
GROUP BY server
"""
