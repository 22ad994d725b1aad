# Packets with redacted headers, a blank payload, and new checksums.

cdef enum:
    MAC = 6
    IPV4 = 20                    # bytes of the headers
    IPV6 = 40
    TCP_HEAD = 20
    TCP = 6                      # protocol numbers
    FRAGMENT = 44
    AUTHENTICATION = 51
    RAW = 101                    # the link type of packets that begin with IP
    NOP = 1
    SACK = 5
    FILLER = 0xFF


cdef int64_t put_blank(
    Draft draft, object names, bint keep, const Packet* packet, const Segment* segment, DraftHead* head
) except -1:
    cdef const uint8_t* data = packet.data
    cdef int64_t place
    cdef uint8_t* out
    cdef uint32_t options
    head.ns, head.link, head.length, head.captured, head.ip = (
        packet.ts, packet.link, packet.length, packet.captured, segment.ip
    )
    if segment.wrapped:          # headers of a tunnel tell its owner, so the inner packet is written without them
        data += segment.ip
        head.link, head.ip = RAW, 0
        head.length = max(head.length, head.captured) - segment.ip
        head.captured -= segment.ip
    locate(data, head)
    out = draft.room(head, &place)
    memset(out, 0, head.captured)
    memcpy(out, data, head.ip)
    if not keep:
        put_hardware(names, <int>head.link, data, out)
    if head.link == 113:         # the rest of the address field, for longer addresses
        memset(out + 12, 0, 2)
    elif head.link == 276:
        memset(out + 18, 0, 2)
    if data[head.ip] >> 4 == 4:
        options = header_size(data + head.ip) - IPV4
        memcpy(out + head.ip, data + head.ip, IPV4)
        memset(out + head.ip + IPV4, NOP, options)
        put_extensions(data, out, data[head.ip + 9], head.ip + IPV4 + options, head.tcp)
        put_addresses(names, keep, data + head.ip + 12, out + head.ip + 12, 4)
    else:
        memcpy(out + head.ip, data + head.ip, IPV6)
        put_addresses(names, keep, data + head.ip + 8, out + head.ip + 8, 16)
        put_extensions(data, out, data[head.ip + 6], head.ip + IPV6, head.tcp)
    memcpy(out + head.tcp, data + head.tcp, TCP_HEAD)
    put_options(
        data + head.tcp + TCP_HEAD, out + head.tcp + TCP_HEAD, min(head.payload, head.captured) - head.tcp - TCP_HEAD
    )
    if segment.captured:
        memset(out + (segment.data - data), FILLER, segment.captured)
    return place


cdef void locate(const uint8_t* data, DraftHead* head) noexcept:
    """Find the offsets of TCP and the payload in a packet that has them (packets.h)."""
    cdef uint32_t at = head.ip + header_size(data + head.ip)
    cdef int kind = data[head.ip + (9 if data[head.ip] >> 4 == 4 else 6)]
    while kind != TCP:
        at, kind = at + extension_size(data + at, kind), data[at]
    head.tcp = at
    head.payload = head.tcp + (data[head.tcp + 12] >> 4) * 4


cdef inline uint32_t header_size(const uint8_t* ip) noexcept:
    return (ip[0] & 15) * 4 if ip[0] >> 4 == 4 else IPV6


cdef inline uint32_t extension_size(const uint8_t* at, int kind) noexcept:
    return 8 if kind == FRAGMENT else (at[1] + 2) * 4 if kind == AUTHENTICATION else (at[1] + 1) * 8


cdef int put_hardware(object names, int link, const uint8_t* data, uint8_t* out) except -1:
    if link == 1:
        put_name(names.mac, data, out, MAC)
        put_name(names.mac, data + MAC, out + MAC, MAC)
    elif link == 113:
        put_name(names.mac, data + 6, out + 6, MAC)
    elif link == 276:
        put_name(names.mac, data + 12, out + 12, MAC)
    return 0


