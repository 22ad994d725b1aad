"""Who connections logged in as, and which are TLS."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.capture.messages import metadata, request, response
from tests.capture.wires import Wire, pcap

HELLO = bytes.fromhex("160301002f0100002b0303") + bytes(40)


def login(number: int, token: bytes, error: int = 0) -> tuple[bytes, bytes]:
    asked = request(36, 2, number, {"authBytes": token})
    return asked, response(36, 2, number, {"errorCode": error, "errorMessage": None, "authBytes": b""})


@pytest.mark.parametrize(
    ("tokens", "principal"),
    [
        ([(b"\0alice\0secret", 0)], "User:alice"),
        ([(b"\0alice\0wrong", 58)], None),
        ([(b"n,,n=bob,r=1", 0), (b"c=biws,r=12,p=AAAA", 0)], "User:bob"),
        ([(b"n,,n=bob,r=1", 0), (b"c=biws,r=12,p=BBBB", 58)], None),
        ([(b"\0alice\0secret", 0), (b"\0carol\0secret", 0)], "User:carol"),
    ],
)
def test_a_login_counts_that_was_not_refused(
    tokens: list[tuple[bytes, int]], principal: str | None, ask: Callable[..., Any], tmp_path: Path
) -> None:
    wire = Wire().open()
    for number, (token, error) in enumerate(tokens):
        asked, answer = login(number, token, error)
        wire.client(asked).server(answer)
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(wire.packets))
    (row,) = ask("SELECT principal, requests, tls, file FROM connections", path, secrets=True)
    assert row == {"principal": principal, "requests": len(tokens), "tls": False, "file": str(path)}


def test_a_connection_of_tls_is_a_row(ask: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(Wire().open().client(HELLO).server(HELLO).packets))
    (row,) = ask("FROM connections", path)
    assert row["tls"] and row["requests"] == row["request_bytes"] == 0 and row["file"] == str(path)
    assert row["broker_address"] and row["client_address"] and row["principal"] is row["first_request"] is None


def test_a_message_of_plain_is_a_secret_with_the_name_in_it(ask: Callable[..., Any], tmp_path: Path) -> None:
    """Who was logged in before is not who is now."""
    wire = Wire().open()
    for number, token in enumerate((b"n,,n=bob,r=1", b"\0alice\0secret")):
        asked, answer = login(number, token)
        wire.client(asked).server(answer)
    (tmp_path / "x.pcap").write_bytes(pcap(wire.packets))
    query = "SELECT principal FROM connections"
    assert ask(query, tmp_path / "x.pcap") == [{"principal": None}]
    assert ask(query, tmp_path / "x.pcap", secrets=True) == [{"principal": "User:alice"}]


def test_who_logged_in_to_a_real_broker(ask: Callable[..., Any], samples: Path) -> None:
    rows = ask("SELECT DISTINCT principal FROM connections ORDER BY ALL", samples / "sasl-plain-scram.pcap")
    assert [row["principal"] for row in rows] == ["User:alice", "User:bob", None]


def test_tcp_says_how_far_and_how_well(ask: Callable[..., Any], tmp_path: Path) -> None:
    again = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    again.packets.append(again.packets[3]._replace(ns=again.now))
    joined = Wire(client=("10.0.0.9", 1234)).client(metadata(1)[0]).server(metadata(1)[1])
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap(sorted(again.packets + joined.packets)))
    query = "SELECT client, round_trip_ms, retransmissions, requests, file FROM connections ORDER BY client"
    rows = ask(query, path)
    assert [(row["client"], row["round_trip_ms"], row["retransmissions"], row["requests"]) for row in rows] == [
        ("10.0.0.1:40000", 2.0, 1, 1), ("10.0.0.9:1234", None, 0, 1),
    ]  # fmt: skip
    assert {row["file"] for row in rows} == {str(path)}
    assert ask("SELECT sum(retransmissions)::INT AS n FROM connections", path) == [{"n": 1}]
