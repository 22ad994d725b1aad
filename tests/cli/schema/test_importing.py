import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.schemas.catalog import catalog
from kcli.schemas.lookup import STOCK
from kcli.schemas.vectors.export import to_definition
from tests.schemas.definitions import field, jar, message


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What `kcli schema WORDS` writes to stdout and stderr."""
    assert main(["schema", *map(str, words)]) == code
    done = capsys.readouterr()
    return done.out, done.err


def releases(folder: Path) -> list[Path]:
    pair = [message(f"Ping{kind}", field("A"), kind=kind.lower(), apiKey=3) for kind in ("Request", "Response")]
    wider = [{**raw, "validVersions": "0-1"} for raw in pair]
    return [jar(folder, "kafka-clients-1.0.0.jar", *pair), jar(folder, "kafka-clients-1.1.0.jar", *wider)]


def test_import_merges_jars_into_a_directory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, second = releases(tmp_path)
    tables = tmp_path / "tables"
    _, err = run(capsys, "import", first, "-o", tables, "--anew")
    assert err == f"kcli: {tables}: 2 messages of 1 release (new: 1.0)\n"
    _, err = run(capsys, "import", second, "-o", tables)
    assert "PingRequest: versions 0 -> 0-1" in err
    assert run(capsys, "show", "Ping", 1, "--schema", tables)[0].startswith("PingRequest v1: request 3")
    once = {path.name: path.read_text() for path in tables.iterdir()}
    run(capsys, "import", tmp_path, "-o", tables, "--anew", "-q")
    assert {path.name: path.read_text() for path in tables.iterdir()} == once


def test_a_jar_is_not_written_over(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, _ = releases(tmp_path)
    tables = tmp_path / "tables"
    tables.mkdir()
    (tables / "errors.json").symlink_to(first)
    before = first.read_bytes()
    _, err = run(capsys, "import", first, "-o", tables, "--anew", code=2)
    assert "is the input" in err
    assert first.read_bytes() == before
    assert [each.name for each in tables.iterdir()] == ["errors.json"]


def test_import_goes_onto_the_stock_tables(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    later = jar(tmp_path, "kafka-clients-99.0.0.jar", message("Marvel", field("A")))
    _, err = run(capsys, "import", later, "-o", tmp_path / "tables")
    assert "Marvel: versions none -> 0" in err
    lines = (tmp_path / "tables" / "messages.jsonl").read_text().splitlines()
    assert set((STOCK / "messages.jsonl").read_text().splitlines()) < set(lines)


def test_import_of_what_is_no_jar_changes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, _ = releases(tmp_path)
    tables = tmp_path / "tables"
    run(capsys, "import", first, "-o", tables, "--anew", "-q")
    before = {path.name: path.read_text() for path in tables.iterdir()}
    wrong = tmp_path / "kafka-raft-1.1.0.jar"
    wrong.write_bytes(b"no zip")
    assert "kafka-raft-1.1.0.jar: not a jar" in run(capsys, "import", wrong, "-o", tables, code=3)[1]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no message definitions in" in run(capsys, "import", empty, "-o", tables, code=3)[1]
    assert {path.name: path.read_text() for path in tables.iterdir()} == before


IN_CLIENTS = "clients/src/main/resources/common/message"


def tree(
    folder: Path, *definitions: dict[str, object], place: str = "clients/src/main/resources/common/message"
) -> Path:
    (folder / place).mkdir(parents=True, exist_ok=True)
    for raw in definitions:
        (folder / place / f"{raw['name']}.json").write_text("// licence\n" + json.dumps(raw))
    return folder


def test_a_source_tree_becomes_a_dialect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of its definitions those that the tables don't have just so; it says what it left out."""
    source, out = tmp_path / "kafka", tmp_path / "draft"
    stock = [to_definition(catalog().message(name)) for name in ("MetadataRequest", "FetchRequest")]
    newer = to_definition(catalog().message("MetadataResponse"))
    newer["validVersions"] = "0-14"
    newer["fields"].append({"name": "Mood", "type": "int32", "versions": "14+"})
    tree(source, *stock, newer)
    tree(source, message("Plan", field("A")), place="metadata/src/main/resources/common/metadata")
    tree(source, message("Simple", field("A")), place="clients/src/test/resources/common/message")
    tree(source, message("Built", field("A")), place="clients/build/resources/common/message")
    (source / "gradle.properties").write_text("group=org.apache.kafka\nversion=4.5.0-SNAPSHOT\n")
    _, err = run(capsys, "import", source, "-o", out)
    left_out = "left out: 2 definitions as the tables have them, 1 of tests"
    assert err == f"kcli: {out}: 2 definitions (MetadataResponse, Plan); {left_out}\n"
    assert sorted(path.name for path in out.iterdir()) == ["MetadataResponse.json", "Plan.json", "dialect.json"]
    assert json.loads((out / "dialect.json").read_text()) == {"source": "Apache Kafka's sources 4.5.0-SNAPSHOT"}
    assert "mood" in run(capsys, "show", "MetadataResponse", 14, "--schema", out, "-q")[0]


def test_a_source_tree_with_nothing_new(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tree(tmp_path / "kafka", to_definition(catalog().message("FetchRequest")))
    _, err = run(capsys, "import", source, "-o", tmp_path / "out", code=1)
    assert "nothing that the tables don't have; left out: 1 definition as the tables have them" in err
    assert not (tmp_path / "out").exists()


def test_a_source_tree_that_makes_no_sense(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What can be read is written; names that would lead elsewhere are refused."""
    source, out = tree(tmp_path / "kafka", message("Plan", field("A"))), tmp_path / "out"
    folder = source / "clients/src/main/resources/common/message"
    (folder / "Bad.json").write_text("{")
    (folder / "Evil.json").write_text(json.dumps(message("../../evil", field("A"))))
    _, err = run(capsys, "import", source, "-o", out, code=3)
    assert "Bad.json: not JSON" in err
    assert "Evil.json: \"name\": '../../evil' is no name of a message" in err
    assert sorted(path.name for path in out.iterdir()) == ["Plan.json", "dialect.json"]
    assert not (tmp_path.parent / "evil.json").exists()


def test_where_a_source_tree_goes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = tree(tmp_path / "kafka", message("Plan", field("A")))
    assert "a source tree becomes a dialect of its own: -o DIR expected" in run(capsys, "import", source, code=2)[1]
    assert "an empty directory expected" in run(capsys, "import", source, "-o", source, code=2)[1]
    part = source / "clients/src/main/resources/common/message"
    assert run(capsys, "import", part, "-o", tmp_path / "out")[1].startswith(
        f"kcli: {tmp_path}/out: 1 definition (Plan)"
    )


def test_the_sources_of_an_older_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A message that has another name since is laid over today's; a definition that can't be is reported."""
    former = to_definition(catalog().message("ListConfigResourcesResponse")) | {
        "name": "ListClientMetricsResourcesResponse",
        "validVersions": "0",
    }
    former["fields"].append({"name": "Mood", "type": "int32", "versions": "0"})
    source, out = tree(tmp_path / "kafka", former), tmp_path / "out"
    run(capsys, "import", source, "-o", out)
    shown, _ = run(capsys, "show", "ListConfigResourcesResponse", 0, "--dialect", out, "-q")
    assert "mood" in shown
    assert "key-taken" not in run(capsys, "check", out, code=1)[0]
    taken = message("TakenRequest", field("A"), kind="request", apiKey=3)
    _, err = run(capsys, "import", tree(source, taken), "-o", tmp_path / "other", code=3)
    assert f"{tmp_path / 'other'}: TakenRequest: API key 3 is that of Metadata" in err
