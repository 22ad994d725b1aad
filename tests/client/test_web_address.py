"""URLs of registries, collectors and tokens: what they hold, and that no message shows who asks."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.client.oauth import read_token
from kcli.client.web_address import WebAddress
from kcli.errors import UsageError
from kcli.traces import destinations


def test_what_a_url_holds() -> None:
    found = WebAddress.parse(" http://me:a%2Fb%40c@h:81?key=S3CRET#x", "--traces", "/v1/traces")
    assert found == ("http://h:81/v1/traces?key=S3CRET", "me:a/b@c", "http://h:81/v1/traces", "/v1/traces")
    assert WebAddress.parse("https://[::1]:81/own", "--traces", "/v1/traces").url == "https://[::1]:81/own"


WRONG = [
    "ftp://me:S3CRET@h", "http://me:S3CRET@[::1", "http://me:x/S3CRET@h", "http://me:S3CRET@h:99999", "http://:S3CRET@:1",
    "http://me:S3CRET@a b/", "http://me:S3CRET@h:0", "//me:S3CRET@h", "",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_url_is_not_repeated(text: str) -> None:
    """A "/" in a password ends the host: the password would be shown as its path, or as a port."""
    with pytest.raises(UsageError, match="--schema-registry: an http:// or https:// URL expected") as caught:
        WebAddress.parse(text, "--schema-registry")
    assert "S3CRET" not in str(caught.value) and ("%2F" in str(caught.value)) == ("@" in text)


@pytest.mark.parametrize("url", ["https://id:S3CRET@idp/token", "https://id:S3CRET@[::1"])
def test_where_tokens_come_from_is_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"^sasl\.oauthbearer\.[a-z.]+: kcli reads tokens from file: URLs only$"):
        read_token(url)


def test_of_a_collector_without_an_answer_no_key_is_told(
    samples: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.proto")
    monkeypatch.setattr(destinations, "RETRIES", 1)  # each waits twice as long as the one before
    path = samples / "ipv6.pcapng"
    words = ["decode", "pcap", str(path), "-q", "--traces", "http://me:S3CRET@127.0.0.1:9/own?key=S3CRET"]
    assert main(words) == 4
    said = capsys.readouterr().err
    assert said.startswith("kcli: the collector at http://127.0.0.1:9/own can't be reached: ") and "S3CRET" not in said
