"""`kcli proxy` as a script sees it."""

import contextlib
import datetime
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kcli.capture.api import read_capture
from kcli.cli.cluster.proxy import advertised_host, mapping
from kcli.cli.main import main
from kcli.cli.options.listen import listen_address
from kcli.client.address import parse_address
from kcli.errors import UsageError
from tests.broker.processes import served
from tests.inside import kcli
from tests.processes import ended
from tests.proxy.processes import Proxied, proxied


def ask(bootstrap: str, api: str, text: str, *options: str) -> dict[str, Any]:
    done = kcli("send", "--api", api, "--bootstrap", bootstrap, *options, stdin=text)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["response"]  # type: ignore[no-any-return]


def test_it_stands_before_a_broker_until_it_is_interrupted() -> None:
    with served("--topic", "a:3") as broker, proxied("--bootstrap", broker.bootstrap) as proxy:
        answer = ask(proxy.bootstrap, "Metadata", '{"topics":null}')
        (row,) = answer["brokers"]
        assert f"{row['host']}:{row['port']}" not in (broker.bootstrap, proxy.bootstrap)
        assert ask(f"{row['host']}:{row['port']}", "Metadata", '{"topics":null}') == answer
        code, out, err = proxy.stop()
        assert (code, out, err) == (0, "", "")


def test_exchanges_are_shown_and_saved(tmp_path: Path) -> None:
    out = tmp_path / "out.pcapng"
    options = ["--format", "jsonl", "--api", "Metadata", "-o", str(out)]
    with served("--topic", "a:3") as broker, proxied("--bootstrap", broker.bootstrap, *options) as proxy:
        answer = ask(proxy.bootstrap, "Metadata", '{"topics":null}')
        code, shown, _ = proxy.stop()
    (row,) = map(json.loads, shown.splitlines())
    assert code == 0
    assert row["connection"].startswith(f"{broker.bootstrap}-127.0.0.1:")
    (node,) = row["response"]["brokers"]
    assert f"{node['host']}:{node['port']}" == broker.bootstrap
    assert row["response"]["topics"] == answer["topics"]
    saved = kcli("decode", "pcap", str(out), "--format", "jsonl", "-q").stdout.splitlines()
    assert [json.loads(line)["requestHeader"]["requestApiKeyName"] for line in saved] == ["API_VERSIONS", "METADATA"]
    assert json.loads(saved[1]) == row


def test_faults_before_a_broker_that_has_none(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("# once\napi=Metadata,topic=a,error=LEADER_NOT_AVAILABLE,count=1\n")
    with (
        served("--topic", "a") as broker,
        proxied("--bootstrap", broker.bootstrap, "--fault-file", str(rules)) as proxy,
    ):
        codes = [ask(proxy.bootstrap, "Metadata", '{"topics":[{"name":"a"}]}')["topics"][0]["errorCode"] for _ in "12"]
        assert codes == [5, 0]


def test_the_latest_packets_are_kept_and_those_around_an_exchange(tmp_path: Path) -> None:
    folder = tmp_path / "ring"
    options = ["-o", str(folder), "--last", "10m", "--when", "api = 'LIST_GROUPS'"]
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, *options) as proxy:
        ask(proxy.bootstrap, "Metadata", '{"topics":null}')
        ask(proxy.bootstrap, "ListGroups", "{}")
        assert proxy.process.stderr is not None
        assert "packets around an exchange of --when are saved in" in proxy.process.stderr.readline()
        assert proxy.stop()[0] == 0
    [kept] = folder.glob("*.pcapng")
    [moment] = [each for each in folder.iterdir() if each.is_dir()]
    assert [each.name for each in moment.iterdir()] == [kept.name]
    asked = [each.api for each in read_capture(kept)]
    assert asked.count("Metadata") == asked.count("ListGroups") == 1


def test_tls_by_a_ca_of_its_own() -> None:
    with served() as broker, proxied("--bootstrap", broker.bootstrap, "--tls") as proxy:
        path = proxy.said["ssl.truststore.location"].partition(" (")[0]
        trust = ["--config", "security.protocol=SSL", "--config", f"ssl.truststore.location={path}"]
        (row,) = ask(proxy.bootstrap, "Metadata", '{"topics":[]}', *trust)["brokers"]
        assert ask(f"{row['host']}:{row['port']}", "Metadata", '{"topics":[]}', *trust)["brokers"] == [row]
        assert "PRIVATE" not in Path(path).read_text()
        code, _, _ = proxy.stop()
        assert code == 0
    assert not Path(path).exists()


def certificate(name: str, issuer: tuple[Any, Any] | None = None) -> tuple[Any, Any]:
    """A certificate and its key; issuer: of a client's, else it is an authority's own."""
    key = ec.generate_private_key(ec.SECP256R1())
    own = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    by, signing = (own, key) if issuer is None else (issuer[0].subject, issuer[1])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(own).issuer_name(by).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    return made.sign(signing, hashes.SHA256()), key


