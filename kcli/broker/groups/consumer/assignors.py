"""The coordinator's assignors: KIP-848's uniform and range.

Both get the subscribed topics of each member, the partition counts of topics, and the previous target assignment.
`uniform` changes the previous assignment only as far as the balance requires; `range` ignores it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

Partition = tuple[str, int]  # a topic's id, and an index
Assignment = dict[str, frozenset[Partition]]  # by member
Subscriptions = Mapping[str, frozenset[str]]  # topic ids by member
Assignor = Callable[[Subscriptions, Mapping[str, int], Mapping[str, frozenset[Partition]]], Assignment]


def by_range(
    members: Subscriptions, counts: Mapping[str, int], before: Mapping[str, frozenset[Partition]]
) -> Assignment:
    """Assign each topic's partitions as ranges to its subscribers, ordered by id; the first ones get one more."""
    made: dict[str, list[Partition]] = {member: [] for member in members}
    for topic, subscribers in subscribers_of(members):
        share, more = divmod(counts.get(topic, 0), len(subscribers))
        start = 0
        for number, member in enumerate(subscribers):
            end = start + share + (number < more)
            made[member] += [(topic, index) for index in range(start, end)]
            start = end
    return {member: frozenset(each) for member, each in made.items()}


def uniform(
    members: Subscriptions, counts: Mapping[str, int], before: Mapping[str, frozenset[Partition]]
) -> Assignment:
    """Assign partitions as evenly as subscriptions allow, with few moves from the assignment `before`."""
    lawful = {(topic, index): None for topic, count in counts.items() for index in range(count)}
    assigned: set[Partition] = set()
    made: dict[str, list[Partition]] = {}
    for member, topics in members.items():
        kept = sorted(each for each in before.get(member, ()) if each[0] in topics and each in lawful)
        made[member] = [each for each in kept if each not in assigned]
        assigned.update(made[member])
    able = dict(subscribers_of(members))
    free = [each for each in lawful if each not in assigned and each[0] in able]
    # Partitions with the fewest possible members come first.
    for each in sorted(free, key=lambda one: len(able[one[0]])):
        made[min(able[each[0]], key=lambda member: len(made[member]))].append(each)
    balance(made, able)
    return {member: frozenset(each) for member, each in made.items()}


def balance(made: dict[str, list[Partition]], able: Mapping[str, Sequence[str]]) -> None:
    """Move partitions from members with most to those with fewest, until no move makes them more even."""
    while True:
        for member in sorted(made, key=lambda one: -len(made[one])):
            found = better_place(made, able, member)
            if found is not None:
                partition, other = found
                made[member].remove(partition)
                made[other].append(partition)
                break
        else:
            return


def better_place(
    made: Mapping[str, list[Partition]], able: Mapping[str, Sequence[str]], member: str
) -> tuple[Partition, str] | None:
    """Return a partition of a member and the member that should have it; None if no move makes them more even."""
    topics = dict.fromkeys(topic for topic, _ in made[member])
    others = {topic: min(able[topic], key=lambda one: len(made[one])) for topic in topics}
    fewest = min(others.items(), key=lambda each: len(made[each[1]]), default=None)
    if fewest is None or len(made[fewest[1]]) + 1 >= len(made[member]):
        return None
    return next(each for each in reversed(made[member]) if each[0] == fewest[0]), fewest[1]


def subscribers_of(members: Subscriptions) -> Iterator[tuple[str, list[str]]]:
    """Yield each topic with its subscribers, both in order of their ids."""
    found: dict[str, list[str]] = {}
    for member in sorted(members):
        for topic in members[member]:
            found.setdefault(topic, []).append(member)
    yield from sorted(found.items())


ASSIGNORS: Mapping[str, Assignor] = {"uniform": uniform, "range": by_range}
