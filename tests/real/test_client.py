"""The client against real brokers: every security protocol, and every way in which a broker can say no."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from kcli.cli.session.replay import read_fetches
from kcli.client.oauth import unsecured_token
from kcli.grammar import frames
from kcli.replay.sessions.plan import make_plan
from kcli.replay.topic_mapping import TopicNames
from tests.greeting import GREET, greeting
from tests.inside import kcli
from tests.real import keys
from tests.real.fill import fill, needed
from tests.real.lab import USERS, Cluster
from tests.real.ports import free_ports

Result = tuple[int, str, str]

CAPTURE = Path(__file__).parents[2] / "samples" / "java44-txn.pcap"
MODULES = "org.apache.kafka.common.security"
OAUTH = f"{MODULES}.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module", params=["4.4.0", "3.9.1"])
def kafka(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    config = {
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.sasl.oauthbearer.sasl.jaas.config": f"{OAUTH} required unsecuredLoginStringClaim_sub=admin;",
    }
    with Cluster(request.param, sasl=True, tls=True, config=config) as cluster:
        yield cluster


def send(bootstrap: str, config: dict[str, str], request: str = '{"topics": []}', *options: str) -> Result:
    """`kcli send` of a Metadata request: exit code, output, errors."""
    settings = [part for name, value in config.items() for part in ("--config", f"{name}={value}")]
    return run("send", "--api", "Metadata", "--bootstrap", bootstrap, *settings, *options, stdin=request)


def run(*words: str, stdin: str | bytes = b"") -> Result:
    done = kcli(*words, stdin=stdin)
    return done.returncode, done.stdout, done.stderr


def trust(cluster: Cluster) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(cluster.ca_file)}


def login(mechanism: str, user: str = "alice", password: str | None = None) -> dict[str, str]:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    secret = USERS[user] if password is None else password
    jaas = f'{MODULES}.{module} required username="{user}" password="{secret}";'
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": jaas}


def check_works(cluster: Cluster, bootstrap: str, config: dict[str, str]) -> None:
    code, out, err = send(bootstrap, config)
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["response"]["clusterId"] == cluster.cluster_id
    # The address of the listener that was spoken to, not just any.
    port = int(bootstrap.rpartition(":")[2])
    assert [each["port"] for each in answer["response"]["brokers"]] == [port]


def check_refused(result: Result, *words: str) -> None:
    code, out, err = result
    assert (code, out) == (4, "")
    assert err.count("\n") == 1
    for word in ("kcli: broker 127.0.0.1:", *words):
        assert word in err


def check_hangs(kafka: Cluster, ask: Callable[[str, dict[str, str]], Result]) -> None:
    """A client gives up on a broker that says nothing."""
    kafka.pause(1)
    try:
        result = ask(kafka.bootstrap, {"request.timeout.ms": "500"})
    finally:
        kafka.resume(1)
    check_refused(result, "no response to ApiVersions", "within 0.5 s (request.timeout.ms)")


def test_plain(kafka: Cluster) -> None:
    check_works(kafka, kafka.bootstrap, {})


def test_tls(kafka: Cluster) -> None:
    check_works(kafka, kafka.tls_bootstrap, {"security.protocol": "SSL", **trust(kafka)})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl(kafka: Cluster, mechanism: str) -> None:
    check_works(kafka, kafka.sasl_bootstrap, login(mechanism))
    check_works(kafka, kafka.sasl_tls_bootstrap, {**login(mechanism), **trust(kafka), "security.protocol": "SASL_SSL"})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password(kafka: Cluster, mechanism: str) -> None:
    result = send(kafka.sasl_bootstrap, login(mechanism, password="guessed"))
    check_refused(result, f"refused the {mechanism} login", "SASL_AUTHENTICATION_FAILED (58)")
    assert "guessed" not in result[2]


def test_a_mechanism_the_broker_does_not_take(kafka: Cluster) -> None:
    config = {**trust(kafka), "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    config["sasl.jaas.config"] = f"{OAUTH} required token=t;"
    check_refused(send(kafka.sasl_tls_bootstrap, config), "does not accept OAUTHBEARER", "it offers")


def test_a_bearer_token(kafka: Cluster, tmp_path: Path) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    options = {"unsecuredLoginStringClaim_sub": "alice"}
    jaas = " ".join(f'{name}="{value}"' for name, value in options.items())
    check_works(kafka, kafka.sasl_bootstrap, {**config, "sasl.jaas.config": f"{OAUTH} required {jaas};"})
    file = tmp_path / "token"
    file.write_text(unsecured_token(options, time.time()))
    config["sasl.oauthbearer.token.endpoint.url"] = file.as_uri()
    check_works(kafka, kafka.sasl_bootstrap, {**config, "sasl.jaas.config": f"{OAUTH} required;"})
    file.write_text(unsecured_token(options, time.time() - 7200))
    result = send(kafka.sasl_bootstrap, {**config, "sasl.jaas.config": f"{OAUTH} required;"})
    check_refused(result, "refused the OAUTHBEARER login", "SASL_AUTHENTICATION_FAILED (58)")


def test_the_wrong_protocol_for_a_listener(kafka: Cluster) -> None:
    check_refused(send(kafka.tls_bootstrap, {}), "closed the connection", "security.protocol is PLAINTEXT")
    check_refused(send(kafka.bootstrap, {"security.protocol": "SSL", **trust(kafka)}), "closed the connection", "TLS")
    check_refused(send(kafka.sasl_bootstrap, {}), "closed the connection", "security.protocol is PLAINTEXT")


def test_a_certificate_nobody_vouches_for(kafka: Cluster) -> None:
    check_refused(
        send(kafka.tls_bootstrap, {"security.protocol": "SSL"}), "its certificate is not trusted: self-signed"
    )


def test_a_broker_that_hangs(kafka: Cluster) -> None:
    check_hangs(kafka, send)
    check_works(kafka, kafka.bootstrap, {})


def test_an_expired_certificate(tmp_path: Path) -> None:
    store = [
        "-keystore",
        f"{tmp_path}/old.p12",
        "-storetype",
        "PKCS12",
        "-storepass",
        keys.PASSWORD,
        "-alias",
        "broker",
    ]
    name = ["-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1", "-ext", "BC=ca:true"]
    past = ["-startdate", "2020/01/01 00:00:00", "-validity", "1"]
    keys.keytool("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-alias", "broker", *past, *name, *store)
    keys.keytool("-exportcert", "-alias", "broker", "-rfc", "-file", f"{tmp_path}/old.pem", *store)
    with Cluster("4.4.0", tls=True, config={"ssl.keystore.location": f"{tmp_path}/old.p12"}) as cluster:
        config = {"security.protocol": "SSL", "ssl.truststore.location": f"{tmp_path}/old.pem"}
        check_refused(send(cluster.tls_bootstrap, config), "its certificate is not trusted: certificate has expired")
    # And now nobody listens there any more.
    check_refused(send(cluster.bootstrap, {}), "refused the connection", "is it running?")


def test_raw_bytes(kafka: Cluster) -> None:
    def raw(data: bytes) -> Result:
        return run("send", "--raw", "--bootstrap", kafka.bootstrap, "--config", "request.timeout.ms=2000", stdin=data)

    request = bytes.fromhex("0012 0000 0000002a 0001 6b")
    whole = len(request).to_bytes(4, "big") + request
    code, out, err = raw(whole * 2)
    assert (code, err) == (0, "")
    assert [json.loads(line)["responseHeader"] for line in out.splitlines()] == [{"correlationId": 42}] * 2
    check_refused(raw(whole[:6] + b"\x7f\xff" + whole[8:-1] + b"\xff\xff"), "")
    check_refused(raw(b"\xff\xff\xff\xff"), "closed the connection instead of answering")
    check_refused(raw(whole[:-1]), "no response to ApiVersions v0 within 2 s")


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SSL", "PLAIN"), ("SASL_PLAINTEXT", "PLAIN"), ("SASL_SSL", "SCRAM-SHA-256"), ("SASL_PLAINTEXT", "SCRAM-SHA-512")],
)
def test_replay(kafka: Cluster, protocol: str, mechanism: str) -> None:
    ports = {"SSL": kafka.tls_bootstrap, "SASL_PLAINTEXT": kafka.sasl_bootstrap, "SASL_SSL": kafka.sasl_tls_bootstrap}
    config = {**login(mechanism), **trust(kafka), "security.protocol": protocol}
    names = TopicNames()
    fill(kafka.bootstrap, needed(make_plan(read_fetches([str(CAPTURE)], names, [])), names))
    code, out, err = replay(ports[protocol], config)
    assert code == 0, err
    assert [json.loads(line)["differences"] for line in out.splitlines()] == [[]]


def replay(bootstrap: str, config: dict[str, str]) -> Result:
    settings = [part for name, value in config.items() for part in ("--config", f"{name}={value}")]
    words = ["fetch-session", "replay", str(CAPTURE), "--speed", "max", "--bootstrap", bootstrap, "--format", "jsonl"]
    return run(*words, *settings)


def test_replay_says_why_it_can_not(kafka: Cluster) -> None:
    for mechanism in ("PLAIN", "SCRAM-SHA-512"):
        result = replay(kafka.sasl_bootstrap, login(mechanism, password="guessed"))
        check_refused(result, f"refused the {mechanism} login", "SASL_AUTHENTICATION_FAILED (58)")
    check_refused(replay(kafka.tls_bootstrap, {"security.protocol": "SSL"}), "its certificate is not trusted")
    (port,) = islice(free_ports(1), 1)
    check_refused(replay(f"127.0.0.1:{port}", {}), "refused the connection", "is it running?")
    check_hangs(kafka, replay)


@pytest.mark.parametrize("dialect", ["kip-1018", "kip-630-draft"])
def test_a_dialect_is_left_where_the_broker_does_not_show_it(kafka: Cluster, dialect: str) -> None:
    """Fetch v18 of kip-1018 and FetchSnapshot v1 of the draft are other messages than this broker's of that number."""
    body = '{"topics": [], "sessionEpoch": -1, "minBytes": 0, "maxWaitMs": 0}'
    code, out, err = send(kafka.bootstrap, {}, body, "--api", "Fetch", "--schema", dialect)
    assert code == 0
    assert json.loads(out)["response"]["errorCode"] == 0
    said = f"kcli: broker {kafka.bootstrap} does not speak the dialect {dialect}: Apache Kafka's own messages are sent"
    assert err == f"{said}\n"


def test_versions_are_negotiated_down(kafka: Cluster) -> None:
    code, out, _ = send(kafka.bootstrap, {})
    assert code == 0
    assert json.loads(out)["requestApiVersion"] == (13 if kafka.version == "4.4.0" else 12)
    assert json.loads(send(kafka.bootstrap, {}, '{"topics": []}', "--api-version", "4")[1])["requestApiVersion"] == 4


def test_an_api_that_the_broker_lacks_is_named(kafka: Cluster, tmp_path: Path) -> None:
    """A draft's, as JSON and as bytes: Kafka closes the connection, and says no more. Security has no part in it."""
    dialect, request = greeting(tmp_path / "greet"), tmp_path / "request.bin"
    header = {"requestApiKey": GREET, "requestApiVersion": 0, "correlationId": 1, "clientId": "me"}
    request.write_bytes(frames.encode_request(header, {"name": "x"}, dialect))
    for given in (["--api", "Greet"], [str(request)]):
        words = ["send", *given, "--bootstrap", kafka.bootstrap, "--dialect", dialect]
        code, _, err = run(*words, stdin="{}")
        assert code == 4
        assert f"does not have Greet (API key {GREET})" in err
        assert "security.protocol" not in err
