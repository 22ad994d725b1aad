import random

from kcli.client.cluster import Backoff, reconnect_backoff, retry_backoff
from kcli.client.properties import ClientConfig


def test_it_doubles_up_to_the_longest_within_its_jitter() -> None:
    backoff = Backoff(0.1, 1.0, random.Random(3))
    for failures, nominal in ((1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (5000, 1.0)):
        delays = [backoff.delay(failures) for _ in range(200)]
        assert 0.8 * nominal <= min(delays) < 0.9 * nominal
        assert 1.1 * nominal < max(delays) <= 1.2 * nominal


def test_properties_give_its_bounds() -> None:
    config = ClientConfig({"retry.backoff.ms": "10", "retry.backoff.max.ms": "5", "reconnect.backoff.ms": "20"})
    assert (retry_backoff(config).first, retry_backoff(config).longest) == (0.01, 0.01)
    assert (reconnect_backoff(config).first, reconnect_backoff(config).longest) == (0.02, 1.0)
