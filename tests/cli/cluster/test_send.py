"""`kcli send` as a script sees it, against a broker that answers what the test says."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.broker.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.cli.main import main
from kcli.grammar import frames
from tests.client.broker import FakeBroker, running
from tests.client.fake import hang, server
from tests.greeting import GREET, greeting

HEADER = {"requestApiKey": 3, "requestApiVersion": 5, "correlationId": 99, "clientId": "me"}
FRAME = frames.encode_request(HEADER, {"topics": [{"name": "t"}]})
FRAMED = len(FRAME).to_bytes(4, "big") + FRAME


class Background:
    """A broker in a thread of its own, while `main` has this one."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker = broker
        self.loop = asyncio.new_event_loop()
        self.ready, self.over = threading.Event(), asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self.serve(),))

    async def serve(self) -> None:
        async with running(self.broker):
            self.ready.set()
            await self.over.wait()

    def __enter__(self) -> FakeBroker:
        self.thread.start()
        self.ready.wait(60)
        return self.broker

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    made = FakeBroker()
    made.topics["t"] = 2
    with Background(made):
        yield made


def send(broker: FakeBroker, *words: str) -> int:
    return main(["send", "--bootstrap", f"127.0.0.1:{broker.port}", *words])


def written(path: Path, text: str | bytes) -> str:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_json_body_gets_the_newest_version_and_a_header(
    broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send(broker, "--api", "metadata", written(tmp_path / "r", '{"topics": [{"name": "t"}]}')) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["responseHeader"], answer["requestApiKey"]) == ({"correlationId": 1}, 3)
    assert answer["requestApiVersion"] == 13
    assert len(answer["response"]["topics"][0]["partitions"]) == 2


def test_what_decode_request_prints_goes_out_as_it_says(
    broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "r.bin", FRAME)
    assert main(["decode", "request", file]) == 0
    line = capsys.readouterr().out
    assert send(broker, written(tmp_path / "r.json", line * 2)) == 0
    out = capsys.readouterr().out
    assert [json.loads(text)["responseHeader"]["correlationId"] for text in out.splitlines()] == [99, 99]
    assert [(key, version) for key, version, _ in broker.requests[-2:]] == [(3, 5), (3, 5)]


