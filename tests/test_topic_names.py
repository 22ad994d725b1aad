"""Topic names: Kafka's rule, names made lawful, and folders that stay where they belong."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcli.errors import InputError
from kcli.topic_names import (
    CLUSTER_METADATA,
    INTERNAL,
    LONGEST_NAME,
    folder_prefix,
    lawful_name,
    name_fault,
    partition_of,
)

UNLAWFUL = ["", ".", "..", "../x", "a/b", "/abs", "nul\0", "a b", "back\\slash", "x" * 250, "ä", "line\n", "\ud800"]


@pytest.mark.parametrize("name", ["orders", "a.b_c-D9", "...", "x" * LONGEST_NAME, CLUSTER_METADATA, *sorted(INTERNAL)])
def test_names_that_kafka_takes(name: str) -> None:
    assert name_fault(name) is None
    assert lawful_name(name) == name
    assert folder_prefix(name) == f"{name}-"


@pytest.mark.parametrize("name", UNLAWFUL)
def test_names_that_kafka_refuses_become_no_folder(name: str) -> None:
    assert name_fault(name)
    with pytest.raises(InputError, match="no topic can have this name"):
        folder_prefix(name)


def test_names_made_lawful_stay_apart() -> None:
    made = [lawful_name(name) for name in UNLAWFUL]
    assert len(set(made)) == len(UNLAWFUL)
    assert lawful_name("../../etc/passwd").startswith("_.._etc_passwd-")


@given(st.text())
def test_any_name_becomes_a_folder_right_here(name: str) -> None:
    made = lawful_name(name)
    assert name_fault(made) is None
    assert len(PurePosixPath(f"{folder_prefix(made)}0").parts) == 1
    assert lawful_name(made) == made


@pytest.mark.parametrize(
    ("folder", "partition"),
    [
        ("orders-0", ("orders", 0)),
        ("a-topic-12", ("a-topic", 12)),
        (f"t-{2**31 - 1}", ("t", 2**31 - 1)),
        (f"t-{2**31}", (None, None)),
        ("t-99999999999", (None, None)),
        ("-0", (None, None)),
        ("orders", (None, None)),
        ("orders-x", (None, None)),
        ("orders-\N{SUPERSCRIPT TWO}", (None, None)),
        ("orders-0.f3-delete", ("orders", 0)),
        ("a.b-12.0123456789abcdef0123456789abcdef-future", ("a.b", 12)),
        ("a-1-2.f3-stray", ("a-1", 2)),
        ("orders.f3-delete", (None, None)),
        ("orders-0.f3-gone", (None, None)),
        ("", (None, None)),
    ],
)
def test_the_folder_of_a_log_names_its_partition(folder: str, partition: tuple[object, object]) -> None:
    assert partition_of(folder) == partition
