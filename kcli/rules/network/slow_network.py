"""A slow network to some clients: long round trips."""

from kcli.rules.rule import Rule

# The shortest round trip of a connection is the network's, however busy its ends are: acknowledgements may be delayed
# by up to 40 ms. A consumer that pauses between its Fetches for far longer than a round trip is slow by itself.
# If most round trips take far longer than the shortest, the line is near, but full: what is sent stands in a queue of
# that time's bytes. (Acknowledgements of a few bytes may wait as long, for data that goes along.)
RULE = Rule(
    finding="slow-network",
    title="networks with long round-trip times",
    when="clocks_apart_ms = 0 AND (longest_trip_ms >= 30 OR usual_trip_ms >= 150)",
    sql="""
WITH trips AS (
  SELECT host, client_id, connection, inner_client,
         coalesce(greatest(syn_ms, ack_ms),
                  CASE WHEN s_rtt_samples >= 5 OR c_rtt_samples >= 5
                         THEN greatest(CASE WHEN s_rtt_samples >= 5 THEN s_rtt_min_ms ELSE 0 END,
                                       CASE WHEN c_rtt_samples >= 5 THEN c_rtt_min_ms ELSE 0 END) END) AS trip_ms,
         greatest(coalesce(syn_ms, c_rtt_min_ms, 0), 0) AS server_ms,
         greatest(coalesce(c_rtt_p50_ms, 0), coalesce(s_rtt_p50_ms, 0)) AS usual_ms,
         CASE WHEN coalesce(c_rtt_p50_ms, 0) > coalesce(s_rtt_p50_ms, 0) THEN c_rtt_samples
              ELSE s_rtt_samples END AS samples,
         1e9 * greatest(c_bytes, s_bytes) / greatest(last_ns - first_ns, 1) AS bytes_per_second
  FROM conns
  WHERE requests >= 3
),
hosts AS (
  SELECT host, min(server_ms) AS server_ms, min(trip_ms) AS trip_ms,
         percentile_approx(trip_ms, 0.5) AS median_trip_ms, count(*) AS connections,
         max_by(usual_ms, samples) AS usual_ms, sum(samples) AS samples,
         max(usual_ms / 1e3 * bytes_per_second) AS queued,
         array_agg(DISTINCT client_id) FILTER (WHERE client_id IS NOT NULL AND client_id != '') AS clients
  FROM trips
  WHERE trip_ms IS NOT NULL AND NOT inner_client
  GROUP BY host
),
far AS (
  SELECT h.*, others_ms
  FROM hosts h
  JOIN (
    SELECT m.host, min(o.median_trip_ms) AS others_ms, min(o.usual_ms) AS others_usual_ms
    FROM hosts m LEFT JOIN hosts o ON m.host != o.host
    GROUP BY m.host
  ) AS c ON h.host = c.host
  WHERE (h.trip_ms >= 30 AND (others_ms IS NULL AND h.trip_ms >= 60 OR h.trip_ms >= 5 * others_ms))
    OR (h.usual_ms >= 150 AND h.samples >= 10 AND h.trip_ms < 0.1 * h.usual_ms AND h.queued >= 8000
        AND (others_usual_ms IS NULL OR h.usual_ms >= 5 * others_usual_ms))
),
own AS (
  SELECT address, percentile_approx(own_ms, 0.5) AS broker_ms
  FROM timed
  WHERE own_ms IS NOT NULL AND address IN (SELECT host FROM far)
  GROUP BY address
),
busy AS (
  SELECT DISTINCT client_id
  FROM (
    SELECT client_id, connection, ns,
           (ns - lag(completed_ns) OVER (PARTITION BY connection ORDER BY ns)) / 1e6 AS pause_ms
    FROM calls
    WHERE api = 'FETCH' AND NOT inner_client
  ) AS f
  JOIN (SELECT connection, trip_ms FROM trips WHERE trip_ms >= 30) AS t USING (connection)
  GROUP BY client_id, connection
  HAVING sum(greatest(pause_ms - trip_ms, 0)) / 1e3 > 0.5 * (max(ns) - min(ns)) / 1e9
)
SELECT h.host, h.trip_ms, h.median_trip_ms, h.usual_ms, h.connections, h.clients, others_ms,
       CASE WHEN w.broker_ms IS NOT NULL THEN greatest(w.broker_ms - h.server_ms, 0) END AS broker_ms,
       CASE WHEN w.broker_ms IS NULL THEN ''
            ELSE concat('; without the round trip its responses take ',
                        round(greatest(w.broker_ms - h.server_ms, 0), 2), ' ms')
            END AS itself,
       (
         SELECT array_agg(DISTINCT group_id) FROM group_clients g WHERE array_contains(h.clients, g.client_id)
       ) AS groups, h.trip_ms AS weight,
       CASE WHEN others_ms IS NULL THEN '' ELSE concat('; other hosts ', round(others_ms, 2), ' ms') END AS others,
       CASE WHEN h.trip_ms < 0.1 * h.usual_ms
              THEN concat('is behind a congested link (TCP round trips of ', round(h.usual_ms),
                          ' ms by their median, though ', round(h.trip_ms, 2), ' ms at best')
            ELSE concat('is ', round(h.trip_ms, 2), ' ms away (TCP round trip at its best') END AS away,
       CASE WHEN h.trip_ms < 0.1 * h.usual_ms
              THEN concat('send less over it (compression.type zstd, fewer other users), or get more bandwidth: ',
                          'what exceeds it waits in a queue') END AS advised,
       CASE WHEN (SELECT count(*) FROM busy b WHERE array_contains(h.clients, b.client_id)) > 0
              THEN 'lagging-consumer' END AS spares
FROM far h LEFT JOIN own w ON w.address = h.host
""",
    subject={"host": "host", "client": "clients", "group": "groups"},
    evidence=("trip_ms", "median_trip_ms", "usual_ms", "others_ms", "connections", "broker_ms", "clients"),
    text="host {host} {away}{others}): {clients}{itself}",
    absent={"slow-broker": "a slow broker", "packet-loss": "loss"},
    advice="move the client or a broker closer; use larger batches, more requests in flight, larger socket "
    "buffers (send.buffer.bytes, receive.buffer.bytes)",
    see="stats {files} --by client --by connection",
    source="TCP; receive.buffer.bytes 65536, send.buffer.bytes 131072",
    explains={
        "lagging-consumer": ("client",),
        "slow-reader": ("client",),
        "long-transaction": ("client",),
        "queued-requests": ("client",),
    },
    rests_on=("far",),
)
