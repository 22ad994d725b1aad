"""Shell completion: the scripts, and what a shell asks of kcli while a person types."""

import shutil
import subprocess
from pathlib import Path

import click
import pytest

from kcli.cli.completion import VALUES, Completed, teach
from kcli.cli.main import cli, main
from tests.cli.shells import SHELLS, completed
from tests.commands import commands

CODECS = ["orders-gzip", "orders-lz4", "orders-none", "orders-snappy", "orders-zstd"]


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o nosort -F"), ("zsh", "#compdef kcli"), ("fish", "complete --no-files")]
)
def test_the_script(shell: str, sign: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert sign in script
    assert f"_KCLI_COMPLETE={shell}_complete" in script


def test_bash_takes_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    done = subprocess.run(["bash", "-n"], input=capsys.readouterr().out, text=True, check=False)
    assert done.returncode == 0


def test_an_unknown_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kcli dec", ["decode"]),
        ("kcli decode re", ["request", "response"]),
        ("kcli encode request --to ", ["raw", "hex", "base64"]),
        ("kcli encode request --fr", ["--framed"]),
        ("kcli decode pcap --api initp", ["InitProducerId"]),
        ("kcli decode request --api=Metad", ["Metadata"]),
        ("kcli stats --error COORDINATOR_N", ["COORDINATOR_NOT_AVAILABLE"]),
        ("kcli audit --against 2.", ["2.8", "2.7", "2.6", "2.5", "2.4"]),
        ("kcli schema show FetchSnapshotReq", ["FetchSnapshotRequest"]),
        ("kcli pipeline tables Fet", []),
        ("kcli decode pcap --dialect kip-1", ["kip-1", "kip-1018"]),
        ("kcli decode pcap --dialect nothing --api Fetch", []),
        ("kcli decode segment --topic __consumer", ["__consumer_offsets"]),
        ("kcli decode pcap SAMPLES/java44-consume-classic.pcap --topic ", CODECS),
        ("kcli stats --topic s SAMPLES/ipv6.pcapng --topic ", ["six"]),
        ("kcli records SAMPLES --topic order", ["orders", *CODECS]),
        ("kcli records SAMPLES/README.md /no/where --topic ", []),
        ("kcli decode pcap sam", ["sam"]),
    ],
)
def test_words_are_completed(
    words: str, expected: list[str], samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    *before, incomplete = words.replace("SAMPLES", str(samples)).split(" ")
    monkeypatch.setenv("_KCLI_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", " ".join([*before, incomplete]))
    monkeypatch.setenv("COMP_CWORD", str(len(before)))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert [line.partition(",")[2] for line in capsys.readouterr().out.splitlines() if line] == expected


def test_names_that_a_shell_would_run_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.cli.completion.topics_in", lambda _: {"$(reboot)", "a b", "`x`", "orders", "a\nplain,b"})
    found = Completed(VALUES["--topic"]).shell_complete(click.Context(cli), click.Option(["--topic"]), "")
    assert [each.value for each in found] == ["orders"]


def test_every_command_that_takes_files_completes_them() -> None:
    """Whatever command comes next: by its metavars."""
    for name, command in commands():
        teach(command)
        for param in command.params:
            if param.name in ("file", "files", "paths", "captures", "source", "before", "after", "output", "query"):
                found = param.type.shell_complete(click.Context(command), param, "x")
                assert {each.type for each in found} & {"file", "dir"}, f"{name}: {param.name}"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("kcli deco", "decode"),
        ("kcli encode request --fr", "encode request --framed"),
        ("kcli decode pcap onl", "decode pcap only.pcap"),
        ("kcli decode pcap --api initp", "decode pcap --api InitProducerId"),
        ("kcli decode pcap only.pcap --topic orders-g", "decode pcap only.pcap --topic orders-gzip"),
        ("kcli decode pcap --dialect kip-10", "decode pcap --dialect kip-1018"),
        ("kcli schema list --release 3.9", "schema list --release 3.9"),
    ],
)
def test_in_a_real_shell(shell: str, line: str, words: str, samples: Path, tmp_path: Path) -> None:
    shutil.copy(samples / "java44-consume-classic.pcap", tmp_path / "only.pcap")
    assert completed(shell, line, tmp_path) == words
