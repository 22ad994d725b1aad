from collections.abc import Iterator

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from kcli.schemas.secrets import ALWAYS, BY_NAME, SECRETS, is_secret_config, secret_fields


def fields_of(fields: tuple[Field, ...], path: str = "") -> Iterator[tuple[str, Field]]:
    for field in fields:
        here = f"{path}.{field.name}" if path else field.name
        yield here, field
        yield from fields_of(field.fields, here)


@pytest.mark.parametrize("message", SECRETS)
def test_the_table_names_fields_that_there_are(message: str) -> None:
    known = catalog().message(message)
    found = dict(fields_of(known.fields))
    for variant in known.variants:
        found |= dict(fields_of(variant.message.fields))
    for path, how in secret_fields(message).items():
        assert found[path].type == ("bytes" if how == ALWAYS else "string")
        if how == BY_NAME:  # which has to stand before it
            names = list(found)
            before = f"{path.rpartition('.')[0]}.name".lstrip(".")
            assert names.index(before) < names.index(path)


def test_what_sounds_like_a_secret_is_in_the_table() -> None:
    words = {"authBytes", "hmac", "salt", "saltedPassword", "storedKey", "serverKey"}
    for name in catalog().names:
        for path, field in fields_of(catalog().message(name).fields):
            assert field.name not in words or path in secret_fields(name)


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "sasl.jaas.config",
        "listener.name.internal.ssl.key.password",
        "listener.name.sasl.scram-sha-256.sasl.jaas.config",
        "nobody.knows.this",
        "listener.name.internal.nobody.knows.this",
        "SSL.KEYSTORE.TYPE",
        "",
    ],
)
def test_secret_configs(name: str) -> None:
    assert is_secret_config(name) and is_secret_config(name, 4)


@pytest.mark.parametrize(
    "name",
    [
        "retention.ms",
        "log.retention.ms",
        "ssl.keystore.type",
        "listener.name.internal.ssl.client.auth",
        "listener.name.sasl.plain.connections.max.reauth.ms",
    ],
)
def test_plain_configs(name: str) -> None:
    assert not is_secret_config(name)


def test_levels_of_loggers_are_plain() -> None:
    assert not is_secret_config("kafka.server.KafkaApis", 8)
    assert is_secret_config("kafka.server.KafkaApis", 4)
