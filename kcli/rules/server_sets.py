"""Sets of servers that belong to one cluster, as far as a capture shows: Metadata names them together, or a client
talks to both. Otherwise it is unknown whether two servers belong to one cluster or to two.
"""

from collections.abc import Iterable

from kcli.counting import few_of
from kcli.finding import Finding, Unjudged
from kcli.rules.rule_tables import RuleTables

NAMED = 3  # most sets to name, by one server of each
SERVERS = "SELECT count(DISTINCT server) > 1 AS several FROM links"
# What a server has in common with others. Brokers that follow others connect from their own host.
IN_COMMON = """
SELECT server, concat('cluster ', cluster_id) AS shared FROM cluster_ids
UNION
SELECT server, concat('broker ', address) FROM advertised
UNION
SELECT address, concat('broker ', address) FROM advertised
UNION
SELECT server, concat('client ', client_id, ' of ', address) FROM links
UNION
SELECT server, concat('host ', address) FROM links WHERE inner_client
UNION
SELECT server, concat('host ', split_part(server, ':', 1)) FROM links
WHERE split_part(server, ':', 1) IN (SELECT address FROM links WHERE inner_client)
"""
OF_CLIENTS = "SELECT DISTINCT client_id, server FROM links WHERE NOT inner_client"


class ServerSets:
    """Sets of servers that have something in common. sets: [] if there is only one server."""

    def __init__(self, tables: RuleTables) -> None:
        self.sets: list[set[str]] = []
        self.known: set[str] = set()  # servers whose cluster id is known
        self.servers_of: dict[str, set[str]] = {}  # by client id
        [row] = tables.ask(SERVERS)
        if not row["several"]:
            return
        by_shared: dict[str, set[str]] = {}
        for each in tables.ask(IN_COMMON):
            by_shared.setdefault(each["shared"], set()).add(each["server"])
        self.sets = disjoint(by_shared.values())
        self.known = set().union(*(servers for shared, servers in by_shared.items() if shared.startswith("cluster ")))
        if len(self.sets) > 1:
            for row in tables.ask(OF_CLIENTS):
                self.servers_of.setdefault(row["client_id"], set()).add(row["server"])

    def of(self, finding: Finding) -> list[set[str]]:
        """Return the sets of the brokers in a finding's subject, or else of its clients' servers."""
        brokers = set(finding.names("broker"))
        servers = set().union(*(self.servers_of.get(each, ()) for each in finding.names("client")))
        return [each for each in self.sets if brokers & each] or [each for each in self.sets if servers & each]

    def are_apart(self, some: Finding, other: Finding) -> bool:
        """Return whether two findings are about servers that have nothing in common."""
        if len(self.sets) < 2:
            return False
        mine, others = self.of(some), self.of(other)
        return bool(mine and others) and not any(each in others for each in mine)

    def unjudged(self) -> list[Unjudged]:
        """Name the servers that clients use and whose cluster is unknown."""
        used = set().union(*self.servers_of.values())
        used_sets = [each & used for each in self.sets if each & used]
        unknown = [min(each) for each in used_sets if each.isdisjoint(self.known)]
        if len(used_sets) < 2 or not unknown:
            return []
        verb = "belongs" if len(unknown) == 1 else "belong"
        return [
            Unjudged(
                f"which cluster {few_of(sorted(unknown), NAMED)} {verb} to: no cluster id in Metadata, and no client "
                "in common with the other servers; they are compared as one cluster",
                "a capture that begins before the clients, or of one cluster alone",
            )
        ]


def disjoint(every: Iterable[set[str]]) -> list[set[str]]:
    """Join sets that overlap."""
    of: dict[str, set[str]] = {}
    for each in every:
        alike = [*{id(of[name]): of[name] for name in each if name in of}.values(), set(each)]
        whole = max(alike, key=len)
        for some in alike:
            if some is not whole:
                whole |= some
                of |= dict.fromkeys(some, whole)
        of |= dict.fromkeys(each, whole)
    return [*{id(each): each for each in of.values()}.values()]
