/* Record batches of every magic, read in place: the frame of a batch, the records inside, the search for the next sound one.
 *
 * A log segment and a records field are a row of entries: offset int64, size int32, then `size` bytes; the byte at 16 is the
 * magic. Magic 0 and 1: one message, which may wrap a compressed message set. Magic 2: a batch with a header of 61 bytes.
 * What is accepted is what Kafka's readers accept (FileLogInputStream, DefaultRecordBatch, DefaultRecord, LegacyRecord). */
#ifndef KCLI_BATCHES_H
#define KCLI_BATCHES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc.h"
#include "layouts.h"

enum {
    KB_OK = 0,
    KB_END,     /* nothing left */
    KB_PARTIAL, /* runs past the end, or fewer than 18 bytes are left */
    KB_LENGTH,  /* the size field is below 14: nobody can say where the next entry begins */
    KB_SHORT,   /* the size field is too small for the magic's header */
    KB_MAGIC,   /* a magic below 0 */
};

enum { KB_CODEC = 7, KB_APPEND_TIME = 8, KB_TRANSACTIONAL = 16, KB_CONTROL = 32, KB_HORIZON = 64 };

typedef struct {
    const uint8_t *start;
    int64_t size; /* whole, the 12 bytes of offset and size included */
    int magic;
    int attributes;
    int64_t base_offset, last_offset; /* magic 0 and 1: both the message's own offset */
    int32_t leader_epoch;
    uint32_t crc;
    int64_t base_timestamp, max_timestamp; /* magic 0: -1; magic 1: both the message's own */
    int64_t producer_id;
    int producer_epoch;
    int32_t base_sequence, count;
    const uint8_t *key; /* magic 0 and 1; NULL: null */
    int32_t key_size, value_size;
    const uint8_t *payload; /* magic 2: the records; magic 0 and 1: the value, NULL: null */
    size_t payload_size;
    int broken; /* magic 0 and 1: KR_KEY or KR_VALUE when that does not fit in the message */
} kb_batch;

static inline uint16_t kb_u16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t kb_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}
static inline uint64_t kb_u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}
static inline int32_t kb_i32(const uint8_t *p) { return (int32_t)kb_u32(p); }
static inline int64_t kb_i64(const uint8_t *p) { return (int64_t)kb_u64(p); }
static inline void kb_put32(uint8_t *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
}
static inline void kb_put64(uint8_t *p, uint64_t v) {
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}
static inline int64_t kb_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t kb_minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* ---- records of magic 2 */

enum {
    KR_OK = 0,
    KR_VARINT,        /* a varint of more than 5 bytes, or a varlong of more than 10 */
    KR_END,           /* the bytes end inside the record */
    KR_SIZE,          /* the record's length is not what its fields take */
    KR_KEY,           /* a key longer than what is left */
    KR_VALUE,
    KR_HEADER_COUNT,
    KR_HEADER_KEY,
    KR_HEADER_VALUE,
    KR_COUNT_MORE,    /* the batch says more records than are there */
    KR_COUNT_FEWER,   /* bytes are left behind the last record */
    KR_COUNT_NEGATIVE,
    KR_OFFSET_ORDER,  /* down-conversion: offsets that do not rise */
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
    int odd; /* has a form that a canonical writer would not give it */
    int64_t timestamp_delta;
    int32_t offset_delta;
    const uint8_t *key, *value; /* NULL: null */
    int64_t key_size, value_size;
    const uint8_t *headers;
    int32_t header_count;
    const uint8_t *end;
    const uint8_t *wrong; /* where reading stopped, and the figures for the message */
    int64_t says, here;
} kb_record;

