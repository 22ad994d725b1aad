/* JSON text of record batches, directly from their bytes. The caller opens and closes the batch's object, so that it
 * can add members. */
#ifndef KCLI_RECORDJSON_H
#define KCLI_RECORDJSON_H

#include "batches.h"
#include "record_text.h"

#define KJ_LITERAL(p, text) (memcpy(p, text, sizeof(text) - 1), (p) + sizeof(text) - 1)
#define KJ_FIELD(p, name, value) p = kc_i64(KJ_LITERAL(p, ",\"" name "\":"), value)
#define KJ_BOOL(p, name, value) p = (value) ? KJ_LITERAL(p, ",\"" name "\":true") : KJ_LITERAL(p, ",\"" name "\":false")

static const char *const kj_codecs[5] = {"none", "gzip", "snappy", "lz4", "zstd"};

static inline char *kj_put(char *p, const char *text) {
    size_t n = strlen(text);
    memcpy(p, text, n);
    return p + n;
}

static inline char *kj_codec(char *p, int codec) {
    if (codec <= 4) {
        *p++ = '"';
        p = kj_put(p, kj_codecs[codec]);
        *p++ = '"';
        return p;
    }
    p = KJ_LITERAL(p, "\"unknown-");
    *p++ = (char)('0' + codec);
    *p++ = '"';
    return p;
}

/* `opened`: base offset and count are known (magic 0 and 1: the contents of a wrapper were read). position: below 0, it
 * is not shown. Without braces. */
static int kj_header(kc_out *out, const kb_batch *b, int64_t position, int valid, int opened) {
    if (kc_reserve(out, 1024)) return KC_MEMORY;
    char *p = out->data + out->size;
    int append = b->attributes & KB_APPEND_TIME;
    int known = b->magic >= 2 ? 0x7f : b->magic == 1 ? 0x0f : 0x07;
    if (opened) p = kc_i64(KJ_LITERAL(p, "\"baseOffset\":"), b->base_offset);
    else p = KJ_LITERAL(p, "\"baseOffset\":null");
    KJ_FIELD(p, "lastOffset", b->last_offset);
    KJ_FIELD(p, "magic", b->magic);
    p = kj_codec(KJ_LITERAL(p, ",\"compression\":"), b->attributes & KB_CODEC);
    p = kj_put(p, b->magic == 0 ? ",\"timestampType\":\"NoTimestampType\""
                  : append      ? ",\"timestampType\":\"LogAppendTime\""
                                : ",\"timestampType\":\"CreateTime\"");
    if (b->magic >= 2) {
        KJ_BOOL(p, "isTransactional", b->attributes & KB_TRANSACTIONAL);
        KJ_BOOL(p, "isControl", b->attributes & KB_CONTROL);
        KJ_FIELD(p, "partitionLeaderEpoch", b->leader_epoch);
        KJ_FIELD(p, "producerId", b->producer_id);
        KJ_FIELD(p, "producerEpoch", b->producer_epoch);
        KJ_FIELD(p, "baseSequence", b->base_sequence);
        KJ_FIELD(p, "baseTimestamp", b->base_timestamp);
    } else {
        p = KJ_LITERAL(p,
                       ",\"isTransactional\":null,\"isControl\":null,\"partitionLeaderEpoch\":null,\"producerId\":null,"
                       "\"producerEpoch\":null,\"baseSequence\":null,\"baseTimestamp\":null");
    }
    KJ_FIELD(p, "maxTimestamp", b->max_timestamp);
    if (opened) KJ_FIELD(p, "count", b->count);
    else p = KJ_LITERAL(p, ",\"count\":null");
    KJ_FIELD(p, "sizeInBytes", b->size);
    KJ_FIELD(p, "crc", b->crc);
    KJ_BOOL(p, "crcValid", valid);
    if (position >= 0) KJ_FIELD(p, "_position", position);
    if (b->magic >= 2 && b->attributes & KB_HORIZON) KJ_FIELD(p, "_deleteHorizonMs", b->base_timestamp);
    if (b->attributes & ~known) KJ_FIELD(p, "_attributes", b->attributes);
    out->size = (size_t)(p - out->data);
    return KC_OK;
}

/* The values to leave out: those for which `judge` returns 1, called for values that begin with 1 and one of `types`;
 * with `all`, every key, value and header. */
typedef struct {
    uint8_t types[256];
    int (*judge)(void *self, const uint8_t *value, int64_t size);
    void *self;
    int all;
    int64_t hidden; /* the number of hidden values */
} kj_guard;

static inline char *kj_redacted(char *p, size_t size) {
    p = kc_u64(KJ_LITERAL(p, "{\"redacted\":"), size);
    *p++ = '}';
    return p;
}

/* A key, or a header's value. */
static inline char *kj_shown(char *p, const uint8_t *value, size_t size, const kj_guard *guard) {
    return guard && guard->all && value ? kj_redacted(p, size) : kt_value(p, value, size);
}

