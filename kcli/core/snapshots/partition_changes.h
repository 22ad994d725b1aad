/* What PartitionChangeRecords make of partitions (Kafka's PartitionRegistration.merge). A state has its lists in
 * place, so that a change writes into one or two cache lines; what it can't hold is refused, for the slower reader. */
#ifndef KCLI_PARTITION_CHANGES_H
#define KCLI_PARTITION_CHANGES_H

#include <string.h>

#include "snapshot.h"

#define KC_MOST_ITEMS 16 /* of a list */
#define KC_NO_LEADER_CHANGE -2
#define KC_NO_RECOVERY_CHANGE -1
#define KC_LINE 64 /* bytes: what a change writes begins a cache line */

/* Answers. WIDER: lists need to be as wide as `*width` says, which has grown. */
enum { KC_DONE, KC_WIDER, KC_REFUSED };

enum { KC_ISR, KC_REPLICAS, KC_ELR, KC_LAST_ELR, KC_REMOVING, KC_ADDING, KC_LISTS };

/* count -1: null or not sent, no change */
typedef struct {
    int32_t id;
    const uint8_t *topic;
    int32_t count[KC_LISTS];
    const uint8_t *items[KC_LISTS];
    int32_t leader;
    int8_t recovery;
    int32_t directories;
    const uint8_t *directory;
} kc_change;

/* items: KC_LISTS lists of `width` broker ids each, then as many directories of 16 bytes; all as in records. */
typedef struct {
    int32_t leader, leader_epoch, partition_epoch;
    int8_t recovery;
    uint8_t known;      /* 0: nothing is known of this partition; else its record's version + 1 */
    int8_t directories; /* -1: none are known, all are MIGRATING */
    uint8_t count[KC_LISTS];
    uint8_t items[];
} kc_state;

static inline uint8_t *kc_list(kc_state *state, int width, int list) { return state->items + 4 * width * list; }

static inline uint8_t *kc_directories(kc_state *state, int width) { return kc_list(state, width, KC_LISTS); }

/* Bytes of a state, whole cache lines. */
static inline size_t kc_state_size(int width) {
    return (sizeof(kc_state) + (size_t)width * (4 * KC_LISTS + 16) + KC_LINE - 1) / KC_LINE * KC_LINE;
}

/* PartitionChangeRecord, versions 0 to 2: 0 when it reads to its last byte and has no unknown tag. */
static inline int kc_read_change(const uint8_t *at, const uint8_t *end, int version, kc_change *c) {
    uint64_t count, tag = 0;
    if (end - at < 21)
        return -1;
    c->id = (int32_t)kc_be32(at);
    c->topic = at + 4;
    c->leader = KC_NO_LEADER_CHANGE;
    c->recovery = KC_NO_RECOVERY_CHANGE;
    c->directories = -1;
    for (int list = 0; list < KC_LISTS; list++)
        c->count[list] = -1;
    if (!(at = kc_uvarint_of(at + 20, end, 5, &count)))
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *stop;
        int list = KC_LISTS;
        if (!(at = kc_next_tag(at, end, i == 0, &tag, &stop)))
            return -1;
        switch (tag) {
        case 0: list = KC_ISR; break;
        case 1:
            if (stop - at != 4)
                return -1;
            c->leader = (int32_t)kc_be32(at);
            break;
        case 2: list = KC_REPLICAS; break;
        case 3: list = KC_REMOVING; break;
        case 4: list = KC_ADDING; break;
        case 5:
            if (stop - at != 1)
                return -1;
            c->recovery = (int8_t)*at;
            break;
        case 6:
        case 7:
            if (version < 2)
                return -1;
            list = tag == 6 ? KC_ELR : KC_LAST_ELR;
            break;
        case 8:
            if (version < 1 || kc_array(at, stop, 16, &c->directories, &c->directory) != stop)
                return -1;
            break;
        default:
            return -1; /* an unknown tag: lawful, but for the slower reader to show */
        }
        if (list < KC_LISTS && kc_array(at, stop, 4, &c->count[list], &c->items[list]) != stop)
            return -1;
        at = stop;
    }
    return at == end ? 0 : -1;
}

/* Changes come in the order of partitions, as a controller goes through them: load those that are likely to be next. */
static inline void kc_prefetch_states(const kc_state *state, int width) {
    size_t size = kc_state_size(width);
    for (size_t ahead = 6; ahead < 9; ahead++)
        __builtin_prefetch((const uint8_t *)state + ahead * size, 1);
}

