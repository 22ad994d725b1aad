/* Record batches of every magic, read in place: the frame of a batch, and the search for the next sound one.
 *
 * A log segment and a records field are a row of entries: offset int64, size int32, then `size` bytes; the byte at 16
 * is the magic. In magic 0 and 1 an entry is one message, which may wrap a compressed message set. In magic 2 it is a
 * batch with a header of 61 bytes. Entries are accepted as in Kafka's readers (FileLogInputStream,
 * DefaultRecordBatch, DefaultRecord, LegacyRecord). */
#ifndef KCLI_BATCHES_H
#define KCLI_BATCHES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bytes.h"
#include "crc.h"
#include "layouts.h"
#include "records.h"

enum {
    KB_OK = 0,
    KB_END,     /* nothing left */
    KB_PARTIAL, /* it ends beyond the buffer, or fewer than 18 bytes are left */
    KB_LENGTH,  /* the size field is below 14, so the next entry's start is unknown */
    KB_SHORT,   /* the size field is too small for the magic's header */
    KB_MAGIC,   /* a magic below 0 */
};

enum { KB_CODEC = 7, KB_APPEND_TIME = 8, KB_TRANSACTIONAL = 16, KB_CONTROL = 32, KB_HORIZON = 64 };

typedef struct {
    const uint8_t *start;
    int64_t size; /* of the whole entry, with the 12 bytes of offset and size */
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
    int broken; /* magic 0 and 1: KR_KEY or KR_VALUE if that does not fit in the message */
} kb_batch;

static inline int64_t kb_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t kb_minus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static inline void kb_read_header_2(kb_batch *b, const uint8_t *p) {
    b->leader_epoch = (int32_t)kc_be32(p + KB_AT_PARTITION_LEADER_EPOCH);
    b->crc = kc_be32(p + KB_AT_CRC);
    b->attributes = kc_be16(p + KB_AT_ATTRIBUTES);
    b->last_offset = kb_plus(b->base_offset, (int32_t)kc_be32(p + KB_AT_LAST_OFFSET_DELTA));
    b->base_timestamp = (int64_t)kc_be64(p + KB_AT_BASE_TIMESTAMP);
    b->max_timestamp = (int64_t)kc_be64(p + KB_AT_MAX_TIMESTAMP);
    b->producer_id = (int64_t)kc_be64(p + KB_AT_PRODUCER_ID);
    b->producer_epoch = (int16_t)kc_be16(p + KB_AT_PRODUCER_EPOCH);
    b->base_sequence = (int32_t)kc_be32(p + KB_AT_BASE_SEQUENCE);
    b->count = (int32_t)kc_be32(p + KB_AT_RECORD_COUNT);
    b->payload = p + KB_HEADER_2;
    b->payload_size = (size_t)(b->size - KB_HEADER_2);
    b->key = NULL;
    b->key_size = b->value_size = -1;
}

/* Reads a message of magic 0 or 1, whose size was checked. */
static inline void kb_read_message(kb_batch *b, const uint8_t *p) {
    const uint8_t *end = p + b->size, *at;
    b->crc = kc_be32(p + KB_AT_0_CRC);
    b->attributes = p[KB_AT_0_ATTRIBUTES];
    b->last_offset = b->base_offset;
    b->base_timestamp = b->max_timestamp = b->magic == 1 ? (int64_t)kc_be64(p + KB_AT_1_TIMESTAMP) : -1;
    b->leader_epoch = b->base_sequence = -1;
    b->producer_id = b->producer_epoch = -1;
    b->count = 1;
    b->payload = NULL;
    b->payload_size = 0;
    b->key = NULL;
    b->value_size = -1;
    at = p + (b->magic == 1 ? KB_AT_1_KEY : KB_AT_0_KEY);
    b->key_size = (int32_t)kc_be32(at);
    at += 4;
    if (b->key_size > end - at - 4) {
        b->broken = KR_KEY;
        return;
    }
    if (b->key_size >= 0) {
        b->key = at;
        at += b->key_size;
    }
    b->value_size = (int32_t)kc_be32(at);
    at += 4;
    if (b->value_size > end - at) {
        b->broken = KR_VALUE;
    } else if (b->value_size >= 0) {
        b->payload = at;
        b->payload_size = (size_t)b->value_size;
    }
}

static inline int kb_least(int magic) { return magic >= 2 ? KB_LEAST_2 : magic == 1 ? KB_LEAST_1 : KB_LEAST; }

/* Reads the entry at `p`. For KB_PARTIAL, KB_LENGTH, KB_SHORT and KB_MAGIC, b->size is the size field plus 12 (0: no
 * field). */
static inline int kb_read_batch(kb_batch *b, const uint8_t *p, const uint8_t *end) {
    int64_t left = end - p;
    b->start = p;
    b->size = 0;
    b->broken = 0;
    if (left <= 0) return KB_END;
    if (left < 18) return KB_PARTIAL;
    int32_t size = (int32_t)kc_be32(p + KB_AT_BATCH_LENGTH);
    b->size = (int64_t)size + KB_OVERHEAD;
    b->magic = (int8_t)p[KB_AT_MAGIC];
    if (size < KB_LEAST) return KB_LENGTH;
    if (b->size > left) return KB_PARTIAL;
    if (b->magic < 0) return KB_MAGIC;
    if (size < kb_least(b->magic)) return KB_SHORT;
    b->base_offset = (int64_t)kc_be64(p);
    if (b->magic >= 2) kb_read_header_2(b, p);
    else kb_read_message(b, p);
    return KB_OK;
}

static inline uint32_t kb_checksum(const kb_batch *b) {
    if (b->magic >= 2) return kc_crc32c(0, b->start + KB_AT_ATTRIBUTES, (size_t)(b->size - KB_AT_ATTRIBUTES));
    return kc_crc32(0, b->start + KB_AT_MAGIC, (size_t)(b->size - KB_AT_MAGIC));
}

/* Returns whether a batch may begin here, whatever its checksum. */
static inline int kb_plausible(const kb_batch *b) {
    if (b->magic > 2 || b->base_offset < 0 || (b->attributes & KB_CODEC) > 4) return 0;
    return b->magic < 2 ? !b->broken : b->count >= 0 && b->last_offset >= b->base_offset;
}

static inline int kb_sound(const uint8_t *p, const uint8_t *end) {
    kb_batch b;
    return kb_read_batch(&b, p, end) == KB_OK && kb_plausible(&b) && kb_checksum(&b) == b.crc;
}

/* Returns the bytes from `p` to the next entry with a right checksum; -1: there is none up to `end`. The work is
 * bounded: checksums are computed over at most 64 times the bytes of the buffer. */
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
