"""Logins, rights, certificates and listeners."""

import contextlib
import ssl
from itertools import chain
from pathlib import Path

import pytest

from kcli.diagnose import Finding, diagnose
from tests.capture.tls.traffic import Talk
from tests.capture.wires import ACK, MILLISECOND, pcap
from tests.diagnose.captured import only, told
from tests.rules.test_by_hand import Talk as Asking
from tests.rules.test_by_hand import fetched, found

SUITES = (
    "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES256-SHA256", "AES128-SHA", "AES256-SHA",
)  # fmt: skip


def test_refused_logins_are_told_once_and_not_as_churn() -> None:
    found = only("auth-failure-ledger")
    assert (found.finding, found.severity) == ("auth-failure", "critical")
    told(found, client="ledger-sync")
    assert found.evidence["good"] == 0 and found.evidence["mechanisms"] == ["PLAIN"]
    assert "user" not in found.subject  # it stands beside the password


def test_a_topic_that_does_not_exist() -> None:
    found = only("unknown-topic-returns")
    assert found.finding == "unknown-topic"
    told(found, client="returns-api", topic="returns-v2")


def test_a_topic_refused_once_to_a_client_that_stays_for_nothing() -> None:
    """Java: the application takes the exception, and polls on without a topic."""
    found = only("topic-refused-once")
    assert (found.finding, found.evidence["refused"]) == ("topic-authorization-failed", 1)
    told(found, client="spy", topic="secret")


def test_a_plain_client_that_tries_a_tls_port_but_once() -> None:
    """Java: the alert is a length of 336 MB to it, for which it had no memory."""
    found = only("plain-on-tls-bare")
    assert (found.finding, found.evidence["connections"]) == ("plaintext-on-tls", 1)
    told(found, client=["bare"], broker=["127.0.0.1:43200"])


def test_a_certificate_that_has_expired_is_the_brokers() -> None:
    found = only("expired-certificate-clinic")
    assert found.finding == "expired-certificate"
    told(found, broker=["127.0.0.1:26800"])
    assert found.evidence["alerts"] == ["certificate_expired"] and found.evidence["sender"] == "client"


def test_an_advertised_address_where_nobody_listens() -> None:
    found = only("wrong-advertised-listener-kitchen")
    assert found.finding == "wrong-advertised-listener"
    assert "127.0.0.1:26499" in found.subject["broker"]
    assert set(found.subject["client"]) <= {"kitchen-screen-1", "kitchen-tablet"}


def test_who_is_sent_to_a_name_and_says_no_more_is_not_judged(tmp_path: Path) -> None:
    """Java before 4.0 asks once, and tries a name that does not resolve for ever; or it goes where nobody captures."""
    broker = {"nodeId": 1, "host": "kafka-0.headless", "port": 9094, "rack": None}
    asks = Asking("tab").call(3, 12, {"topics": [{"name": "orders"}]}, {"brokers": [broker], "topics": []})
    assert not found(tmp_path, asks, fetched(Asking("other", 41000, broker=3), 30))
    [part] = [each for each in diagnose([str(tmp_path / "a.pcap")]).unjudged if each.what.startswith("whether ")]
    assert part.what.startswith("whether tab reached kafka-0.headless:9094, where listener 10.0.0.2:9092 sent them: ")
    assert "resolves" in part.remedy


# A client of Go's or Java's has the keys of its handshake when it refuses; OpenSSL's has not, and says it in the clear.
ENCRYPTED = b"\x14\3\3\0\1\1" + b"\x17\3\3\0\x13" + bytes(range(19))
PADDED = b"\x14\3\3\0\1\1" + b"\x17\3\3\0\x23" + bytes(range(35))  # as Java does


@pytest.mark.parametrize(
    ("refuses", "suite", "alert", "said"),
    [
        (0, "AES128-GCM-SHA256", b"", "unknown_ca"),
        (1, "AES128-GCM-SHA256", b"", "unknown_ca"),
        (0, None, b"", "unknown_ca"),
        (0, None, ENCRYPTED, "encrypted (TLS 1.3)"),
        (0, None, PADDED, "encrypted (TLS 1.3)"),
        (1, None, b"", "encrypted (TLS 1.3)"),
    ],
)
def test_a_certificate_that_is_refused(
    refuses: int, suite: str | None, alert: bytes, said: str, tmp_path: Path
) -> None:
    talks = [Talk(tmp_path, suite=suite, port=41000 + number, refuses=refuses) for number in range(2)]
    for talk in talks:
        with contextlib.suppress(ssl.SSLError):
            talk.shake_hands()
        if alert:
            talk.wire.add(refuses, ACK, alert)
        else:
            talk.flush(refuses)
    [found] = findings(talks, tmp_path)
    assert (found.finding, found.severity, found.evidence["connections"]) == ("expired-certificate", "critical", 2)
    assert found.evidence["sender"] == ("client", "broker")[refuses]
    assert found.evidence["alerts"] == [said]
    assert ("read the reason in the log of the" in found.advice) == said.startswith("encrypted")