/* Whether lists of so many items fit; where they don't, a better width, twice the one that was at least. */
static inline int kc_fits(const int32_t *counts, int32_t directories, int *width) {
    int32_t most = directories;
    for (int list = 0; list < KC_LISTS; list++)
        most = counts[list] > most ? counts[list] : most;
    if (most <= *width)
        return KC_DONE;
    if (most > KC_MOST_ITEMS)
        return KC_REFUSED;
    *width = most > 2 * *width ? most : 2 * *width < KC_MOST_ITEMS ? 2 * *width : KC_MOST_ITEMS;
    return KC_WIDER;
}

/* Set a state to what a PartitionRecord says. */
static inline int kc_load_state(kc_state *state, int *width, const kc_partition *p, int version) {
    const int32_t counts[KC_LISTS] = {p->isr, p->replicas, p->elr, p->last_known, p->removing, p->adding};
    const uint8_t *items[KC_LISTS] = {p->in_sync, p->replica, p->eligible, p->last, p->removed, p->added};
    int answer = kc_fits(counts, p->directories, width);
    if (answer != KC_DONE)
        return answer;
    state->leader = p->leader;
    state->leader_epoch = p->leader_epoch;
    state->partition_epoch = p->partition_epoch;
    state->recovery = p->recovery;
    state->known = (uint8_t)(version + 1);
    state->directories = (int8_t)(p->directories > 0 ? p->directories : -1);
    if (state->directories > 0)
        memcpy(kc_directories(state, *width), p->directory, 16 * (size_t)p->directories);
    for (int list = 0; list < KC_LISTS; list++) {
        state->count[list] = (uint8_t)(counts[list] > 0 ? counts[list] : 0);
        if (counts[list] > 0)
            memcpy(kc_list(state, *width, list), items[list], 4 * (size_t)counts[list]);
    }
    return KC_DONE;
}

/* Copy a state to where lists are wider. */
static inline void kc_copy_state(kc_state *to, int wider, kc_state *from, int width) {
    memcpy(to, from, sizeof(kc_state));
    for (int list = 0; list < KC_LISTS; list++)
        memcpy(kc_list(to, wider, list), kc_list(from, width, list), 4 * (size_t)from->count[list]);
    if (from->directories > 0)
        memcpy(kc_directories(to, wider), kc_directories(from, width), 16 * (size_t)from->directories);
}

/* The directories of a new list of replicas: old replicas keep theirs, new ones have none yet (UNASSIGNED). */
static inline void kc_carry_directories(kc_state *state, int width, const uint8_t *replicas, int count) {
    uint8_t carried[16 * KC_MOST_ITEMS] = {0};
    int known = state->count[KC_REPLICAS];
    if (state->directories >= 0 && state->directories < known)
        known = state->directories;
    for (int i = 0; i < count; i++) {
        int found = known - 1;
        while (found >= 0 && memcmp(kc_list(state, width, KC_REPLICAS) + 4 * found, replicas + 4 * i, 4) != 0)
            found--;
        if (found < 0)
            carried[16 * i + 15] = 1;
        else if (state->directories >= 0)
            memcpy(carried + 16 * i, kc_directories(state, width) + 16 * found, 16);
    }
    memcpy(kc_directories(state, width), carried, 16 * (size_t)count);
    state->directories = (int8_t)count;
}

/* Apply a change. Where the answer is not KC_DONE, the state is as it was. */
static inline int kc_apply_change(kc_state *state, int *width, const kc_change *c) {
    int answer = kc_fits(c->count, c->directories, width);
    if (answer != KC_DONE)
        return answer;
    if (state->leader_epoch == INT32_MAX || state->partition_epoch == INT32_MAX)
        return KC_REFUSED;
    if (c->count[KC_REPLICAS] >= 0)
        kc_carry_directories(state, *width, c->items[KC_REPLICAS], c->count[KC_REPLICAS]);
    if (c->directories > 0) {
        memcpy(kc_directories(state, *width), c->directory, 16 * (size_t)c->directories);
        state->directories = (int8_t)c->directories;
    }
    for (int list = 0; list < KC_LISTS; list++) {
        if (c->count[list] < 0)
            continue;
        memcpy(kc_list(state, *width, list), c->items[list], 4 * (size_t)c->count[list]);
        state->count[list] = (uint8_t)c->count[list];
    }
    if (c->leader != KC_NO_LEADER_CHANGE) {
        state->leader = c->leader;
        state->leader_epoch++;
    }
    if (c->recovery != KC_NO_RECOVERY_CHANGE)
        state->recovery = c->recovery;
    state->partition_epoch++;
    return KC_DONE;
}

