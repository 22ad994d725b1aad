import pytest

pytest.importorskip("kcli.core.codec.hash_set")

from kcli.core.codec.hash_set import HashSet


def test_a_set_of_hashes_grows() -> None:
    seen = HashSet()
    assert not any(seen.add(hash(("key", number))) for number in range(5000))
    assert all(seen.add(hash(("key", number))) for number in range(5000))
    assert seen.add(0) is False
    assert seen.add(0) is True
    assert len(seen) == 5001
