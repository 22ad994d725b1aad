/* The records of a batch of magic 2, read in place. Records are accepted as in Kafka's DefaultRecord and
 * ByteUtils. */
#ifndef KCLI_RECORDS_H
#define KCLI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "bytes.h"

enum {
    KR_OK = 0,
    KR_VARINT,        /* a varint of more than 5 bytes, or a varlong of more than 10 */
    KR_END,           /* the bytes end inside the record */
    KR_SIZE,          /* the record's length differs from that of its fields */
    KR_KEY,           /* a key longer than what is left */
    KR_VALUE,
    KR_HEADER_COUNT,
    KR_HEADER_KEY,
    KR_HEADER_VALUE,
    KR_COUNT_MORE,    /* the batch's count is more than its records */
    KR_COUNT_FEWER,   /* bytes are left after the last record */
    KR_COUNT_NEGATIVE,
    KR_OFFSET_ORDER,  /* down-conversion: offsets that do not increase */
    KR_TIMESTAMP,     /* down-conversion: a timestamp below -1 */
    KR_LEGACY_NULL,   /* a wrapper without a value */
    KR_LEGACY_CODEC,
    KR_LEGACY_NESTED, /* a compressed message in a wrapper */
    KR_LEGACY_MAGIC,  /* a message in a wrapper that has another magic */
    KR_LEGACY_OFFSET, /* a wrapper's offset below that of its last message */
    KR_LEGACY_EMPTY,
    KR_LEGACY_FRAME,
};

typedef struct {
    int attributes;
    int odd; /* has a form that a canonical writer does not use */
    int64_t timestamp_delta;
    int32_t offset_delta;
    const uint8_t *key, *value; /* NULL: null */
    int64_t key_size, value_size;
    const uint8_t *headers;
    int32_t header_count;
    const uint8_t *end;
    const uint8_t *wrong; /* where reading stopped, and numbers for the message */
    int64_t says, here;
} kb_record;

/* The reason why the reading of a batch's records stopped. */
typedef struct {
    int code; /* KR_... */
    int64_t record;
    int64_t at; /* bytes from the start of what was read: the (decompressed) records or message set */
    int64_t says, here;
} kb_problem;

static const uint8_t *kb_long_varlong(
    const uint8_t *p, const uint8_t *end, int most, int64_t *value, int *odd, int *code
) {
    uint64_t v = 0;
    for (int i = 0; i < most; i++) {
        if (p + i >= end) {
            *code = KR_END;
            return NULL;
        }
        v |= (uint64_t)(p[i] & 0x7f) << 7 * i;
        if (p[i] < 0x80) {
            *odd |= i > 0 && p[i] == 0;
            if (most == 5) {
                uint32_t w = (uint32_t)v;
                *odd |= i == 4 && p[4] > 15;
                *value = (int32_t)(w >> 1 ^ (0u - (w & 1)));
            } else {
                *odd |= i == 9 && p[9] > 1;
                *value = (int64_t)(v >> 1 ^ (0ull - (v & 1)));
            }
            return p + i + 1;
        }
    }
    *code = KR_VARINT;
    return NULL;
}

/* Reads a zigzag varint of at most 5 bytes (varlong: 10), as Kafka's ByteUtils does. Returns NULL with `code` set. Most
 * have one byte, which should need no call. */
KC_ALWAYS const uint8_t *kb_varlong(
    const uint8_t *p, const uint8_t *end, int most, int64_t *value, int *odd, int *code
) {
    if (p < end && *p < 0x80) {
        *value = (int64_t)(*p >> 1) ^ -(int64_t)(*p & 1);
        return p + 1;
    }
    return kb_long_varlong(p, end, most, value, odd, code);
}

#define KB_FAIL(what, at) return r->wrong = (at), (what)
#define KB_VARINT(into, most) \
    do { \
        const uint8_t *next_ = kb_varlong(p, end, most, &into, &r->odd, &code); \
        if (!next_) KB_FAIL(code, p); \
        p = next_; \
    } while (0)