def test_a_handshake_that_fails_is_nothing_that_a_key_log_helps(tmp_path: Path) -> None:
    talk, path = Talk(tmp_path, suite="AES128-GCM-SHA256", port=41000, refuses=0), tmp_path / "one.pcap"
    with contextlib.suppress(ssl.SSLError):
        talk.shake_hands()
    talk.flush(0)
    path.write_bytes(pcap(talk.wire.packets))
    [part] = [each for each in diagnose([str(path)]).unjudged if "TLS" in each.what]
    assert part.what.startswith("1 TLS handshake with ") and "--key-log" not in part.remedy


def refused_hellos(folder: Path, suites: list[str], alert: int, every_ms: int = 700) -> list[Talk]:
    """Connections of one host, one after another, each refused with an alert alone."""
    talks = [Talk(folder, suite=suite, port=41000 + number) for number, suite in enumerate(suites)]
    for number, talk in enumerate(talks):
        with contextlib.suppress(ssl.SSLWantReadError):
            talk.ends[0].do_handshake()
        talk.flush(0)
        talk.wire.add(1, ACK, bytes([0x15, 3, 3, 0, 2, 2, alert]))
        talk.wire.packets = [each._replace(ns=each.ns + number * every_ms * MILLISECOND) for each in talk.wire.packets]
        talk.wire.now += number * every_ms * MILLISECOND
    return talks


@pytest.mark.parametrize("case", ["scan", "once", "again"])
def test_only_a_client_that_goes_on_trying_is_in_trouble(case: str, tmp_path: Path) -> None:
    """A scanner offers another list each time; somebody tries twice by hand."""
    suites = ["AES128-GCM-SHA256"] * {"scan": 6, "once": 2, "again": 4}[case]
    if case == "scan":
        suites = [":".join(SUITES[: 1 + number]) for number in range(6)]
    [found] = findings(refused_hellos(tmp_path, suites, 40), tmp_path)
    severity, words = {
        "scan": ("info", "hellos of 6 sizes, 6 in 3.5 s, as a scanner sends them"),
        "once": ("warning", "nobody goes on trying"),
        "again": ("critical", "no Kafka traffic on them"),
    }[case]
    assert (found.finding, found.severity) == ("tls-mismatch", severity)
    assert found.text.endswith(words) and ("scan of your own" in found.advice) == (case == "scan")


@pytest.mark.parametrize(("alert", "lacking"), [(40, "cipher suite"), (70, "TLS version")])
def test_a_hello_that_the_broker_refuses(alert: int, lacking: str, tmp_path: Path) -> None:
    """As Kafka 4.4 answers a client that offers only suites, or versions, that it lacks: with the alert alone."""
    [found] = findings(refused_hellos(tmp_path, ["AES128-GCM-SHA256"] * 3, alert), tmp_path)
    assert (found.finding, found.severity, found.evidence["connections"]) == ("tls-mismatch", "critical", 3)
    assert found.text.startswith("10.0.0.1 and broker 10.0.0.2:9092 have no " + lacking + " in common: the broker ends")


def test_handshakes_that_succeed_end_in_an_alert_too(tmp_path: Path) -> None:
    """close_notify; whatever was said before, be it nothing."""
    talks = [
        Talk(tmp_path, suite=suite, port=41000 + n) for n, suite in enumerate([None, None, *["AES128-GCM-SHA256"] * 2])
    ]
    for number, talk in enumerate(talks):
        talk.shake_hands()
        if number % 2:
            talk.say(0, b"x" * 40).say(1, b"y" * 40)
        for end in range(2):
            with contextlib.suppress(ssl.SSLError):
                talk.ends[end].unwrap()
            talk.flush(end)
    assert not findings(talks, tmp_path)


def findings(talks: list[Talk], folder: Path) -> list[Finding]:
    """What is found in a capture of connections side by side."""
    packets = chain.from_iterable(talk.wire.close().packets for talk in talks)
    path = folder / "talks.pcap"
    path.write_bytes(pcap(sorted(packets, key=lambda packet: packet.ns), nano=True))
    return diagnose([str(path)]).findings


@pytest.mark.parametrize("times", [30, 8])
def test_connections_in_tls_without_keys_are_counted_by_host(times: int, tmp_path: Path) -> None:
    """Nobody knows their clients, nor whether their logins are refused; so nothing of that is ruled out."""
    talks = [Talk(tmp_path, port=41000 + number) for number in range(times)]
    for number, talk in enumerate(talks):
        talk.shake_hands().say(0, b"x" * 40).say(1, b"y" * 40)
        talk.wire.close()
        start = number * 300 * MILLISECOND
        talk.wire.packets = [each._replace(ns=each.ns + start) for each in talk.wire.packets]
    path = tmp_path / "sealed.pcap"
    path.write_bytes(pcap(sorted(packet for talk in talks for packet in talk.wire.packets)))
    findings = diagnose([str(path)]).findings
    assert [each.finding for each in findings] == ["connection-churn"] * (times == 30)
    for each in findings:
        assert each.subject == {"host": "10.0.0.1"} and each.evidence["connections"] == 30
        assert each.severity == "info" and "in TLS without keys" in each.text and "logins" not in each.ruled_out
