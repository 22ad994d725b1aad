"""TLS of listeners: with a given certificate, or with one of a CA that is made for the run."""

import datetime
import ipaddress
import ssl
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kcli.broker.security.java_stores import pem_of
from kcli.client.tls import load_pair
from kcli.errors import InputError

DAYS = 30
NAMED = ("localhost", "127.0.0.1", "::1")


class Authority(NamedTuple):
    """A CA. certificate: its own, which clients have to trust; pair: key and certificate of the listeners. All in
    PEM.
    """

    certificate: str
    pair: str


def server_context(pair: str, name: str, client_ca: str | None = None, password: str | None = None) -> ssl.SSLContext:
    """Make a context of TLS 1.2 and 1.3. pair: key and certificates in PEM; name: their source, for errors; password:
    of the key; client_ca: a file with the CAs of clients, which need a certificate then. Raises InputError if the key
    and the certificates are invalid or don't match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        load_pair(context, pair, password, name)
    except InputError:
        # OpenSSL does not load certificates signed with SHA-1 or of 1,024 bits. Kafka serves them, and clients can
        # refuse them.
        context.set_ciphers(":".join(["@SECLEVEL=0", *(each["name"] for each in context.get_ciphers())]))
        load_pair(context, pair, password, name)
    if client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        trust(context, read_pair(client_ca, None), client_ca)
    return context


def trust(context: ssl.SSLContext, certificates: str, name: str) -> None:
    """Let a context trust certificates in PEM. name: their source. Raises InputError if they can't be parsed."""
    try:
        context.load_verify_locations(cadata=certificates)
    except ssl.SSLError as error:
        raise InputError(f"no certificates in PEM ({error.reason or error})", file=name) from None


def read_pair(certificate: str, key: str | None) -> str:
    """Read the PEM text of a key's and a certificate's files. key: None if it is in the certificate's file. Raises
    InputError if a file is not PEM, and OSError.
    """
    texts = []
    for name in dict.fromkeys([key or certificate, certificate]):
        data = Path(name).read_bytes()
        if b"-----BEGIN " not in data:
            raise InputError("no PEM text (certificates and keys in PEM expected)", file=name)
        texts.append(data.decode("utf-8", "replace"))
    return "\n".join(texts)


def identity(pair: str) -> tuple[str, set[str]]:
    """Return the subject of the first certificate in a PEM text, and its subject alternative names."""
    certificate = x509.load_pem_x509_certificates(pair.encode())[0]
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        found = x509.SubjectAlternativeName([])
    return certificate.subject.rfc4514_string(), {str(each.value) for each in found}


def made_authority(hosts: Iterable[str]) -> Authority:
    """Make a new CA, and a certificate of it for these hosts and localhost."""
    own_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = named("kcli proxy CA")
    authority = (
        started(issuer, issuer, own_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own_key.public_key()), critical=False)
        .sign(own_key, hashes.SHA256())
    )
    certificate = (
        started(named("kcli proxy"), issuer, key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(list(alternative_names(hosts))), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own_key.public_key()), critical=False)
        .sign(own_key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Authority(pem_of(authority), secret.decode() + pem_of(certificate))


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def started(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def alternative_names(hosts: Iterable[str]) -> Iterator[x509.GeneralName]:
    for host in dict.fromkeys([*filter(None, hosts), *NAMED]):
        try:
            yield x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            yield x509.DNSName(host)
