"""Commands that are shown: a shell makes the same words of their lines."""

import shutil
import subprocess

import pytest

from kcli.cli.terminal.commands import ShownCommand, command_lines
from kcli.shell import quoted

QUERY = "SELECT client_id, count(*) AS n FROM exchanges WHERE client_id = 'a  b of many words' GROUP BY ALL"
COMMANDS = (
    ["kcli", "stats", "night.pcap", "--by", "client", "--by", "connection"],
    ["kcli", "sql", QUERY, "night.pcap"],
    ["kcli", "decode", "pcap", "/a/long/path/of/a/capture/that/has/no/end/within/a/narrow/terminal.pcap", "--errors"],
    ["kcli", "decode", "pcap", "night shift.pcap", "--client", 'it\'s $HOME \\ of many words, "which" is long'],
)


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish"])
def test_a_shell_joins_the_lines(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    for words in COMMANDS:
        command = " ".join([words[0], *map(quoted, words[1:])])
        for room in (20, 40, 60, 100, 1000):
            pasted = "\n".join(command_lines(command, room)).strip()
            read = subprocess.run([shell, "-c", f"printf '%s\\0' {pasted}"], capture_output=True, text=True, check=True)
            found = read.stdout.split("\0")[:-1]
            # White space of SQL may be any, but for that of its literals.
            assert [" ".join(each.split()) for each in found] == [" ".join(each.split()) for each in words], room
            assert "'a  b of many words'" in found[2] or QUERY not in words


def test_no_line_is_longer_than_the_terminal() -> None:
    for words in COMMANDS[:3]:
        command = " ".join([words[0], *map(quoted, words[1:])])
        for room in (40, 60, 100):
            lines = [*command_lines(command, room)]
            assert max(map(len, lines)) <= room
            assert all(line.endswith("\\") for line in lines[:-1]) and not lines[-1].endswith("\\")


def test_an_option_stands_beside_its_value() -> None:
    command = "kcli decode pcap auth-failure-ledger.pcap.gz --api SaslHandshake,SaslAuthenticate --errors -o out"
    assert list(command_lines(command, 60)) == [
        "  kcli decode pcap auth-failure-ledger.pcap.gz \\",
        "    --api SaslHandshake,SaslAuthenticate --errors -o out",
    ]
    long = "kcli stats x --client-and-more " + "y" * 30
    assert list(command_lines(long, 40)) == ["  kcli stats x --client-and-more \\", "    " + "y" * 30]


def test_a_command_that_fits_stands_behind_its_label() -> None:
    shown = ShownCommand("see:", "kcli stats a.pcap")
    assert list(shown.lines(40, "  ")) == list(shown.lines(None, "  ")) == ["  see: kcli stats a.pcap"]
    assert list(shown.lines(22, "  ")) == ["  see:", "  kcli stats a.pcap"]
