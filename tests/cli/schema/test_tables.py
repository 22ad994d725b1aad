import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.ranges import Range
from tests.greeting import greeting
from tests.schemas.definitions import field


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What `kcli schema WORDS` writes to stdout and stderr."""
    assert main(["schema", *map(str, words)]) == code
    done = capsys.readouterr()
    return done.out, done.err


def rows(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, object]]:
    out, _ = run(capsys, *words, "--format", "jsonl")
    return [json.loads(line) for line in out.splitlines()]


def test_list_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    found = rows(capsys, "list")
    apis = [row for row in found if row["kind"] == "api"]
    assert len(apis) == 95
    assert len(found) == len(catalog().names) - 95
    assert apis[1] == {
        "kind": "api",
        "key": 1,
        "name": "Fetch",
        "versions": "0-18",
        "flexible": "12+",
        "releases": "2.4-4.4",
    }


def test_list_by_word_kind_and_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["name"] for row in rows(capsys, "list", "fetchsnap")] == ["FetchSnapshot"]
    assert {row["kind"] for row in rows(capsys, "list", "--kind", "group-key", "--kind", "header")} == {
        "group-key",
        "header",
    }
    by_release = {row["name"]: row["versions"] for row in rows(capsys, "list", "--release", "4.0", "--kind", "api")}
    assert by_release["Fetch"] == "4-17"
    assert "LeaderAndIsr" not in by_release


def test_list_in_a_pipe_is_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "list", "apiversions")
    assert (
        out
        == "kind  key  name         versions  flexible  releases\napi   18   ApiVersions  0-5       3+        2.4-4.4\n"
    )


def test_list_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "list", "xyzzy", "--format", "json", code=1)[0] == "[]\n"
    assert "nothing is of that kind (there are api, " in run(capsys, "list", "--kind", "x", code=2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["xyz", "such"], "no message is named like xyz or such"),
        (["fetch", "--kind", "header"], "no message is named like fetch"),
        (["--errors", "99999"], "no error is named like 99999"),
    ],
)
def test_a_list_without_a_hit_says_no(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "list", "--format", "jsonl", *words]) == 1
    assert capsys.readouterr() == ("", f"kcli: {said}\n")
    assert main(["schema", "list", "-q", *words]) == 1
    assert capsys.readouterr().err == ""


def test_list_of_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    assert [row["name"] for row in rows(capsys, "list", "--dialects")] == ["kip-1018", "kip-227-draft", "kip-630-draft"]
    assert run(capsys, "list", "--dialects")[0].startswith("dialect        source\nkip-1018       KIP-1018: ")


def test_list_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(rows(capsys, "list", "--errors")) == 138
    assert run(capsys, "list", "--errors", 74)[0] == "code  name\n74    FENCED_LEADER_EPOCH  retriable\n"
    assert [row["code"] for row in rows(capsys, "list", "--errors", "leader_or_follower")] == [6]
    mine = rows(capsys, "list", "--errors", "30227", "--schema", "kip-227-draft")
    assert mine == [{"code": 30227, "name": "INCREMENTAL_FETCH_UUID_MISMATCH", "retriable": False}]


def test_show_one_version(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "show", "ApiVersionsRequest", 3)
    assert out.splitlines() == [
        "ApiVersionsRequest v3: request 18, flexible, after a request header v2",
        "field                  type    versions  notes",
        "clientSoftwareName     string  3+",
        "clientSoftwareVersion  string  3+",
    ]


def test_show_both_messages_of_an_api(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "show", "api_versions", 3)
    assert "ApiVersionsRequest v3: request 18" in out
    assert "ApiVersionsResponse v3: response 18, flexible, after a response header v0" in out
    assert "supportedFeatures" in out


def test_show_all_versions_says_where_they_are_from(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "show", "AlterPartitionRequest")
    assert "releases: 2.7: 0; 2.8-3.1: 0; 3.2: 0-1; 3.3-3.4: 0-2; 3.5-3.9: 0-3; 4.0-4.4: 2-3\n" in out
    assert "once named AlterIsrRequest" in out


def test_show_tells_where_a_draft_contradicts_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """KIP-227's draft has partition_id as a STRING in the request and an INT32 in the response: kept, and said."""
    assert main(["schema", "show", "IncrementalFetchRequest", "--schema", "kip-227-draft"]) == 0
    captured = capsys.readouterr()
    assert [line.split()[:2] for line in captured.out.splitlines() if "partitionId" in line] == [
        ["partitionId", "string"]
    ]
    assert "int32 here, but string in IncrementalFetchRequest" in captured.err


def test_show_notes(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "show", "FetchRequest")
    notes = {line.split()[0]: line.split(maxsplit=3)[3] for line in out.splitlines()[2:] if len(line.split()) > 3}
    assert notes["clusterId"] == "nullable, tag 0, default null"
    assert notes["maxBytes"] == "default 2147483647"
    out, _ = run(capsys, "show", "RequestHeader")
    assert "nullable, flexible none" in out


def test_show_variants(capsys: pytest.CaptureFixture[str]) -> None:
    assert "before 3.3: version 0 had another layout" in run(capsys, "show", "FeatureLevelRecord")[0]
    out, _ = run(capsys, "show", "FeatureLevelRecord", "--variants")
    assert "FeatureLevelRecord before 3.3: metadata 12, versions 0, flexible 0+" in out
    assert "minFeatureLevel" in out
    found = rows(capsys, "show", "FeatureLevelRecord", "--variants")
    assert len(found) == 3