cdef int put_addresses(object names, bint keep, const uint8_t* data, uint8_t* out, int size) except -1:
    if not keep:
        put_name(names.address, data, out, size)
        put_name(names.address, data + size, out + size, size)
    return 0


cdef int put_name(object name, const uint8_t* data, uint8_t* out, int size) except -1:
    cdef bytes made = name(PyBytes_FromStringAndSize(<const char*>data, size))
    if PyBytes_GET_SIZE(made) != size:
        raise ValueError(f"{PyBytes_GET_SIZE(made)} bytes in place of {size}")
    memcpy(out, PyBytes_AS_STRING(made), size)
    return 0


cdef void put_extensions(const uint8_t* data, uint8_t* out, int kind, uint32_t at, uint32_t tcp) noexcept:
    """Copy type and size of each extension header of IP; the first one is at `at`."""
    while at < tcp and kind != TCP:
        memcpy(out + at, data + at, 2)
        at, kind = at + extension_size(data + at, kind), data[at]


cdef void put_options(const uint8_t* data, uint8_t* out, int size) noexcept:
    """Copy TCP's options; replace unknown ones by NOPs."""
    cdef int at = 0, kind, long
    if size <= 0:
        return
    memset(out, NOP, size)
    while at < size and data[at]:
        kind = data[at]
        long = data[at + 1] if kind != NOP and at + 1 < size else 1
        if (
            (kind == 2 and long == 4)
            or (kind == 3 and long == 3)
            or (kind == 4 and long == 2)
            or (kind == 8 and long == 10)
            or (kind == SACK and long % 8 == 2)
        ):
            memcpy(out + at, data + at, min(long, size - at))
        at += max(long, 1)


cdef void set_checksums(uint8_t* data, const DraftHead* head) noexcept:
    """Compute the checksums of IP and TCP (RFC 1071); TCP's is 0 if the packet was cut."""
    cdef uint32_t ip = head.ip, tcp = head.tcp, end
    cdef uint64_t total
    cdef uint8_t[8] pseudo
    if data[ip] >> 4 == 4:
        put_sum(data + ip + 10, 0)
        put_sum(data + ip + 10, checksum_of(words(data + ip, header_size(data + ip))))
        end = be16(data + ip + 2)
        end = ip + (end if end else head.length - ip)
        total = words(data + ip + 12, 8)
    else:
        end = be16(data + ip + 4)
        end = ip + IPV6 + (end if end else head.length - ip - IPV6)
        total = words(data + ip + 8, 32)
    put_sum(data + tcp + 16, 0)
    if end > head.captured:
        return
    memset(pseudo, 0, 8)
    pseudo[0], pseudo[1] = (end - tcp) >> 24, (end - tcp) >> 16 & 255
    pseudo[2], pseudo[3], pseudo[7] = (end - tcp) >> 8 & 255, (end - tcp) & 255, TCP
    put_sum(data + tcp + 16, checksum_of(total + words(pseudo, 8) + words(data + tcp, end - tcp)))


cdef uint64_t words(const uint8_t* data, size_t n) noexcept:
    """Return the sum of 16-bit words in this machine's byte order, which `put_sum` corrects."""
    cdef uint64_t total = 0
    cdef uint32_t four
    cdef uint8_t[4] rest
    while n >= 4:
        memcpy(&four, data, 4)
        total += four
        data += 4
        n -= 4
    memset(rest, 0, 4)
    memcpy(rest, data, n)
    memcpy(&four, rest, 4)
    return total + four


cdef uint32_t checksum_of(uint64_t total) noexcept:
    """Return the checksum that complements a sum; 0 for a sum of 0, and never 0xFFFF."""
    total %= 0xFFFF
    return 0xFFFF - <uint32_t>(total if total else 0xFFFF)


cdef inline void put_sum(uint8_t* at, uint32_t value) noexcept:
    cdef uint16_t two = <uint16_t>value
    memcpy(at, &two, 2)
