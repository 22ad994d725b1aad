"""The checksum of IP and TCP: the oracle of kcli.core.capture.checksums."""


def sum_of(data: bytes | bytearray | memoryview) -> int:
    """The sum of 16-bit words that checksums are made of (RFC 1071), modulo 2^16 - 1; an odd byte ends a word of zero.

    2^16 is 1 in that arithmetic, so that the sum of the words is the number that the bytes are.
    """
    return int.from_bytes(data if len(data) % 2 == 0 else bytes(data) + b"\0", "big") % 0xFFFF
