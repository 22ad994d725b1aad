/* Values by a pair of numbers, and numbers for texts. */
#ifndef KC_INTERNER_H
#define KC_INTERNER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

static inline uint64_t kc_mix_two(uint64_t a, uint64_t b) {
    a ^= b * 0x9E3779B97F4A7C15ull;
    a = (a ^ (a >> 32)) * 0xD6E8FEB86659FD93ull;
    a = (a ^ (a >> 29)) * 0xD6E8FEB86659FD93ull;
    return a ^ (a >> 32);
}

/* Open addressing, at most three quarters full; a slot with value 0 is free, so values are never 0. */
typedef struct { uint64_t a, b, value; } kc_slot;
typedef struct { kc_slot *slots; size_t mask, used; } kc_map;

static inline uint64_t kc_map_find(const kc_map *map, uint64_t a, uint64_t b) {
    if (!map->slots) return 0;
    for (size_t at = kc_place(a, b) & map->mask; map->slots[at].value; at = (at + 1) & map->mask)
        if (map->slots[at].a == a && map->slots[at].b == b) return map->slots[at].value;
    return 0;
}

/* Prefetch the memory that a search will read. */
static inline void kc_map_ahead(const kc_map *map, uint64_t a, uint64_t b) {
    if (map->slots) __builtin_prefetch(&map->slots[kc_place(a, b) & map->mask]);
}

static inline void kc_ahead(const void *p, size_t size) {
    for (size_t at = 0; at < size; at += 64) __builtin_prefetch((const char *)p + at, 1);
}

static int kc_map_grow_to(kc_map *map, size_t size) {
    kc_map grown = {calloc(size, sizeof(kc_slot)), size - 1, map->used};
    if (!grown.slots) return -1;
    for (size_t i = 0; map->slots && i <= map->mask; i++) {
        kc_slot slot = map->slots[i];
        if (!slot.value) continue;
        size_t at = kc_place(slot.a, slot.b) & grown.mask;
        while (grown.slots[at].value) at = (at + 1) & grown.mask;
        grown.slots[at] = slot;
    }
    free(map->slots);
    *map = grown;
    return 0;
}

static int kc_map_grow(kc_map *map) { return kc_map_grow_to(map, map->slots ? (map->mask + 1) * 2 : 16); }

/* Makes room for this many entries. */
static int kc_map_reserve(kc_map *map, size_t count) {
    size_t size = 16;
    while (count * 4 > (size - 1) * 3) size *= 2;
    return map->slots && map->mask + 1 >= size ? 0 : kc_map_grow_to(map, size);
}

static int kc_map_put(kc_map *map, uint64_t a, uint64_t b, uint64_t value) {
    if ((!map->slots || map->used * 4 > map->mask * 3) && kc_map_grow(map)) return -1;
    size_t at = kc_place(a, b) & map->mask;
    while (map->slots[at].value && !(map->slots[at].a == a && map->slots[at].b == b)) at = (at + 1) & map->mask;
    map->used += !map->slots[at].value;
    map->slots[at] = (kc_slot){a, b, value};
    return 0;
}

static void kc_map_drop(kc_map *map, uint64_t a, uint64_t b) {
    if (!map->slots) return;
    size_t at = kc_place(a, b) & map->mask;
    while (map->slots[at].value && !(map->slots[at].a == a && map->slots[at].b == b)) at = (at + 1) & map->mask;
    if (!map->slots[at].value) return;
    map->used--;
    /* Later entries move up, unless that would put them before their place. */
    for (size_t next = (at + 1) & map->mask; map->slots[next].value; next = (next + 1) & map->mask) {
        size_t home = kc_place(map->slots[next].a, map->slots[next].b) & map->mask;
        if (((next - home) & map->mask) >= ((next - at) & map->mask)) {
            map->slots[at] = map->slots[next];
            at = next;
        }
    }
    map->slots[at].value = 0;
}

static inline void kc_map_clear(kc_map *map) {
    if (map->slots) memset(map->slots, 0, (map->mask + 1) * sizeof(kc_slot));
    map->used = 0;
}