static int kj_headers(kc_out *out, const kb_record *r, const kj_guard *guard) {
    const uint8_t *p = r->headers;
    int64_t n = 0;
    int odd = 0, code = 0;
    if (kc_append(out, ",\"headers\":[", 12)) return KC_MEMORY;
    for (int32_t i = 0; i < r->header_count; i++) {
        p = kb_varlong(p, r->end, 5, &n, &odd, &code);
        const uint8_t *key = p;
        size_t size = (size_t)n;
        p = kb_varlong(p + n, r->end, 5, &n, &odd, &code);
        if (kc_append(out, i ? ",{\"key\":" : "{\"key\":", i ? 8 : 7)) return KC_MEMORY;
        int hidden = guard && guard->all, failed = hidden ? KC_OK : kc_string(out, key, size);
        if (failed == KC_MEMORY || kc_reserve(out, kt_room(size) + kt_room(n < 0 ? 0 : (size_t)n) + 16))
            return KC_MEMORY;
        char *q = out->data + out->size;
        if (hidden) q = kj_redacted(q, size);
        else if (failed) q = kt_bytes(q, key, size);
        q = kj_shown(KJ_LITERAL(q, ",\"value\":"), n < 0 ? NULL : p, n < 0 ? 0 : (size_t)n, guard);
        *q++ = '}';
        out->size = (size_t)(q - out->data);
        if (n > 0) p += n;
    }
    return kc_append(out, "]", 1);
}

static inline char *kj_value(char *p, const uint8_t *value, size_t size, kj_guard *guard) {
    p = KJ_LITERAL(p, ",\"value\":");
    if (guard && value && size > 2 && value[0] == 1 && guard->types[value[1]] &&
        guard->judge(guard->self, value, (int64_t)size)) {
        guard->hidden++;
        return kj_redacted(p, size);
    }
    return kj_shown(p, value, size, guard);
}

static inline int64_t kb_timestamp(const kb_batch *b, int64_t delta) {
    return b->attributes & KB_APPEND_TIME ? b->max_timestamp : kb_plus(b->base_timestamp, delta);
}

/* The text around a record that is a line of its own: `before` its offset, and `behind` its headers. numbered: its
 * offset is `next` (below 0: null) instead of the batch's; timed: its time is `timestamp`. */
typedef struct {
    const uint8_t *before, *behind;
    size_t before_size, behind_size;
    int numbered, timed;
    int64_t next, timestamp;
} kj_line;

/* Adds members to a record (",..."); if it does not return KC_OK, writing stops with its code. */
typedef int (*kj_extra)(
    void *self, kc_out *out, const uint8_t *key, int64_t key_size, const uint8_t *value, int64_t value_size
);

/* Writes the records of a magic 2 batch: the members of "records", between the brackets; with `line`, each as a line,
 * without "_timestampDelta" and members of `extra`. guard: NULL, or what hides values. Returns KC_OK, KC_MEMORY or the
 * code of `extra`; the reason to stop is in `problem`, and the records before it are written.
 *
 * It is one function for both forms, as the compiler keeps everything in registers if a function has one caller. */
static __attribute__((flatten)) int kj_records_2(
    kc_out *out, const kb_batch *b, const uint8_t *data, size_t size, int *odd, kb_problem *problem, kj_extra extra,
    void *self, kj_guard *guard, kj_line *line
) {
    kb_walk walk;
    kb_record r;
    int code;
    kb_open_records(&walk, &r, data, size, b->count);
    while (kb_next_record(&walk, &r, problem)) {
        size_t key = r.key ? (size_t)r.key_size : 0, value = r.value ? (size_t)r.value_size : 0;
        size_t around = line ? line->before_size + line->behind_size : 0;
        int64_t offset = kb_plus(b->base_offset, r.offset_delta), timestamp = kb_timestamp(b, r.timestamp_delta);
        if (kc_reserve(out, kt_room(key) + kt_room(value) + 256 + around)) return KC_MEMORY;
        char *p = out->data + out->size;
        if (line) {
            memcpy(p, line->before, line->before_size);
            p += line->before_size;
            if (line->numbered) {
                offset = line->next;
                if (offset >= 0) line->next = kb_plus(offset, 1);
            }
            if (line->timed) timestamp = line->timestamp;
        } else {
            if (walk.read > 1) *p++ = ',';
            p = KJ_LITERAL(p, "{\"offset\":");
        }
        p = line && line->numbered && offset < 0 ? KJ_LITERAL(p, "null") : kc_i64(p, offset);
        p = kc_i64(KJ_LITERAL(p, ",\"timestamp\":"), timestamp);
        p = kj_shown(KJ_LITERAL(p, ",\"key\":"), r.key, key, guard);
        p = kj_value(p, r.value, value, guard);
        if (r.header_count) {
            out->size = (size_t)(p - out->data);
            if (kj_headers(out, &r, guard) || kc_reserve(out, 64 + around)) return KC_MEMORY;
            p = out->data + out->size;
        } else {
            p = KJ_LITERAL(p, ",\"headers\":[]");
        }
        if (line) {
            memcpy(p, line->behind, line->behind_size);
            p += line->behind_size;
        } else {
            if (b->attributes & KB_APPEND_TIME && r.timestamp_delta) KJ_FIELD(p, "_timestampDelta", r.timestamp_delta);
            if (extra && !(guard && guard->all)) {
                out->size = (size_t)(p - out->data);
                if ((code = extra(self, out, r.key, r.key_size, r.value, r.value_size))) return code;
                if (kc_reserve(out, 1)) return KC_MEMORY;
                p = out->data + out->size;
            }
            *p++ = '}';
        }
        out->size = (size_t)(p - out->data);
    }
    *odd = r.odd;
    return KC_OK;
}

