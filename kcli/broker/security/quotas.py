"""Client quotas (KIP-13, KIP-55, KIP-219): limits on the produce, fetch and request rates of users and clients, and the
throttle times if they are exceeded.

Rates are measured over `quota.window.num` windows of `quota.window.size.seconds`. The response is sent at once with the
throttle time, and the connection's next requests wait for that time.
"""

from collections import deque
from collections.abc import Iterator, Mapping

from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.security.security_state import Entity
from kcli.client.address import is_ip_address

USER, CLIENT, IP = "user", "client-id", "ip"
SENT, FETCHED, REQUEST_SHARE = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
# Quotas that are stored, and have no effect here.
MUTATED, CONNECTED = "controller_mutation_rate", "connection_creation_rate"
# The quota keys of each entity type, the most rates that are kept, and the largest values of whole-number quotas.
KEYS: Mapping[str, frozenset[str]] = {
    USER: frozenset([SENT, FETCHED, REQUEST_SHARE, MUTATED]),
    CLIENT: frozenset([SENT, FETCHED, REQUEST_SHARE, MUTATED]),
    IP: frozenset([CONNECTED]),
}
MOST_RATES = 10_000
MOST_WHOLE = {SENT: (1 << 63) - 1, FETCHED: (1 << 63) - 1, CONNECTED: (1 << 31) - 1}


class Rate:
    """The rate of amounts per second over several windows. seconds: of one window."""

    def __init__(self, windows: int, seconds: float) -> None:
        self.windows, self.seconds = max(windows, 1), seconds
        self._samples: deque[tuple[float, float]] = deque()

    def wait(self, amount: float, limit: float, now: float) -> float:
        """Count an amount; return the seconds to wait until the rate is down to its limit. now: seconds."""
        if self._samples and now - self._samples[-1][0] < self.seconds:
            begun, total = self._samples.pop()
            self._samples.append((begun, total + amount))
        else:
            self._samples.append((now, amount))
        while self._samples[0][0] < now - self.windows * self.seconds:
            self._samples.popleft()
        elapsed = max(now - self._samples[0][0], (self.windows - 1) * self.seconds, self.seconds)
        rate = sum(total for _, total in self._samples) / elapsed
        return max(0.0, (rate - limit) / limit * elapsed)


class Quotas:
    """The quotas of a broker. values: by entity and key."""

    def __init__(self, configs: Configs, values: Mapping[Entity, Mapping[str, float]], clock: Clock) -> None:
        self.configs, self.values, self.clock = configs, values, clock
        self._rates: dict[tuple[Entity, str, str, str], Rate] = {}

    def limit(self, user: str, client_id: str, key: str) -> tuple[Entity, float] | None:
        """Return the entity and value of the quota that applies to a client; None if there is none."""
        for entity in candidates(user, client_id):
            if (value := self.values.get(entity, {}).get(key)) is not None:
                return entity, value
        return None

    def wait(self, user: str, client_id: str, key: str, amount: float) -> float:
        """Count an amount that a client used; return its throttle time in seconds."""
        found = self.limit(user, client_id, key)
        if found is None:
            return 0.0
        entity, limit = found
        kinds = {kind for kind, _ in entity}
        # Each user or client to which a default quota applies has a rate of its own.
        place = entity, user if USER in kinds else "", client_id if CLIENT in kinds else "", key
        rate = self._rates.get(place)
        if rate is None:
            windows, seconds = (self.configs.int(f"quota.window.{name}") for name in ("num", "size.seconds"))
            rate = self._rates[place] = Rate(windows, seconds)
            if len(self._rates) > MOST_RATES:
                del self._rates[next(iter(self._rates))]
        return rate.wait(amount, limit, self.clock.time())


def candidates(user: str, client_id: str) -> Iterator[Entity]:
    """Yield the entities that can have a client's quota, by precedence (Kafka's ClientQuotaManager)."""
    for name in (user, None):
        yield ((CLIENT, client_id), (USER, name))
        yield ((CLIENT, None), (USER, name))
        yield ((USER, name),)
    yield ((CLIENT, client_id),)
    yield ((CLIENT, None),)


def entity_fault(entity: Entity) -> str:
    """Return why an entity is invalid, "" if it is valid."""
    kinds = [kind for kind, _ in entity]
    if not entity:
        return "Invalid empty client quota entity"
    if unknown := [each for each in kinds if each not in KEYS]:
        return f"Unhandled client quota entity type: {unknown[0]}"
    if IP in kinds and len(kinds) > 1:
        return "Invalid quota entity combination, ip entity should not be combined with user or client-id"
    for kind, name in entity:
        if name == "":
            return f"Empty {kind} not supported"
        if kind == IP and name is not None and not is_ip_address(name):
            return f"{name} is not a valid IP or resolvable host."
    return ""


def value_fault(kinds: list[str], key: str, value: float) -> str:
    """Return why an entity of these types can't have this quota, "" if it can."""
    if not any(key in KEYS[kind] for kind in kinds):
        return f"Invalid configuration key {key}"
    if not value > 0:
        return f"Quota {key} must be greater than 0"
    if key in MOST_WHOLE and value % 1 != 0:
        return f"{key} must be a whole number"
    return f"Proposed value for {key} is too large" if value > MOST_WHOLE.get(key, value) else ""
