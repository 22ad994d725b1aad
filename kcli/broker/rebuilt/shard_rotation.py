"""The turns of shards: the shard of the session cache that each fetch which asked for a session was sent to.

New sessions go to the shards in turn, one after the other, and who is refused takes a turn, too (Kafka's
FetchSessionCache). The id of a session that was granted says which shard it is in. Answers leave a busy broker in
another order than they are made in, as different threads send them. So among all orders in which the granted ones fall
on their shards, the one counts that differs least from the order of the answers, in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# How many answers may be out of order at once, and how many orders are kept in view.
WINDOW, WIDTH = 12, 24
# The cost of a turn that no captured answer took: as if one had been a minute late.
UNSEEN_NS = 60 * 10**9


class Attempt(NamedTuple):
    """A fetch that asked for a session. Times in ns; shard: of the session that it got, None where it was refused."""

    asked_ns: int
    answered_ns: int
    shard: int | None


class Order(NamedTuple):
    """An order of the first attempts. cost: how far it is from that of the answers (ns); turn: the next shard;
    waiting: attempts that were passed over; next: the first that was not looked at; taken: shards by attempt, as a
    list from the last one on."""

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
    """Return the orders that follow this one by one more attempt: any that may have been processed next."""
    reach = min(len(attempts), order.next + WINDOW - len(order.waiting))
    candidates = [*order.waiting, *range(order.next, max(reach, order.next + (not order.waiting)))]
    candidates = [each for each in candidates if each < len(attempts)]
    first = attempts[candidates[0]].answered_ns
    made = []
    for number in candidates:
        attempt = attempts[number]
        if attempt.asked_ns > first:
            # It came after the answer of one that is still waiting.
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
