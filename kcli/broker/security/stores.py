"""The certificates of a listener by Kafka's configs `ssl.keystore.*` and `ssl.truststore.*`, in files or inline.

Types are PEM (KIP-651), JKS and PKCS12. As in Java, a PKCS12 file is also read if JKS is configured, and the reverse.
Configs that exclude each other are refused as in Kafka's DefaultSslEngineFactory.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kcli.broker.security.java_stores import Store, read_store
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.client.tls import pem_lines
from kcli.errors import InputError, UsageError

PEM = "PEM"
TYPES = (PEM, "JKS", "PKCS12")


class Pair(NamedTuple):
    """A key with its certificate chain in PEM. password: of the key, None for none; name: its source, for errors."""

    text: str
    password: str | None
    name: str


def key_pair(configs: ListenerConfigs) -> Pair | None:
    """Return the key and certificate of a listener, None if no config has one. Raises UsageError for contradictory
    configs, InputError for an invalid file, and OSError.
    """
    store = own_values(configs, "ssl.keystore", "type", "location", "password", "key", "certificate.chain")
    key, chain = store["key"], store["certificate.chain"]
    location, password = store["location"], configs.value("ssl.key.password")
    if key is not None or chain is not None:
        if store["type"] != PEM or key is None or chain is None or location is not None or store["password"]:
            raise UsageError(
                "ssl.keystore.key and ssl.keystore.certificate.chain: both, with ssl.keystore.type=PEM, and neither"
                " ssl.keystore.location nor ssl.keystore.password"
            )
        return Pair(f"{pem_lines(key)}\n{pem_lines(chain)}", password, "ssl.keystore.key")
    check_password(store, "ssl.keystore", "a key in PEM has ssl.key.password")
    if location is None:
        return None
    if store["type"] == PEM:
        return Pair(pem_file(location), password, location)
    if store["password"] is None:
        raise UsageError("ssl.keystore.location: ssl.keystore.password is missing")
    keys = java_store(location, store["password"], store["password"] if password is None else password).keys
    if not keys:
        raise InputError("a store without a private key", file=location)
    return Pair(keys[0], None, location)


def trusted(configs: ListenerConfigs) -> tuple[str, str] | None:
    """Return the CAs of clients' certificates in PEM, and their source for errors; None if no config has any.

    Raises UsageError for contradictory configs, InputError for an invalid file, and OSError.
    """
    store = own_values(configs, "ssl.truststore", "type", "location", "password", "certificates")
    location, inline = store["location"], store["certificates"]
    if inline is not None:
        if store["type"] != PEM or location is not None or store["password"]:
            raise UsageError(
                "ssl.truststore.certificates: with ssl.truststore.type=PEM, and neither ssl.truststore.location nor"
                " ssl.truststore.password"
            )
        return pem_lines(inline), "ssl.truststore.certificates"
    check_password(store, "ssl.truststore", "certificates in PEM have none")
    if location is None:
        return None
    if store["type"] == PEM:
        return pem_file(location), location
    found = java_store(location, store["password"] or "").certificates
    if not found:
        raise InputError("a store without certificates to trust", file=location)
    return "".join(found), location


def own_values(configs: ListenerConfigs, prefix: str, *names: str) -> Mapping[str, str | None]:
    """Return the configs of a store by their names without the prefix; the default type is JKS.

    Raises UsageError.
    """
    found = {name: configs.value(f"{prefix}.{name}") for name in names}
    found["type"] = (found["type"] or "JKS").upper()
    if found["type"] not in TYPES:
        raise UsageError(f"{prefix}.type={found['type']}: {', '.join(TYPES)} expected")
    return found


def check_password(store: Mapping[str, str | None], prefix: str, in_pem: str) -> None:
    """Refuse a password without a file, or for a PEM file. in_pem: the message for PEM. Raises UsageError."""
    if store["password"] is None:
        return
    if store["location"] is None:
        raise UsageError(f"{prefix}.password: {prefix}.location is missing")
    if store["type"] == PEM:
        raise UsageError(f"{prefix}.password: {in_pem}")


def java_store(location: str, password: str, key_password: str | None = None) -> Store:
    return read_store(Path(location).read_bytes(), location, password, key_password)


def pem_file(location: str) -> str:
    """Read a PEM file. Raises InputError if it is not PEM, and OSError."""
    data = Path(location).read_bytes()
    if b"-----BEGIN " not in data:
        raise InputError("no PEM text (its type is PEM by the configs)", file=location)
    return data.decode("utf-8", "replace")
