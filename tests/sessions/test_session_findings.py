from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.session_findings import RULES, SessionFinding, name_of

HEADER = {"requestApiKey": 1, "requestApiVersion": 17, "correlationId": 5, "clientId": "c"}
X = FetchExchange("b:1", "b:1-c:2", HEADER, 1_000_000_000, 2_000_000_000)


def test_a_finding_names_its_frame_on_the_side_that_erred() -> None:
    assert SessionFinding.at(X, "epoch-jump", 7, "epoch 3").ns == 1_000_000_000
    assert SessionFinding.at(X, "epoch-accepted", 7, "epoch 3").ns == 2_000_000_000


def test_partitions_by_name_a_few_at_most() -> None:
    keys = tuple(("id", index) for index in range(7))
    finding = SessionFinding.at(X, "full-incomplete", 7, "without 7", keys)
    assert finding.message({"id": "orders"}).endswith(
        ": orders[0], orders[1], orders[2], orders[3], orders[4] and 2 more"
    )
    made = finding.as_dict("1970-01-01T00:00:02.000000Z", {})
    assert made["partitions"] == [name_of(key, {}) for key in keys]
    assert (made["rule"], made["side"], made["severity"], made["correlationId"]) == (
        "full-incomplete",
        "broker",
        "error",
        5,
    )


def test_rules_say_who_and_how_bad() -> None:
    assert {rule.side for rule in RULES.values()} == {"client", "broker"}
    assert {rule.severity for rule in RULES.values()} == {"error", "note"}
