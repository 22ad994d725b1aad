"""Five questions at the terminal: one line of kcli each, beside the same asked of tshark or jq.

    python -m benchmarks.bench_questions [MEGABYTES | FILE]        default: 200

Seconds are of processor time (user and system), of a whole pipe, the least of some rounds; the peer is asked once. jq
reads the lines of `kcli decode pcap`, whose time is part of its own.
"""

import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.bench_pcap import CASES
from benchmarks.grow import grow
from benchmarks.turns import processor_time

ROUNDS = 2
KCLI = f"{shlex.quote(sys.executable)} -m kcli.cli"
TSHARK = "tshark -n -r {file} -d tcp.port==21000-21999,kafka -T fields"
LINES = f"{KCLI} decode pcap --format jsonl --quiet"


class Asked(NamedTuple):
    """A question, kcli's answer to it, and another's, each as a line of the shell."""

    question: str
    ours: str
    peer: str
    theirs: str


QUESTIONS = (
    Asked(
        "Who hammers Metadata?",
        "kcli stats {file} --api Metadata --by client",
        "tshark",
        f"{TSHARK} -Y 'kafka.api_key == 3' -e kafka.client_id | sort | uniq -c",
    ),
    Asked(
        "p99 of Produce by broker?",
        "kcli stats {file} --api Produce --by broker",
        "jq",
        f"{LINES} {{file}} | jq -nc '[inputs | select(.requestHeader.requestApiKey == 0 and .latencyMs)]"
        ' | group_by(.connection | split("-")[0])'
        " | map([.[0].connection, (map(.latencyMs) | sort | .[length * 0.99 | floor])])'",
    ),
    Asked(
        "All records of topic pay-in to a file",
        "kcli records {file} --topic pay-in --format jsonl -o {out}",
        "jq",
        f"{LINES} --records full {{file}} | jq -c 'select(.requestHeader.requestApiKey < 2)"
        " | (.request.topicData // [])[], (.response.responses // [])[]"
        ' | select((.name // .topic // ._topicName) == "pay-in")\' > {out}',
    ),
    Asked(
        "Only what failed with NOT_LEADER_OR_FOLLOWER",
        'kcli sql "SELECT timestamp, client_id, api FROM exchanges'
        " WHERE list_contains(errors, 'NOT_LEADER_OR_FOLLOWER')\" {file}",
        "tshark",
        f"{TSHARK} -Y 'kafka.error == 6' -e frame.time_epoch -e tcp.stream -e kafka.api_key",
    ),
    Asked(
        "Which fetches bring nothing?",
        "kcli sql 'SELECT client_id, count(*) AS asked, count(*) FILTER (records_bytes = 0) AS empty"
        " FROM fetch_partitions GROUP BY ALL' {file}",
        "jq",
        f"{LINES} {{file}} | jq -r 'select(.requestHeader.requestApiKey == 1)"
        " | [.requestHeader.clientId, ([.response.responses[]?.partitions[].records.sizeInBytes // 0] | add)]"
        " | @tsv' | sort | uniq -c",
    ),
)


def seconds(line: str) -> float:
    """Processor time of a line of the shell. CalledProcessError: a part of the pipe failed."""
    return processor_time(["bash", "-o", "pipefail", "-c", line])


def main(given: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kcli-bench-") as name:
        path = Path(given)
        if given.isdigit():
            path = Path(name) / "night.pcap"
            grow(*CASES["small requests"], int(given) * 1_000_000, path)
        places = {"file": shlex.quote(str(path)), "out": f"{name}/out.jsonl"}
        print(f"{path.stat().st_size / 1e6:.0f} MB of small requests")
        for each in QUESTIONS:
            line = each.ours.replace("kcli", KCLI, 1).format(**places)
            best = min(seconds(line) for _ in range(ROUNDS))
            print(f"{each.question:<46} {best:7.3f} s", end="", flush=True)
            if shutil.which(each.peer):
                other = seconds(each.theirs.format(**places))
                print(f"   {each.peer} {other:7.1f} s   {other / best:5.0f}x", end="")
            print(flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "200")
