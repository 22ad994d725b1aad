/* From a captured packet to its TCP segment: link layers, IPv4, IPv6 with extension headers, TCP.
 *
 * The grammar of the same layers, which tests hold this against, is kcli/grammar/files/network.py. */
#ifndef KCLI_PACKETS_H
#define KCLI_PACKETS_H

#include <arpa/inet.h>

#include "bytes.h"
#include "json_text.h"

enum { KC_NOT_TCP = 0, KC_TCP = 1, KC_CUT = 2, KC_FRAGMENT = 3, KC_LINK_UNKNOWN = 4 };
enum { KC_FIN = 1, KC_SYN = 2, KC_RST = 4, KC_ACK = 16 };

typedef struct {
    uint64_t ts;              /* nanoseconds since 1970 */
    const uint8_t *data;
    uint32_t captured;        /* bytes here */
    uint32_t length;          /* bytes on the wire */
    int link;                 /* LINKTYPE_ number */
} kc_packet;

/* Two ends in a fixed order (`swapped`: the sender is the second), so that both directions have one key. */
typedef struct {
    uint64_t address[2][2];   /* as on the wire; an IPv4 address stands in the second half's last four bytes */
    uint16_t port[2];
    uint16_t version;         /* 4 or 6 */
    uint16_t unused;
} kc_ends;

typedef struct {
    uint64_t ts;
    kc_ends ends;
    int from;                 /* which end sent it: 0 or 1 */
    uint32_t seq, ack;
    uint8_t flags;
    uint16_t window;             /* as it stands in the header, before any scale */
    const uint8_t *data;
    uint32_t captured, length;   /* of the payload: bytes here, bytes on the wire */
} kc_segment;

enum { KC_END_ROOM = 64 };    /* characters of an end's text, at most */

/* "address:port", an IPv6 address in brackets. */
static inline char *kc_put_end(char *p, const kc_ends *e, int d) {
    uint8_t address[16];
    if (e->version == 4) {
        for (int shift = 24; shift >= 0; shift -= 8) {
            p = kc_u64(p, e->address[d][1] >> shift & 255);
            *p++ = shift ? '.' : ':';
        }
        return kc_u64(p, e->port[d]);
    }
    kc_set64(address, e->address[d][0]);
    kc_set64(address + 8, e->address[d][1]);
    *p++ = '[';
    inet_ntop(AF_INET6, address, p, INET6_ADDRSTRLEN);
    p += strlen(p);
    *p++ = ']';
    *p++ = ':';
    return kc_u64(p, e->port[d]);
}

static inline uint64_t kc_mix(uint64_t h) {
    h ^= h >> 32; h *= 0xd6e8feb86659fd93ULL; h ^= h >> 32; h *= 0xd6e8feb86659fd93ULL; h ^= h >> 32;
    return h;
}

static inline uint64_t kc_hash_ends(const kc_ends *e) {
    uint64_t h = e->address[0][1] * 0x9e3779b97f4a7c15ULL ^ e->address[0][0];
    h = kc_mix(h ^ e->address[1][1]) ^ e->address[1][0];
    return kc_mix(h + ((uint64_t)e->port[0] << 32 | (uint64_t)e->port[1] << 16 | e->version));
}

static inline int kc_dissect_tcp(const uint8_t *p, uint32_t n, uint32_t length, kc_segment *s) {
    if (n < 20) return KC_CUT;
    uint32_t header = (uint32_t)(p[12] >> 4) * 4;
    if (header < 20 || header > length) return KC_NOT_TCP;
    s->seq = kc_be32(p + 4);
    s->ack = kc_be32(p + 8);
    s->flags = p[13];
    s->window = kc_be16(p + 14);
    s->length = length - header;
    s->captured = n > header ? n - header : 0;
    if (s->captured > s->length) s->captured = s->length;   /* padding of the link */
    s->data = p + (n > header ? header : n);
    return KC_TCP;
}

static inline void kc_set_ends(kc_segment *s, const uint64_t a[2], const uint64_t b[2], uint16_t pa, uint16_t pb, int version) {
    int from = a[0] != b[0] ? a[0] > b[0] : a[1] != b[1] ? a[1] > b[1] : pa > pb;
    s->from = from;
    s->ends.address[from][0] = a[0];
    s->ends.address[from][1] = a[1];
    s->ends.address[!from][0] = b[0];
    s->ends.address[!from][1] = b[1];
    s->ends.port[from] = pa;
    s->ends.port[!from] = pb;
    s->ends.version = (uint16_t)version;
    s->ends.unused = 0;
}

