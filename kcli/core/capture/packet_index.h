/* An index of packets that stay in a capture file, a few bytes for each.
 *
 * An entry has, as varints: the captured bytes, the distance from the packet before to this one, the missing bytes, and
 * the nanoseconds since the packet before (in zigzag). Place and time begin at 0 again after an entry that is a single
 * 0, with which each part of an index begins. */
#ifndef KCLI_EXTENTS_H
#define KCLI_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

enum { KX_MOST = 32 }; /* most bytes of an entry */

typedef struct {
    uint64_t at; /* the offset of the packet's bytes in the file */
    uint64_t ts; /* nanoseconds since 1970 */
    uint32_t captured, length;
} kx_extent;

static inline uint8_t *kx_put(uint8_t *p, uint64_t value) {
    while (value > 127) {
        *p++ = (uint8_t)(value | 128);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline const uint8_t *kx_get(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    uint64_t found = 0;
    int shift = 0;
    while (p < end && shift < 64) {
        uint8_t byte = *p++;
        found |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *value = found;
            return p;
        }
        shift += 7;
    }
    return NULL;
}

/* Writes an entry and returns its bytes; `last` becomes this packet. `at` does not decrease within a part. */
static inline size_t kx_write(
    uint8_t *p, kx_extent *last, uint64_t at, uint64_t ts, uint32_t captured, uint32_t length
) {
    uint8_t *start = p;
    int64_t step = (int64_t)(ts - last->ts);
    p = kx_put(p, captured);
    p = kx_put(p, at - (last->at + last->captured));
    p = kx_put(p, length > captured ? length - captured : 0);
    p = kx_put(p, ((uint64_t)step << 1) ^ (uint64_t)(step >> 63));
    *last = (kx_extent){at, ts, captured, length};
    return (size_t)(p - start);
}

/* Reads the next packet, relative to the one before; returns NULL at the end, or if the index is invalid. */
static inline const uint8_t *kx_read(const uint8_t *p, const uint8_t *end, kx_extent *packet) {
    uint64_t captured, gap, missing, step;
    while (p < end && *p == 0) {
        *packet = (kx_extent){0, 0, 0, 0};
        p++;
    }
    if ((p = kx_get(p, end, &captured)) == NULL || (p = kx_get(p, end, &gap)) == NULL) return NULL;
    if ((p = kx_get(p, end, &missing)) == NULL || (p = kx_get(p, end, &step)) == NULL) return NULL;
    packet->at += packet->captured + gap;
    packet->ts += (step >> 1) ^ (0 - (step & 1));
    packet->captured = (uint32_t)captured;
    packet->length = (uint32_t)(captured + missing);
    return p;
}

#endif
