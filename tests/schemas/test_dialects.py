import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError, KcliError, SchemaError, UsageError
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_keys import PRIVATE_KEYS
from kcli.schemas.definition import build, parse_text
from kcli.schemas.dialects import SHIPPED, joined, limited, read_dialect, shipped
from kcli.schemas.importing.jars import read_jars
from kcli.schemas.layout import layout
from kcli.schemas.lookup import STOCK, Catalog
from kcli.schemas.model import Message
from kcli.schemas.ranges import HIGHEST, Range
from kcli.schemas.table_files import Imported, import_releases, load_tables, to_files
from tests import messages as made
from tests.greeting import GREET, greeting, newer_metadata, rewritten_metadata
from tests.schemas.definitions import field, jar, message


def overlaid(folder: Path, *definitions: dict[str, Any], suffix: str = "") -> Catalog:
    for raw in definitions:
        (folder / f"{raw['name']}.json").write_text(json.dumps(raw))
    return catalog(f"{folder}{suffix}")


def pair(name: str, **more: Any) -> list[dict[str, Any]]:
    return [message(f"{name}{kind}", field("A"), kind=kind.lower(), **more) for kind in ("Request", "Response")]


def names(given: Message, version: int) -> list[str]:
    return list(paths(given.fields, version))


def paths(fields: Any, version: int, path: str = "") -> Any:
    for each in fields:
        if version in each.versions:
            yield f"{path}{each.name}"
            yield from paths(each.fields, version, f"{path}{each.name}.")


def rules(found: Catalog) -> list[tuple[str, str]]:
    return [(finding.rule, finding.path) for finding in found.findings]


def test_what_comes_with_kcli() -> None:
    assert shipped() == ["kip-1018", "kip-227-draft", "kip-630-draft"]
    assert all(read_dialect(SHIPPED / name).source for name in shipped())


def test_incremental_fetch_of_kip_227() -> None:
    found = catalog("kip-227-draft")
    api = found.apis[found.api_key("IncrementalFetch")]
    assert api.key in PRIVATE_KEYS
    assert (api.versions, api.request_header_version(0), api.response_header_version(0)) == (Range(0, 0), 1, 0)
    assert names(found.request(api.key), 0)[-4:] == [f"topics.partitions.{each}" for each in KIP_227_PARTITION]
    types = [field_at(found, name, "partitionId") for name in ("IncrementalFetchRequest", "IncrementalFetchResponse")]
    assert types == ["string", "int32"]
    assert rules(found) == [("types-differ", "topics.partitions.header.partitionId")]
    assert found.error_name(api.key) == "INCREMENTAL_FETCH_UUID_MISMATCH"
    assert found.error_name(6) == "NOT_LEADER_OR_FOLLOWER"


KIP_227_PARTITION = ["partitionId", "fetchOffset", "startOffset", "maxBytes"]


def field_at(found: Catalog, name: str, wanted: str) -> str:
    def search(fields: Any) -> Any:
        for each in fields:
            if each.name == wanted:
                yield each.type
            yield from search(each.fields)

    return str(next(search(found.message(name).fields)))


def test_the_full_fetch_of_kip_227_gains_the_uuid_alone() -> None:
    found, stock = catalog("kip-227-draft"), catalog()
    assert names(found.message("FetchRequest"), 7) == names(stock.message("FetchRequest"), 6)
    response = names(found.message("FetchResponse"), 7)
    response.remove("uuid")
    assert response == names(stock.message("FetchResponse"), 6)


def test_the_fetch_of_kip_1018() -> None:
    found, stock = catalog("kip-1018").message("FetchRequest"), catalog().message("FetchRequest")
    before = names(stock, 17)
    at = before.index("topics.partitions.replicaDirectoryId") + 1
    assert names(found, 18) == [*before[:at], "topics.partitions.remotePartitionMaxBytes", *before[at:]]
    assert "topics.partitions.highWatermark" in names(stock, 18)
    assert "topics.partitions.remotePartitionMaxBytes" not in names(stock, 18)
    assert catalog("kip-1018").findings == []


def test_the_messages_of_kip_630() -> None:
    found = catalog("kip-630-draft")
    assert rules(found) == [
        ("tag-clash", "topics.partitions.snapshotOffsetAndEpoch"),
        ("struct-shapes", "topics.partitions.snapshotOffsetAndEpoch"),
        ("tag-assigned", "topics.partitions.snapshotOffsetAndEpoch"),
        ("versions-outside", "topics.partitions.snapshotOffsetAndEpoch"),
        ("versions-read-as", "topics.partitions.snapshotOffsetAndEpoch"),
    ]
    response = layout(found.message("FetchResponse"), 12)
    partition: Any = response.plain[3].shape
    assert [tag for tag, _ in partition.plain[1].shape.tagged] == [0, 1, 2]
    assert "topics.partitions.snapshotOffsetAndEpoch" in names(found.message("FetchSnapshotRequest"), 0)
    assert "topics.partitions.continue" in names(found.message("FetchSnapshotResponse"), 0)
    assert found.api_key("FetchSnapshot") == 59


