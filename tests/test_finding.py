"""A finding, by its row in the pipeline's table and by the names in its subject."""

from kcli.finding import WARNING, Finding


def test_a_row_of_the_table_is_a_finding_again() -> None:
    row = {
        "rank": 1, "finding": "slow-broker", "severity": WARNING, "subject": '{"broker":2}', "evidence": '{"late":3}',
        "text": "slow", "advice": "look", "ruled_out": None, "see": None, "source": "KIP-1",
    }  # fmt: skip
    assert Finding.of_row(row) == Finding("slow-broker", WARNING, {"broker": 2}, {"late": 3}, "look", source="KIP-1")
    assert Finding.of_row(row).text == "slow"


def test_the_names_of_a_subject() -> None:
    found = Finding("slow-broker", WARNING, {"broker": 2, "client": ["a", "b"]}, {}, "look")
    assert (found.names("broker"), found.names("client"), found.names("group")) == (["2"], ["a", "b"], [])
