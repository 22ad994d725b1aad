"""The features of each release are those of its own `QuorumFeatures.defaultSupportedFeatureMap(false)`."""

import pytest

from kcli.snapshots.rules.supported import FEATURES, supported_levels

OF_4_0 = {"eligible.leader.replicas.version": 1, "group.version": 1, "kraft.version": 1, "transaction.version": 2}
OF_4_1 = OF_4_0 | {"share.version": 1}
OF_4_2 = OF_4_1 | {"streams.version": 1}


@pytest.mark.parametrize(
    ("release", "features"),
    [
        ("3.8", {}),
        ("3.9", {"kraft.version": 1}),
        ("4.0", OF_4_0),
        ("4.1", OF_4_1),
        ("4.2", OF_4_2),
        ("4.3", OF_4_2),
        ("4.4", OF_4_2 | {"share.version": 2}),
    ],
)
def test_the_levels_of_a_release(release: str, features: dict[str, int]) -> None:
    assert {name: supported_levels(name, release) for name in FEATURES} == {
        name: (0, features.get(name, 0)) for name in FEATURES
    }
