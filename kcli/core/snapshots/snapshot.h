/* Cuts metadata records out of a batch's body, and reads PartitionRecords in place. Each reader checks every length
 * against the bytes that are there, allocates nothing, and returns NULL or -1 for bytes that it does not understand. */
#ifndef KCLI_SNAPSHOT_H
#define KCLI_SNAPSHOT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytes.h"

typedef struct {
    int64_t timestamp_delta;
    int32_t offset_delta;
    const uint8_t *key;
    int64_t key_size;
    const uint8_t *value;
    int64_t value_size;
    int32_t headers;
} kc_record;

typedef struct {
    int32_t id;
    const uint8_t *topic;
    int32_t replicas;
    const uint8_t *replica;
    int32_t isr;
    const uint8_t *in_sync;
    int32_t removing;
    const uint8_t *removed;
    int32_t adding;
    const uint8_t *added;
    int32_t leader;
    int32_t leader_epoch;
    int32_t partition_epoch;
    int32_t directories; /* -1: the version has none */
    const uint8_t *directory;
    int8_t recovery;
    int32_t elr; /* -1: null or not sent */
    const uint8_t *eligible;
    int32_t last_known;
    const uint8_t *last;
} kc_partition;

/* Reads an unsigned varint of at most `most` bytes; returns NULL if it is cut off or too long. */
static inline const uint8_t *kc_uvarint_of(const uint8_t *at, const uint8_t *end, int most, uint64_t *value) {
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    uint64_t sum = 0;
    for (int i = 0; i < most && at < end; i++) {
        uint8_t byte = *at++;
        sum |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *value = sum;
            return at;
        }
    }
    return NULL;
}

static inline const uint8_t *kc_zigzag(const uint8_t *at, const uint8_t *end, int most, int64_t *value) {
    uint64_t raw;
    at = kc_uvarint_of(at, end, most, &raw);
    if (at) {
        if (most == 5)
            raw &= 0xffffffffu;
        *value = (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1);
    }
    return at;
}

/* Reads bytes with a varint length in front (-1: null). */
static inline const uint8_t *kc_sized(const uint8_t *at, const uint8_t *end, const uint8_t **data, int64_t *size) {
    at = kc_zigzag(at, end, 5, size);
    if (!at || *size < -1)
        return NULL;
    *data = NULL;
    if (*size < 0)
        return at;
    if (*size > end - at)
        return NULL;
    *data = at;
    return at + *size;
}

static inline const uint8_t *kc_skip_headers(const uint8_t *at, const uint8_t *end, int64_t count) {
    const uint8_t *data;
    int64_t size;
    if (count < 0 || count > end - at)
        return NULL;
    while (at && count--) {
        at = kc_sized(at, end, &data, &size);
        if (!at || size < 0)
            return NULL;
        at = kc_sized(at, end, &data, &size);
    }
    return at;
}

/* Reads the next record of a magic 2 body; returns NULL if its lengths contradict each other. */
static inline const uint8_t *kc_next_record(const uint8_t *at, const uint8_t *end, kc_record *record) {
    int64_t size, delta, headers;
    at = kc_zigzag(at, end, 5, &size);
    if (!at || size < 1 || size > end - at)
        return NULL;
    const uint8_t *stop = at + size;
    at++; /* attributes: unused in magic 2 */
    if (!(at = kc_zigzag(at, stop, 10, &record->timestamp_delta)))
        return NULL;
    if (!(at = kc_zigzag(at, stop, 5, &delta)))
        return NULL;
    record->offset_delta = (int32_t)delta;
    if (!(at = kc_sized(at, stop, &record->key, &record->key_size)))
        return NULL;
    if (!(at = kc_sized(at, stop, &record->value, &record->value_size)))
        return NULL;
    if (!(at = kc_zigzag(at, stop, 5, &headers)))
        return NULL;
    record->headers = (int32_t)headers;
    if (!(at = kc_skip_headers(at, stop, headers)) || at != stop)
        return NULL;
    return stop;
}

