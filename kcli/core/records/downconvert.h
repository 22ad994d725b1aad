/* Writes records of magic 2 and 1 as messages of a lower magic (KIP-283; Kafka's RecordsUtil.downConvert,
 * MemoryRecordsBuilder).
 *
 * A message is: offset int64, size int32, crc int32 of the bytes after it, magic int8, attributes int8, in magic 1
 * timestamp int64, key and value with their lengths as int32. */
#ifndef KCLI_DOWNCONVERT_H
#define KCLI_DOWNCONVERT_H

#include "record_json.h"

typedef struct {
    int magic;            /* of the messages to write */
    int attributes;       /* theirs: LogAppendTime or 0 */
    int64_t first_offset; /* records below it are left out */
    int relative;         /* offsets count from the first written record */
    int counting;         /* only count, and write nothing */
    /* the output for one batch */
    int64_t count, base, last, max_timestamp;
    int64_t bytes, with_headers;
} kd_target;

/* Copies may reach 15 bytes beyond both ends; the output has that much slack, and the input is checked before. */
static inline void kd_copy(uint8_t *to, const uint8_t *from, size_t n, const uint8_t *end) {
#ifdef KT_X86
    if (!n) return;
    if ((size_t)(end - from) >= ((n + 15) & ~(size_t)15) && n <= 512) {
        size_t i = 0;
        do {
            _mm_storeu_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
            i += 16;
        } while (i < n);
        return;
    }
#endif
    memcpy(to, from, n);
}

enum { KD_SLACK = 16 };

/* Writes one message at `p`, without its crc; returns its end. */
static inline uint8_t *kd_message(uint8_t *p, const kd_target *t, int64_t offset, int64_t timestamp, const uint8_t *key,
                                  size_t key_size, const uint8_t *value, size_t value_size, const uint8_t *end) {
    uint8_t *start = p;
    kc_set64(p, (uint64_t)(t->relative ? kb_minus(offset, t->base) : offset));
    p[KB_AT_MAGIC] = (uint8_t)t->magic;
    p[KB_AT_0_ATTRIBUTES] = (uint8_t)t->attributes;
    if (t->magic == 1) kc_set64(p + KB_AT_1_TIMESTAMP, (uint64_t)timestamp);
    p += t->magic == 1 ? KB_AT_1_KEY : KB_AT_0_KEY;
    kc_set32(p, key ? (uint32_t)key_size : 0xffffffffu);
    p += 4;
    if (key) kd_copy(p, key, key_size, end);
    p += key_size;
    kc_set32(p, value ? (uint32_t)value_size : 0xffffffffu);
    p += 4;
    if (value) kd_copy(p, value, value_size, end);
    p += value_size;
    kc_set32(start + KB_AT_BATCH_LENGTH, (uint32_t)(p - start - KB_OVERHEAD));
    return p;
}

static inline void kd_seal(uint8_t *message, const uint8_t *end) {
    kc_set32(message + KB_AT_0_CRC, kc_crc32(0, message + KB_AT_MAGIC, (size_t)(end - message - KB_AT_MAGIC)));
}

/* Counts a record to write. Returns KR_OK, or KR_OFFSET_ORDER or KR_TIMESTAMP if the record can't be written. */
static inline int kd_accept(kd_target *t, int64_t offset, int64_t timestamp, kb_problem *problem) {
    if (t->count && offset <= t->last) {
        problem->says = offset;
        problem->here = t->last;
        return KR_OFFSET_ORDER;
    }
    if (timestamp < -1) {
        problem->says = timestamp;
        return KR_TIMESTAMP;
    }
    if (!t->count++) t->base = offset;
    t->last = offset;
    if (timestamp > t->max_timestamp) t->max_timestamp = timestamp;
    return KR_OK;
}

static inline void kd_begin(kd_target *t) {
    t->count = t->bytes = t->with_headers = 0;
    t->max_timestamp = -1;
}

/* Appends the records of a batch of magic 2 as messages to `out`. Returns KC_OK or KC_MEMORY; on a problem out->size is
 * as before. A message's crc is computed after the next message is written, as its bytes have left the store buffer by
 * then. */
