/* A buffer that grows while text is written to it. */
#ifndef KCLI_GROWING_TEXT_H
#define KCLI_GROWING_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

enum { KC_OK = 0, KC_MEMORY = -1, KC_UTF8 = -2 };

typedef struct {
    char *data;
    size_t size;
    size_t capacity;   /* odd: the memory is lent, and is neither grown nor freed here */
} kc_out;

static inline int kc_is_lent(const kc_out *out) { return out->capacity & 1; }

/* Lends memory to `out` for its next text, which moves to memory of its own when it outgrows this. */
static inline void kc_lend(kc_out *out, char *data, size_t size) {
    if (!kc_is_lent(out)) free(out->data);
    out->data = data;
    out->size = 0;
    out->capacity = size ? (size - 1) | 1 : 0;
}

static int kc_grow(kc_out *out, size_t extra) {
    size_t wanted = out->size + extra;
    size_t capacity = out->capacity ? out->capacity : 4096;
    if (wanted < extra) return KC_MEMORY;
    while (capacity < wanted) capacity += capacity / 2 + 4096;
    capacity = (capacity + 1) & ~(size_t)1;
    char *data = (char *)realloc(kc_is_lent(out) ? NULL : out->data, capacity);
    if (!data) return KC_MEMORY;
    if (kc_is_lent(out)) memcpy(data, out->data, out->size);
    out->data = data;
    out->capacity = capacity;
    return KC_OK;
}

KC_ALWAYS int kc_reserve(kc_out *out, size_t extra) {
    return out->capacity - out->size >= extra ? KC_OK : kc_grow(out, extra);
}

KC_ALWAYS int kc_append(kc_out *out, const void *bytes, size_t n) {
    if (kc_reserve(out, n)) return KC_MEMORY;
    if (n) memcpy(out->data + out->size, bytes, n);
    out->size += n;
    return KC_OK;
}

static inline void kc_free(kc_out *out) {
    if (!kc_is_lent(out)) free(out->data);
    out->data = NULL;
    out->size = out->capacity = 0;
}

#endif
