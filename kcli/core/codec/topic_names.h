/* Inserts topic names after topic ids in JSON text that has only ids: `,"_topicName":"orders"` before an object
 * ends. */
#ifndef KCLI_NAMING_H
#define KCLI_NAMING_H

#include <stdint.h>
#include <string.h>

#include "name_table.h"
#include "json_text.h"

enum { KN_LEVELS = 64 };   /* of nested objects; deeper ones stay unchanged */

/* The known facts of an object so far. */
typedef struct {
    const kc_name *topic;   /* of its id: when it became known (8 bytes), and the text to insert */
    int named;
} kn_object;

/* Returns the place after the string whose opening quote is at p; the end if it does not end. */
static const char *kn_string(const char *p, const char *end) {
    for (p++; p < end; p++) {
        p = (const char *)memchr(p, '"', (size_t)(end - p));
        if (!p) return end;
        const char *back = p;
        while (back[-1] == '\\') back--;
        if (((p - back) & 1) == 0) return p + 1;
    }
    return end;
}

static const char *kn_blank(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

static inline int kn_is(const char *p, size_t size, const char *name) {
    return size == strlen(name) + 2 && memcmp(p + 1, name, size - 2) == 0;
}

/* Reads a member of an object: its key, with quotes, and its value at p. */
static void kn_member(
    kn_object *object, kc_names *known, const char *key, size_t size, const char *p, const char *end
) {
    uint8_t id[16];
    if (p >= end || *p != '"') return;
    if (kn_is(key, size, "topicId")) {
        if (end - p > 23 && p[23] == '"' && kc_uuid_parse(id, (const uint8_t *)p + 1) == 0)
            object->topic = kc_name_find(known, id);
    } else if (kn_is(key, size, "name") || kn_is(key, size, "topicName") || kn_is(key, size, "topic") ||
               kn_is(key, size, "_topicName")) {
        object->named |= end - p > 1 && p[1] != '"';
    }
}

/* Copies the text to `out`, with the names that were known before `now`; returns 1 if there were any, -1 without
 * memory. */
static int kn_insert(kc_out *out, kc_names *known, const char *p, const char *end, int64_t now) {
    kn_object objects[KN_LEVELS];
    const char *done = p;
    int depth = 0, found = 0;
    while (p < end) {
        if (*p == '"') {
            const char *next = kn_string(p, end), *value = kn_blank(next, end);
            if (value < end && *value == ':' && depth > 0 && depth <= KN_LEVELS)
                kn_member(&objects[depth - 1], known, p, (size_t)(next - p), kn_blank(value + 1, end), end);
            p = next;
            continue;
        }
        if (*p == '{') {
            if (depth < KN_LEVELS) memset(&objects[depth], 0, sizeof(kn_object));
            depth++;
        } else if (*p == '}' && depth > 0 && depth-- <= KN_LEVELS) {
            const kc_name *topic = objects[depth].named ? NULL : objects[depth].topic;
            int64_t since = 0;
            if (topic) memcpy(&since, topic->text, sizeof since);
            if (topic && since < now) {
                found = 1;
                if (kc_append(out, done, (size_t)(p - done)) ||
                    kc_append(out, topic->text + sizeof since, topic->size - sizeof since))
                    return -1;
                done = p;
            }
        }
        p++;
    }
    return kc_append(out, done, (size_t)(end - done)) ? -1 : found;
}

#endif
