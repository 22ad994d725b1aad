from kcli.snapshots.rules.evidence import Noted
from kcli.snapshots.rules.findings import RULES, SnapshotFinding, more


def test_every_rule_has_a_name_and_says_what_it_is_about() -> None:
    assert len(RULES) >= 20
    assert all(name == name.lower() and " " not in name for name in RULES)


def test_findings() -> None:
    assert SnapshotFinding("error", "r", "m").is_error
    assert not SnapshotFinding("note", "r", "m").is_error


def test_what_is_not_shown_is_counted() -> None:
    noted = Noted()
    for number in range(7):
        noted.add(number)
    assert more(noted) == " (and 2 more like it)"
    assert more(noted, 7) == ""
