/* CRC-32 (ISO 3309, as in zlib) and CRC-32C (Castagnoli), the two checksums of Kafka's record batches.
 *
 * Carry-less multiplication folds 16 bytes at a time (Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ", Intel 2009), 64 at once, 128 or 256 where vectors are wider; elsewhere eight tables. kc_crc_setup() asks
 * once what the processor can do: each module that includes this file calls it when it is loaded. */
#ifndef KCLI_CRC_H
#define KCLI_CRC_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define KC_CRC_X86 1
#include <immintrin.h>
#endif

typedef struct {
    uint32_t table[8][256];
    uint32_t polynomial; /* reflected */
    /* x^(d+32) and x^(d-32) modulo the polynomial, reflected and shifted by one, for folds over d bits */
    uint64_t by128[2], by512[2], by1024[2], by2048[2];
    uint64_t to64, barrett[2];
} kc_crc;

static kc_crc kc_ieee = {
    .polynomial = 0xedb88320u,
    .by128 = {0x1751997d0, 0x0ccaa009e},
    .by512 = {0x154442bd4, 0x1c6e41596},
    .by1024 = {0x1e88ef372, 0x14a7fe880},
    .by2048 = {0x11542778a, 0x1322d1430},
    .to64 = 0x163cd6124,
    .barrett = {0x1db710641, 0x1f7011641},
};
static kc_crc kc_castagnoli = {
    .polynomial = 0x82f63b78u,
    .by128 = {0x0f20c0dfe, 0x14cd00bd6},
    .by512 = {0x0740eef02, 0x09e4addf8},
    .by1024 = {0x06992cea2, 0x00d3b6092},
    .by2048 = {0x0dcb17aa4, 0x0b9e02b86},
    .to64 = 0x0dd45aab8,
    .barrett = {0x105ec76f1, 0x0dea713f1},
};

static void kc_crc_fill(kc_crc *c) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t v = i;
        for (int k = 0; k < 8; k++) v = v & 1 ? v >> 1 ^ c->polynomial : v >> 1;
        c->table[0][i] = v;
    }
    for (int t = 1; t < 8; t++)
        for (uint32_t i = 0; i < 256; i++)
            c->table[t][i] = c->table[t - 1][i] >> 8 ^ c->table[0][c->table[t - 1][i] & 255];
}

/* Returns the register (not yet inverted) after `n` more bytes, by tables. */
static uint32_t kc_crc_tables(const kc_crc *c, uint32_t crc, const uint8_t *p, size_t n) {
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        low ^= crc;
        crc = c->table[7][low & 255] ^ c->table[6][low >> 8 & 255] ^ c->table[5][low >> 16 & 255] ^
              c->table[4][low >> 24] ^ c->table[3][p[4]] ^ c->table[2][p[5]] ^ c->table[1][p[6]] ^ c->table[0][p[7]];
    }
    while (n--) crc = crc >> 8 ^ c->table[0][(crc ^ *p++) & 255];
    return crc;
}

enum { KC_CRC_TABLES = 0, KC_CRC_FOLD = 1, KC_CRC_DOUBLE = 2, KC_CRC_WIDE = 3 };
static int kc_crc_level = -1;

#ifdef KC_CRC_X86

#define KC_FOLD_TARGET __attribute__((target("sse4.2,ssse3,pclmul")))
#define KC_DOUBLE_TARGET __attribute__((target("sse4.2,ssse3,pclmul,avx2,vpclmulqdq")))
#define KC_WIDE_TARGET __attribute__((target("sse4.2,ssse3,pclmul,avx512f,avx512vl,vpclmulqdq")))