def pem(made: tuple[Any, Any]) -> str:
    form, none = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return "".join([
        made[1].private_bytes(serialization.Encoding.PEM, form, none).decode(),
        made[0].public_bytes(serialization.Encoding.PEM).decode(),
    ])  # fmt: skip


def test_clients_need_a_certificate_and_a_policy_is_read_again(tmp_path: Path) -> None:
    authority = certificate("an authority")
    (tmp_path / "ca.pem").write_bytes(authority[0].public_bytes(serialization.Encoding.PEM))
    (tmp_path / "good.pem").write_text(pem(certificate("client", authority)))
    (tmp_path / "bad.pem").write_text(pem(certificate("stranger", certificate("another"))))
    policy = tmp_path / "policy.toml"
    policy.write_text('allow-apis = ["Metadata"]')
    options = ["--tls", "--tls-client-ca", str(tmp_path / "ca.pem"), "--policy", str(policy)]
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, *options, quiet=False) as proxy:
        trust = proxy.said["ssl.truststore.location"].partition(" (")[0]
        config = ["--config", "security.protocol=SSL", "--config", f"ssl.truststore.location={trust}"]
        known = [*config, "--config", f"ssl.keystore.location={tmp_path / 'good.pem'}"]
        assert ask(proxy.bootstrap, "Metadata", '{"topics":null}', *known)["topics"]
        for wrong in ([], ["--config", f"ssl.keystore.location={tmp_path / 'bad.pem'}"]):
            assert code_of(proxy.bootstrap, "Metadata", *config, *wrong) == 4
        assert code_of(proxy.bootstrap, "ListGroups", *known) == 4
        policy.write_text("nonsense")
        reread(proxy, f"kcli: {policy}: not TOML")
        assert code_of(proxy.bootstrap, "ListGroups", *known) == 4
        policy.write_text('allow-apis = ["Metadata,ListGroups"]')
        reread(proxy, "the policy was read again")
        assert code_of(proxy.bootstrap, "ListGroups", *known) == 0


def code_of(bootstrap: str, api: str, *options: str) -> int:
    text = '{"topics":null}' if api == "Metadata" else "{}"
    return kcli("send", "--api", api, "--bootstrap", bootstrap, *options, stdin=text).returncode


def reread(proxy: Proxied, said: str) -> None:
    """Have the policy read again, and wait for that line."""
    assert proxy.process.stderr is not None
    proxy.process.send_signal(signal.SIGHUP)
    while said not in (line := proxy.process.stderr.readline()):
        assert line


STRANGE = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\2\0\1\0\1\xfc\3\3" + bytes(500),
    b"\x7f\xff\xff\xff and more",
    b"\xff\xff\xff\xff",
    b"\0\0\0\x64\0\x12",
    bytes(4000),
    b"\0\0\0\x20\x7f\xff\0\0\0\0\0\1" + bytes(24),
    b"",
)


@pytest.mark.parametrize("options", [[], ["--fault", "api=Fetch,error=CORRUPT_MESSAGE"]])
def test_strangers_do_not_keep_it_from_others(options: list[str]) -> None:
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, *options) as proxy:
        with contextlib.ExitStack() as stack:
            for number in range(20 * len(STRANGE)):
                stranger = stack.enter_context(socket.create_connection(parse_address(proxy.bootstrap)))
                stranger.sendall(STRANGE[number % len(STRANGE)])
            assert len(ask(proxy.bootstrap, "Metadata", '{"topics":null}')["brokers"]) == 1
        assert proxy.stop() == (0, "", "")


