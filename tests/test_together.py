"""Files that share a Spark session, brokers or diagnoses, or start clusters, are one scope; any other is its own."""

import pytest

from tests.together import ROOT, Scheduling, scope_of


@pytest.mark.parametrize(
    ("file", "scope"),
    [
        ("tests/pipeline/test_figures.py", "spark"),
        ("tests/pipeline/test_streaming.py", "spark"),
        ("tests/real/test_lab.py", "kafka"),
        ("tests/real/test_replay.py", "kafka"),
        ("tests/real/test_restore.py", "clusters"),
        ("tests/diagnose/test_commands.py", "diagnosed"),
        ("tests/rules/test_access.py", "diagnosed"),
        ("tests/rules/test_by_hand.py", "tests/rules/test_by_hand.py"),
        ("tests/test_version.py", "tests/test_version.py"),
        ("tests/no_such_file.py", "tests/no_such_file.py"),
    ],
)
def test_scopes(file: str, scope: str) -> None:
    assert scope_of(file) == scope


def test_each_test_that_takes_the_session_is_in_its_scope(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        names = getattr(item, "fixturenames", ())
        scope = scope_of(item.path.relative_to(ROOT).as_posix()) if ROOT in item.path.parents else ""
        assert "spark" not in names or scope == "spark", item.nodeid
        assert not {"kafka_44", "kafka_39", "three_44"} & {*names} or scope == "kafka", item.nodeid


def test_a_test_goes_where_its_file_goes() -> None:
    scheduling = Scheduling.__new__(Scheduling)
    assert scheduling._split_scope("tests/real/test_lab.py::test_x[1]") == "kafka"
