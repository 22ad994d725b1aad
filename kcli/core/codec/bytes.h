/* Big-endian numbers and varints from bytes, and back. */
#ifndef KCLI_BYTES_H
#define KCLI_BYTES_H

#include <stdint.h>
#include <string.h>

/* For functions that are called for each number or piece of text, as a call would cost more than their work. */
#define KC_ALWAYS static inline __attribute__((always_inline))

static inline uint16_t kc_be16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t kc_be32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t kc_be64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline double kc_double(const uint8_t *p) { uint64_t v = kc_be64(p); double d; memcpy(&d, &v, 8); return d; }

static inline void kc_set16(void *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void kc_set32(void *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void kc_set64(void *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }
static inline void kc_set_double(void *p, double d) { uint64_t v; memcpy(&v, &d, 8); kc_set64(p, v); }

enum { KC_VARINT_CUT = -1, KC_VARINT_LONG = -2, KC_VARINT_PADDED = -3 };

/* Reads an unsigned varint of 32 bits in its shortest form; returns its bytes, or one of the codes above. */
static inline int kc_uvarint(const uint8_t *p, const uint8_t *end, uint32_t *value) {
    uint32_t v = 0;
    if (p < end && *p < 0x80) {
        *value = *p;
        return 1;
    }
    for (int i = 0; i < 5; i++) {
        if (p + i >= end) return KC_VARINT_CUT;
        uint8_t b = p[i];
        if (i == 4 && b > 0x0f) return KC_VARINT_LONG;
        v |= (uint32_t)(b & 0x7f) << (7 * i);
        if (b < 0x80) {
            *value = v;
            return i && !b ? KC_VARINT_PADDED : i + 1;
        }
    }
    return KC_VARINT_LONG;
}

/* Writes at most 5 bytes; returns the end. */
static inline uint8_t *kc_set_uvarint(uint8_t *p, uint32_t v) {
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

#endif