/* `length` is what was on the wire; it stands in for a total length of 0, as segmentation offload leaves it. */
static int kc_dissect_ip4(const uint8_t *p, uint32_t n, uint32_t length, kc_segment *s) {
    if (n < 20) return KC_CUT;
    uint32_t header = (uint32_t)(p[0] & 15) * 4, total = kc_be16(p + 2);
    if (!total) total = length;
    if (header < 20 || total < header) return KC_NOT_TCP;
    if (p[9] != 6) return KC_NOT_TCP;
    if (kc_be16(p + 6) & 0x3fff) return KC_FRAGMENT;
    if (n > total) n = total;
    if (n < header + 20) return KC_CUT;
    uint64_t a[2] = {0, kc_be32(p + 12)}, b[2] = {0, kc_be32(p + 16)};
    kc_set_ends(s, a, b, kc_be16(p + header), kc_be16(p + header + 2), 4);
    return kc_dissect_tcp(p + header, n - header, total - header, s);
}

static int kc_dissect_ip6(const uint8_t *p, uint32_t n, uint32_t length, kc_segment *s) {
    if (n < 40) return KC_CUT;
    uint32_t total = kc_be16(p + 4), at = 40;
    int next = p[6];
    total = total ? total + 40 : length;   /* 0: a jumbogram, or segmentation offload */
    if (n > total) n = total;
    while (next != 6) {
        if (next != 0 && next != 43 && next != 44 && next != 51 && next != 60 && next != 135 && next != 139 && next != 140) return KC_NOT_TCP;
        if (n < at + 8) return KC_CUT;
        if (next == 44 && (kc_be16(p + at + 2) & 0xfff9)) return KC_FRAGMENT;
        uint32_t size = next == 44 ? 8 : next == 51 ? ((uint32_t)p[at + 1] + 2) * 4 : ((uint32_t)p[at + 1] + 1) * 8;
        next = p[at];
        at += size;
    }
    if (total < at) return KC_NOT_TCP;
    if (n < at + 20) return KC_CUT;
    uint64_t a[2] = {kc_be64(p + 8), kc_be64(p + 16)}, b[2] = {kc_be64(p + 24), kc_be64(p + 32)};
    kc_set_ends(s, a, b, kc_be16(p + at), kc_be16(p + at + 2), 6);
    return kc_dissect_tcp(p + at, n - at, total - at, s);
}

static inline int kc_dissect_ip(const uint8_t *p, uint32_t n, uint32_t length, kc_segment *s) {
    if (!n) return KC_CUT;
    if (p[0] >> 4 == 4) return kc_dissect_ip4(p, n, length, s);
    if (p[0] >> 4 == 6) return kc_dissect_ip6(p, n, length, s);
    return KC_NOT_TCP;
}

/* What follows an EtherType at `at`, past any VLAN tags (802.1Q, 802.1ad, and 0x9100 of old switches). */
static inline int kc_dissect_ethertype(const uint8_t *p, uint32_t n, uint32_t length, uint32_t at, kc_segment *s) {
    for (;;) {
        if (n < at + 2) return KC_CUT;
        uint16_t type = kc_be16(p + at);
        at += 2;
        if (type == 0x0800 || type == 0x86dd) return n < at || length < at ? KC_CUT : kc_dissect_ip(p + at, n - at, length - at, s);
        if (type != 0x8100 && type != 0x88a8 && type != 0x9100) return KC_NOT_TCP;
        at += 2;
    }
}

/* BSD loopback: the address family in the byte order of the machine that captured (NULL) or of the network (LOOP). */
static inline int kc_dissect_loopback(const kc_packet *k, kc_segment *s) {
    if (k->captured < 4 || k->length < 4) return KC_CUT;
    return kc_dissect_ip(k->data + 4, k->captured - 4, k->length - 4, s);
}

static int kc_dissect(const kc_packet *k, kc_segment *s) {
    const uint8_t *p = k->data;
    uint32_t n = k->captured, length = k->length;
    s->ts = k->ts;
    if (length < n) length = n;
    switch (k->link) {
        case 1: return kc_dissect_ethertype(p, n, length, 12, s);
        case 113: return kc_dissect_ethertype(p, n, length, 14, s);
        case 276: {
            if (n < 20 || length < 20) return KC_CUT;
            uint16_t type = kc_be16(p);
            if (type != 0x0800 && type != 0x86dd) {
                if (type != 0x8100 && type != 0x88a8) return KC_NOT_TCP;
                return kc_dissect_ethertype(p, n, length, 22, s);
            }
            return kc_dissect_ip(p + 20, n - 20, length - 20, s);
        }
        case 0: case 108: return kc_dissect_loopback(k, s);
        case 12: case 14: case 101: case 228: case 229: return kc_dissect_ip(p, n, length, s);
    }
    return KC_LINK_UNKNOWN;
}

#endif
