/* The two ends of a connection: their text and their hash. */
#ifndef KCLI_ENDS_H
#define KCLI_ENDS_H

#include <arpa/inet.h>

#include "bytes.h"
#include "json_text.h"
#include "layers.h"
#include "place.h"

/* Two ends in a fixed order, so that both directions have the same key. */
typedef struct {
    uint64_t address[2][2];   /* as on the wire; an IPv4 address is in the last four bytes of the second half */
    uint16_t port[2];
    uint16_t version;         /* 4 or 6 */
    uint16_t unused;
} kc_ends;

enum { KC_END_ROOM = 64 };    /* most characters of an end's text */

/* "address:port", with an IPv6 address in brackets. */
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

/* The same in all processes, which share the connections of a capture by it. */
static inline uint64_t kc_hash_ends(const kc_ends *e) {
    uint64_t h = e->address[0][1] * 0x9e3779b97f4a7c15ULL ^ e->address[0][0];
    h = kc_mix(h ^ e->address[1][1]) ^ e->address[1][0];
    return kc_mix(h + ((uint64_t)e->port[0] << 32 | (uint64_t)e->port[1] << 16 | e->version));
}

static inline uint64_t kc_place_ends(const kc_ends *e) {
    uint64_t place = kc_place(kc_place(e->address[0][0], e->address[0][1]) ^ e->address[1][0], e->address[1][1]);
    return kc_place(place, (uint64_t)e->port[0] << 32 | (uint64_t)e->port[1] << 16 | e->version);
}

#endif
