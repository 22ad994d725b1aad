"""Judges captures of several clusters, each cluster alone: two clusters may have the same broker ids and names of
topics and groups, without a relation between them.
"""

from kcli.rules.judgement import Judgement, judge
from kcli.rules.rule_tables import RuleTables
from kcli.rules.server_sets import ServerSets, disjoint

MOST = 16  # most clusters to judge alone, the largest ones, as each judgement takes time
SEVERAL = "SELECT count(DISTINCT cluster_id) > 1 AS several FROM cluster_ids"
# The addresses of each cluster: its servers that sent responses, and those that these responses advertise.
ADDRESSES = """
SELECT cluster_id, server AS address FROM cluster_ids
UNION
SELECT c.cluster_id, a.address FROM cluster_ids c JOIN advertised a ON c.server = a.server
ORDER BY cluster_id, address
"""
# The cluster of each address, and of each connection by its server; -1: unknown.
CLUSTER_SERVERS = "SELECT unnest(?) AS server, unnest(?) AS cluster"
CLUSTER_CONNECTIONS = """
SELECT connection, coalesce(cluster, -1) AS cluster
FROM (
  SELECT connection, min(server) AS server
  FROM (SELECT connection, server FROM tcp UNION ALL SELECT connection, server FROM links) AS every
  GROUP BY connection
) AS named
LEFT JOIN cluster_servers USING (server)
WHERE connection IS NOT NULL
"""
BY_SIZE = "SELECT cluster FROM cluster_connections WHERE cluster >= 0 GROUP BY cluster ORDER BY count(*) DESC, cluster"


def judge_clusters(tables: RuleTables, files: str) -> Judgement:
    """Judge each cluster alone, see `judge`. Servers of an unknown cluster count as part of the largest."""
    clusters, sets = clusters_of(tables), ServerSets(tables)
    found = Judgement(unjudged=sets.unjudged())
    if len(clusters) < 2:
        found.add(judge(tables, files, sets))
        return found
    cluster_of = {address: cluster for cluster, every in enumerate(clusters) for address in every}
    for alike in sets.sets:
        known = {cluster_of[each] for each in alike if each in cluster_of}
        cluster_of |= dict.fromkeys(alike, *known) if len(known) == 1 else {}
    tables.keep("cluster_servers", CLUSTER_SERVERS, [*cluster_of], [*cluster_of.values()])
    tables.keep("cluster_connections", CLUSTER_CONNECTIONS)
    first, *rest = [row["cluster"] for row in tables.ask(BY_SIZE)]
    turns = [(first, -1, *rest[MOST - 1 :]), *((each,) for each in rest[: MOST - 1])]
    for turn in turns:
        others = f"WHERE cluster NOT IN ({', '.join(map(str, turn))})"
        tables.set_apart(
            f"SELECT server FROM cluster_servers {others}", f"SELECT connection FROM cluster_connections {others}"
        )
        found.add(judge(tables, files, sets))
    tables.set_apart("", "")
    return found


def clusters_of(tables: RuleTables) -> list[set[str]]:
    """Return the addresses of each cluster; [] unless there are several cluster ids. Clusters that share an address
    count as one: it may be a proxy, or the cluster may have been created anew.
    """
    [row] = tables.ask(SEVERAL)
    if not row["several"]:
        return []
    by_id: dict[str, set[str]] = {}
    for each in tables.ask(ADDRESSES):
        by_id.setdefault(each["cluster_id"], set()).add(each["address"])
    return disjoint(by_id.values())