def test_packets_on_standard_output() -> None:
    with served() as broker:
        command = [sys.executable, "-m", "kcli.cli", "proxy", "--bootstrap", broker.bootstrap, "-o", "-"]
        with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)) as process:
            assert process.stderr is not None
            while not (line := process.stderr.readline()).startswith(b"bootstrap.servers="):
                assert line
            ask(line.decode().strip().partition("=")[2], "Metadata", '{"topics":null}')
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.startswith(b"\n\r\r\n")
    assert out.count(b"kcli") >= 1


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--bootstrap", "127.0.0.1:1"], 4, "refused the connection"),
        ([], 2, "no broker to talk to"),
        (["--tls", "-o", "x"], 2, "no broker to talk to"),
        (["--bootstrap", "127.0.0.1:1", "--listen", "9192"], 2, "HOST:PORT expected"),
        (["--bootstrap", "127.0.0.1:1", "--config", "no.such=1"], 2, "no client property"),
        (["--bootstrap", "127.0.0.1:1", "-o", "-", "--format", "table"], 2, "can't both go to standard output"),
        (["--bootstrap", "127.0.0.1:1", "--api", "Fish"], 2, "Fish"),
        (["--bootstrap", "127.0.0.1:1", "--fault", "evict"], 2, "evict and move are for kcli broker serve"),
        (["--bootstrap", "127.0.0.1:1", "--last", "9s"], 2, "-o DIR is missing"),
        (["--bootstrap", "127.0.0.1:1", "-o", "x", "--when", "x"], 2, "--last or --size is missing"),
        (["--bootstrap", "127.0.0.1:1", "-o", "x", "--size", "1M", "--when", "x +"], 2, "--when"),
        (["--bootstrap", "127.0.0.1:1", "--tls-key", "x"], 2, "--tls-cert is missing"),
        (["--bootstrap", "127.0.0.1:1", "--tls-cert", "/no/such.pem"], 3, "/no/such.pem"),
        (["--bootstrap", "127.0.0.1:1", "--tls-client-ca", "x"], 2, "--tls or --tls-cert is missing"),
        (["--bootstrap", "127.0.0.1:1", "--tls", "--tls-client-ca", "/no/such.pem"], 3, "/no/such.pem"),
        (["--bootstrap", "127.0.0.1:1", "--policy", "/no/such.toml"], 3, "/no/such.toml"),
        (["--bootstrap", "127.0.0.1:1", "--allow-network", "x"], 2, "network x: ADDRESS/BITS expected"),
        (["--bootstrap", "127.0.0.1:1", "--allow-api", "Fish"], 2, "Fish"),
        (["--bootstrap", "127.0.0.1:1", "--fault", "delay=1,for=x"], 2, "for=x"),
        (["--bootstrap", "127.0.0.1:1", "-o", "/no/such/folder/x"], 3, "/no/such/folder/x"),
    ],
)
def test_what_makes_no_sense(
    arguments: list[str],
    code: int,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["proxy", *arguments]) == code
    said = capfd.readouterr().err  # of its view, too
    assert complaint in said
    assert sum(line.startswith("kcli: ") for line in said.splitlines()) == 1
    assert "ssl.truststore" not in said or "--bootstrap" in arguments
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "meant"), [("127.0.0.1:0", ("127.0.0.1", 0)), (":9192", ("", 9192)), ("[::1]:1", ("::1", 1))]
)
def test_where_it_listens(text: str, meant: tuple[str, int]) -> None:
    assert listen_address("--listen", text) == meant


@pytest.mark.parametrize(
    "text", ["", "x", "a:b", "::1:9192", "[::1]", "[::1:9192", "::1]:9192", "a:70000", "[a]:1", "a:-1"]
)
def test_where_it_can_not_listen(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT expected"):
        listen_address("--listen", text)


def test_brokers_that_have_places_of_their_own() -> None:
    assert mapping(("101=proxy:9301", "2=:9302")) == {101: ("proxy", 9301), 2: ("", 9302)}
    assert (advertised_host("proxy.example"), advertised_host("[::1]"), advertised_host("")) == (
        "proxy.example",
        "::1",
        "",
    )


@pytest.mark.parametrize(
    "texts",
    [
        ("2",),
        ("2=",),
        ("=a:1",),
        ("x=a:1",),
        ("2=a",),
        ("2=a:1", "2=b:1"),
        ("2=a:1", "3=a:1"),
        (f"{2**31}=a:1",),
        ("2==a:1",),
        ("2=a\nb:1",),
    ],
)
def test_places_that_make_no_sense(texts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"^--map "):
        mapping(texts)


@pytest.mark.parametrize("text", ["a:9092", "::1", "http://a", "a b", "a,b", "a\1", "a" * 254])
def test_hosts_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--advertise .*without a port"):
        advertised_host(text)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_broker_is_found_by_the_port_and_host_that_it_was_given() -> None:
    options = ["--map", f"1=127.0.0.1:{(port := free_port())}", "--advertise", "localhost"]
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, *options) as proxy:
        (row,) = ask(proxy.bootstrap, "Metadata", '{"topics":[]}')["brokers"]
        assert (row["nodeId"], row["host"], row["port"]) == (1, "localhost", port)
        assert ask(f"localhost:{port}", "Metadata", '{"topics":[]}')["brokers"] == [row]
        assert proxy.stop()[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_stops_no_traffic() -> None:
    with served("--topic", "a") as broker, proxied("--bootstrap", broker.bootstrap, "-o", "/dev/full") as proxy:
        for _ in range(3):
            assert ask(proxy.bootstrap, "Metadata", '{"topics":[]}')["brokers"]
        code, _, said = proxy.stop()
    pauses = [line for line in [*proxy.said, *said.splitlines()] if "recording pauses, traffic continues" in line]
    assert code == 0 and len(pauses) == 1 and "/dev/full" in pauses[0] and "Traceback" not in said


def test_spans_are_not_written_over_what_the_command_line_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "client.properties"
    config.write_text("client.id=x\n")
    link = tmp_path / "link"
    link.hardlink_to(config)
    for name in (config, link):
        assert main(["proxy", "--bootstrap", "127.0.0.1:1", "--config", str(config), "--traces", str(name)]) == 2
        assert "is the input" in capsys.readouterr().err
    assert config.read_text() == "client.id=x\n"


def test_a_wrong_collector_is_refused_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the address is printed that clients would connect to."""
    with served("--topic", "a") as broker:
        words = ["proxy", "--bootstrap", broker.bootstrap, "--listen", "127.0.0.1:0", "--traces", "ftp://me:S3CRET@h"]
        assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("kcli: --traces: an http:// or https:// URL expected") and said.count("\n") == 1
