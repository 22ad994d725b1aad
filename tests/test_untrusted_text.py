"""Every command in every format, over inputs and names that would steer a terminal: nothing of it is obeyed.

A new command has to be put into CASES, a new format is tried by itself.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from kcli.cli.commands import COMMANDS
from kcli.cli.main import main
from tests.commands import commands
from tests.hostile import NAME, TEXTS, Liar, World, illegible
from tests.processes import ended

LOGIN = (
    "--bootstrap 127.0.0.1:{port} --config security.protocol=SASL_PLAINTEXT --config sasl.mechanism=PLAIN "
    "--config request.timeout.ms=5000 --config default.api.timeout.ms=5000 --config max.block.ms=5000 --config {jaas}"
)
JAAS = 'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'

# Arguments by command; {words} stand for what the test has. Each is tried in every --format and with every --records.
CASES: dict[str, list[str]] = {
    "audit": ["{capture}", "{garbage}", "{name}", "{capture} --against {name}", "{capture} --schema {dialect}"],
    "broker ctl": ["{name}", "127.0.0.1:1 {name}", "127.0.0.1:{port} {name}"],
    "broker move-leader": ["topic --to 1 " + LOGIN, "topic --to 1 --bootstrap {name}"],
    "broker serve": [
        "--topic {name}", "--config {name}=1", "--fault {name}", "--from {garbage} --port 0", "--release {name}",
    ],
    "capture": ["-i {name}", "--where {name}"],
    "check batch": ["{segment}", "{garbage}", "{name}", "{segment} --hex"],
    "check request": ["{requests} --framed", "{garbage}", "{name}", "{requests} --framed --release {name}"],
    "completion": ["{name}"],
    "decode batch": ["{segment}", "{offsets} --topic __consumer_offsets", "{garbage}", "{segment} --topic {name}"],
    "decode data": [
        "ConsumerProtocolSubscription {data}", "ConsumerProtocolAssignment {garbage}", "{name} {data}",
        "ConsumerProtocolSubscription {requests}", "LeaderChangeMessage {data} --data-version 0",
    ],
    "decode pcap": [
        "{capture}", "{garbage}", "{name}", "{capture} --api {name}", "{capture} --errors", "{capture} --since {name}",
        "{capture} --schema {dialect}", "{capture} -o {out}/{name}/x", "{garbage} {capture}",
        "{capture} --value-format utf8",
    ],
    "decode request": [
        "{requests} --framed", "{garbage}", "{requests} --hex", "{capture} --framed", "{join} --embedded",
    ],
    "decode response": [
        "{response} --api Metadata --api-version 12", "{garbage} --api Metadata --api-version 12",
        "{response} --api {name} --api-version 1",
    ],
    "decode segment": [
        "{segment}", "{offsets}", "{segment} --verify", "{garbage}", "{world}", "{segment} --topic {name}",
    ],
    "compare": ["{capture} {capture}", "{capture} {garbage}", "{capture} {name}"],
    "diagnose": ["{capture}", "{garbage}", "{name}", "{capture} --client {name}"],
    "diff batch": ["{segment} {segment}", "{segment} {garbage}", "{name} {name}"],
    "diff message": [
        "{requests} {requests}", "{requests} {garbage}", "{name} {name}",
        "{response} {garbage} --api Metadata --api-version 12",
    ],
    "down-convert": [
        "{segment} --to-magic 0 --plan", "{garbage} --to-magic 0", "{name} --to-magic 1", "{name} --to-magic {name}",
    ],
    "encode batch": ["{lines}", "{garbage}", "{name}"],
    "encode request": ["{lines}", "{garbage}", "{name}"],
    "encode response": ["{lines}", "{garbage}", "{name}"],
    "fetch-session explain": ["{capture}", "{lines}", "{garbage}", "{name}"],
    "fetch-session lint": ["{capture}", "{lines}", "{garbage}", "{name}"],
    "fetch-session replay": ["{capture}", "{lines} " + LOGIN, "{garbage}", "{name}", "{capture} " + LOGIN],
    "pipeline compact": ["{name}"],
    "pipeline forget": ["{name} --file {name}"],
    "pipeline history": ["{name}"],
    "pipeline report": ["{world}", "{name}", "{world} --sql"],
    "pipeline run": ["--input {name} --output {out}/{name}"],
    "pipeline tables": ["", "{name}"],
    "pipeline vacuum": ["{name}"],
    "produce": [
        "topic --num-records 1 " + LOGIN, "{name} {name} --bootstrap {name}",
        "topic {lines} --key-separator {name} " + LOGIN, "topic {lines} --jsonl " + LOGIN,
    ],
    "proxy": [
        "--bootstrap {name}", "--bootstrap 127.0.0.1:1 --listen {name}", "--bootstrap 127.0.0.1:1 --metrics {name}",
        "--bootstrap 127.0.0.1:1 --policy {name}", "--bootstrap 127.0.0.1:1 --allow-network {name}",
        "--bootstrap 127.0.0.1:1 --allow-api {name}", "--bootstrap 127.0.0.1:1 --fault api=Fetch,delay=1,for={name}",
    ],
    "records": [
        "{capture}", "{segment}", "{capture} --values", "{garbage}", "{name}", "{capture} --topic {name}",
        "{segment} --values", "{capture} --payloads", "{segment} --value-format json --key-format hex",
        "{segment} --schemas {name}", "{segment} --value-schema {name}={name}", "--bootstrap {name} --topic {name}",
    ],
    "redact": ["{capture} -o {out}/{name}", "{garbage} -o {out}/x", "{name} -o {out}/x"],
    "replay": [
        "{capture} --speed max --quiet", "{garbage}", "{name}", "{capture} --bootstrap {name}",
        "{capture} --only {name}", "{capture} --topic-map {name}={name}", "{capture} --client-id {name}",
        "{capture} --record {out}/{name} --only {name}",
    ],
    "report": [
        "{capture} -o {out}/{name}", "{garbage} -o {out}/{name}", "{name} -o {out}", "{capture} -o -", "{world} -o -",
    ],
    "schema check": ["{dialect}", "{name}", "{dialect} --against {name}"],
    "schema diff": [
        "Metadata 0 1", "{name} 1 2", "--schema {dialect} Metadata 0 0", "--release {name} 4.0", "4.4 {dialect}",
        "{name} {dialect}",
    ],
    "schema import": ["{garbage} -o {out}/{name}", "{name} -o {out}", "{dialect} -o {out}/x"],
    "schema list": ["", "{name}", "--kind {name}", "--release {name}", "--errors", "--schema {dialect}"],
    "schema doc": ["{name}", "{dialect}", "MetadataRequest 0 --schema {dialect}"],
    "schema export": [
        "--to json-schema --dialect {dialect}", "--to kaitai --dialect {dialect}", "--to {name}",
        "--to wireshark-lua --dialect {name}",
    ],
    "schema vectors": ["{name}", "{dialect}", "MetadataRequest 0 --schema {dialect}"],
    "schema show": ["Metadata", "{name}", "MetadataRequest 0 --schema {dialect}", "MetadataRequest --schema {dialect}"],
    "send": ["{lines} " + LOGIN, "{garbage} " + LOGIN, "{lines} --bootstrap {name}", "{lines} --api {name} " + LOGIN],
    "sql": [
        "FROM/**/exchanges {capture}", "FROM/**/records {segment}", "FROM/**/metadata {first}",
        "FROM/**/events {garbage}",
        "{name} {capture}", "FROM/**/events {name}", "FROM/**/records {world}", "SELECT/**/error('{name}') {capture}",
    ],
    "snapshot backup": ["{world} -o {out}/{name}", "{name} -o {out}/x", "{world} -o {name}", "{garbage} -o {out}/x"],
    "snapshot check": ["{first}", "{world}", "{garbage}", "{name}", "{first} --against {name}"],
    "snapshot create": ["--log {world} -o {out}/{name} --at-offset 5", "--log {name}"],
    "snapshot diff": ["{first} {second}", "{first} {garbage}", "{first} {name}", "{first} {second} --secrets"],
    "snapshot doctor": ["{name}", "{world}", "{name}:1"],
    "snapshot drift": ["{world} {world}", "{world} {name}", "{name} {name}"],
    "snapshot extract": ["{capture} -o {out}", "{garbage} -o {out}", "{name} -o {out}/{name}"],
    "snapshot fetch": ["-o {out}/{name} " + LOGIN, "-o {out} --snapshot {name} --bootstrap x:1"],
    "snapshot image": [
        "{first}", "{first} tree", "{first} find", "{first} ls /image/topics/byName", "{first} ls /image/**",
        "{first} cat /image/configs/**", "{first} --path **", "{first} --ask by-broker", "{first} --ask fenced",
        "{first} cat {name}", "{first} --secrets", "{garbage}", "{name}",
    ],
    "snapshot inspect": ["{first} {second}", "{first} --records", "{garbage}", "{name}", "{world}"],
    "snapshot log": ["{world}", "{name}", "{world} --from {name}", "{world} --topic {name}"],
    "snapshot plan": ["{world}", "{name}", "{world} --replica {name}", "{world} --properties {garbage}"],
    "snapshot restore": [
        "{first}", "{world}", "{garbage}", "{name}", "{first} --to {out}/{name} --node-id 1 --cluster-id {name}",
        "{first} --voters {name}", "{first} --release {name}", "{first} --voters 1@h:1 --cluster-id {name}",
    ],
    "snapshot verify": ["{first}", "{garbage}", "{name}", "{world}", "{segment}"],
    "snapshot watch": [
        "127.0.0.1:{port} --duration 1 --client-config request.timeout.ms=1000", "{name} --duration 1",
    ],
    "stats": ["{capture} --by client --by topic --by group", "{garbage}", "{name}", "{capture} --client {name}"],
    "top": ["{name}", "--proxy --bootstrap {name}", "--proxy --listen {name}", "-i {name} {capture}"],
}  # fmt: skip
NEEDED = {"pipeline": "pyspark", "report": "duckdb"}


def forms(command: click.Command) -> list[list[str]]:
    """Every value of --format and --records together."""
    chosen = [
        [[option.opts[0], value] for value in option.type.choices]
        for option in command.params
        if isinstance(option, click.Option) and isinstance(option.type, click.Choice) and set(option.opts) & WAYS
    ]
    return [list(itertools.chain(*each)) for each in itertools.product(*chosen)]


WAYS = {"--format", "--records"}
FOUND = dict(commands())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def liar() -> Iterator[Liar]:
    server = Liar()
    yield server
    server.close()


def test_every_command_is_tried() -> None:
    assert set(FOUND) == set(CASES)
    assert len(FOUND) == sum(len(each) if isinstance(each, dict) else 1 for each in COMMANDS.values())


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_obeyed(
    name: str,
    terminal: bool,
    world: World,
    liar: Liar,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needed = NEEDED.get(name.split()[0])
    if needed and find_spec(needed) is None:
        pytest.skip(f"needs {needed}")
    if name == "pipeline report":
        answer_by_hand(monkeypatch)
    monkeypatch.setattr(
        "kcli.replay.traffic.replayed_connection.PAUSE", 0.001
    )  # before it asks again for what no broker has, 50 times
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    for number, (arguments, form) in enumerate(itertools.product(CASES[name], forms(FOUND[name]))):
        out = tmp_path / str(number)
        out.mkdir()
        words = [*name.split(), *filled_in(arguments, world, liar, out), *form]
        if "parquet" in form and "-o" not in words:
            words += ["-o", str(out / "file.parquet")]
        code = main(words)
        captured = capfdbinary.readouterr()
        assert code in (0, 1, 2, 3, 4), words
        for text, colours in ((captured.out, terminal), (captured.err, False)):
            shown = text.decode("utf-8", "surrogateescape")
            assert illegible(shown, styled=colours) is None, (words, illegible(shown, styled=colours))
        assert code < 2 or captured.err.startswith(b"kcli: ") or b"\nkcli: " in captured.err, words


def filled_in(arguments: str, world: World, liar: Liar, out: Path) -> list[str]:
    at = {
        "capture": world.capture, "garbage": world.garbage, "name": NAME, "dialect": world.dialect, "out": out,
        "segment": world.segment, "offsets": world.offsets, "requests": world.requests, "response": world.responses,
        "world": world.folder, "data": world.data, "join": world.join, "lines": world.lines, "jaas": JAAS,
        "first": world.snapshots[0], "second": world.snapshots[1], "port": liar.port,
    }  # fmt: skip
    return [word.format_map(at) for word in arguments.split()]


def answer_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """`pipeline report` without tables: each question is answered with hostile rows."""
    from kcli.pipeline.queries import QUESTIONS
    from kcli.pipeline.report import Answered

    columns = ("verdict", "note", "exchanges")
    answers = [Answered(each, columns, [(text, text, 1) for text in TEXTS]) for each in QUESTIONS]
    monkeypatch.setattr("kcli.report.fleet.ask_here", lambda _: iter(answers))


def test_a_page_of_the_report_holds_none_of_it(world: World, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("jinja2")
    page = tmp_path / "page.html"
    assert main(["report", str(world.capture), "-o", str(page)]) in (0, 3)
    text = page.read_text()
    assert illegible(text) is None
    assert "<script>alert(1)" not in text
    assert "\\u003cscript\\u003ealert(1)" in text


def test_what_a_broker_says_of_itself(tmp_path: Path) -> None:
    data = tmp_path / NAME
    words = [sys.executable, "-m", "kcli.cli", "broker", "serve", "--port", "0", "--data", str(data)]
    with ended(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as broker:
        assert broker.stdout
        assert broker.stderr
        assert broker.stdout.readline().startswith(b"bootstrap.servers=127.0.0.1:")
        first = broker.stderr.readline()
        broker.send_signal(signal.SIGINT)
        said = first + broker.stderr.read()
    assert b"data in " in first
    assert illegible(os.fsdecode(said)) is None


def test_json_holds_the_same_values(world: World, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["decode", "pcap", str(world.capture), "--format", "jsonl", "--quiet"]) in (0, 3)
    rows = [json.loads(line) for line in capfdbinary.readouterr().out.split(b"\n")[:-1]]
    topics = {
        topic["topic"]
        for row in rows
        if "request" in row
        for topic in row["request"].get("topics") or ()
        if "topic" in topic
    }
    assert set(TEXTS) <= topics
    assert set(TEXTS) <= {row["requestHeader"]["clientId"] for row in rows if "requestHeader" in row}
