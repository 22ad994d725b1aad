/* Topic ids and their names: an open-addressing table from 16 bytes to JSON text, quotes included. Ids that were looked
 * up in vain are kept, too. */
#ifndef KCLI_NAMES_H
#define KCLI_NAMES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"

typedef struct {
    uint8_t id[16];
    char *text;
    size_t size;
} kc_name;

typedef struct kc_names {
    kc_name *slots;
    size_t used, capacity;   /* capacity is a power of two */
    struct kc_names *missing;
    size_t missed;           /* the number of failed lookups, except for Kafka's reserved ids */
    int logging;
    char *log;               /* while logging, all learned names: 16 bytes, the size in 4 bytes, the text, for each */
    size_t log_size, log_room;
} kc_names;

static inline kc_name *kc_name_slot(kc_names *names, const uint8_t *id) {
    uint64_t a, b;
    memcpy(&a, id, 8);
    memcpy(&b, id + 8, 8);
    size_t at = kc_place(a, b);
    for (;; at++) {
        kc_name *slot = &names->slots[at & (names->capacity - 1)];
        if (!slot->text || memcmp(slot->id, id, 16) == 0) return slot;
    }
}

/* Returns the name of an id; NULL if it is unknown. */
static inline kc_name *kc_name_find(kc_names *names, const uint8_t *id) {
    if (!names->used) return NULL;
    kc_name *slot = kc_name_slot(names, id);
    return slot->text ? slot : NULL;
}

static int kc_names_grow(kc_names *names) {
    kc_names bigger = *names;
    bigger.capacity = names->capacity ? names->capacity * 2 : 64;
    bigger.slots = (kc_name *)calloc(bigger.capacity, sizeof(kc_name));
    if (!bigger.slots) return -1;
    for (size_t i = 0; i < names->capacity; i++)
        if (names->slots[i].text) *kc_name_slot(&bigger, names->slots[i].id) = names->slots[i];
    free(names->slots);
    *names = bigger;
    return 0;
}

/* Notes in the log that an id has a name. */
static int kc_name_log(kc_names *names, const uint8_t *id, const char *text, size_t size) {
    size_t wanted = names->log_size + 20 + size;
    uint32_t length = (uint32_t)size;
    if (wanted > names->log_room) {
        char *grown = (char *)realloc(names->log, 2 * wanted);
        if (!grown) return -1;
        names->log = grown;
        names->log_room = 2 * wanted;
    }
    memcpy(names->log + names->log_size, id, 16);
    memcpy(names->log + names->log_size + 16, &length, 4);
    memcpy(names->log + names->log_size + 20, text, size);
    names->log_size = wanted;
    return 0;
}

/* Keeps the newest text of an id; returns 0, or -1 without memory. */
static int kc_name_keep(kc_names *names, const uint8_t *id, const char *text, size_t size) {
    if (names->used * 2 >= names->capacity && kc_names_grow(names)) return -1;
    kc_name *slot = kc_name_slot(names, id);
    if (slot->text && slot->size == size && memcmp(slot->text, text, size) == 0) return 0;
    char *copy = (char *)malloc(size + 1);
    if (!copy) return -1;
    memcpy(copy, text, size);
    if (slot->text) free(slot->text);
    else names->used++;
    memcpy(slot->id, id, 16);
    slot->text = copy;
    slot->size = size;
    return names->logging ? kc_name_log(names, id, text, size) : 0;
}

/* Keeps the newest name of an id, but none for the zero id, which stands for no topic; returns 0, or -1 without
 * memory. */
static int kc_name_learn(kc_names *names, const uint8_t *id, const char *text, size_t size) {
    static const uint8_t zero[16];
    return memcmp(id, zero, 16) ? kc_name_keep(names, id, text, size) : 0;
}

/* Notes that an id has no name; `missed` does not count zero (no topic) and one (the cluster's metadata). Returns 0, or
 * -1 without memory. */
static int kc_name_miss(kc_names *names, const uint8_t *id) {
    static const uint8_t kept[15];
    if (!names->missing && !(names->missing = (kc_names *)calloc(1, sizeof(kc_names)))) return -1;
    if (kc_name_keep(names->missing, id, "", 0)) return -1;
    names->missed += memcmp(id, kept, 15) != 0 || id[15] > 1;
    return 0;
}

static void kc_names_free(kc_names *names) {
    if (names->missing) kc_names_free(names->missing);
    free(names->missing);
    for (size_t i = 0; i < names->capacity; i++) free(names->slots[i].text);
    free(names->slots);
    free(names->log);
    memset(names, 0, sizeof *names);
}

#endif
