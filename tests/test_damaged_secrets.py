"""Random damage to messages that hold secrets: no format of any command shows six bytes of one."""

import base64
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.secrets import SECRETS
from tests import messages as made
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Wire, pcap
from tests.inside import kcli

LETTERS = "bcdfghjkmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ23456789"
ALWAYS = ("authBytes", "salt", "saltedPassword", "hmac")
CONFIGS = ("ssl.keystore.password", "my.plugin.thing", "listener.name.foo.plain.sasl.jaas.config", "sasl.jaas.config")
APIS = (19, 32, 33, 36, 38, 39, 40, 41, 44, 51)
SHOWN = 6  # bytes of a secret that are no accident
FORMATS = ("json", "tree", "hexdump", "table")


class Planted:
    """Secrets planted in messages, and what of them a text shows."""

    def __init__(self, seed: int) -> None:
        self.rng, self.words = random.Random(seed), list[str]()

    def plant(self) -> str:
        self.words.append("".join(self.rng.choices(LETTERS, k=18)))
        return self.words[-1]

    def scalar(self, kind: str, path: str) -> Any:
        """A field's value, as that of tests.messages."""
        name = re.sub(r"\[\d+\]$", "", path.rpartition(".")[2].strip("'"))
        if kind == "bytes" and name in ALWAYS:
            return self.plant().encode()
        if kind == "string":
            secret = name == "value" and "onfigs" in path
            return self.plant() if secret else self.rng.choice(CONFIGS) if "onfigs" in path else "harmless"
        return 4 if name == "resourceType" else VALUE_OF(kind, path)

    def message(self, key: int, version: int, part: str) -> bytes:
        """A message with secrets in all fields that may have one, in an unknown tag, and behind it."""
        api = catalog().apis[key]
        name = api.request if part == "request" else api.response
        value = made.filled(catalog().message(name), version)
        if catalog().message(name).is_flexible(version) and self.rng.random() < 0.5:
            value["_unknownTaggedFields"] = [{"tag": 900, "data": self.plant().encode()}]
        head: dict[str, Any] = {"correlationId": 99}
        codec = messages.response_header(key, version)
        if part == "request":
            head |= {"requestApiKey": key, "requestApiVersion": version, "clientId": "client"}
            codec = messages.request_header(key, version)
        behind = self.plant().encode() if self.rng.random() < 0.3 else b""
        return codec.write(head) + messages.data(name, version).write(value) + behind

    def damage(self, data: bytes, start: int) -> bytes:
        """The message cut, or with bits, bytes or lengths changed, behind `start`."""
        rng, at = self.rng, self.rng.randrange(start, len(data))
        return rng.choice([
            data[:at],
            data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :],
            data[:at] + rng.randbytes(rng.randrange(1, 4)) + data[at:],
            data[:at] + data[at + rng.randrange(1, 4) :],
            data[:at] + b"\xff" + data[at + 1 :],
        ])  # fmt: skip

    def parts(self) -> Iterator[str]:
        """Each six bytes of a secret in the forms that a text may have them in."""
        for word in self.words:
            data = word.encode()
            for at in range(len(data) - SHOWN + 1):
                yield word[at : at + SHOWN]
                yield data[at : at + SHOWN].hex()
            yield from (base64.b64encode(b"\0" * lead + data).decode()[4:-4] for lead in range(3))

    def shown(self, text: str) -> list[str]:
        """What of the secrets is in a text."""
        joined = re.sub(r"(?<=[0-9a-f]{2}) (?=[0-9a-f]{2})", "", text)
        found = [part for part in self.parts() if part in text or part in joined]
        whole = "\0".join(self.words).encode()
        for number in set(re.findall(r"\d{8,20}", text)):
            sizes = [size for size in (4, 8) if int(number) < 1 << 8 * size]
            found += [number for size in sizes if int(number).to_bytes(size) in whole]
        return found


VALUE_OF = made.scalar


def commands(part: str, key: int, version: int, file: str, other: str) -> Iterator[list[str]]:
    asked = [] if part == "request" else ["--api", str(key), "--api-version", str(version)]
    for form in FORMATS:
        yield ["decode", part, file, "--format", form, *asked]
    yield ["diff", "message", file, other, *asked]
    yield ["diff", "message", other, file, *asked]
    if part == "request":
        yield from ([file], ["decode", file], ["check", "request", file])


@pytest.mark.parametrize("seed", range(6))
def test_random_damage_shows_no_secret(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    for number in range(7):
        planted = Planted(seed * 100 + number)
        monkeypatch.setattr(made, "scalar", planted.scalar)
        key = planted.rng.choice(APIS)
        api = catalog().apis[key]
        version = planted.rng.randint(api.versions.lo, api.versions.hi)
        for part, name, start in ("request", api.request, 8), ("response", api.response, 4):
            if name not in SECRETS:
                continue
            whole = planted.message(key, version, part)
            (tmp_path / "whole").write_bytes(whole)
            (tmp_path / "damaged").write_bytes(planted.damage(whole, start))
            for words in commands(part, key, version, str(tmp_path / "damaged"), str(tmp_path / "whole")):
                done = kcli(*words)
                asked += 1
                assert not planted.shown(done.stdout + done.stderr), (words, name, version, done.stdout + done.stderr)
                assert "Traceback" not in done.stderr
    assert asked > 30


def test_a_secret_behind_a_wrong_length_is_not_shown_as_a_number(tmp_path: Path) -> None:
    planted = Planted(0)
    secret = planted.plant().encode()
    asked = request(39, 1, 2, {"hmac": secret, "renewPeriodMs": 1}).replace(
        len(secret).to_bytes(4) + secret, bytes(4) + secret
    )
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    wire.client(asked).server(response(39, 1, 2, {})).client(metadata(3)[0]).server(metadata(3)[1])
    (tmp_path / "damaged.pcap").write_bytes(pcap(wire.packets))
    for words in (
        ["decode", "pcap", "--format", "jsonl"],
        ["sql", "--format", "jsonl", "SELECT request FROM exchanges"],
    ):
        done = kcli(*words, str(tmp_path / "damaged.pcap"))
        assert "_trailing" in done.stdout
        assert not planted.shown(done.stdout + done.stderr)


def test_the_search_finds_each_form() -> None:
    planted = Planted(0)
    word, data = planted.plant(), planted.words[0].encode()
    number = str(int.from_bytes(data[3:11]))
    for text in (word[4:10], data[2:9].hex(), data[:8].hex(" "), base64.b64encode(b"ab" + data).decode(), number):
        assert planted.shown(f"before {text} behind"), text
    assert not planted.shown("nothing 12345678 of it, 0123456789abcdef")
