"""Live traffic as rows: the options of `decode pcap`, in a process of its own."""

import asyncio
from pathlib import Path
from typing import Any

import click
import pytest

from kcli.cli.capture.live_view import LiveView, view_options, view_words
from kcli.cli.decode.pcap.command import pcap
from kcli.cli.options.filter import FilterCommand
from kcli.errors import UsageError


def words(*arguments: str) -> list[str]:
    found: list[str] = []

    @click.command(cls=FilterCommand)
    @view_options
    def command(**options: Any) -> None:
        found.extend(view_words(options))

    command.main(arguments, standalone_mode=False)
    return found


@pytest.mark.parametrize(
    "said",
    [
        [],
        ["--format", "jsonl", "--records", "full", "--show-secrets"],
        ["--time", "absolute", "--api", "Fetch", "--api", "3", "--errors", "--client-id", "a b"],
        ["--topic", "t*", "--error", "NONE", "--slower-than", "5.0", "--since", "2026-01-01"],
        ["--where", "latency_ms > 1", "--connection", ":9092", "--until", "2027-01-01", "--dialect", "kip-227-draft"],
    ],
)
def test_options_mean_the_same_to_decode_pcap(said: list[str]) -> None:
    given = words(*said)
    name = "pcap"
    before = pcap.make_context(name, [*said, "-"]).params
    assert pcap.make_context(name, [*given, "-"]).params == before


def test_a_filter_that_makes_no_sense_is_refused_at_once() -> None:
    for arguments in (["--api", "Nothing"], ["--since", "+5"], ["--where", "no_such > 1"], ["--error", "NOPE"]):
        with pytest.raises(UsageError):
            words(*arguments)


def test_it_shows_what_is_written_and_ends_behind_it(samples: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        async with LiveView(["--format", "jsonl", "--api", "Produce", "--quiet"]) as view:
            data = (samples / "kcat-codecs.pcap").read_bytes()
            for start in range(0, len(data), 1000):
                view.write(data[start : start + 1000])

    asyncio.run(work())
    out, err = capfd.readouterr()
    assert out.count("\n") == out.count('"requestApiKeyName":"PRODUCE"') > 3
    assert err == ""


def test_it_is_never_waited_for(
    samples: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kcli.cli.capture.live_view.MOST_WAITING", 1 << 20)

    async def work() -> None:
        async with LiveView(["--quiet"]) as view:
            for _ in range(40):
                view.write(bytes(1 << 18))
            assert view.left_out > 20 << 18

    asyncio.run(work())
    assert "bytes of packets are not shown" in capfd.readouterr().err


def test_one_that_has_ended_is_written_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        async with LiveView(["--quiet"]) as view:
            view.process.kill()
            await view.process.wait()
            for _ in range(10):
                view.write(bytes(1 << 16))
                await asyncio.sleep(0.01)
            assert view.left_out == 0

    asyncio.run(work())
