"""Judges captures of several clusters, each cluster alone: two clusters may have the same broker ids and names of
topics and groups, without a relation between them.
"""

from collections import Counter

from kcli.rules.judgement import Judgement, judge
from kcli.rules.rule_tables import Apart, RuleTables
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
CONNECTIONS = """
SELECT connection, min(server) AS server
FROM (SELECT connection, server FROM tcp UNION ALL SELECT connection, server FROM links) AS every
GROUP BY connection
"""


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
    links = [(row["connection"], cluster_of.get(row["server"])) for row in tables.ask(CONNECTIONS)]
    first, *rest = [each for each, _ in Counter(each for _, each in links if each is not None).most_common()]
    turns: list[tuple[int | None, ...]] = [(first, None, *rest[MOST - 1 :]), *((each,) for each in rest[: MOST - 1])]
    for turn in turns:
        servers = frozenset(address for address, cluster in cluster_of.items() if cluster not in turn)
        tables.set_apart(Apart(servers, frozenset(link for link, cluster in links if cluster not in turn)))
        found.add(judge(tables, files, sets))
    tables.set_apart(Apart())
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
