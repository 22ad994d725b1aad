from pathlib import Path

import pytest

from kcli.client.properties import ClientConfig, load
from kcli.client.property_table import OF_LIBRDKAFKA, PROPERTIES
from kcli.errors import InputError, UsageError


def test_a_file_of_a_java_application_works_and_what_means_nothing_is_listed(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=a:1, b:2\nsecurity.protocol = sasl_ssl\ngroup.id=g\nrequest.timeout.ms=5000\n"
        "key.deserializer=org.apache.kafka.common.serialization.StringDeserializer\n"
    )
    config = load([str(file), "request.timeout.ms=7000"])
    assert config["bootstrap.servers"] == ("a:1", "b:2")
    assert config["security.protocol"] == "SASL_SSL"
    assert config.seconds("request.timeout.ms") == 7
    assert config.ignored == ("group.id", "key.deserializer")


def test_bootstrap_of_the_command_line_wins() -> None:
    assert load(["bootstrap.servers=a:1"], "c:3")["bootstrap.servers"] == ("c:3",)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("request.timeout=5", "request.timeout: no client property of Kafka's; did you mean request.timeout.ms?"),
        ("utterly.other=5", "utterly.other: no client property of Kafka's$"),
        ("request.timeout.ms=soon", "request.timeout.ms: 'soon' is not a whole number"),
        ("request.timeout.ms=-1", "request.timeout.ms: -1 is below 0"),
        ("security.protocol=TLS", "security.protocol: 'TLS' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("enable.idempotence=maybe", "enable.idempotence: 'maybe' is not true or false"),
        ("sasl.password=x", "librdkafka's; Kafka's own clients, and kcli, have sasl.jaas.config$"),
        ("ssl.ca.location=x", "have ssl.truststore.location, with ssl.truststore.type=PEM$"),
        ("no-such-file.properties", "--config no-such-file.properties: neither key=value nor a file that exists"),
    ],
)
def test_what_makes_no_sense_is_said(setting: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load([setting])


def test_an_unknown_property_in_a_file_names_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("# c\nacks=all\nackss=1\n")
    with pytest.raises(InputError, match=r"c\.properties: line 3: ackss: .*did you mean acks\?"):
        load([str(file)])


def test_a_file_is_latin_1_as_java_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_bytes(b"ssl.key.password=caf\xe9\xff")
    assert load([str(file)])["ssl.key.password"] == "caf\xe9\xff"
    file.write_bytes("client.id=\xe9".encode())
    assert load([str(file)])["client.id"] == "\xc3\xa9"


@pytest.mark.parametrize("text", ["5_000", "5e3", "0x10", "5 000", ""])
def test_a_number_is_digits_as_java_reads_it(text: str) -> None:
    with pytest.raises(UsageError, match="not a whole number"):
        load([f"request.timeout.ms={text}"])
    assert load(["request.timeout.ms= +5000 "])["request.timeout.ms"] == 5000


def test_replace_gives_a_copy() -> None:
    config = ClientConfig({"client.id": "a"})
    other = config.replace(client_id="b")
    assert (config["client.id"], other["client.id"]) == ("a", "b")


def test_a_long_setting_is_no_file_name() -> None:
    text = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="{"p" * 5000}";'
    assert load([f"sasl.jaas.config={text}"])["sasl.jaas.config"] == text
    assert load(["client.id=a\0b"])["client.id"] == "a\0b"


@pytest.mark.parametrize("setting", ["sasl.password S3CRET", "ssl.key.password: S3CRET", "sasl.jaas.config\tS3CRET"])
def test_a_value_without_its_equals_sign_is_not_repeated(setting: str) -> None:
    with pytest.raises(UsageError, match=r"--config [a-z.]+ \.\.\.: neither key=value") as caught:
        load([setting])
    assert "S3CRET" not in str(caught.value)


def test_the_names_of_librdkafka_lead_to_names_that_there_are() -> None:
    for name, meant in OF_LIBRDKAFKA.items():
        assert name not in PROPERTIES and meant.partition(",")[0] in PROPERTIES
