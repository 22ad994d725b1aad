/* Finds the TCP segment in a captured packet: link layers, tunnels, IPv4, IPv6 with extension headers, TCP.
 *
 * Tests compare this with a reader by grammars (tests/oracle/tcp/dissection.py). */
#ifndef KCLI_PACKETS_H
#define KCLI_PACKETS_H

#include "bytes.h"
#include "ends.h"

enum { KC_NOT_TCP = 0, KC_TCP = 1, KC_CUT = 2, KC_FRAGMENT = 3, KC_LINK_UNKNOWN = 4 };
enum { KC_FIN = 1, KC_SYN = 2, KC_RST = 4, KC_ACK = 16 };
enum { KC_MORE = 1 };                                 /* of a fragment: others follow */
enum { KC_NO_SACK = 0, KC_SACK = 1, KC_DSACK = 2 };   /* selective acknowledgement: a hole, or bytes received twice */

typedef struct {
    uint64_t ts;              /* nanoseconds since 1970 */
    const uint8_t *data;
    uint32_t captured;        /* bytes here */
    uint32_t length;          /* bytes on the wire */
    int link;                 /* LINKTYPE_ number */
    uint32_t interface;       /* of its file */
} kc_packet;

typedef struct {
    uint64_t ts;
    kc_ends ends;
    int from;                 /* the sender's end: 0 or 1 */
    uint32_t seq, ack;
    uint8_t flags;
    uint8_t sack;
    uint16_t window;             /* as in the header, not scaled */
    const uint8_t *data;
    uint32_t captured, length;   /* of the payload: bytes here, bytes on the wire */
    uint32_t path;            /* a hash of the interface, tags, labels and tunnels of the packet; never 0 */
    uint32_t ip;              /* the offset of the innermost IP header in the packet */
    uint32_t unread;          /* of a packet without a segment: see KC_UNREAD */
    uint8_t wrapped;          /* there are layers before IP other than a link layer and VLAN tags */
    uint16_t id;              /* the identification in its IPv4 header; 0: none */
} kc_segment;
/* In an IP fragment (KC_FRAGMENT), `seq` is the identification, `ack` its place in the datagram's payload, `flags`
 * KC_MORE or 0, `window` the protocol; ports are 0; `data`, `captured` and `length` are of its payload; `unread`: it
 * is, or may be, UDP without a tunnel. */

/* The kind of a packet without a segment: its tunnel, the registry that names its protocol, and the protocol's number.
 * The names are in kcli.grammar.files.tunnels. */
#define KC_UNREAD(tunnel, registry, number) ((uint32_t)(tunnel) << 24 | (uint32_t)(registry) << 16 | (uint32_t)(number))
enum { KC_NO_TUNNEL, KC_VXLAN, KC_GENEVE, KC_GRE, KC_ERSPAN, KC_IP_IN_IP, KC_PPPOE, KC_MPLS, KC_NSH, KC_ETHER_IP };
enum { KC_NAMELESS, KC_ETHERTYPE, KC_IP_PROTOCOL, KC_UDP_PORT, KC_PPP_PROTOCOL, KC_LLC_SAP, KC_LINK_TYPE };

/* Returns KC_DSACK if the first block of the SACK option is below the acknowledgement or within the second block,
 * KC_SACK if it is beyond (RFC 2018, 2883). */
static inline uint8_t kc_sack_of(const uint8_t *p, uint32_t n, uint32_t ack) {
    for (uint32_t at = 20; at + 1 < n && p[at];) {
        if (p[at] == 1) { at++; continue; }
        uint32_t size = p[at + 1];
        if (size < 2 || at + size > n) break;
        if (p[at] == 5 && size >= 10) {
            uint32_t left = kc_be32(p + at + 2), right = kc_be32(p + at + 6);
            if ((int32_t)(right - ack) <= 0) return KC_DSACK;
            if (size >= 18 && (int32_t)(left - kc_be32(p + at + 10)) >= 0 &&
                (int32_t)(right - kc_be32(p + at + 14)) <= 0)
                return KC_DSACK;
            return KC_SACK;
        }
        at += size;
    }
    return KC_NO_SACK;
}

static inline int kc_dissect_tcp(const uint8_t *p, uint32_t n, uint32_t length, kc_segment *s) {
    if (n < 20) return KC_CUT;
    uint32_t header = (uint32_t)(p[12] >> 4) * 4;
    if (header < 20 || header > length) return KC_NOT_TCP;
    s->seq = kc_be32(p + 4);
    s->ack = kc_be32(p + 8);
    s->flags = p[13];
    s->window = kc_be16(p + 14);
    /* 32: with no more than a time stamp */
    s->sack = header > 32 && n >= header ? kc_sack_of(p, header, s->ack) : KC_NO_SACK;
    s->length = length - header;
    s->captured = n > header ? n - header : 0;
    if (s->captured > s->length) s->captured = s->length;   /* padding of the link */
    s->data = p + (n > header ? header : n);
    return KC_TCP;
}