/* Zigzag varint of at most 5 bytes (varlong: 10), as Kafka's ByteUtils reads it. Returns NULL with `code` set. */
static inline const uint8_t *kb_varlong(const uint8_t *p, const uint8_t *end, int most, int64_t *value, int *odd, int *code) {
    if (p < end && *p < 0x80) {
        *value = (int64_t)(*p >> 1) ^ -(int64_t)(*p & 1);
        return p + 1;
    }
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

#define KB_FAIL(what, at) return r->wrong = (at), (what)
#define KB_VARINT(into, most) \
    do { \
        const uint8_t *next_ = kb_varlong(p, end, most, &into, &r->odd, &code); \
        if (!next_) KB_FAIL(code, p); \
        p = next_; \
    } while (0)

static int kb_skip_headers(kb_record *r, const uint8_t *p, const uint8_t *end, const uint8_t **after) {
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

/* One record at `p`. r->odd is only ever set, so that it tells of a whole batch. */
static inline int kb_read_record(kb_record *r, const uint8_t *p, const uint8_t *end) {
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

/* ---- frames */

static inline void kb_read_header_2(kb_batch *b, const uint8_t *p) {
    b->leader_epoch = kb_i32(p + KB_AT_PARTITION_LEADER_EPOCH);
    b->crc = kb_u32(p + KB_AT_CRC);
    b->attributes = kb_u16(p + KB_AT_ATTRIBUTES);
    b->last_offset = kb_plus(b->base_offset, kb_i32(p + KB_AT_LAST_OFFSET_DELTA));
    b->base_timestamp = kb_i64(p + KB_AT_BASE_TIMESTAMP);
    b->max_timestamp = kb_i64(p + KB_AT_MAX_TIMESTAMP);
    b->producer_id = kb_i64(p + KB_AT_PRODUCER_ID);
    b->producer_epoch = (int16_t)kb_u16(p + KB_AT_PRODUCER_EPOCH);
    b->base_sequence = kb_i32(p + KB_AT_BASE_SEQUENCE);
    b->count = kb_i32(p + KB_AT_RECORD_COUNT);
    b->payload = p + KB_HEADER_2;
    b->payload_size = (size_t)(b->size - KB_HEADER_2);
    b->key = NULL;
    b->key_size = b->value_size = -1;
}

/* A message of magic 0 or 1; its size was checked. */
static inline void kb_read_message(kb_batch *b, const uint8_t *p) {
    const uint8_t *end = p + b->size, *at;
    b->crc = kb_u32(p + KB_AT_0_CRC);
    b->attributes = p[KB_AT_0_ATTRIBUTES];
    b->last_offset = b->base_offset;
    b->base_timestamp = b->max_timestamp = b->magic == 1 ? kb_i64(p + KB_AT_1_TIMESTAMP) : -1;
    b->leader_epoch = b->base_sequence = -1;
    b->producer_id = b->producer_epoch = -1;
    b->count = 1;
    b->payload = NULL;
    b->payload_size = 0;
    b->key = NULL;
    b->value_size = -1;
    at = p + (b->magic == 1 ? KB_AT_1_KEY : KB_AT_0_KEY);
    b->key_size = kb_i32(at);
    at += 4;
    if (b->key_size > end - at - 4) {
        b->broken = KR_KEY;
        return;
    }
    if (b->key_size >= 0) {
        b->key = at;
        at += b->key_size;
    }
    b->value_size = kb_i32(at);
    at += 4;
    if (b->value_size > end - at) {
        b->broken = KR_VALUE;
    } else if (b->value_size >= 0) {
        b->payload = at;
        b->payload_size = (size_t)b->value_size;
    }
}

static inline int kb_least(int magic) { return magic >= 2 ? KB_LEAST_2 : magic == 1 ? KB_LEAST_1 : KB_LEAST; }

/* The entry at `p`. On KB_PARTIAL, KB_LENGTH, KB_SHORT and KB_MAGIC b->size is what the size field says, plus 12 (0: no field). */
static inline int kb_read_batch(kb_batch *b, const uint8_t *p, const uint8_t *end) {
    int64_t left = end - p;
    b->start = p;
    b->size = 0;
    b->broken = 0;
    if (left <= 0) return KB_END;
    if (left < 18) return KB_PARTIAL;
    int32_t size = kb_i32(p + KB_AT_BATCH_LENGTH);
    b->size = (int64_t)size + KB_OVERHEAD;
    b->magic = (int8_t)p[KB_AT_MAGIC];
    if (size < KB_LEAST) return KB_LENGTH;
    if (b->size > left) return KB_PARTIAL;
    if (b->magic < 0) return KB_MAGIC;
    if (size < kb_least(b->magic)) return KB_SHORT;
    b->base_offset = kb_i64(p);
    if (b->magic >= 2) kb_read_header_2(b, p);
    else kb_read_message(b, p);
    return KB_OK;
}

static inline uint32_t kb_checksum(const kb_batch *b) {
    if (b->magic >= 2) return kc_crc32c(0, b->start + KB_AT_ATTRIBUTES, (size_t)(b->size - KB_AT_ATTRIBUTES));
    return kc_crc32(0, b->start + KB_AT_MAGIC, (size_t)(b->size - KB_AT_MAGIC));
}

/* Could a batch begin here? Says nothing about its checksum. */
static inline int kb_plausible(const kb_batch *b) {
    if (b->magic > 2 || b->base_offset < 0 || (b->attributes & KB_CODEC) > 4) return 0;
    return b->magic < 2 ? !b->broken : b->count >= 0 && b->last_offset >= b->base_offset;
}

static inline int kb_sound(const uint8_t *p, const uint8_t *end) {
    kb_batch b;
    return kb_read_batch(&b, p, end) == KB_OK && kb_plausible(&b) && kb_checksum(&b) == b.crc;
}

/* Bytes from `p` to the next entry with a good checksum, -1 when there is none up to `end`. The work is bounded: candidates
 * may have no more than 64 times the bytes of the buffer summed. */
static ptrdiff_t kb_find(const uint8_t *p, const uint8_t *end) {
    int64_t budget = (end - p) * 64 + 4096;
    for (const uint8_t *at = p; end - at >= 18; at++) {
        kb_batch b;
        if (at[KB_AT_MAGIC] > 2 || kb_read_batch(&b, at, end) != KB_OK || !kb_plausible(&b)) continue;
        budget -= b.size;
        if (budget < 0) return -1;
        if (kb_checksum(&b) == b.crc) return at - p;
    }
    return -1;
}

#endif
