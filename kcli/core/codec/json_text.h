/* Text from bytes: the JSON forms of numbers, strings, bytes and uuids.
 *
 * A function with `char *p` writes there and returns the end; its caller has reserved the room.
 * A function with `kc_out *` reserves the room itself and returns KC_OK, KC_MEMORY or KC_UTF8. */
#ifndef KCLI_TEXT_H
#define KCLI_TEXT_H

#include "growing_text.h"

static const char kc_pairs[201] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static inline int kc_digits(uint64_t v) {
    for (int n = 1;; n += 4, v /= 10000) {
        if (v < 10) return n;
        if (v < 100) return n + 1;
        if (v < 1000) return n + 2;
        if (v < 10000) return n + 3;
    }
}

static inline char *kc_u64(char *p, uint64_t v) {
    if (v < 10) {
        *p = (char)('0' + v);
        return p + 1;
    }
    char *end = p + kc_digits(v), *at = end;
    while (v >= 10) {
        at -= 2;
        memcpy(at, kc_pairs + v % 100 * 2, 2);
        v /= 100;
    }
    if (at > p) *p = (char)('0' + v);
    return end;
}

/* At most 20 characters. */
static inline char *kc_i64(char *p, int64_t v) {
    if (v >= 0) return kc_u64(p, (uint64_t)v);
    *p = '-';
    return kc_u64(p + 1, 0 - (uint64_t)v);
}

static const char kc_base64_standard[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char kc_base64_url[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static inline size_t kc_base64_size(size_t n) { return (n + 2) / 3 * 4; }

/* Base64 with padding: kc_base64_size(n) characters. */
static inline char *kc_base64(char *p, const uint8_t *bytes, size_t n) {
    const char *digit = kc_base64_standard;
    for (; n >= 3; n -= 3, bytes += 3) {
        uint32_t v = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        p[0] = digit[v >> 18];
        p[1] = digit[v >> 12 & 63];
        p[2] = digit[v >> 6 & 63];
        p[3] = digit[v & 63];
        p += 4;
    }
    if (n) {
        uint32_t v = (uint32_t)bytes[0] << 16 | (n > 1 ? (uint32_t)bytes[1] << 8 : 0);
        p[0] = digit[v >> 18];
        p[1] = digit[v >> 12 & 63];
        p[2] = n > 1 ? digit[v >> 6 & 63] : '=';
        p[3] = '=';
        p += 4;
    }
    return p;
}

/* Kafka's text of a uuid: url-safe base64 of its 16 bytes without padding, 22 characters. */
static inline char *kc_uuid(char *p, const uint8_t *bytes) {
    const char *digit = kc_base64_url;
    for (int i = 0; i < 15; i += 3, p += 4) {
        uint32_t v = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        p[0] = digit[v >> 18];
        p[1] = digit[v >> 12 & 63];
        p[2] = digit[v >> 6 & 63];
        p[3] = digit[v & 63];
    }
    p[0] = digit[bytes[15] >> 2];
    p[1] = digit[(bytes[15] & 3) << 4];
    return p + 2;
}

/* Reads the 16 bytes of a uuid from its text of 22 characters; returns 0, or -1 for other text. */
static inline int kc_uuid_parse(uint8_t *uuid, const uint8_t *text) {
    uint32_t bits = 0;
    int filled = 0, at = 0;
    for (int i = 0; i < 22; i++) {
        uint8_t c = text[i];
        uint32_t digit = c >= 'A' && c <= 'Z' ? c - 'A' + 0u
                         : c >= 'a' && c <= 'z' ? c - 'a' + 26u
                         : c >= '0' && c <= '9' ? c - '0' + 52u
                         : c == '-' ? 62u : c == '_' ? 63u : 64u;
        if (digit == 64) return -1;
        bits = bits << 6 | digit;
        filled += 6;
        if (filled >= 8) {
            filled -= 8;
            uuid[at++] = (uint8_t)(bits >> filled);
        }
    }
    return bits & 15 ? -1 : 0;
}

/* Returns the length of the well-formed UTF-8 character at `s` (RFC 3629: no surrogates, no over-long forms),
 * or 0. */
static inline size_t kc_utf8_char(const uint8_t *s, size_t left) {
    uint8_t c = s[0];
    if (c < 0x80) return 1;
    if (c < 0xc2) return 0;
    if (c < 0xe0) return left >= 2 && (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if (c < 0xf0) {
        if (left < 3 || (s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80) return 0;
        if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] >= 0xa0)) return 0;
        return 3;
    }
    if (c > 0xf4 || left < 4) return 0;
    if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80) return 0;
    if ((c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] >= 0x90)) return 0;
    return 4;
}

static inline int kc_is_plain(uint8_t c) { return (uint8_t)(c - 0x20) < 0x5f && c != '"' && c != '\\'; }

/* Nonzero if one of the eight bytes is a control character, DEL, a quote, a backslash or outside ASCII. */
static inline uint64_t kc_not_plain8(uint64_t w) {
    const uint64_t ones = 0x0101010101010101ULL, high = 0x8080808080808080ULL;
    uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
    return ((w - ones * 0x20) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | (w + ones) | w) & high;
}

