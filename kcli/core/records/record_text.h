/* JSON text of keys and values: text if it is printable UTF-8, else {"base64": ...}; sixteen bytes at a time on x86. */
#ifndef KCLI_RECORDTEXT_H
#define KCLI_RECORDTEXT_H

#include "json_text.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define KT_X86 1

/* Returns a bit for each of 16 bytes that is not plain printable ASCII. */
static inline unsigned kt_special16(__m128i v) {
    __m128i low = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)); /* signed: also 0x80 and above */
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"')), slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, quote), _mm_or_si128(slash, del)));
}

/* 12 bytes to 16 digits at a time (Mula and Lemire, "Faster Base64 Encoding and Decoding Using AVX2 Instructions",
 * 2018). */
static __attribute__((target("ssse3"))) char *kt_base64_ssse3(char *p, const uint8_t *s, size_t n) {
    const __m128i order = _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
    const __m128i shift = _mm_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                        '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0);
    for (; n >= 16; n -= 12, s += 12, p += 16) {
        __m128i v = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)s), order);
        __m128i high = _mm_mulhi_epu16(_mm_and_si128(v, _mm_set1_epi32(0x0fc0fc00)), _mm_set1_epi32(0x04000040));
        __m128i low = _mm_mullo_epi16(_mm_and_si128(v, _mm_set1_epi32(0x003f03f0)), _mm_set1_epi32(0x01000010));
        __m128i digit = _mm_or_si128(high, low);
        __m128i range = _mm_subs_epu8(digit, _mm_set1_epi8(51));
        range = _mm_or_si128(range, _mm_and_si128(_mm_cmpgt_epi8(_mm_set1_epi8(26), digit), _mm_set1_epi8(13)));
        _mm_storeu_si128((__m128i *)p, _mm_add_epi8(_mm_shuffle_epi8(shift, range), digit));
    }
    return kc_base64(p, s, n);
}
#endif

static int kt_wide;

static void kt_setup(void) {
#ifdef KT_X86
    __builtin_cpu_init();
    kt_wide = __builtin_cpu_supports("ssse3") != 0;
#endif
}

static inline char *kt_base64(char *p, const uint8_t *s, size_t n) {
#ifdef KT_X86
    if (kt_wide && n >= 16) return kt_base64_ssse3(p, s, n);
#endif
    return kc_base64(p, s, n);
}

/* Writes a character other than plain ASCII. Returns its size in bytes of `s`; 0 if it is not printable: controls other
 * than tab, line feed and carriage return, DEL, U+0080 to U+009F, and bytes that are not UTF-8. Marks of direction are
 * escaped. */
static inline size_t kt_rare(char **p, const uint8_t *s, size_t left) {
    uint8_t c = s[0];
    if (c < 0x80) {
        if (c != '"' && c != '\\' && c != '\n' && c != '\t' && c != '\r') return 0;
        *p = kc_escape(*p, c);
        return 1;
    }
    size_t length = kc_utf8_char(s, left);
    if (!length) return 0;
    if (kc_steers(s)) {
        if (c == 0xc2) return 0;
        *p = kc_escape_wide(*p, s, length);
        return length;
    }
    memcpy(*p, s, length);
    *p += length;
    return length;
}

/* Writes the text in quotes; returns NULL if it is not printable. The caller reserves 3 * n + 18 bytes. */
static inline char *kt_text(char *p, const uint8_t *s, size_t n) {
    size_t i = 0;
    *p++ = '"';
    while (i < n) {
#ifdef KT_X86
        while (n - i >= 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(s + i));
            unsigned special = kt_special16(v);
            _mm_storeu_si128((__m128i *)p, v);
            if (special) {
                unsigned plain = (unsigned)__builtin_ctz(special);
                p += plain;
                i += plain;
                goto rare;
            }
            p += 16;
            i += 16;
        }
#endif
        {
            size_t plain = kc_copy_plain(p, s + i, n - i);
            p += plain;
            i += plain;
            if (i == n) break;
        }
#ifdef KT_X86
    rare:;
#endif
        size_t taken = kt_rare(&p, s + i, n - i);
        if (!taken) return NULL;
        i += taken;
    }
    *p++ = '"';
    return p;
}

static inline char *kt_bytes(char *p, const uint8_t *s, size_t n) {
    memcpy(p, "{\"base64\":\"", 11);
    p = kt_base64(p + 11, s, n);
    memcpy(p, "\"}", 2);
    return p + 2;
}

static inline size_t kt_room(size_t n) { return 3 * n + 32; }

/* Writes a key or value; s NULL: null. The caller reserves kt_room(n) bytes. */
static inline char *kt_value(char *p, const uint8_t *s, size_t n) {
    if (!s) {
        memcpy(p, "null", 4);
        return p + 4;
    }
    char *end = kt_text(p, s, n);
    return end ? end : kt_bytes(p, s, n);
}

#endif
