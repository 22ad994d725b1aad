"""Recognizes input of another kind than expected: a capture given to `decode request`, hex text, a message."""

import contextlib
import gzip
import io
import re
import zlib

from kcli.base64_text import unbase64
from kcli.errors import InputError, KcliError

LOOKED_AT = 1 << 18  # bytes: a block of zstd is smaller
ENOUGH = 64  # bytes to decompress of gzip or zstd
LEAST_REQUEST = 10  # bytes: API key, version, correlation id, length of the client id
LARGEST_BATCH = 1 << 30  # bytes
HEX_TEXT = re.compile(rb"(?:0x|\\x)?[0-9a-fA-F]{2}[0-9a-fA-FxX\\:,\s]{6,}")
BASE64_TEXT = re.compile(rb"[0-9A-Za-z+/_-]{12,}={0,2}")
TEXT = re.compile(rb"[\t\n\r\x1b -\x7e\x80-\xff]++")
ESCAPED = re.compile(rb"(?:0x|\\x)[0-9a-fA-F]")
# The columns of xxd (`00000000: 0003 0001  ....`), hexdump -C and tshark -x (`00000000  00 03 00 01  |....|`).
DUMP = re.compile(rb"\s*[0-9a-fA-F]{4,16}(?::\s|\s{2,})(?:[0-9a-fA-F]{2}){1,4}[ \r\n]")
PCAP = re.compile(rb"(?:\xa1\xb2(?:\xc3\xd4|\x3c\x4d|\xcd\x34)\x00\x02|(?:\xd4\xc3|\x4d\x3c|\x34\xcd)\xb2\xa1\x02\x00)")
PCAPNG = re.compile(rb"\n\r\r\n.{4}(?:\x1a\x2b\x3c\x4d|\x4d\x3c\x2b\x1a)", re.DOTALL)
JSON = re.compile(rb"\s*\{\s*\"[A-Za-z]\w*\"\s*:")
GZIP, ZSTD, PARQUET = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PAR1"
READERS = {
    "a capture": "kcli decode pcap",
    "hex text": "kcli decode request --hex",
    "base64 text": "kcli decode request --base64",
    "hex text of record batches": "kcli decode batch --hex",
    "base64 text of record batches": "kcli decode batch --base64",
    "JSON": "kcli encode",
    "a Parquet file": "kcli sql",
    "record batches": "kcli decode segment",
}
COMPRESSED = {GZIP: "gzip", ZSTD: "zstd"}


def recognized(data: bytes | memoryview, *, certain: bool = False) -> str | None:
    """Describe the kind of some bytes and its reader: "looks like a capture: kcli decode pcap reads that".

    Return None for an unknown kind. certain: only name kinds that cannot begin a message or a record batch.
    """
    start = bytes(data[:LOOKED_AT])
    kind = kind_of(start) or (None if certain else kind_of_kafka(start))
    if kind is None:
        return None
    if kind in COMPRESSED.values():
        return f"compressed by {kind}: only captures are read so; decompress it first"
    return f"looks like {kind}: {READERS.get(kind, 'kcli decode request')} reads that"


def kind_of(start: bytes) -> str | None:
    """Return a key of READERS, or "gzip" or "zstd" if something other than a capture is compressed."""
    if PCAP.match(start) or PCAPNG.match(start):
        return "a capture"
    for magic, name in COMPRESSED.items():
        if start.startswith(magic):
            inside = unpacked(start)
            return "a capture" if PCAP.match(inside) or PCAPNG.match(inside) else name
    if HEX_TEXT.fullmatch(start.strip()) or DUMP.match(start):
        return text_kind("hex text", hex_bytes(start), start) or "hex text"
    if start.startswith(PARQUET):
        return "a Parquet file"
    if JSON.match(start):
        return kind_of_source(start) or "JSON"
    return kind_of_base64(start) or kind_of_source(start)


def kind_of_source(start: bytes) -> str | None:
    """Return the kind of text with one message in a form that --hex reads: an array or string of source code, a list of
    numbers, or a dump of any tool. Numbers that are no request may mean anything, but 0x and escapes mean bytes.
    """
    data = hex_bytes(start) if TEXT.fullmatch(start) else b""
    found = text_kind("hex text", data, start) if data else None
    return found or ("hex text" if data and ESCAPED.search(start) else None)


def kind_of_base64(start: bytes) -> str | None:
    """Return the kind of base64 text whose bytes begin as a request or a record batch; None for plain words."""
    text = b"".join(start.split())
    data = unbase64(text[: len(text) // 4 * 4]) if BASE64_TEXT.fullmatch(text) else b""
    return text_kind("base64 text", data, start)


def text_kind(form: str, data: bytes, start: bytes) -> str | None:
    """Return a key of READERS if the bytes of a text begin as a request or a record batch, else None. form: the text's
    encoding. start: the beginning of the text.
    """
    from kcli.records.recognition import begins_batch

    if begins_request(data, whole=len(start) < LOOKED_AT):
        return form
    return f"{form} of record batches" if begins_batch(data) else None


def hex_bytes(start: bytes) -> bytes:
    """Return the bytes of hex text, whose last byte may be incomplete; b"" for other text."""
    from kcli.hex_text import unhex

    for text in (start, start[:-1]):
        with contextlib.suppress(InputError):
            return unhex(text)
    return b""


def begins_request(start: bytes, *, whole: bool = True) -> bool:
    """Return whether bytes begin as a request of a known version, with or without its length. The length, or a plain
    client id, has to confirm it. whole: these are all the bytes.
    """
    from kcli.grammar.request_start import PREFIX, api_of, client_id_of, starts_with_length
    from kcli.schemas.catalog import catalog

    framed = whole and starts_with_length(start)
    frame = start[PREFIX:] if framed else start
    if len(frame) < LEAST_REQUEST or not catalog().knows(*api_of(frame)):
        return False
    client = client_id_of(frame)
    return framed or bool(client and client.isascii() and client.decode().isprintable())


def unpacked(start: bytes) -> bytes:
    """Return the first decompressed bytes of gzip or zstd; b"" for anything else."""
    with contextlib.suppress(zlib.error, OSError, EOFError):
        if start.startswith(GZIP):
            return gzip.GzipFile(fileobj=io.BytesIO(start)).read1(ENOUGH)
        import zstandard

        with contextlib.suppress(zstandard.ZstdError):
            return zstandard.ZstdDecompressor().stream_reader(start).read(ENOUGH)
    return b""


def kind_of_kafka(start: bytes) -> str | None:
    """Return "a Metadata v12 request" or "record batches" if the bytes begin with a whole one; else None. A request may
    have its length in front.
    """
    from kcli.grammar.frames import decode_request
    from kcli.schemas.catalog import catalog

    for frame in (start, start[4:]):
        with contextlib.suppress(KcliError):
            request = decode_request(frame)
            if catalog().knows(request.api_key, request.api_version) and "_trailing" not in request.body:
                return f"{'an' if request.title[0] in 'AEIOU' else 'a'} {request.title} request"
    size = int.from_bytes(start[8:12], "big", signed=True)
    most = LARGEST_BATCH if len(start) == LOOKED_AT else len(start) - 12
    return "record batches" if start[:2] == b"\0\0" and start[16:17] <= b"\2" and 14 <= size <= most else None