/* Reads the frame before each metadata record: frame version, apiKey, version, as unsigned varints. */
static inline const uint8_t *kc_frame(const uint8_t *at, const uint8_t *end, int64_t *frame, int64_t *type,
                                      int64_t *version) {
    uint64_t a = 0, b = 0, c = 0;
    if (!(at = kc_uvarint_of(at, end, 5, &a)))
        return NULL;
    if (a == 1) {
        if (!(at = kc_uvarint_of(at, end, 5, &b)) || !(at = kc_uvarint_of(at, end, 5, &c)))
            return NULL;
    }
    *frame = (int64_t)a;
    *type = (int64_t)b;
    *version = (int64_t)c;
    return at;
}

/* Reads a compact array of fixed-width items, in place; count -1 is null. */
static inline const uint8_t *kc_array(const uint8_t *at, const uint8_t *end, int width, int32_t *count,
                                      const uint8_t **items) {
    uint64_t raw;
    at = kc_uvarint_of(at, end, 5, &raw);
    if (!at || raw > (uint64_t)(end - at) / (uint64_t)width + 1)
        return NULL;
    *count = (int32_t)raw - 1;
    *items = at;
    return raw ? at + (raw - 1) * (uint64_t)width : at;
}

/* Reads tag and size of the next field in a tag section; returns its value, which ends at `stop`; NULL: damaged. tag:
 * the previous one, then this one, which is greater unless it is the first. */
static inline const uint8_t *kc_next_tag(
    const uint8_t *at, const uint8_t *end, int first, uint64_t *tag, const uint8_t **stop
) {
    uint64_t before = *tag, size;
    if (!(at = kc_uvarint_of(at, end, 5, tag)) || !(at = kc_uvarint_of(at, end, 5, &size)))
        return NULL;
    if (size > (uint64_t)(end - at) || (!first && *tag <= before))
        return NULL;
    *stop = at + size;
    return at;
}

static inline int kc_partition_tags(const uint8_t *at, const uint8_t *end, int version, kc_partition *p) {
    uint64_t count, tag = 0;
    if (!(at = kc_uvarint_of(at, end, 5, &count)))
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *stop;
        if (!(at = kc_next_tag(at, end, i == 0, &tag, &stop)))
            return -1;
        if (tag == 0) {
            if (stop - at != 1)
                return -1;
            p->recovery = (int8_t)*at;
        } else if (tag == 1 && version >= 2) {
            if (kc_array(at, stop, 4, &p->elr, &p->eligible) != stop)
                return -1;
        } else if (tag == 2 && version >= 2) {
            if (kc_array(at, stop, 4, &p->last_known, &p->last) != stop)
                return -1;
        } else {
            return -1; /* an unknown tag: lawful, but only the slower reader can show it */
        }
        at = stop;
    }
    return at == end ? 0 : -1;
}

/* Reads a PartitionRecord, flexible versions 0 to 2; returns 0 if it ends with the bytes, else -1. */
static inline int kc_read_partition(const uint8_t *at, const uint8_t *end, int version, kc_partition *p) {
    if (end - at < 20)
        return -1;
    p->id = (int32_t)kc_be32(at);
    p->topic = at + 4;
    at += 20;
    if (!(at = kc_array(at, end, 4, &p->replicas, &p->replica)) || p->replicas < 0)
        return -1;
    if (!(at = kc_array(at, end, 4, &p->isr, &p->in_sync)) || p->isr < 0)
        return -1;
    if (!(at = kc_array(at, end, 4, &p->removing, &p->removed)) || p->removing < 0)
        return -1;
    if (!(at = kc_array(at, end, 4, &p->adding, &p->added)) || p->adding < 0)
        return -1;
    if (end - at < 12)
        return -1;
    p->leader = (int32_t)kc_be32(at);
    p->leader_epoch = (int32_t)kc_be32(at + 4);
    p->partition_epoch = (int32_t)kc_be32(at + 8);
    at += 12;
    p->directories = -1;
    if (version >= 1 && (!(at = kc_array(at, end, 16, &p->directories, &p->directory)) || p->directories < 0))
        return -1;
    p->recovery = 0;
    p->elr = p->last_known = -1;
    return kc_partition_tags(at, end, version, p);
}

/* Releases the whole pages of a file's map between start and start + size (they can be read again any time). */
static inline void kc_release(const void *start, size_t size) {
#ifdef MADV_DONTNEED
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)start + page - 1) / page * page, to = ((uintptr_t)start + size) / page * page;
    if (to > from)
        madvise((void *)from, to - from, MADV_DONTNEED);
#endif
}

#endif