/* Copies the characters up to the first that is not plain, eight at a time; the caller has reserved the room. */
static inline size_t kc_copy_plain(char *p, const uint8_t *s, size_t n) {
    size_t i = 0;
    while (n - i >= 8) {
        uint64_t w;
        memcpy(&w, s + i, 8);
        if (kc_not_plain8(w)) break;
        memcpy(p + i, &w, 8);
        i += 8;
    }
    if (i && n - i < 8) {               /* the last eight, some of which are copied already */
        uint64_t w;
        memcpy(&w, s + n - 8, 8);
        if (!kc_not_plain8(w)) {
            memcpy(p + n - 8, &w, 8);
            return n;
        }
    }
    while (i < n && kc_is_plain(s[i])) {
        p[i] = (char)s[i];
        i++;
    }
    return i;
}

static inline char *kc_escape(char *p, uint8_t c) {
    static const char hex[17] = "0123456789abcdef";
    *p++ = '\\';
    switch (c) {
        case '"': case '\\': *p++ = (char)c; return p;
        case '\n': *p++ = 'n'; return p;
        case '\r': *p++ = 'r'; return p;
        case '\t': *p++ = 't'; return p;
        case '\b': *p++ = 'b'; return p;
        case '\f': *p++ = 'f'; return p;
    }
    memcpy(p, "u00", 3);
    p[3] = hex[c >> 4];
    p[4] = hex[c & 15];
    return p + 5;
}

/* Returns whether this well-formed character outside ASCII controls a terminal or ends a line: U+0080 to U+009F,
 * U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. It is the same set as UNSAFE in kcli/legible.py. */
static inline int kc_steers(const uint8_t *s) {
    if (s[0] == 0xe2) {
        if (s[1] == 0x80) return s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae);
        return s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
    }
    return (s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xd8 && s[1] == 0x9c);
}

/* Writes a character of two or three bytes as \uXXXX: 6 characters. */
static inline char *kc_escape_wide(char *p, const uint8_t *s, size_t length) {
    static const char hex[17] = "0123456789abcdef";
    unsigned c = length == 2 ? (s[0] & 0x1fu) << 6 | (s[1] & 0x3fu)
                             : (s[0] & 0x0fu) << 12 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
    p[0] = '\\';
    p[1] = 'u';
    for (int i = 0; i < 4; i++) p[2 + i] = hex[c >> (12 - 4 * i) & 15];
    return p + 6;
}

/* Writes the rest of a string after its plain start, with escapes; needs at most 6 characters for a byte. */
static int kc_string_rest(kc_out *out, const uint8_t *s, size_t n) {
    if (n > SIZE_MAX / 6 - 16 || kc_reserve(out, n * 6 + 1)) return KC_MEMORY;
    char *p = out->data + out->size;
    size_t i = 0;
    while (i < n) {
        size_t plain = kc_copy_plain(p, s + i, n - i);
        p += plain;
        i += plain;
        if (i == n) break;
        if (s[i] < 0x80) {
            p = kc_escape(p, s[i++]);
            continue;
        }
        size_t length = kc_utf8_char(s + i, n - i);
        if (!length) return KC_UTF8;
        if (kc_steers(s + i)) {
            p = kc_escape_wide(p, s + i, length);
        } else {
            memcpy(p, s + i, length);
            p += length;
        }
        i += length;
    }
    *p++ = '"';
    out->size = (size_t)(p - out->data);
    return KC_OK;
}

/* Writes a JSON string with quotes. KC_UTF8: not well-formed; out->size is then unchanged. */
static inline int kc_string(kc_out *out, const uint8_t *s, size_t n) {
    size_t before = out->size;
    if (kc_reserve(out, n + 10)) return KC_MEMORY;
    char *p = out->data + out->size;
    *p++ = '"';
    size_t plain = kc_copy_plain(p, s, n);
    p += plain;
    if (plain == n) {
        *p++ = '"';
        out->size = (size_t)(p - out->data);
        return KC_OK;
    }
    out->size = (size_t)(p - out->data);
    int code = kc_string_rest(out, s + plain, n - plain);
    if (code) out->size = before;
    return code;
}

/* Returns whether bytes are well-formed UTF-8. */
static inline int kc_is_utf8(const uint8_t *s, size_t n) {
    size_t i = 0, length;
    uint64_t eight;
    while (i < n) {
        if (n - i >= 8 && (memcpy(&eight, s + i, 8), !(eight & 0x8080808080808080ULL))) {
            i += 8;
        } else if (s[i] < 0x80) {
            i++;
        } else if ((length = kc_utf8_char(s + i, n - i))) {
            i += length;
        } else {
            return 0;
        }
    }
    return 1;
}

static inline int kc_base64_string(kc_out *out, const uint8_t *bytes, size_t n) {
    if (kc_reserve(out, kc_base64_size(n) + 2)) return KC_MEMORY;
    char *p = out->data + out->size;
    *p++ = '"';
    p = kc_base64(p, bytes, n);
    *p++ = '"';
    out->size = (size_t)(p - out->data);
    return KC_OK;
}

#endif
