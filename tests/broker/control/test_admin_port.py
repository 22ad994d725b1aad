"""The admin port, for programs in any language, and `kcli broker ctl`."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import socketserver
import struct
import sys
import threading
from typing import Any

import pytest

from kcli import embedded_broker
from kcli.broker.control.admin_port import AdminPort
from kcli.errors import NetworkError
from kcli.schemas.apikeys import OFFSET_COMMIT
from tests.broker.control.asking import ask, produce
from tests.inside import kcli


def post(address: str, command: str, given: object = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(address, timeout=60)
    body = given if isinstance(given, bytes) else json.dumps(given or {}).encode()
    connection.request("POST", f"/{command}", body, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    return answer.status, value.get("result", value.get("error"))


def test_a_program_controls_a_broker() -> None:
    with embedded_broker(nodes=2) as kafka, kafka.admin_port() as port:
        at = port.address
        assert post(at, "create-topic", {"topic": "t", "partitions": 1, "replication": 2}) == (200, None)
        records = [{"key": "k", "value": "v"}, "w"]
        assert post(at, "append", {"topic": "t", "records": records, "partition": 0}) == (200, [0, 1])
        kafka.append("t", b"\xff", 0)
        found = post(at, "records", {"topic": "t"})[1]
        assert [each["value"] for each in found] == ["v", "w", {"base64": "/w=="}]
        assert post(at, "fault", {"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 1}) == (200, {"id": 1})
        assert post(at, "observe", {"api": ["Produce"]}) == (200, {"id": 2})
        assert post(at, "hits", {"id": 2})[1]["hits"] == 0  # waits for none
        assert post(at, "leader", {"topic": "t"}) == (200, kafka.leader("t"))
        assert produce(kafka, "t", node=(kafka.leader("t") or 0) - 1)[0]["errorCode"] == 6
        assert post(at, "hits", {"id": 1, "wait": 1})[1]["hits"] == 1
        seen = post(at, "hits", {"id": 2})[1]["requests"]
        assert (seen[0]["api"], seen[0]["errors"]) == ("Produce", ["NOT_LEADER_OR_FOLLOWER"])
        assert [each["hits"] for each in post(at, "list")[1]] == [1, 1]
        assert post(at, "remove", {"id": 1}) == (200, None)
        assert post(at, "requests", {"api": "Produce"})[1][0]["client"] == "talk"
        assert post(at, "answer", {"api": "Produce", "response": {"throttleTimeMs": 5}}) == (200, {"id": 3})
        commit: dict[str, Any] = {
            "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 2}]}]
        }
        commit |= {"groupId": "g", "memberId": "", "generationIdOrMemberEpoch": -1}
        for node in (0, 1):  # one of them coordinates the group
            ask(kafka, OFFSET_COMMIT, 8, commit, node=node)
        committed = [{"topic": "t", "partition": 0, "offset": 2}]
        assert post(at, "committed", {"group": "g"}) == (200, committed)
        before = post(at, "info")[1]["now"]
        assert post(at, "advance", {"minutes": 2})[1]["now"] >= before + 120_000
        assert post(at, "stop-node", {"node": 2}) == (200, None)
        assert post(at, "info")[1]["nodes"] == {"1": True, "2": False}
        assert post(at, "start-node", {"node": 2}) == (200, None)
        assert post(at, "move-leader", {"topic": "t", "partition": 0, "node": 2}) == (200, None)
        assert post(at, "apply-retention") == (200, None)
        assert post(at, "wait", {"topic": "t", "records": 3}) == (200, None)
        status, said = post(at, "wait", {"topic": "t", "records": 4, "timeout": 0.01})
        assert status == 504 and "topic t: 3 records; 4 expected" in said
        assert post(at, "compact") == (200, None)
        assert post(at, "reset") == (200, None) and post(at, "list") == (200, [])


@pytest.fixture(scope="module")
def address() -> Any:
    """The admin port of a broker that refuses all that it is asked."""
    with embedded_broker() as kafka, kafka.admin_port() as port:
        yield port.address


@pytest.mark.parametrize(
    ("command", "given", "status", "said"),
    [
        ("nope", {}, 400, "no command 'nope'"),
        ("records", {"topic": "nope"}, 400, "no topic nope"),
        ("records", {}, 400, "records: missing a required argument: 'topic'"),
        ("records", {"topic": "t", "topics": 1}, 400, "unexpected keyword argument 'topics'"),
        ("records", {"topic": 5}, 400, "records: topic: text expected"),
        ("records", {"topic": "t", "partition": True}, 400, "records: partition: a number or null expected"),
        ("requests", {"api": ["Fetch", 1]}, 400, "requests: api: text or a list expected"),
        ("wait", {"group": "g", "members": "1"}, 400, "wait: members: a number or null expected"),
        ("append", {"topic": "t", "records": [{"timestamp": "now"}]}, 400, "timestamp: a number expected, not str"),
        ("append", {"topic": "t", "records": [{"headers": 5}]}, 400, "headers: names with values expected"),
        ("append", {"topic": "t", "records": [{"headers": [["name"]]}]}, 400, "headers: names with values expected"),
        ("append", {"topic": "t", "records": [{"partition": "0"}]}, 400, "partition: a number or None expected"),
        ("append", {"topic": "t", "records": "\ud800"}, 400, "value: half a character (a lone surrogate) is no text"),
        ("append", {"topic": "t", "records": [{"headers": {"\ud800": ""}}]}, 400, "headers: half a character"),
        ("fault", {"api": [5]}, 400, "fault api=5: no action"),
        ("fault", {"error": "NOPE"}, 400, "no such error NOPE"),
        ("hits", {"id": 9}, 400, "nothing has the id 9"),
        ("wait", {"group": "g", "timeout": 0.01}, 504, "there is no group g"),
        ("advance", {"seconds": -1}, 400, "forward only"),
        ("stop-node", {"node": 9}, 400, "does not run"),
        ("info", b"[1]", 400, "an object expected"),
        ("info", b"{", 400, "no JSON object"),
        ("info", b"[" * 100_000, 400, "no JSON object"),
    ],
)
def test_what_it_refuses(command: str, given: object, status: int, said: str, address: str) -> None:
    found = post(address, command, given)
    assert found[0] == status and said in str(found[1])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "the broker failed: [Errno 28] No space left on device"),
        (NetworkError("cannot listen on 127.0.0.1:1"), "the broker failed: cannot listen on 127.0.0.1:1"),
        (TypeError("'x' is no number"), "the broker failed (a bug): TypeError: 'x' is no number"),
    ],
)
def test_a_fault_of_the_broker_is_no_fault_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    bugs: queue.Queue[object] = queue.Queue()  # whose traceback the server shows

    def fail(topic: str) -> None:
        raise error

    monkeypatch.setattr("http.server.ThreadingHTTPServer.handle_error", lambda *_: bugs.put(sys.exception()))
    with embedded_broker() as kafka, kafka.admin_port() as port:
        monkeypatch.setattr(kafka, "leader", fail)
        assert post(port.address, "leader", {"topic": "t"}) == (500, said)
        assert ctl(port.address, "leader", "topic=t") == (4, "", f"kcli: {said}\n")
        assert ctl(port.address, "leader", "topics=t")[0] == 2
        assert post(port.address, "info")[0] == 200
        if isinstance(error, TypeError):
            assert bugs.get(timeout=60) is error and bugs.get(timeout=60) is error
        assert bugs.empty()


def test_it_takes_nothing_of_a_web_page() -> None:
    with embedded_broker() as kafka, kafka.admin_port() as port:
        assert post(port.address, "info", Host="evil.example")[0] == 403
        assert post(port.address, "info", **{"Content-Type": "text/plain"})[0] == 403
        assert post(port.address, "info", **{"Content-Length": str(1 << 40)})[0] == 413
        with pytest.raises(NetworkError, match="cannot listen"):
            kafka.admin_port(int(port.address.rpartition(":")[2]))


def test_a_client_that_goes_away_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ended, shutdown = threading.Event(), socketserver.TCPServer.shutdown_request

    def go_away(_name: str, _given: object) -> str:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        client.close()
        return "x" * (8 << 20)

    def end(server: socketserver.TCPServer, request: socket.socket) -> None:
        shutdown(server, request)
        ended.set()

    monkeypatch.setattr("socketserver.TCPServer.shutdown_request", end)
    with AdminPort(go_away, ["go"]) as port:
        client = socket.create_connection(("127.0.0.1", int(port.address.rpartition(":")[2])))
        client.sendall(b"POST /go HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n")
        assert ended.wait(60)
    assert capsys.readouterr().err == ""


def ctl(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    done = kcli("broker", "ctl", *arguments, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def test_the_command() -> None:
    with embedded_broker() as kafka:
        with kafka.admin_port() as port:
            at = port.address
            assert "create-topic" in ctl(at)[1].splitlines()
            assert ctl(at, "create-topic", "topic=t", "partitions=2") == (0, "null\n", "")
            assert ctl(at, "append", "topic=t", "partition=1", "records=@-", stdin='["a"]') == (0, "[0]\n", "")
            assert kafka.records("t", 1)[0].value == b"a"
            code, _, said = ctl(at, "append", "nonsense")
            assert (code, said) == (2, "kcli: nonsense: NAME=VALUE expected\n")
            code, _, said = ctl(at, "stop-node", "node=7")
            assert code == 2 and "node 7 does not run" in said
            code, _, said = ctl(at, "wait", "group=g", "timeout=0.01")
            assert code == 4 and "there is no group g" in said
        code, _, said = ctl(at, "info")
        assert code == 4 and said.endswith("no admin port answers: Connection refused\n")