@pytest.mark.parametrize("form", ["raw", "framed", "hex", "base64", "exact"])
def test_encoded_requests(broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    import base64

    data, options = {
        "raw": (FRAME, ()),
        "framed": (FRAMED, ()),
        "hex": (FRAME.hex(" ").encode(), ("--hex",)),
        "base64": (base64.b64encode(FRAMED), ("--base64",)),
        "exact": (FRAMED, ("--raw",)),
    }[form]
    assert send(broker, *options, written(tmp_path / "r", data)) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["responseHeader"] == {"correlationId": 99}
    assert [each["name"] for each in answer["response"]["topics"]] == ["t"]
    # Exact bytes are alone on their connection.
    assert [key for key, _, _ in broker.requests] == ([3] if form == "exact" else [18, 18, 3])


def test_a_chosen_version_and_broker(broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "r", '{"topics": null}')
    assert send(broker, "--api", "Metadata", "--api-version", "1", "--node", "1", file) == 0
    assert json.loads(capsys.readouterr().out)["requestApiVersion"] == 1
    assert send(broker, "--api", "Metadata", "--node", "5", file) == 4
    assert "no broker 5 now" in capsys.readouterr().err


def test_properties_without_meaning_are_named(
    broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = written(tmp_path / "c.properties", "group.id=g\nclient.id=tester\n")
    assert send(broker, "--config", config, "--api", "Metadata", written(tmp_path / "r", "{}")) == 0
    assert "ignored: group.id" in capsys.readouterr().err


def test_produce_without_acks_has_no_answer(
    broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker.ranges[0] = type(broker.ranges[3])(3, 9)
    body = '{"acks": 0, "timeoutMs": 1, "topicData": []}'
    assert send(broker, "--api", "Produce", written(tmp_path / "r", body)) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Produce v9 with acks=0 has no response" in captured.err


@pytest.mark.parametrize(
    ("data", "words", "code", "message"),
    [
        ("{}", (), 2, "the API is unknown"),
        ("{}", ("--api", "Metadatum"), 2, "did you mean Metadata?"),
        ('{"topics": 3}', ("--api", "Metadata"), 3, "topics"),
        ("{]", ("--api", "Metadata"), 3, "not JSON: line 1, column 2"),
        (FRAME[:-6], (), 3, "topics"),
        ("xyz", ("--hex",), 3, "not hex"),
        (FRAMED, ("--raw", "--api", "Metadata"), 2, "--raw sends bytes as they are"),
        ("{}", ("--api", "JoinGroup"), 4, "does not have JoinGroup"),
        (b"\xff\xff\xff\xff", ("--raw",), 4, "instead of answering the request"),
        ("{}", ("--config", "securty.protocol=SSL"), 2, "did you mean security.protocol?"),
        ("{}", ("--config", "/no/such/file"), 2, "neither key=value nor a file that exists"),
    ],
)
def test_what_goes_wrong_is_one_line(
    broker: FakeBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    data: str | bytes,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    assert send(broker, *words, written(tmp_path / "r", data)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_no_broker_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "r", "{}")
    assert main(["send", "--api", "Metadata", file]) == 2
    assert "--bootstrap HOST:PORT" in capsys.readouterr().err
    assert main(["send", "--api", "Metadata", file, "--bootstrap", "127.0.0.1:1"]) == 4
    assert "refused the connection" in capsys.readouterr().err


def test_a_broker_that_hangs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready, over = threading.Event(), threading.Event()
    port = 0

    async def serve() -> None:
        nonlocal port
        async with server(hang) as port:
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    ready.wait(60)
    try:
        words = ["send", "--api", "Metadata", written(tmp_path / "r", "{}"), "--config", "request.timeout.ms=100"]
        assert main([*words, "--bootstrap", f"127.0.0.1:{port}"]) == 4
    finally:
        over.set()
        thread.join()
    assert "no response to ApiVersions v5 within 0.1 s (request.timeout.ms)" in capsys.readouterr().err


def test_to_the_leader(broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"partitionIndex": 1, "errorCode": 0, "offset": 42}
    broker.answers[2] = lambda *_: {"topics": [{"name": "t", "partitions": [row]}]}
    body = '{"replicaId": -1, "topics": [{"name": "t", "partitions": [{"partitionIndex": 1, "timestamp": -1}]}]}'
    file = written(tmp_path / "r", body)
    assert send(broker, "--api", "ListOffsets", "--to-leader", file) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["response"]["topics"][0]["partitions"][0]["offset"] == 42
    assert send(broker, "--api", "ListOffsets", "--to-leader", "--node", "1", file) == 2
    assert "--to-leader is for JSON requests, and without --node" in capsys.readouterr().err


@pytest.mark.parametrize("theirs", ["kip-1018", "kip-227-draft", None])
def test_a_dialect_is_spoken_where_the_broker_shows_it(
    theirs: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "r", '{"topics": [], "sessionEpoch": -1, "minBytes": 0, "maxWaitMs": 0}')
    with EmbeddedBroker(Broker(dialect=theirs)) as server:
        code = main(["send", "--bootstrap", server.bootstrap_servers, "--api", "Fetch", "--schema", "kip-1018", file])
    out, err = capsys.readouterr()
    assert code == 0
    assert json.loads(out)["requestApiVersion"] == 18
    assert ("does not speak the dialect kip-1018" in err) == (theirs != "kip-1018")
    assert err.count("\n") == (theirs != "kip-1018")


def test_an_api_of_a_dialect_that_the_broker_does_not_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = ["--api", "IncrementalFetch", "--schema", "kip-227-draft"]
    file = written(tmp_path / "r", '{"uuid": 1, "topics": []}')
    with EmbeddedBroker(Broker()) as server:
        code = main(["send", "--bootstrap", server.bootstrap_servers, *named, file])
    assert code == 4
    assert "does not have IncrementalFetch (API key 30227)" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_an_api_needs_no_input(
    broker: FakeBroker, terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every field has its default; a terminal is not waited for."""
    with Path("/dev/null").open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        if terminal:
            monkeypatch.setattr(nothing, "isatty", lambda: True)
            monkeypatch.setattr("kcli.cli.cluster.send.read_bytes", lambda *_: pytest.fail("read"))
        assert send(broker, "--api", "ApiVersions") == 0
    assert json.loads(capsys.readouterr().out)["requestApiKey"] == 18


def test_hex_text_without_hex(broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert send(broker, written(tmp_path / "r", FRAMED.hex())) == 3
    assert "(looks like hex text: kcli decode request --hex reads that)" in capsys.readouterr().err


def asked(version: int, dialect: str) -> bytes:
    header = {"requestApiKey": GREET, "requestApiVersion": version, "correlationId": 1, "clientId": "me"}
    return frames.encode_request(header, {"name": "x"}, dialect)


def test_what_the_broker_lacks_is_said_instead_of_security(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An API, or a version of it, that the broker does not name among its own: as JSON, as bytes, and in a draft."""
    dialect = greeting(tmp_path / "greet")
    lacks_it = f"does not have Greet (API key {GREET})"
    with EmbeddedBroker(Broker()) as broker:
        bootstrap = ["--bootstrap", broker.bootstrap_servers]
        body = written(tmp_path / "body", '{"name": "x"}')
        as_bytes, empty = written(tmp_path / "bytes", asked(0, dialect)), written(tmp_path / "empty", "{}")
        for words, text in [
            (["--api", "Greet", "--dialect", dialect, body], lacks_it),
            (["--api", "Greet", "--api-version", "0", "--dialect", dialect, body], lacks_it),
            (["--dialect", dialect, as_bytes], f"instead of answering Greet v0: it {lacks_it}"),
            ([as_bytes], f"does not have API key {GREET}"),
            (["--api", "Fetch", "--api-version", "99", empty], "has Fetch (API key 1) in v0-18, not in v99"),
            (["--api", "StreamsGroupHeartbeat", "--api-version", "1", empty], "it does not have StreamsGroupHeartbeat"),
        ]:
            assert main(["send", "-q", *bootstrap, *words]) == 4
            said = capsys.readouterr().err
            assert text in said
            assert "security.protocol" not in said


def test_a_draft_is_spoken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As JSON, and as bytes; the newest version that both have."""
    dialect = greeting(tmp_path / "greet")
    with EmbeddedBroker(Broker(dialect=dialect)) as broker:
        words = ["send", "--bootstrap", broker.bootstrap_servers, "--dialect", dialect]
        assert main([*words, "--api", "Greet", written(tmp_path / "body", '{"name": "x"}')]) == 0
        assert main([*words, written(tmp_path / "bytes", asked(0, dialect))]) == 0
    new, old = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (new["requestApiVersion"], new["response"]) == (1, {"errorCode": 0, "text": "hi", "mark": -1})
    assert (old["requestApiVersion"], old["response"]) == (0, {"errorCode": 0, "text": "hi"})