@pytest.mark.parametrize("dialect", shipped())
def test_other_versions_and_messages_stay_as_they_are(dialect: str) -> None:
    found, stock = catalog(dialect), catalog()
    drafted = {each.name: each.versions for each in read_dialect(SHIPPED / dialect).messages}
    for name in stock.names:
        for version in stock.message(name).versions:
            if version not in drafted.get(name, ()):
                assert layout(found.message(name), version) == layout(stock.message(name), version), name


@pytest.mark.parametrize("dialect", shipped())
def test_the_versions_of_a_draft_are_as_it_has_them(dialect: str) -> None:
    found = catalog(dialect)
    for drafted in found.written.values():
        for version in drafted.versions:
            assert layout(found.message(drafted.name), version) == layout(drafted, version), drafted.name
            assert names(found.message(drafted.name), version) == names(drafted, version)


def test_a_field_that_both_define_alike_is_one_field() -> None:
    found, stock = catalog("kip-1018").message("FetchRequest"), catalog().message("FetchRequest")
    (topics,) = (each for each in found.fields if each.name == "topics")
    (partitions,) = (each for each in topics.fields if each.name == "partitions")
    assert [str(each.versions) for each in found.fields] == [str(each.versions) for each in stock.fields]
    assert str(partitions.fields[-1].versions) == "18+" and partitions.fields[-1].name == "remotePartitionMaxBytes"
    response = catalog("kip-227-draft").message("FetchResponse")  # version 7, with versions of Apache's on both sides
    versions = {each.name: str(each.versions) for each in response.fields}
    assert versions["responses"] == "0+" and versions["sessionId"] == "8+" and len(versions) == len(response.fields)


@pytest.mark.parametrize(
    ("drafted", "expected"),
    [
        (field("A", versions="0+"), ["int32 0+", "int8 0+"]),
        (field("A", versions="0+", default="7"), ["int32 0-1", "int32 2+", "int8 0+"]),
        (field("A", "int64", versions="0+"), ["int32 0-1", "int64 2+", "int8 0+"]),
        (field("B", "int8", versions="0+"), ["int32 0-1", "int8 0+"]),
    ],
)
def test_what_two_fields_have_to_say_alike(drafted: dict[str, Any], expected: list[str]) -> None:
    earlier = build(message("M", field("A"), field("B", "int8"), versions="0-1"))
    later = build(message("M", drafted, *([field("B", "int8")] if drafted["name"] == "A" else []), versions="2"))
    both = joined(limited(earlier.fields, Range(0, 1)), limited(later.fields, Range(2, HIGHEST)))
    assert [f"{each.type} {each.versions}" for each in both] == expected


def test_a_version_beyond_the_newest(tmp_path: Path) -> None:
    raw = message("FetchRequest", field("Only", versions="19+"), kind="request", apiKey=1, versions="19")
    found = overlaid(tmp_path, {**raw, "flexibleVersions": "12+"})
    assert found.apis[1].versions == Range(0, 19)
    assert found.apis[1].request_header_version(19) == 2
    assert names(found.message("FetchRequest"), 19) == ["only"]
    assert rules(found) == [("versions-differ", "")]


def test_keys_are_handed_out_in_the_order_of_names(tmp_path: Path) -> None:
    found = overlaid(tmp_path, *pair("Pong"), *pair("Ping"))
    assert (found.api_key("Ping"), found.api_key("Pong")) == (PRIVATE_KEYS[0], PRIVATE_KEYS[1])


def test_a_key_can_be_set(tmp_path: Path) -> None:
    assert overlaid(tmp_path, *pair("Ping"), suffix=",Ping=31000").api_key("Ping") == 31000
    (tmp_path / "dialect.json").write_text('{"apiKeys": {"Ping": 31001}}')
    assert catalog(f"{tmp_path}").api_key("Ping") == 31001


def test_a_setting_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "dialect.json").write_text('{"apiKey": {"Ping": 31001}}')
    found = overlaid(tmp_path, *pair("Ping"))
    assert "unknown-setting" in [finding.rule for finding in found.findings]


