"""TLS for `security.protocol` SSL and SASL_SSL, from Kafka's `ssl.*` properties with PEM stores (KIP-651)."""

import re
import ssl
from pathlib import Path

from kcli.capture.tls.suites import NAMES
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, UsageError
from kcli.nearest import suggestion
from kcli.temporary import TemporaryFolder

SUITES = "ssl.cipher.suites"
TLS13_SUITES = range(0x1300, 0x1400)
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
PEM_BLOCK = re.compile(r"(-----BEGIN [^-]+-----)(.*?)(-----END [^-]+-----)")
JAVA_STORES = (b"\xfe\xed\xfe\xed", b"\x30\x82", b"\x30\x83")  # JKS, PKCS12


def tls_context(config: ClientConfig) -> ssl.SSLContext | None:
    """Return the TLS context by the configs, None if security.protocol has no TLS.

    Raises UsageError for contradictory properties, and InputError for invalid files.
    """
    if config["security.protocol"] not in ("SSL", "SASL_SSL"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config["ssl.endpoint.identification.algorithm"] == "https"
    set_versions(context, config["ssl.enabled.protocols"])
    set_suites(context, config[SUITES])
    load_trust(context, config)
    load_identity(context, config)
    return context


def set_versions(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Set the oldest and the newest protocol by Kafka's names ("TLSv1.3"). Raises UsageError if none of them is
    known.
    """
    versions = sorted(VERSIONS[name] for name in names if name in VERSIONS)
    if not versions:
        raise UsageError(f"ssl.enabled.protocols: none of {', '.join(VERSIONS)} in {','.join(names)!r}")
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def set_suites(context: ssl.SSLContext, names: tuple[str, ...]) -> None:
    """Set the cipher suites by Kafka's names, which are IANA's; () keeps Python's. Raises UsageError if none can be
    used.

    The suites of TLS 1.3 can be set from Python 3.15 on. Before that either all of them are used, or not this version.
    """
    if not names:
        return
    numbers = {name: number for number, name in NAMES.items()}
    for name in names:
        if name not in numbers:
            raise UsageError(f"{SUITES}: no cipher suite {name} of TLS 1.2 or 1.3{suggestion(name, numbers)}")
    known = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    known.set_ciphers("ALL:@SECLEVEL=0")
    usable = {each["id"] & 0xFFFF: str(each["name"]) for each in known.get_ciphers()}
    found = [numbers[name] for name in names if numbers[name] in usable]
    newest = [usable[number] for number in found if number in TLS13_SUITES]
    older = [usable[number] for number in found if number not in TLS13_SUITES]
    if older:
        context.set_ciphers(":".join(older))
    if newest and hasattr(context, "set_ciphersuites"):
        context.set_ciphersuites(":".join(newest))
    versions = [VERSIONS["TLSv1.2"]] * bool(older) + [VERSIONS["TLSv1.3"]] * bool(newest)
    shared = [each for each in versions if context.minimum_version <= each <= context.maximum_version]
    if not shared:
        raise UsageError(f"{SUITES}: none of {', '.join(names)} can be used with the versions of TLS that are enabled")
    context.minimum_version, context.maximum_version = shared[0], shared[-1]


def load_trust(context: ssl.SSLContext, config: ClientConfig) -> None:
    """Load the trusted certificates: those of the configs, else the system's. Raises InputError or UsageError."""
    inline, location = config["ssl.truststore.certificates"], config["ssl.truststore.location"]
    if inline and location:
        raise UsageError("ssl.truststore.certificates and ssl.truststore.location: only one of the two")
    if not inline and not location:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return
    name = location or "ssl.truststore.certificates"
    text = read_pem(location, "ssl.truststore") if location else pem_lines(inline)
    try:
        context.load_verify_locations(cadata=text)
    except ssl.SSLError as error:
        raise InputError(f"{name}: no PEM certificates that can be read ({error.reason or error})") from None


def load_identity(context: ssl.SSLContext, config: ClientConfig) -> None:
    """Load the client's own key and certificate chain, for brokers that require them (`ssl.client.auth`).

    Raises UsageError.
    """
    location = config["ssl.keystore.location"]
    chain, key = config["ssl.keystore.certificate.chain"], config["ssl.keystore.key"]
    if location:
        if chain or key:
            raise UsageError("ssl.keystore.location and ssl.keystore.key / .certificate.chain: only one of the two")
        text = read_pem(location, "ssl.keystore")
    elif chain or key:
        if not (chain and key):
            raise UsageError("ssl.keystore.key and ssl.keystore.certificate.chain: both are needed")
        text = pem_lines(key) + "\n" + pem_lines(chain)
    else:
        return
    load_pair(context, text, config["ssl.key.password"], location or "ssl.keystore.key")


def load_pair(context: ssl.SSLContext, text: str, password: str | None, name: str) -> None:
    """Load a key and certificate chain. As Python's ssl reads only files, the text is written to a private temporary
    one.

    Raises InputError.
    """
    try:
        with TemporaryFolder("kcli-key-") as folder:
            path = Path(folder) / "pair.pem"
            path.touch(0o600)
            path.write_text(text, encoding="utf-8")
            context.load_cert_chain(path, password=password or "")
    except ssl.SSLError as error:
        hint = " (is ssl.key.password right?)" if "ENCRYPTED" in text else ""
        raise InputError(f"{name}: no matching PEM key and certificate chain{hint}: {error.reason or error}") from None


def read_pem(location: str, prefix: str) -> str:
    data = Path(location).read_bytes()
    if b"-----BEGIN " not in data:
        found = "a Java or PKCS12 store" if data.startswith(JAVA_STORES) else "no PEM text"
        raise InputError(
            f"{found}; kcli reads {prefix}.type=PEM (keytool -exportcert -rfc, or openssl pkcs12, make it)",
            file=location,
        )
    return data.decode("utf-8", "replace")


def pem_lines(text: str) -> str:
    """Return PEM text with its line ends, which a property may hold as spaces."""
    if "\n" in text.strip():
        return text
    return PEM_BLOCK.sub(lambda block: "\n".join([block[1], *block[2].split(), block[3]]) + "\n", text)


def describe_tls_error(error: ssl.SSLError) -> str:
    """Return the reason of a failed handshake in plain words, such as a certificate that is not trusted."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message or error.reason}"
    reasons = {
        "WRONG_VERSION_NUMBER": "it does not speak TLS on this port (security.protocol PLAINTEXT or SASL_PLAINTEXT?)",
        "UNSUPPORTED_PROTOCOL": "no TLS version in common (ssl.enabled.protocols)",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED": "it wants a client certificate (ssl.keystore.location)",
        "SSLV3_ALERT_BAD_CERTIFICATE": "it refused the client certificate, or wants one (ssl.keystore.location)",
    }
    reason = error.reason or str(error)
    return reasons.get(reason, f"TLS failed: {reason.replace('_', ' ').lower()}")