static int kd_records(
    kc_out *out, const kb_batch *b, const uint8_t *data, size_t size, kd_target *t, kb_problem *problem
) {
    const uint8_t *end = data + size;
    size_t before = out->size;
    uint8_t *at, *limit, *open = NULL, *open_end = NULL;
    kb_walk walk;
    kb_record r;
    kb_open_records(&walk, &r, data, size, b->count);
    kd_begin(t);
    at = limit = NULL;
    while (kb_next_record(&walk, &r, problem)) {
        int64_t offset = kb_plus(b->base_offset, r.offset_delta), timestamp = kb_timestamp(b, r.timestamp_delta);
        if (offset < t->first_offset) continue;
        if ((problem->code = kd_accept(t, offset, timestamp, problem))) {
            problem->record = walk.read - 1;
            problem->at = walk.at - data;
            break;
        }
        size_t key = r.key ? (size_t)r.key_size : 0, value = r.value ? (size_t)r.value_size : 0;
        t->with_headers += r.header_count != 0;
        t->bytes += (int64_t)(key + value) + (t->magic ? 34 : 26);
        if (t->counting) continue;
        if ((size_t)(limit - at) < key + value + 34 + KD_SLACK) {
            ptrdiff_t opened = open ? (char *)open - out->data : -1;
            ptrdiff_t opened_end = open ? (char *)open_end - out->data : 0;
            if (at) out->size = (size_t)((char *)at - out->data);
            if (kc_reserve(out, key + value + 34 + KD_SLACK + (size_t)(end - walk.at))) return KC_MEMORY;
            at = (uint8_t *)out->data + out->size;
            limit = (uint8_t *)out->data + out->capacity;
            if (opened >= 0) {
                open = (uint8_t *)out->data + opened;
                open_end = (uint8_t *)out->data + opened_end;
            }
        }
        uint8_t *message = at;
        at = kd_message(at, t, offset, timestamp, r.key, key, r.value, value, end);
        if (open) kd_seal(open, open_end);
        open = message;
        open_end = at;
    }
    if (open) kd_seal(open, open_end);
    if (at) out->size = (size_t)((char *)at - out->data);
    if (problem->code) out->size = before;
    return KC_OK;
}

/* The same for one message of magic 1 that is no wrapper, or (after kd_begin) for each in a wrapper. */
static int kd_one(
    kc_out *out, const kb_batch *m, int64_t offset, int64_t timestamp, kd_target *t, kb_problem *problem
) {
    size_t key = m->key ? (size_t)m->key_size : 0;
    if (offset < t->first_offset) return KC_OK;
    if ((problem->code = kd_accept(t, offset, timestamp, problem))) return KC_OK;
    t->bytes += (int64_t)(key + m->payload_size) + (t->magic ? 34 : 26);
    if (t->counting) return KC_OK;
    if (kc_reserve(out, key + m->payload_size + 34 + KD_SLACK)) return KC_MEMORY;
    uint8_t *at = (uint8_t *)out->data + out->size;
    uint8_t *after = kd_message(at, t, offset, timestamp, m->key, key, m->payload, m->payload_size, m->start + m->size);
    kd_seal(at, after);
    out->size = (size_t)((char *)after - out->data);
    return KC_OK;
}

static int kd_set(kc_out *out, kb_batch *w, const uint8_t *data, size_t size, kd_target *t, kb_problem *problem) {
    kb_set set;
    kb_batch m;
    size_t before = out->size;
    kd_begin(t);
    if (kb_open_set(w, data, size, &set, problem)) return KC_OK;
    for (problem->record = 0; kb_next_inner(&set, &m) == KB_OK; problem->record++) {
        int64_t timestamp = w->attributes & KB_APPEND_TIME ? w->max_timestamp : m.max_timestamp;
        if (kd_one(out, &m, kb_plus(m.base_offset, set.base), timestamp, t, problem)) return KC_MEMORY;
        if (problem->code) {
            problem->at = m.start - data;
            out->size = before;
            return KC_OK;
        }
    }
    return KC_OK;
}

/* Writes the wrapper around a compressed message set; `out` has room for it. */
static void kd_wrapper(
    kc_out *out, const kd_target *t, int64_t timestamp, int codec, const uint8_t *value, size_t size
) {
    uint8_t *at = (uint8_t *)out->data + out->size;
    kd_target plain = *t;
    plain.relative = 0;
    plain.attributes |= codec;
    uint8_t *after = kd_message(at, &plain, t->last, timestamp, NULL, 0, value, size, value + size);
    kd_seal(at, after);
    out->size = (size_t)((char *)after - out->data);
}

#endif