def test_a_request_alone_makes_no_api(tmp_path: Path) -> None:
    found = overlaid(tmp_path, pair("Ping")[0])
    assert rules(found) == [("no-counterpart", "")]
    assert "PingRequest" in found.names
    assert list(found.apis) == list(catalog().apis)
    (key,) = found.unpaired
    with pytest.raises(UsageError, match=r"^PingRequest: there is no response of its name"):
        found.api_key("Ping")
    with pytest.raises(UsageError, match=rf"^API key {key}: PingRequest: there is no response of its name"):
        found.known(key)


def test_a_record_of_its_own(tmp_path: Path) -> None:
    found = overlaid(tmp_path, message("NewRecord", field("A"), kind="metadata", apiKey=99))
    assert found.records("metadata")[99] == "NewRecord"
    assert 99 not in catalog().records("metadata")


def test_a_directory_of_imported_tables(tmp_path: Path) -> None:
    for name, text in to_files(import_releases(Imported(), {})).items():
        (tmp_path / name).write_text(text)
    assert catalog(str(tmp_path)).names == []


@pytest.mark.parametrize("setting", ["Ping", "Ping=x", "=3", "Ping=99999"])
def test_settings_that_make_no_sense(setting: str) -> None:
    with pytest.raises(UsageError, match="Api=KEY expected"):
        catalog(f"kip-1018,{setting}")


@pytest.mark.parametrize("setting", ["Pnig=31000", "Fetch=1"])
def test_a_key_for_an_api_that_the_dialect_lacks(tmp_path: Path, setting: str) -> None:
    with pytest.raises(UsageError, match=f",{setting}: .*no such API in this dialect"):
        overlaid(tmp_path, *pair("Ping"), suffix=f",{setting}")
    api, _, key = setting.partition("=")
    (tmp_path / "dialect.json").write_text(f'{{"apiKeys": {{"{api}": {key}}}}}')
    with pytest.raises(SchemaError, match=rf"dialect\.json: apiKeys: {api}: no such API in this dialect"):
        catalog(str(tmp_path))


def test_imported_tables_have_their_keys(tmp_path: Path) -> None:
    for name, text in to_files(import_releases(Imported(), {})).items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match="imported tables have their keys"):
        catalog(f"{tmp_path},Ping=31000")