static inline int kb_skip_headers(kb_record *r, const uint8_t *p, const uint8_t *end, const uint8_t **after) {
    int64_t n;
    int code = 0;
    for (int32_t i = 0; i < r->header_count; i++) {
        KB_VARINT(n, 5);
        r->says = n;
        r->here = end - p;
        if (n < 0 || n > end - p) KB_FAIL(KR_HEADER_KEY, p);
        p += n;
        KB_VARINT(n, 5);
        r->says = n;
        r->here = end - p;
        if (n > end - p) KB_FAIL(KR_HEADER_VALUE, p);
        if (n >= 0) p += n;
        else r->odd |= n != -1;
    }
    *after = p;
    return KR_OK;
}

/* Reads one record at `p`. r->odd is set but never cleared, so that it holds for a whole batch. */
KC_ALWAYS int kb_read_record(kb_record *r, const uint8_t *p, const uint8_t *end) {
    int code = 0;
    int64_t size, n;
    const uint8_t *start = p;
    KB_VARINT(size, 5);
    r->says = size;
    r->here = end - p;
    if (size < 0 || size > end - p) KB_FAIL(KR_SIZE, start);
    const uint8_t *body = p;
    if (p == end) KB_FAIL(KR_END, p);
    r->attributes = *p++;
    r->odd |= r->attributes;
    KB_VARINT(r->timestamp_delta, 10);
    KB_VARINT(n, 5);
    r->offset_delta = (int32_t)n;
    KB_VARINT(r->key_size, 5);
    if (r->key_size < 0) {
        r->odd |= r->key_size != -1;
        r->key = NULL;
    } else {
        r->says = r->key_size;
        r->here = end - p;
        if (r->key_size > end - p) KB_FAIL(KR_KEY, p);
        r->key = p;
        p += r->key_size;
    }
    KB_VARINT(r->value_size, 5);
    if (r->value_size < 0) {
        r->odd |= r->value_size != -1;
        r->value = NULL;
    } else {
        r->says = r->value_size;
        r->here = end - p;
        if (r->value_size > end - p) KB_FAIL(KR_VALUE, p);
        r->value = p;
        p += r->value_size;
    }
    KB_VARINT(n, 5);
    r->says = n;
    r->here = end - p;
    if (n < 0 || n > end - p) KB_FAIL(KR_HEADER_COUNT, p);
    r->header_count = (int32_t)n;
    r->headers = p;
    if (n && (code = kb_skip_headers(r, p, end, &p))) return code;
    r->says = size;
    r->here = p - body;
    if (size != p - body) KB_FAIL(KR_SIZE, start);
    r->end = p;
    return KR_OK;
}

/* A walk over the records of a batch, whose count may be wrong. */
typedef struct {
    const uint8_t *start, *at, *end; /* at: the next record */
    int64_t says, read;              /* records */
} kb_walk;

KC_ALWAYS void kb_open_records(kb_walk *walk, kb_record *r, const uint8_t *data, size_t size, int64_t says) {
    walk->start = walk->at = data;
    walk->end = data + size;
    walk->says = says;
    walk->read = 0;
    r->odd = 0;
    r->says = r->here = 0;
}

/* Reads the next record and returns 1; 0: there is none, or `problem` has the fault. */
KC_ALWAYS int kb_next_record(kb_walk *walk, kb_record *r, kb_problem *problem) {
    int code = KR_OK;
    if (walk->read < walk->says) {
        code = walk->at == walk->end ? KR_COUNT_MORE : kb_read_record(r, walk->at, walk->end);
        if (!code) {
            walk->at = r->end;
            walk->read++;
            return 1;
        }
    } else if (walk->says < 0) {
        code = KR_COUNT_NEGATIVE;
    } else if (walk->at < walk->end) {
        code = KR_COUNT_FEWER;
    }
    int inside = code < KR_COUNT_MORE;
    problem->code = code;
    problem->record = walk->read;
    problem->at = (inside && code ? r->wrong : walk->at) - walk->start;
    problem->says = inside ? r->says : walk->says;
    problem->here = inside ? r->here : code == KR_COUNT_MORE ? walk->read : walk->end - walk->at;
    return 0;
}

#endif