def test_show_a_message_without_fields(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "show", "NoOpRecord", 0)[0] == "NoOpRecord v0: metadata 20, flexible: no fields\n"


@pytest.mark.parametrize("words", [("FetchRequest",), ("FetchRequest", 12), ("PartitionRecord", 0)])
def test_the_json_of_a_message_is_a_definition(capsys: pytest.CaptureFixture[str], words: tuple[object, ...]) -> None:
    shown = build(json.loads(run(capsys, "show", *words, "--format", "json")[0]))
    stored = catalog().message(str(words[0]))
    if len(words) == 1:
        assert shown == stored._replace(versions=Range(4, 18), releases=(), component="", variants=())
    else:
        assert shown.versions.lo == shown.versions.hi == words[1]
        assert [each.name for each in shown.fields] == [
            each.name for each in stored.fields if words[1] in each.versions
        ]


def test_shown_json_serves_as_a_dialect(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    raw = json.loads(run(capsys, "show", "FetchRequest", 12, "--format", "json")[0])
    raw["fields"].append(field("Mine", "string", "12"))
    (tmp_path / "mine.json").write_text(json.dumps(raw))
    out, _ = run(capsys, "show", "FetchRequest", 12, "--schema", tmp_path)
    assert out.splitlines()[-1].split() == ["mine", "string", "12"]
    other = run(capsys, "show", "FetchRequest", 13, "--schema", tmp_path)[0]
    assert [line.split()[0] for line in other.splitlines()] == [
        line.split()[0] for line in run(capsys, "show", "FetchRequest", 13)[0].splitlines()
    ]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("show", "Fetcch"), "Fetcch: no such message or API; did you mean Fetch?"),
        (("show", "Fetch", 99), "FetchRequest has no version 99 (versions 0-18)"),
        (("show", "500"), "API key 500: not in the tables"),
        (("show", "Fetch", "--schema", "nothing"), "dialect nothing: neither a directory nor a dialect"),
        (("list", "--release", "1.0"), "release 1.0: not in the tables"),
        (("diff", "Fetch", 1), "NAME V1 V2 or --release A B expected"),
        (("diff", "Fetch", 1, 2, "--release", "4.0", "4.1"), "one of them"),
        (("diff", "Fetch", 1, 99), "FetchRequest has no version 99"),
    ],
)
def test_wrong_use(capsys: pytest.CaptureFixture[str], words: tuple[object, ...], reason: str) -> None:
    out, err = run(capsys, *words, code=2)
    assert out == ""
    assert err.startswith("kcli: ")
    assert reason in err
    assert err.count("\n") == 1


def test_findings_of_a_dialect_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, "list", "fetch", "--schema", "kip-630-draft")
    assert "claims tag 0, which nextOffsetAndEpoch has in the same versions [tag-clash]" in err
    assert "given tag 2, the next free one [tag-assigned]" in err


def test_diff_of_versions(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "diff", "FetchRequest", 16, 17)
    assert out.splitlines()[1:] == [
        "FetchRequest  topics.partitions.replicaDirectoryId  added   -       uuid tag 0",
    ]
    assert rows(capsys, "diff", "Fetch", 16, 17)[0]["after"] == "uuid tag 0"
    assert run(capsys, "diff", "Fetch", 13, 14)[0] == "no difference\n"


def test_diff_of_releases(capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["message"]: row for row in rows(capsys, "diff", "--release", "3.9.1", "4.0.0")}
    assert found["StopReplica"]["change"] == "removed"
    assert found["Fetch"] == {"message": "Fetch", "path": "", "change": "changed", "before": "0-17", "after": "4-17"}


def test_a_table_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: Callable[[int], None]
) -> None:
    terminal(100)
    monkeypatch.setenv("NO_COLOR", "1")
    out, _ = run(capsys, "show", "ApiVersionsRequest", 3)
    assert "clientSoftwareName" in out
    assert "\nfield                  type    versions  notes\n" in out


def test_diff_of_two_sides(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = greeting(tmp_path)
    assert main(["schema", "diff", "4.4", folder]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "message        change  before  after",
        "GreetRequest   added   -       0-1",
        "GreetResponse  added   -       0-1",
    ]
    assert main(["schema", "diff", "4.4", "kip-1018", "fetch", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["message"] for row in rows} == {"FetchRequest"}
    assert rows[2] == {
        "message": "FetchRequest", "path": "topics.partitions.remotePartitionMaxBytes", "change": "added", "before": "",
        "after": "int32", "versions": "18",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "NAME V1 V2 or --release A B expected"),
        (["Fetch", "1"], "NAME V1 V2 or --release A B expected"),
        (["4.4", "kip-9"], "kip-9: a release (3.9), a dialect"),
        (["4.3", "4.4", "Fetsch"], "Fetsch: no such message or API; did you mean"),
        (["Fetch", "1", "2", "--release", "3.9", "4.0"], "one of them"),
    ],
)
def test_what_can_not_be_compared(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "diff", *words]) == 2
    assert text in capsys.readouterr().err
