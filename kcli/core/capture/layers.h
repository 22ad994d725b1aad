/* The layers of a packet: which one follows, and the path that a packet takes through them. */
#ifndef KCLI_LAYERS_H
#define KCLI_LAYERS_H

#include "bytes.h"

static inline uint64_t kc_mix(uint64_t h) {
    h ^= h >> 32; h *= 0xd6e8feb86659fd93ULL; h ^= h >> 32; h *= 0xd6e8feb86659fd93ULL; h ^= h >> 32;
    return h;
}

/* Layers that the bytes from `p` on may be. */
enum { KC_L_ETHERNET, KC_L_TYPE, KC_L_TYPED, KC_L_LLC, KC_L_IP, KC_L_PPP, KC_L_PPPOE, KC_L_MPLS, KC_L_NSH, KC_L_GRE,
       KC_L_VXLAN, KC_L_GENEVE, KC_L_ETHER_IP, KC_L_INNER_IP, KC_L_LINK };
enum { KC_TUNNEL_ETHERNET = 0x6558, KC_ERSPAN_2 = 0x88be, KC_ERSPAN_3 = 0x22eb };

static inline uint32_t kc_path(uint32_t path, uint32_t kind, uint32_t id) {
    uint32_t h = (path ^ id) * 0x9e3779b1U + kind;
    h ^= h >> 15;
    return h ? h : 1;
}

/* The path through a layer with two ends, in a fixed order, so that both directions have the same path. */
static inline uint32_t kc_path_between(uint32_t path, uint32_t kind, uint32_t a, uint32_t b) {
    return kc_path(kc_path(path, kind, a < b ? a : b), kind, a < b ? b : a);
}

static inline uint32_t kc_fold(const uint64_t address[2]) {
    return (uint32_t)kc_mix(address[0] * 0x9e3779b97f4a7c15ULL ^ address[1]);
}

/* Returns whether a frame may begin here: with an EtherType that is read, that of ARP, or SNAP. A label does not tell
 * whether a control word precedes the frame. */
static inline int kc_is_frame(const uint8_t *p, uint32_t n, uint32_t length) {
    if (n < 17 || length < 17) return 0;
    switch (kc_be16(p + 12)) {
    case 0x0800: case 0x86dd: case 0x0806: case 0x8100: case 0x88a8: case 0x9100: case 0x8847: case 0x8848: case 0x8864:
    case 0x8926: case 0x893f: case 0x8909: case 0x894f: case 0x88e7: return 1;
    }
    return kc_be16(p + 12) < 1536 && p[14] == 0xaa && p[15] == 0xaa && p[16] == 3;
}

/* Returns whether IP begins here, as a label does not tell what follows. */
static inline int kc_is_ip(const uint8_t *p, uint32_t n, uint32_t length) {
    if (n >= 20 && p[0] >> 4 == 4) return (p[0] & 15) >= 5 && kc_be16(p + 2) <= length;
    return n >= 40 && p[0] >> 4 == 6 && (uint32_t)kc_be16(p + 4) + 40 <= length;
}

/* Returns the layer for a next-protocol number of NSH, or of VXLAN's generic extension; -1: unknown. */
static inline int kc_next_layer(uint8_t next) {
    return next == 1 || next == 2 ? KC_L_IP : next == 3 ? KC_L_ETHERNET : next == 4 ? KC_L_NSH
         : next == 5 ? KC_L_MPLS : -1;
}

/* Returns whether another header follows this one in IPv6; in IPv4, only the authentication header counts. */
static inline int kc_is_extension(int version, int next) {
    if (version == 4) return next == 51;
    return next == 0 || next == 43 || next == 44 || next == 51 || next == 60 || next == 135 || next == 139 ||
           next == 140;
}

/* A fragment's place in the datagram, a multiple of 8, and in the lowest bit whether more follow (KC_MORE); 0: no
 * fragment. */
static inline uint32_t kc_cut(uint32_t place, int more) { return (place & 0xfff8) | (more ? 1 : 0); }

/* The lesser of two ports. */
static inline uint16_t kc_least16(const uint8_t *p) {
    return kc_be16(p) < kc_be16(p + 2) ? kc_be16(p) : kc_be16(p + 2);
}

/* Returns the layer in a datagram to a port of UDP; -1: none that is read. */
static inline int kc_udp_layer(uint16_t port) {
    return port == 4789 || port == 8472 || port == 4790 ? KC_L_VXLAN : port == 6081 ? KC_L_GENEVE
         : port == 6635 ? KC_L_MPLS : port == 4754 ? KC_L_GRE : -1;
}

static inline int kc_ip_layer(int protocol) {
    return protocol == 4 || protocol == 41 ? KC_L_INNER_IP : protocol == 47 ? KC_L_GRE : protocol == 137 ? KC_L_MPLS
        : protocol == 97 ? KC_L_ETHER_IP : protocol == 143 ? KC_L_ETHERNET : -1;
}

static inline uint32_t kc_le32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }

#endif
