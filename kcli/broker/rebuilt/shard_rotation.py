"""The shard of the session cache whose turn it was at each fetch that requested a session.

New sessions go to the shards in turn, and a refused fetch takes a turn, too (Kafka's FetchSessionCache). The id of a
granted session determines its shard. A busy broker may send responses in another order than it processed the requests,
as it has several threads. So the result is the order that puts all granted sessions on their shards, and whose times
differ least from the order of the responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# How many responses may be out of order at once, and how many orders are kept at each step of the search.
WINDOW, WIDTH = 12, 24
# The cost of a turn that no captured fetch took: that of a response that is a minute late.
UNSEEN_NS = 60 * 10**9


class Attempt(NamedTuple):
    """A fetch that requested a session. Times are in ns. shard: of the granted session, None if it was refused."""

    asked_ns: int
    answered_ns: int
    shard: int | None


class Order(NamedTuple):
    """An order of the first attempts. cost: its difference from the order of the responses (ns); turn: the next shard;
    waiting: attempts that were passed over; next: the first attempt that was not considered yet; taken: a linked list
    of (attempt, shard), the last one first."""

    cost: int
    turn: int
    waiting: tuple[int, ...]
    next: int
    taken: tuple[int, int, object] | None


def turns(attempts: Sequence[Attempt], shards: int) -> list[int]:
    """Return the shard of each attempt. attempts: in the order of their responses."""
    if not attempts:
        return []
    orders = [Order(0, turn, (), 0, None) for turn in range(shards)]
    taken = 0
    while taken < len(attempts):
        best: dict[tuple[int, tuple[int, ...], int], Order] = {}
        for order in orders:
            for each in followers(order, attempts, shards):
                known = best.get(each[1:4])
                if known is None or each.cost < known.cost:
                    best[each[1:4]] = each
        orders = sorted(best.values(), key=lambda order: order[:4])[:WIDTH]
        taken += 1
    return shards_of(orders[0], len(attempts))


def followers(order: Order, attempts: Sequence[Attempt], shards: int) -> list[Order]:
    """Return the orders that extend this one by each attempt that may have been processed next."""
    reach = min(len(attempts), order.next + WINDOW - len(order.waiting))
    candidates = [*order.waiting, *range(order.next, max(reach, order.next + (not order.waiting)))]
    candidates = [each for each in candidates if each < len(attempts)]
    first = attempts[candidates[0]].answered_ns
    made = []
    for number in candidates:
        attempt = attempts[number]
        if attempt.asked_ns > first:
            # It was sent after the response to an attempt that is still waiting.
            break
        late = max(attempt.answered_ns - first, 0) + (number != candidates[0])
        skipped = 0 if attempt.shard is None else (attempt.shard - order.turn) % shards
        turn = (order.turn + skipped + 1) % shards
        passed = tuple(each for each in candidates if each < number or each in order.waiting)
        waiting = tuple(each for each in passed if each != number)
        taken = (number, (turn - 1) % shards, order.taken)
        next_ = max(order.next, number + 1)
        made.append(Order(order.cost + late + skipped * UNSEEN_NS * bool(order.taken), turn, waiting, next_, taken))
    return made


def shards_of(order: Order, count: int) -> list[int]:
    made = [0] * count
    taken = order.taken
    while taken is not None:
        number, shard, taken = taken  # type: ignore[assignment]
        made[number] = shard
    return made
