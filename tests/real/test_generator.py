"""Definitions given to Kafka's own generator: it refuses what `kcli schema check` does."""

import base64
import json
from pathlib import Path

from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_check import check_folder
from kcli.schemas.vectors.export import to_definition
from tests.real.jvm import run_java
from tests.real.maven import compiled, jars
from tests.schemas.checks.test_generator_rules import REFUSED, STRICTER
from tests.schemas.drafts import drafts, mutated

VERSION = "3.9.1"
OWN = {*STRICTER.values(), "key-taken"}
ALONE = ("failed to find response for API key", '"apiData.requestSpec" is null')  # of half a pair


def verdicts(texts: list[str]) -> list[str]:
    """ "ok" for each, or why the generator refuses it."""
    classpath = jars("generator", VERSION)
    program = compiled("GeneratorOracle.java", classpath)
    stdin = "".join(f"{base64.b64encode(text.encode()).decode()}\n" for text in texts).encode()
    done = run_java([program, *classpath], "org.apache.kafka.message.GeneratorOracle", stdin=stdin, timeout=240)
    assert done.returncode == 0, done.stderr.decode()
    found = done.stdout.decode().splitlines()
    assert len(found) == len(texts)
    return ["ok" if any(text in each for text in ALONE) else each for each in found]


def test_the_generator_refuses_what_is_said_to_be_refused() -> None:
    names, texts = zip(*drafts(), strict=True)
    refused = [name for name, verdict in zip(names, verdicts(list(texts)), strict=True) if verdict != "ok"]
    assert refused == REFUSED


def test_random_drafts_are_refused_as_the_generator_refuses_them(tmp_path: Path) -> None:
    """Also what only one of both refuses: kcli alone by the rules that docs/how-to/drafts.md names."""
    texts = [*mutated(12, 120)]
    differences, agreed = [], set()
    for text, verdict in zip(texts, verdicts(texts), strict=True):
        (tmp_path / "Draft.json").write_text(text)
        rules = {each.rule for each in check_folder(tmp_path, catalog(), "4.4")} - {"no-counterpart"}
        refused = verdict != "ok"
        if refused != bool(rules) and (refused or not rules <= OWN):
            differences.append(f"{verdict} but {rules}: {text}")
        agreed.add(refused)
    assert not differences and agreed == {True, False}


def test_the_generator_takes_every_message_that_is_exported() -> None:
    """Coordinators' records aside, whose kinds came with the generator of 4.1."""
    messages = [catalog().message(name) for name in catalog().names]
    texts = [
        json.dumps(to_definition(each, catalog().notes(each)))
        for each in messages
        if not each.kind.startswith("coordinator")
    ]
    assert len(texts) > 230
    assert verdicts(texts) == ["ok"] * len(texts)