static inline void kc_map_free(kc_map *map) {
    free(map->slots);
    memset(map, 0, sizeof *map);
}

static inline uint64_t kc_hash(const uint8_t *data, size_t size) { return kc_mix_words(kc_mix_two, data, size); }

/* Texts by number from 1 on; `kind` distinguishes texts with the same bytes. `ends`: their first and last 8 bytes,
 * which are a whole topic id. `hash`: the same in all processes. */
typedef struct { uint64_t ends[2]; uint8_t *data; size_t size; uint64_t hash, place; int kind; } kc_text;
typedef struct { kc_text *texts; uint32_t *table; size_t count, room, mask; } kc_texts;

static inline void kc_text_ends(uint64_t ends[2], const uint8_t *data, size_t size) {
    ends[0] = ends[1] = 0;
    memcpy(&ends[0], data, size < 8 ? size : 8);
    if (size > 8) memcpy(&ends[1], data + size - 8, 8);
}

static inline uint64_t kc_text_hash(const uint64_t ends[2], const uint8_t *data, size_t size, int kind) {
    if (size <= 16) return kc_mix_two(ends[0] + (uint64_t)kind, ends[1] + size);
    return kc_mix_two(kc_hash(data, size), (uint64_t)kind);
}

static inline uint64_t kc_text_place(const uint64_t ends[2], const uint8_t *data, size_t size, int kind) {
    if (size <= 16) return kc_place(ends[0] + (uint64_t)kind, ends[1] + size);
    return kc_place(kc_place_of(data, size), (uint64_t)kind);
}

static inline uint32_t kc_text_find(const kc_texts *t, const uint8_t *data, size_t size, int kind) {
    uint64_t ends[2];
    if (!t->table) return 0;
    kc_text_ends(ends, data, size);
    for (size_t at = kc_text_place(ends, data, size, kind) & t->mask; t->table[at]; at = (at + 1) & t->mask) {
        const kc_text *text = &t->texts[t->table[at] - 1];
        if (text->ends[0] != ends[0] || text->ends[1] != ends[1] || text->size != size || text->kind != kind) continue;
        if (size <= 16 || !memcmp(text->data, data, size)) return t->table[at];
    }
    return 0;
}

static int kc_texts_grow(kc_texts *t) {
    size_t room = t->room ? t->room * 2 : 16, mask = room * 2 - 1;
    kc_text *texts = realloc(t->texts, room * sizeof *texts);
    if (!texts) return -1;
    t->texts = texts;
    uint32_t *table = calloc(mask + 1, sizeof *table);
    if (!table) return -1;
    for (size_t i = 0; i < t->count; i++) {
        size_t at = texts[i].place & mask;
        while (table[at]) at = (at + 1) & mask;
        table[at] = (uint32_t)i + 1;
    }
    free(t->table);
    t->table = table, t->room = room, t->mask = mask;
    return 0;
}

/* Returns the text's number, which is assigned now if it is new; 0: no memory. */
static uint32_t kc_text_number(kc_texts *t, const uint8_t *data, size_t size, int kind) {
    uint32_t found = kc_text_find(t, data, size, kind);
    if (found) return found;
    if (t->count == t->room && kc_texts_grow(t)) return 0;
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) return 0;
    memcpy(copy, data, size);
    uint64_t ends[2];
    kc_text_ends(ends, data, size);
    uint64_t place = kc_text_place(ends, data, size, kind);
    size_t at = place & t->mask;
    while (t->table[at]) at = (at + 1) & t->mask;
    t->texts[t->count] = (kc_text){{ends[0], ends[1]}, copy, size, kc_text_hash(ends, data, size, kind), place, kind};
    t->table[at] = (uint32_t)++t->count;
    return (uint32_t)t->count;
}

static inline void kc_texts_free(kc_texts *t) {
    for (size_t i = 0; i < t->count; i++) free(t->texts[i].data);
    free(t->texts);
    free(t->table);
    memset(t, 0, sizeof *t);
}

#endif