static inline uint8_t *kc_put_list(uint8_t *at, kc_state *state, int width, int list) {
    size_t size = 4 * (size_t)state->count[list];
    at = kc_set_uvarint(at, state->count[list] + 1u);
    memcpy(at, kc_list(state, width, list), size);
    return at + size;
}

/* A PartitionRecord, frame and all, as Kafka writes it, of less than 1024 bytes; the bytes taken. Its version is the one
 * that the state came in, or the first that can hold it. */
static inline size_t kc_write_state(uint8_t *out, kc_state *state, int width, int32_t id, const uint8_t *topic) {
    uint8_t *at = out;
    int version = state->known - 1, tags = (state->recovery != 0);
    if (state->count[KC_ELR] || state->count[KC_LAST_ELR])
        version = 2;
    else if (state->directories > 0 && version < 1)
        version = 1;
    *at++ = 1;
    *at++ = 3;
    *at++ = (uint8_t)version;
    kc_set32(at, (uint32_t)id);
    memcpy(at + 4, topic, 16);
    at += 20;
    at = kc_put_list(at, state, width, KC_REPLICAS);
    at = kc_put_list(at, state, width, KC_ISR);
    at = kc_put_list(at, state, width, KC_REMOVING);
    at = kc_put_list(at, state, width, KC_ADDING);
    kc_set32(at, (uint32_t)state->leader);
    kc_set32(at + 4, (uint32_t)state->leader_epoch);
    kc_set32(at + 8, (uint32_t)state->partition_epoch);
    at += 12;
    if (version >= 1) {
        int count = state->directories > 0 ? state->directories : 0;
        at = kc_set_uvarint(at, count + 1u);
        memcpy(at, kc_directories(state, width), 16 * (size_t)count);
        at += 16 * count;
    }
    tags += (state->count[KC_ELR] > 0) + (state->count[KC_LAST_ELR] > 0);
    *at++ = (uint8_t)tags;
    if (state->recovery) {
        *at++ = 0;
        *at++ = 1;
        *at++ = (uint8_t)state->recovery;
    }
    for (int list = KC_ELR; list <= KC_LAST_ELR; list++) {
        if (!state->count[list])
            continue;
        *at++ = (uint8_t)(list == KC_ELR ? 1 : 2);
        at = kc_set_uvarint(at, 1 + 4u * state->count[list]);
        at = kc_put_list(at, state, width, list);
    }
    return (size_t)(at - out);
}

static inline int kc_same_items(int32_t n, const uint8_t *mine, int32_t m, const uint8_t *yours, size_t width) {
    if (n <= 0 || m <= 0)
        return n <= 0 && m <= 0;
    return n == m && memcmp(mine, yours, width * (size_t)n) == 0;
}

static inline int kc_all_migrating(const kc_partition *p) {
    for (int64_t i = 0; i < 16 * (int64_t)p->directories; i++)
        if (p->directory[i])
            return 0;
    return p->directories <= 0 || p->directories == p->replicas;
}

/* Whether two PartitionRecords, of whatever versions, say the same of a partition. */
static inline int kc_same_partition(const kc_partition *a, const kc_partition *b) {
    return a->leader == b->leader && a->leader_epoch == b->leader_epoch && a->partition_epoch == b->partition_epoch &&
           a->recovery == b->recovery && kc_same_items(a->replicas, a->replica, b->replicas, b->replica, 4) &&
           kc_same_items(a->isr, a->in_sync, b->isr, b->in_sync, 4) &&
           kc_same_items(a->removing, a->removed, b->removing, b->removed, 4) &&
           kc_same_items(a->adding, a->added, b->adding, b->added, 4) &&
           kc_same_items(a->elr, a->eligible, b->elr, b->eligible, 4) &&
           kc_same_items(a->last_known, a->last, b->last_known, b->last, 4) &&
           (kc_same_items(a->directories, a->directory, b->directories, b->directory, 16) ||
            (kc_all_migrating(a) && kc_all_migrating(b)));
}

#endif