static inline void kc_set_ends(
    kc_segment *s, const uint64_t a[2], const uint64_t b[2], uint16_t pa, uint16_t pb, int version
) {
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

/* Each step consumes at least a byte of the packet, so layers end. */
static __attribute__((noinline)) int kc_dissect_layers(const kc_packet *k, kc_segment *s) {
    const uint8_t *p = k->data;
    uint32_t n = k->captured, length = k->length;
    uint32_t path = kc_path(0, 0, k->interface), size, total, tunnel = KC_NO_TUNNEL;
    int layer = KC_L_LINK, link = k->link, next, version;
    uint16_t type = 0;
    s->ts = k->ts;
    s->wrapped = 0;
    s->unread = 0;
    if (length < n) length = n;

/* A packet too short for a tunnel's contents was never whole. */
#define KC_NEED(x) do { \
    if (length < (uint32_t)(x) && tunnel) KC_STOP(KC_NAMELESS, 0); \
    if (n < (uint32_t)(x) || length < (uint32_t)(x)) return KC_CUT; \
} while (0)
#define KC_SKIP(x) do { \
    uint32_t skipped = (x); \
    KC_NEED(skipped); \
    p += skipped; n -= skipped; length -= skipped; \
} while (0)
#define KC_STOP(registry, number) do { s->unread = KC_UNREAD(tunnel, registry, number); return KC_NOT_TCP; } while (0)
#define KC_ENTER(kind, id) do { tunnel = kind; s->wrapped = 1; path = kc_path(path, kind, id); } while (0)

    for (;;) switch (layer) {
    case KC_L_LINK:
        switch (link) {
        case 1: layer = KC_L_ETHERNET; break;
        case 0: case 108: KC_SKIP(4); layer = KC_L_IP; break;      /* BSD loopback: an address family */
        case 12: case 14: case 101: case 228: case 229: layer = KC_L_IP; break;
        case 113: KC_NEED(16); KC_SKIP(14); layer = KC_L_TYPE; break;
        case 276:
            KC_NEED(20);
            type = kc_be16(p);
            if (kc_be32(p + 4)) path = kc_path(path, KC_LINK_TYPE, kc_be32(p + 4));
            KC_SKIP(20);
            layer = KC_L_TYPED;
            break;
        case 9: case 50: layer = KC_L_PPP; s->wrapped = 1; break;
        case 51: layer = KC_L_PPPOE; break;
        case 104: KC_SKIP(2); layer = KC_L_TYPE; s->wrapped = 1; break;
        case 109: KC_SKIP(12); layer = KC_L_IP; s->wrapped = 1; break;
        case 166: case 204:
            KC_SKIP(link == 204 || (n > 1 && p[1] != 3) ? 1 : 2);
            layer = KC_L_PPP;
            s->wrapped = 1;
            break;
        case 219: layer = KC_L_MPLS; break;
        case 117:                                                  /* pflog: its length, then filled up to four bytes */
            KC_NEED(20);
            path = kc_path(path, KC_LINK_TYPE, kc_be32(p + 4) ^ kc_be32(p + 8));
            KC_SKIP(((uint32_t)p[0] + 3) & ~3U);
            s->wrapped = 1;
            layer = KC_L_IP;
            break;
        case 258:                                                  /* pktap: length, kind, link type, interface name */
            KC_NEED(20);
            size = kc_le32(p);
            link = (int)kc_le32(p + 8);
            if (size > 0xffff) {
                size = kc_be32(p);
                link = (int)kc_be32(p + 8);
            }
            if (size < 20) KC_STOP(KC_LINK_TYPE, 258);
            path = kc_path(path, KC_LINK_TYPE, kc_be32(p + 12) ^ kc_be32(p + 16));
            KC_SKIP(size);
            s->wrapped = 1;
            break;
        default:
            s->unread = KC_UNREAD(tunnel, KC_LINK_TYPE, link & 0xffff);
            return KC_LINK_UNKNOWN;
        }
        break;

    case KC_L_ETHERNET:
        KC_NEED(14);
        KC_SKIP(12);
        layer = KC_L_TYPE;
        break;

    case KC_L_TYPE:
        KC_NEED(2);
        type = kc_be16(p);
        KC_SKIP(2);
        layer = KC_L_TYPED;
        break;

    case KC_L_TYPED:                                               /* `type` stood before `p` */
        switch (type) {
        case 0x0800: case 0x86dd: layer = KC_L_IP; break;
        case 0x8100: case 0x88a8: case 0x9100:                     /* 802.1Q, 802.1ad, old switches */
            KC_NEED(4);
            if (kc_be16(p) & 0xfff) path = kc_path(path, 0x8100, kc_be16(p) & 0xfff);
            KC_SKIP(2);
            layer = KC_L_TYPE;
            break;
        case 0x8926:                                               /* VN-tag: destination and source interface */
            KC_NEED(4);
            path = kc_path_between(path, type, kc_be16(p) & 0x3fff, kc_be16(p + 2) & 0xfff);
            KC_SKIP(4);
            s->wrapped = 1;
            layer = KC_L_TYPE;
            break;
        case 0x893f:                                               /* 802.1BR: two ports; the second may be a group */
            KC_NEED(6);
            path = kc_path_between(
                path, type, (kc_be16(p) & 0xfffU) | (uint32_t)p[4] << 12,
                (kc_be16(p + 2) & 0x3fffU) | (uint32_t)p[5] << 14
            );
            KC_SKIP(6);
            s->wrapped = 1;
            layer = KC_L_TYPE;
            break;
        case 0x8909:                                               /* Cisco metadata: version, options of four bytes */
            KC_NEED(2);
            KC_SKIP(2 + 4 * (p[1] ? (uint32_t)p[1] : 1));
            s->wrapped = 1;
            layer = KC_L_TYPE;
            break;
        case 0x8847: case 0x8848: layer = KC_L_MPLS; break;
        case 0x8864: layer = KC_L_PPPOE; break;
        case 0x880b: s->wrapped = 1; layer = KC_L_PPP; break;
        case 0x894f: layer = KC_L_NSH; break;
        case 0x88e7:                                               /* 802.1ah */
            KC_NEED(4);
            path = kc_path(path, type, kc_be32(p) & 0xffffff);
            KC_SKIP(4);
            s->wrapped = 1;
            layer = KC_L_ETHERNET;
            break;
        case KC_TUNNEL_ETHERNET: s->wrapped = 1; layer = KC_L_ETHERNET; break;
        default:
            if (type >= 1536) KC_STOP(KC_ETHERTYPE, type);
            layer = KC_L_LLC;                                      /* a length (802.3), or 4 in Linux cooked captures */
        }
        break;

    case KC_L_LLC:
        KC_NEED(3);
        s->wrapped = 1;
        if (p[0] == 6 && p[2] == 3) {
            KC_SKIP(3);
            layer = KC_L_IP;
            break;
        }
        if (p[0] != 0xaa || p[1] != 0xaa || p[2] != 3) KC_STOP(KC_LLC_SAP, p[0]);
        KC_NEED(8);
        size = kc_be32(p + 2) & 0xffffff;                          /* the organisation: 0 and 0xf8 have EtherTypes */
        if (size && size != 0xf8) KC_STOP(KC_LLC_SAP, 0xaa);
        KC_SKIP(6);
        layer = KC_L_TYPE;
        break;

    case KC_L_PPPOE:
        KC_NEED(6);
        if (p[1]) KC_STOP(KC_ETHERTYPE, 0x8863);                   /* not of a session */
        KC_ENTER(KC_PPPOE, kc_be16(p + 2));
        KC_SKIP(6);
        layer = KC_L_PPP;
        break;

    case KC_L_PPP:
        s->wrapped = 1;
        if (n >= 2 && length >= 2 && (p[0] == 0x0f || p[0] == 0x8f) && !p[1]) {    /* Cisco's framing */
            KC_SKIP(2);
            layer = KC_L_TYPE;
            break;
        }
        if (n >= 2 && length >= 2 && p[0] == 0xff && p[1] == 3) KC_SKIP(2);
        KC_NEED(1);
        size = p[0] & 1 ? 1 : 2;
        KC_NEED(size);
        next = size == 1 ? p[0] : kc_be16(p);
        KC_SKIP(size);
        if (next == 0x21 || next == 0x57) layer = KC_L_IP;
        else if (next == 0x281 || next == 0x283) layer = KC_L_MPLS;
        else KC_STOP(KC_PPP_PROTOCOL, next);
        break;

    case KC_L_MPLS:
        do {
            KC_NEED(4);
            size = kc_be32(p);
            KC_SKIP(4);
            KC_ENTER(KC_MPLS, size >> 12);
        } while (!(size & 0x100));
        if (kc_is_ip(p, n, length)) layer = KC_L_IP;
        else if (kc_is_frame(p, n, length)) layer = KC_L_ETHERNET;
        else if (n > 4 && length > 4 && !(p[0] >> 4) && kc_is_frame(p + 4, n - 4, length - 4)) {
            KC_SKIP(4);                                            /* a control word */
            layer = KC_L_ETHERNET;
        }
        else if (n && (p[0] >> 4 == 4 || p[0] >> 4 == 6)) layer = KC_L_IP;
        else KC_STOP(KC_NAMELESS, 0);
        break;

    case KC_L_NSH:
        KC_NEED(8);
        size = (uint32_t)(p[1] & 63) * 4;
        next = kc_next_layer(p[3]);
        KC_ENTER(KC_NSH, kc_be32(p + 4) >> 8);
        if (size < 8 || next < 0) KC_STOP(KC_NAMELESS, 0);
        KC_SKIP(size);
        layer = next;
        break;

    case KC_L_GRE: {
        KC_NEED(4);
        uint16_t flags = kc_be16(p);
        KC_ENTER(KC_GRE, 0);
        type = kc_be16(p + 2);
        version = flags & 7;
        if (version > 1 || (flags & 0x4000)) KC_STOP(KC_NAMELESS, 0);
        size = 4 + (flags & 0x8000 ? 4 : 0);
        if (flags & 0x2000) {                                      /* the key of version 1 is length and call */
            KC_NEED(size + 4);
            path = kc_path(path, KC_GRE, version ? kc_be16(p + size + 2) : kc_be32(p + size));
            size += 4;
        }
        size += (flags & 0x1000 ? 4 : 0) + (version && (flags & 0x80) ? 4 : 0);
        KC_SKIP(size);
        layer = KC_L_TYPED;
        if (type == KC_ERSPAN_2) {
            KC_ENTER(KC_ERSPAN, 0);
            if (flags & 0x1000) {                                  /* without a number: type I, which has no header */
                KC_NEED(8);
                path = kc_path(path, KC_ERSPAN, (kc_be16(p) & 0xfffU) << 16 | (kc_be16(p + 2) & 0x3ff));
                KC_SKIP(8);
            }
            layer = KC_L_ETHERNET;
        } else if (type == KC_ERSPAN_3) {
            KC_NEED(12);
            KC_ENTER(KC_ERSPAN, (kc_be16(p) & 0xfffU) << 16 | (kc_be16(p + 2) & 0x3ff));
            next = p[10] >> 2 & 31;
            KC_SKIP(12 + (p[11] & 1 ? 8 : 0));
            if (next != 0 && next != 2) KC_STOP(KC_NAMELESS, 0);
            layer = next ? KC_L_IP : KC_L_ETHERNET;
        }
        break;
    }

    case KC_L_IP: {
        uint32_t cut = 0, id = 0, more;
        uint64_t a[2], b[2];
        KC_NEED(1);
        version = p[0] >> 4;
        s->ip = (uint32_t)(p - k->data);
        if (version == 4) {
            KC_NEED(20);
            size = (uint32_t)(p[0] & 15) * 4;
            total = kc_be16(p + 2);
            if (!total) total = length;                            /* segmentation offload leaves it so */
            next = p[9];
            if (size < 20 || total < size) KC_STOP(KC_ETHERTYPE, 0x0800);
            cut = kc_cut(kc_be16(p + 6) << 3, p[6] & 0x20);
            id = kc_be16(p + 4);
            a[0] = b[0] = 0;
            a[1] = kc_be32(p + 12);
            b[1] = kc_be32(p + 16);
        } else if (version == 6) {
            KC_NEED(40);
            size = 40;
            total = kc_be16(p + 4);
            total = total ? total + 40 : length;                   /* 0: a jumbogram, or segmentation offload */
            next = p[6];
            a[0] = kc_be64(p + 8), a[1] = kc_be64(p + 16);
            b[0] = kc_be64(p + 24), b[1] = kc_be64(p + 32);
        } else KC_STOP(KC_NAMELESS, 0);
        if (n > total) n = total;
        while (!cut && kc_is_extension(version, next)) {
            if (n < size + 8) return KC_CUT;
            if (next == 44) {
                cut = kc_cut(kc_be16(p + size + 2), p[size + 3] & 1);
                id = kc_be32(p + size + 4);
            }
            more = next == 44 ? 8 : next == 51 ? ((uint32_t)p[size + 1] + 2) * 4 : ((uint32_t)p[size + 1] + 1) * 8;
            next = p[size];
            size += more;
        }
        if (total < size) KC_STOP(KC_ETHERTYPE, version == 4 ? 0x0800 : 0x86dd);
        if (next == 6 && !cut) {
            if (n < size + 20) return KC_CUT;
            kc_set_ends(s, a, b, kc_be16(p + size), kc_be16(p + size + 2), version);
            s->id = (uint16_t)id;
            s->path = path;
            s->unread = KC_UNREAD(tunnel, KC_IP_PROTOCOL, 6);
            return kc_dissect_tcp(p + size, n - size, total - size, s);
        }
        length = total;
        if (cut) {
            if (next != 6 && next != 17 && kc_ip_layer(next) < 0 && !kc_is_extension(version, next))
                KC_STOP(KC_IP_PROTOCOL, next);
            if (next == 17) s->unread = KC_UNREAD(tunnel, KC_IP_PROTOCOL, 17);
            if (next == 17 && !(cut & ~7U)) {
                KC_NEED(size + 8);
                int known = kc_udp_layer(kc_be16(p + size + 2)) >= 0;
                s->unread = known ? 0 : KC_UNREAD(tunnel, KC_UDP_PORT, kc_least16(p + size));
            }
            kc_set_ends(s, a, b, 0, 0, version);
            s->seq = id, s->ack = cut & 0xfff8, s->flags = cut & KC_MORE, s->window = (uint16_t)next;
            s->path = path;
            s->length = total - size;
            s->captured = n > size ? n - size : 0;
            s->data = p + (n > size ? size : n);
            return KC_FRAGMENT;
        }
        if (next == 17) {
            KC_NEED(size + 8);
            next = kc_udp_layer(kc_be16(p + size + 2));
            if (next < 0) KC_STOP(KC_UDP_PORT, kc_least16(p + size));
            size += 8;
        } else {
            int protocol = next;
            next = kc_ip_layer(protocol);
            if (next < 0) KC_STOP(KC_IP_PROTOCOL, protocol);
        }
        path = kc_path_between(path, 0x0800, kc_fold(a), kc_fold(b));
        KC_SKIP(size);
        layer = next;
        break;
    }

    case KC_L_VXLAN:                                               /* also its generic protocol extension */
        KC_NEED(8);
        KC_ENTER(KC_VXLAN, kc_be32(p + 4) >> 8);
        next = p[0] & 4 ? kc_next_layer(p[3]) : KC_L_ETHERNET;
        if (next < 0) KC_STOP(KC_NAMELESS, 0);
        KC_SKIP(8);
        layer = next;
        break;

    case KC_L_GENEVE:
        KC_NEED(8);
        KC_ENTER(KC_GENEVE, kc_be32(p + 4) >> 8);
        type = kc_be16(p + 2);
        KC_SKIP(8 + 4 * (p[0] & 63U));
        layer = KC_L_TYPED;
        break;

    case KC_L_ETHER_IP:
        KC_ENTER(KC_ETHER_IP, 0);
        KC_SKIP(2);                                                /* EtherIP's version */
        layer = KC_L_ETHERNET;
        break;

    case KC_L_INNER_IP:
        KC_ENTER(KC_IP_IN_IP, 0);
        layer = KC_L_IP;
        break;
    }
