"""Grammars of the headers from IP on: IPv4 RFC 791, IPv6 RFC 8200, authentication header RFC 4302, TCP RFC 9293; for
headers before IP see kcli.grammar.files.tunnels. The core reads them in core/capture/packets.h; tests compare it with a
reader by these grammars (tests/oracle/tcp/dissection.py).
"""

from construct import BitsInteger, BitStruct, Bytes, Bytewise, Flag, Int8ub, Int16ub, Int32ub, Octet, Struct

FIN, SYN, RST, ACK = 1, 2, 4, 16
ipv4 = BitStruct(
    "version" / BitsInteger(4), "ihl" / BitsInteger(4), "type_of_service" / Octet, "total_length" / Bytewise(Int16ub),
    "identification" / Bytewise(Int16ub),
    "flags" / BitsInteger(2), "more_fragments" / Flag, "fragment_offset" / BitsInteger(13),
    "time_to_live" / Octet, "protocol" / Octet, "header_checksum" / Bytewise(Int16ub),
    "source" / Bytewise(Bytes(4)), "destination" / Bytewise(Bytes(4)),
)  # fmt: skip
ipv6 = BitStruct(
    "version" / BitsInteger(4), "traffic_class" / BitsInteger(8), "flow_label" / BitsInteger(20),
    "payload_length" / Bytewise(Int16ub), "next_header" / Octet, "hop_limit" / Octet,
    "source" / Bytewise(Bytes(16)), "destination" / Bytewise(Bytes(16)),
)  # fmt: skip
extension = Struct("next_header" / Int8ub, "length" / Int8ub, "rest" / Bytes(6))
fragment = BitStruct(
    "next_header" / Octet, "reserved" / Octet,
    "fragment_offset" / BitsInteger(13), "spare" / BitsInteger(2), "more_fragments" / Flag,
    "identification" / Bytewise(Int32ub),
)  # fmt: skip
tcp = BitStruct(
    "source" / Bytewise(Int16ub), "destination" / Bytewise(Int16ub),
    "sequence" / Bytewise(Int32ub), "acknowledgment" / Bytewise(Int32ub),
    "data_offset" / BitsInteger(4), "reserved" / BitsInteger(4), "flags" / Octet,
    "window" / Bytewise(Int16ub), "checksum" / Bytewise(Int16ub), "urgent_pointer" / Bytewise(Int16ub),
)  # fmt: skip
