"""Names the protocol of bytes that are not Kafka's, as other protocols reach clients and brokers at wrong ports."""

import re
from collections.abc import Callable

from kcli.capture.tls.handshake import alert_text
from kcli.grammar.files import tls
from kcli.grammar.files.proxy_protocol import LINE, SIGNATURE
from kcli.grammar.request_start import PREFIX

HTTP = re.compile(rb"(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT|TRACE) [/*a-z]|PRI \* HTTP/2|HTTP/[1-3]")
GSS_TOKEN = b"\x60"  # [APPLICATION 0] of ASN.1; a length and a mechanism's object identifier follow (RFC 2743, 3.1)
MECHANISMS = {
    b"\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02": "Kerberos",
    b"\x06\x06\x2b\x06\x01\x05\x05\x02": "SPNEGO",
    b"\x06\x0a\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a": "NTLM",
}
NTLM = b"NTLMSSP\0"  # a little-endian message type follows (MS-NLMP, 2.2.1)
NTLM_MESSAGES = {1: "negotiate", 2: "challenge", 3: "authenticate"}
SSL2_HELLO = re.compile(rb"[\x80-\xff].\x01(?:\x00\x02|\x03[\x00-\x04])", re.DOTALL)  # length, message type and version
# ZooKeeper's commands, words of four letters (FourLetterCommands), and the responses to some of them.
ZOOKEEPER_WORD = re.compile(
    rb"(?:conf|cons|crst|dirs|dump|envi|gtmk|hash|isro|mntr|ruok|srst|srvr|stat|stmk|wchc|wchp|wchs)\s*"
)
ZOOKEEPER_ANSWER = re.compile(rb"imok\s*$|Zookeeper version: |zk_version\t|This ZooKeeper instance is |clientPort=\d")


def protocol_of(data: bytes | bytearray) -> str:
    """Return the name of the protocol that the bytes begin with; "" if unknown."""
    start = bytes(data[:64])
    for name_of in NAMERS:
        if name := name_of(start):
            return name
    return ""


def tls_name(start: bytes) -> str:
    if SSL2_HELLO.match(start):
        return "TLS (a ClientHello in the form of SSL 2)"
    if not tls.is_record_header(start):
        return ""
    kind, rest = start[0], start[tls.HEADER :]
    if kind == tls.HANDSHAKE:
        messages = {b"\1": "a ClientHello", b"\2": "a ServerHello"}
        return f"TLS ({messages.get(rest[:1], 'a handshake message')})"
    if kind == tls.ALERT and len(rest) >= tls.ALERT_MESSAGE.sizeof():
        return f"TLS ({alert_text(rest[1])})"
    return "TLS (a record)"


def http_name(start: bytes) -> str:
    if HTTP.match(start) is None:
        return ""
    return "HTTP (an answer)" if start.startswith(b"HTTP/") else "HTTP (a request)"


def ssh_name(start: bytes) -> str:
    return "SSH" if start.startswith(b"SSH-") else ""


def gss_name(start: bytes) -> str:
    """Describe a GSSAPI token, with or without its length in front; "" for other bytes."""
    for at in (PREFIX, 0):
        if mechanism := token_mechanism(start[at:]):
            return f"a token of GSSAPI ({mechanism})"
    return ""


def ntlm_name(start: bytes) -> str:
    """Describe an NTLM token, with or without its length in front; "" for other bytes."""
    for at in (PREFIX, 0):
        if start.startswith(NTLM, at):
            kind = int.from_bytes(start[at + len(NTLM) : at + len(NTLM) + 4], "little")
            return f"a token of NTLM ({NTLM_MESSAGES.get(kind, 'of an unknown kind')})"
    return ""


def zookeeper_name(start: bytes) -> str:
    if ZOOKEEPER_WORD.fullmatch(start):
        return "ZooKeeper (a four-letter word)"
    return "ZooKeeper (an answer)" if ZOOKEEPER_ANSWER.match(start) else ""


def token_mechanism(token: bytes | bytearray) -> str:
    """Return the mechanism of the GSSAPI token at the start; "" for other bytes."""
    if bytes(token[:1]) != GSS_TOKEN or len(token) < 2:
        return ""
    behind = 2 + (token[1] & 0x7F if token[1] & 0x80 else 0)
    found = bytes(token[behind : behind + 16])
    return next((name for oid, name in MECHANISMS.items() if found.startswith(oid)), "")


def proxy_name(start: bytes) -> str:
    if start.startswith(LINE):
        return "a header of the PROXY protocol (version 1)"
    return "a header of the PROXY protocol (version 2)" if start.startswith(SIGNATURE) else ""


def other_name(start: bytes) -> str:
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), "")


MAGICS = {
    b"AMQP": "AMQP",
    b"220 ": "SMTP or FTP (a greeting)",
    b"*1\r\n$": "Redis",
    b"\x7fELF": "an ELF program",
    b"PK\x03\x04": "a zip archive",
}
NAMERS: tuple[Callable[[bytes], str], ...] = (
    tls_name, http_name, ssh_name, proxy_name, gss_name, ntlm_name, zookeeper_name, other_name,
)  # fmt: skip