/* A byte shuffle that moves a vector up by 16 - r bytes starts at r; one that moves it down by r starts at 16 + r. */
static const uint8_t kc_shift[48] = {
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
    0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,   11,   12,   13,   14,   15,
    0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

#define KC_FOLD(x, k) _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11))
#define KC_LOAD(p) _mm_loadu_si128((const __m128i *)(p))

static inline KC_FOLD_TARGET uint32_t kc_crc_reduce(const kc_crc *c, __m128i x, __m128i k128) {
    const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i barrett = KC_LOAD(c->barrett), t;
    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, k128, 0x10));
    t = _mm_srli_si128(x, 4);
    x = _mm_xor_si128(t, _mm_clmulepi64_si128(_mm_and_si128(x, mask), _mm_set_epi64x(0, (int64_t)c->to64), 0x00));
    t = _mm_clmulepi64_si128(_mm_and_si128(x, mask), barrett, 0x10);
    t = _mm_clmulepi64_si128(_mm_and_si128(t, mask), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

/* Needs n >= 16. A zero register stays zero over zero bytes, so the odd bytes at the start are moved to the end of a
 * first block of their own, after zeros, and the register is XORed with the first four real bytes. */
static inline KC_FOLD_TARGET uint32_t kc_crc_fold(const kc_crc *c, uint32_t crc, const uint8_t *p, size_t n) {
    const __m128i k128 = KC_LOAD(c->by128);
    __m128i start = _mm_cvtsi32_si128((int)crc), x;
    size_t r = n & 15;
    if (r) {
        x = _mm_shuffle_epi8(_mm_xor_si128(KC_LOAD(p), start), KC_LOAD(kc_shift + r));
        __m128i rest = _mm_shuffle_epi8(start, KC_LOAD(kc_shift + 16 + r));
        p += r;
        n -= r;
        x = _mm_xor_si128(KC_FOLD(x, k128), _mm_xor_si128(KC_LOAD(p), rest));
    } else {
        x = _mm_xor_si128(KC_LOAD(p), start);
    }
    p += 16;
    n -= 16;
    if (n >= 128) {
        const __m128i k512 = KC_LOAD(c->by512);
        __m128i x1 = KC_LOAD(p), x2 = KC_LOAD(p + 16), x3 = KC_LOAD(p + 32);
        p += 48;
        n -= 48;
        do {
            x = _mm_xor_si128(KC_FOLD(x, k512), KC_LOAD(p));
            x1 = _mm_xor_si128(KC_FOLD(x1, k512), KC_LOAD(p + 16));
            x2 = _mm_xor_si128(KC_FOLD(x2, k512), KC_LOAD(p + 32));
            x3 = _mm_xor_si128(KC_FOLD(x3, k512), KC_LOAD(p + 48));
            p += 64;
            n -= 64;
        } while (n >= 64);
        x1 = _mm_xor_si128(KC_FOLD(x, k128), x1);
        x2 = _mm_xor_si128(KC_FOLD(x1, k128), x2);
        x = _mm_xor_si128(KC_FOLD(x2, k128), x3);
    }
    for (; n; n -= 16, p += 16) x = _mm_xor_si128(KC_FOLD(x, k128), KC_LOAD(p));
    return kc_crc_reduce(c, x, k128);
}

#define KC_FOLD2(x, k) _mm256_xor_si256(_mm256_clmulepi64_epi128(x, k, 0x00), _mm256_clmulepi64_epi128(x, k, 0x11))
#define KC_LOAD2(p) _mm256_loadu_si256((const __m256i *)(p))

/* Needs n >= 256. */
static KC_DOUBLE_TARGET uint32_t kc_crc_double(const kc_crc *c, uint32_t crc, const uint8_t *p, size_t n) {
    const __m256i k1024 = _mm256_broadcastsi128_si256(KC_LOAD(c->by1024));
    const __m128i k128 = KC_LOAD(c->by128);
    crc = kc_crc_tables(c, crc, p, n & 15);
    p += n & 15;
    n -= n & 15;
    __m256i v[4];
    for (int i = 0; i < 4; i++) v[i] = KC_LOAD2(p + 32 * i);
    v[0] = _mm256_xor_si256(v[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)));
    for (p += 128, n -= 128; n >= 128; n -= 128, p += 128)
        for (int i = 0; i < 4; i++) v[i] = _mm256_xor_si256(KC_FOLD2(v[i], k1024), KC_LOAD2(p + 32 * i));
    __m128i x = _mm_setzero_si128();
    for (int i = 0; i < 4; i++) {
        x = _mm_xor_si128(KC_FOLD(x, k128), _mm256_castsi256_si128(v[i]));
        x = _mm_xor_si128(KC_FOLD(x, k128), _mm256_extracti128_si256(v[i], 1));
    }
    for (; n; n -= 16, p += 16) x = _mm_xor_si128(KC_FOLD(x, k128), KC_LOAD(p));
    return kc_crc_reduce(c, x, k128);
}

#define KC_FOLD4(x, k) _mm512_xor_si512(_mm512_clmulepi64_epi128(x, k, 0x00), _mm512_clmulepi64_epi128(x, k, 0x11))
#define KC_LOAD4(p) _mm512_loadu_si512((const void *)(p))