def test_a_name_that_is_no_dialect() -> None:
    with pytest.raises(UsageError, match=r"neither a directory nor a dialect of kcli's \(kip-1018, "):
        catalog("kip-1")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{", r"a\.json: not JSON: line 1, column 2"),
        ("a.json", json.dumps(message("M", field("F", "Nothing"))), r"a\.json: M\.f: "),
        ("a.txt", "", "no message definitions"),
        ("dialect.json", '{"apiKeys": {"A": "x"}}', r"dialect\.json: .*expected"),
        ("dialect.json", '{"errors": 3}', r"dialect\.json: .*expected"),
        (
            "dialect.json",
            '{"errors": {"3": "FOO"}}',
            r"dialect\.json: errors\.3: error 3 is UNKNOWN_TOPIC_OR_PARTITION",
        ),
        ("a.json", json.dumps(pair("Ping", apiKey=1)[0]), "PingRequest: API key 1 is that of Fetch$"),
        ("a.json", json.dumps(pair("Ping", apiKey=32768)[0]), r"API key 32768 \(0 to 32767 expected\)"),
        ("a.json", json.dumps(pair("Ping", apiKey=-1)[0]), "API key -1 "),
        (
            "a.json",
            json.dumps(pair("Fetch", apiKey=77)[0]),
            "FetchRequest: request 77 here, but request 1 in the tables",
        ),
        (
            "a.json",
            json.dumps(message("FetchRequest", kind="request", apiKey=1, versions="15")),
            "flexible versions are not one range",
        ),
    ],
)
def test_definitions_that_make_no_sense(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises((SchemaError, InputError), match=reason):
        catalog(str(tmp_path))


def test_a_file_too_big_for_a_definition(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(SchemaError, match=r"a\.json: 1048577 bytes are too many"):
        catalog(str(tmp_path))


@pytest.mark.parametrize("shape", made.SHAPES)
@pytest.mark.parametrize("dialect", shipped())
def test_drafts_are_written_and_read(dialect: str, shape: str) -> None:
    for drafted in read_dialect(SHIPPED / dialect).messages:
        for version in drafted.versions:
            codec = messages.data(drafted.name, version, dialect)
            value = made.SHAPES[shape](catalog(dialect).message(drafted.name), version)
            data = codec.write(value)
            assert codec.interpreted.write(value) == data
            assert codec.read(data) == codec.interpreted.read(data)
            assert codec.read(data)[1] == len(data)
            assert codec.write(codec.read(data)[0]) == data
            assert codec.write(json.loads(codec.json(data, records="raw", secrets=True)[0])) == data


def test_the_bytes_of_an_incremental_fetch() -> None:
    """KIP-227's draft: field by field after its table: nothing here is taken from kcli's own writer."""
    asked: dict[str, Any] = {
        "uuid": -2,
        "replicaId": 3,
        "maxWaitTime": 500,
        "minBytes": 1,
        "isolationLevel": 1,
        "topics": [],
    }
    partition = {"partitionId": "12", "fetchOffset": 5, "startOffset": 4, "maxBytes": 1000}
    asked["topics"] = [{"topicName": "t", "partitions": [partition]}]
    expected = struct.pack(">qiiibi", -2, 3, 500, 1, 1, 1) + b"\0\1t" + struct.pack(">i", 1)
    expected += b"\0\x0212" + struct.pack(">qqi", 5, 4, 1000)
    assert messages.data("IncrementalFetchRequest", 0, "kip-227-draft").write(asked) == expected


def test_the_bytes_of_a_snapshot_pointer() -> None:
    """KIP-630's draft: three tagged structs, 12 bytes each with the tags of their own, under tags 0, 1 and 2."""
    codec = messages.data("FetchResponse", 12, "kip-630-draft")
    partition = {
        "nextOffsetAndEpoch": {"nextFetchOffset": 10, "nextFetchOffsetEpoch": 2},
        "snapshotOffsetAndEpoch": {"fetchOffset": 9, "fetchOffsetEpoch": 2},
    }
    data = codec.write({"topics": [{"name": "m", "partitions": [partition]}]})
    pointers = [bytes([tag, 13]) + struct.pack(">qi", offset, 2) + b"\0" for tag, offset in ((0, 10), (2, 9))]
    assert b"\x02" + b"".join(pointers) in data


def damaged(value: Any, chance: random.Random) -> Any:
    """A definition with something in it replaced or left out, now and then."""
    if chance.random() < 0.01:
        return chance.choice([None, 3, -1, "x", "12+", [], {}, True, "null", [{}], "[][]int8", "[]", 10**30, 1e300])
    if isinstance(value, dict):
        return {key: damaged(each, chance) for key, each in value.items() if chance.random() > 0.003}
    return [damaged(each, chance) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_definition_is_read_or_named(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    files = sorted(SHIPPED.rglob("*.json"))
    for path in chance.sample(files, 2):
        (tmp_path / path.name).write_text(json.dumps(damaged(parse_text(path.read_text()), chance)))
    try:
        found = catalog(str(tmp_path))
    except KcliError as error:
        assert str(tmp_path) in str(error) or "API key" in str(error) or "tables" in str(error)
        return
    for message_ in found.laid.values():
        for version in message_.versions:
            assert messages.data(message_.name, version, str(tmp_path)) is not None


def test_what_a_draft_has_that_apaches_tables_have_not(tmp_path: Path) -> None:
    """New APIs and versions, and released versions with other bytes; a new tag alone leaves a version as it was."""
    assert catalog(greeting(tmp_path / "greet")).drafted == {GREET: Range(0, 1)}
    newer, odd = catalog(newer_metadata(tmp_path / "newer")), catalog(rewritten_metadata(tmp_path / "odd"))
    assert (newer.drafted, newer.rewritten) == ({3: Range(14, 14)}, {})
    assert (odd.drafted, odd.rewritten) == ({3: Range(13, 13)}, {3: Range(13, 13)})
    for path in (tmp_path / "odd").iterdir():
        text = path.read_text().replace('"default": "7"', '"default": "7", "taggedVersions": "13+", "tag": 99')
        path.write_text(text)
    assert catalog(f"{tmp_path}/odd/").drafted == {}  # a catalog is kept by its name
    shipped = {name: catalog(name).rewritten for name in ("kip-1018", "kip-227-draft", "kip-630-draft")}
    assert shipped["kip-1018"] == {1: Range(18, 18)}
    assert shipped["kip-227-draft"][1] == Range(7, 7)
    assert shipped["kip-630-draft"][1] == Range(12, 12)


def test_imported_tables_are_a_draft_in_what_they_have_besides(tmp_path: Path) -> None:
    """Jars of a branch: a new API, a new version; what only other releases say of a message is no difference."""
    greeting(tmp_path / "greet")
    newer_metadata(tmp_path / "newer")
    raws = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("*/*.json"))]
    path = jar(tmp_path, "kafka-clients-99.0.0.jar", *raws)
    merged = import_releases(load_tables(STOCK), read_jars([path]))
    tables = tmp_path / "tables"
    tables.mkdir()
    for name, text in to_files(merged).items():
        (tables / name).write_text(text)
    found = catalog(str(tables))
    assert (found.drafted, found.rewritten) == ({3: Range(14, 14), GREET: Range(0, 1)}, {})