#undef KC_NEED
#undef KC_SKIP
#undef KC_STOP
#undef KC_ENTER
}

/* Most packets are Ethernet, IPv4 without options, TCP, and whole: these are read without asking what each layer is. */
static inline int kc_dissect(const kc_packet *k, kc_segment *s) {
    const uint8_t *ip = k->data + 14;
    uint32_t n = k->captured;
    if (k->link != 1 || n < 54 || k->length < n || kc_be16(ip - 2) != 0x0800 || ip[0] != 0x45 || ip[9] != 6 ||
        (kc_be16(ip + 6) & 0x3fff))
        return kc_dissect_layers(k, s);
    uint32_t total = kc_be16(ip + 2);
    if (total < 40) return kc_dissect_layers(k, s);
    uint64_t a[2] = {0, kc_be32(ip + 12)}, b[2] = {0, kc_be32(ip + 16)};
    s->ts = k->ts;
    s->wrapped = 0;
    s->unread = KC_UNREAD(KC_NO_TUNNEL, KC_IP_PROTOCOL, 6);
    s->path = kc_path(0, 0, k->interface);
    s->ip = 14;
    s->id = kc_be16(ip + 4);
    kc_set_ends(s, a, b, kc_be16(ip + 20), kc_be16(ip + 22), 4);
    return kc_dissect_tcp(ip + 20, (n - 14 < total ? n - 14 : total) - 20, total - 20, s);
}

#endif