/* One message of magic 0 or 1 as a record. */
static int kj_message(kc_out *out, const kb_batch *m, int64_t offset, int64_t timestamp, kj_extra extra, void *self,
                      kj_guard *guard) {
    size_t key = m->key ? (size_t)m->key_size : 0;
    if (kc_reserve(out, kt_room(key) + kt_room(m->payload_size) + 160)) return KC_MEMORY;
    char *p = out->data + out->size;
    p = kc_i64(KJ_LITERAL(p, "{\"offset\":"), offset);
    p = kc_i64(KJ_LITERAL(p, ",\"timestamp\":"), timestamp);
    p = kj_shown(KJ_LITERAL(p, ",\"key\":"), m->key, key, guard);
    p = kj_value(p, m->payload, m->payload_size, guard);
    p = KJ_LITERAL(p, ",\"headers\":[]");
    out->size = (size_t)(p - out->data);
    int code = KC_OK;
    if (extra && !(guard && guard->all)) code = extra(self, out, m->key, m->key_size, m->payload, m->value_size);
    return code ? code : kc_append(out, "}", 1);
}

/* ---- the contents of wrappers of magic 0 or 1 */

typedef struct {
    const uint8_t *at, *end;
    int64_t base; /* added to each inner offset */
} kb_set;

/* Reads the next inner message; KB_END after the last (a cut one is left out, as in Kafka's DataLogInputStream). */
static inline int kb_next_inner(kb_set *set, kb_batch *m) {
    int code = kb_read_batch(m, set->at, set->end);
    if (code == KB_PARTIAL) return KB_END;
    if (code == KB_OK) set->at += m->size;
    return code;
}

/* Checks a decompressed message set; sets base offset and count of the wrapper, and the base of inner offsets. */
static int kb_open_set(kb_batch *w, const uint8_t *data, size_t size, kb_set *set, kb_problem *problem) {
    kb_batch m;
    int64_t first = 0, last = 0;
    int code, count = 0;
    kb_set walk = {data, data + size, 0};
    *set = walk;
    problem->code = KR_OK;
    while ((code = kb_next_inner(&walk, &m)) != KB_END) {
        problem->record = count;
        problem->at = m.start - data;
        problem->says = m.magic;
        problem->here = w->magic;
        if (code != KB_OK) problem->code = KR_LEGACY_FRAME;
        else if (m.magic != w->magic) problem->code = KR_LEGACY_MAGIC;
        else if (m.broken) problem->code = m.broken;
        else if (m.attributes & KB_CODEC) problem->code = KR_LEGACY_NESTED;
        if (problem->code) return problem->code;
        if (!count++) first = m.base_offset;
        last = m.base_offset;
    }
    problem->record = count;
    problem->at = 0;
    problem->says = w->last_offset;
    problem->here = last;
    if (!count) return problem->code = KR_LEGACY_EMPTY;
    if (w->magic == 1 && w->last_offset != 0) {
        if (w->last_offset < last) return problem->code = KR_LEGACY_OFFSET;
        set->base = kb_minus(w->last_offset, last);
    }
    w->base_offset = kb_plus(first, set->base);
    w->count = count;
    return KR_OK;
}

/* The members of "records" of a wrapper, between the brackets. */
static int kj_messages(kc_out *out, const kb_batch *w, kb_set set, kj_extra extra, void *self, kj_guard *guard) {
    kb_batch m;
    int code;
    for (int i = 0; kb_next_inner(&set, &m) == KB_OK; i++) {
        if (i && kc_append(out, ",", 1)) return KC_MEMORY;
        int64_t timestamp = w->attributes & KB_APPEND_TIME && w->magic == 1 ? w->max_timestamp : m.max_timestamp;
        if ((code = kj_message(out, &m, kb_plus(m.base_offset, set.base), timestamp, extra, self, guard))) return code;
    }
    return KC_OK;
}

static int kj_payload(kc_out *out, const char *name, const uint8_t *data, size_t size, int hidden) {
    if (kc_reserve(out, kc_base64_size(size) + 80)) return KC_MEMORY;
    char *p = out->data + out->size;
    p = kj_put(p, name);
    if (hidden) {
        p = kj_redacted(p, size);
    } else {
        *p++ = '"';
        p = kt_base64(p, data, size);
        *p++ = '"';
    }
    out->size = (size_t)(p - out->data);
    return KC_OK;
}

#endif