/* Needs n >= 512. */
static KC_WIDE_TARGET uint32_t kc_crc_wide(const kc_crc *c, uint32_t crc, const uint8_t *p, size_t n) {
    const __m512i k2048 = _mm512_broadcast_i32x4(KC_LOAD(c->by2048)), k512 = _mm512_broadcast_i32x4(KC_LOAD(c->by512));
    const __m128i k128 = KC_LOAD(c->by128);
    size_t odd = n & 63;
    if (odd) {
        crc = kc_crc_tables(c, crc, p, odd & 15);
        p += odd & 15;
        if (odd & 48) crc = kc_crc_fold(c, crc, p, odd & 48);
        p += odd & 48;
        n -= odd;
    }
    __m512i a = _mm512_xor_si512(KC_LOAD4(p), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    __m512i b = KC_LOAD4(p + 64), d = KC_LOAD4(p + 128), e = KC_LOAD4(p + 192);
    for (p += 256, n -= 256; n >= 256; n -= 256, p += 256) {
        a = _mm512_xor_si512(KC_FOLD4(a, k2048), KC_LOAD4(p));
        b = _mm512_xor_si512(KC_FOLD4(b, k2048), KC_LOAD4(p + 64));
        d = _mm512_xor_si512(KC_FOLD4(d, k2048), KC_LOAD4(p + 128));
        e = _mm512_xor_si512(KC_FOLD4(e, k2048), KC_LOAD4(p + 192));
    }
    b = _mm512_xor_si512(KC_FOLD4(a, k512), b);
    d = _mm512_xor_si512(KC_FOLD4(b, k512), d);
    e = _mm512_xor_si512(KC_FOLD4(d, k512), e);
    for (; n; n -= 64, p += 64) e = _mm512_xor_si512(KC_FOLD4(e, k512), KC_LOAD4(p));
    __m128i x = _mm512_castsi512_si128(e);
    x = _mm_xor_si128(KC_FOLD(x, k128), _mm512_extracti32x4_epi32(e, 1));
    x = _mm_xor_si128(KC_FOLD(x, k128), _mm512_extracti32x4_epi32(e, 2));
    x = _mm_xor_si128(KC_FOLD(x, k128), _mm512_extracti32x4_epi32(e, 3));
    return kc_crc_reduce(c, x, k128);
}

static KC_FOLD_TARGET uint32_t kc_crc_fold_ieee(uint32_t crc, const uint8_t *p, size_t n) {
    return kc_crc_fold(&kc_ieee, crc, p, n);
}

static KC_FOLD_TARGET uint32_t kc_crc_fold_castagnoli(uint32_t crc, const uint8_t *p, size_t n) {
    return kc_crc_fold(&kc_castagnoli, crc, p, n);
}

/* Needs n >= 1024 and a level above folds. */
static inline uint32_t kc_crc_long(const kc_crc *c, uint32_t crc, const uint8_t *p, size_t n) {
    return kc_crc_level == KC_CRC_WIDE ? kc_crc_wide(c, crc, p, n) : kc_crc_double(c, crc, p, n);
}

static int kc_crc_ask(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("sse4.2")) return KC_CRC_TABLES;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("vpclmulqdq"))
        return KC_CRC_WIDE;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("vpclmulqdq") ? KC_CRC_DOUBLE : KC_CRC_FOLD;
}

#else
static int kc_crc_ask(void) { return KC_CRC_TABLES; }
#endif

/* `most`: the highest level to use, for tests of the others. */
static void kc_crc_setup(int most) {
    kc_crc_fill(&kc_ieee);
    kc_crc_fill(&kc_castagnoli);
    kc_crc_level = kc_crc_ask();
    if (kc_crc_level > most) kc_crc_level = most;
}

/* `crc`: 0, or the checksum of the bytes before. */
static inline uint32_t kc_crc32(uint32_t crc, const uint8_t *p, size_t n) {
#ifdef KC_CRC_X86
    if (n >= 16 && kc_crc_level >= KC_CRC_FOLD)
        return ~(n >= 1024 && kc_crc_level > KC_CRC_FOLD ? kc_crc_long(&kc_ieee, ~crc, p, n)
                                                         : kc_crc_fold_ieee(~crc, p, n));
#endif
    return ~kc_crc_tables(&kc_ieee, ~crc, p, n);
}

static inline uint32_t kc_crc32c(uint32_t crc, const uint8_t *p, size_t n) {
#ifdef KC_CRC_X86
    if (n >= 16 && kc_crc_level >= KC_CRC_FOLD)
        return ~(n >= 1024 && kc_crc_level > KC_CRC_FOLD ? kc_crc_long(&kc_castagnoli, ~crc, p, n)
                                                         : kc_crc_fold_castagnoli(~crc, p, n));
#endif
    return ~kc_crc_tables(&kc_castagnoli, ~crc, p, n);
}

#endif
