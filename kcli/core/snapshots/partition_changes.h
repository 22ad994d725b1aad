/* The effect of PartitionChangeRecords on partitions (Kafka's PartitionRegistration.merge). Nearly all changes are
 * about the leader and the ISR, which are in a short state, beside the partition's record; two fit in a cache line. A
 * whole state has all fields, with lists in place. Partitions that fit neither are refused, for the slower reader. */
#ifndef KCLI_PARTITION_CHANGES_H
#define KCLI_PARTITION_CHANGES_H

#include <string.h>

#include "change_record.h"
#include "same_partition.h"

#define KC_MOST_ITEMS 16 /* items of a list */
#define KC_FEW 4         /* brokers of a short state's ISR */
#define KC_REASSIGNING 0x80
#define KC_SEEN 0x40 /* it was compared */
#define KC_LINE 64 /* bytes; the fields that a change writes begin a cache line */

/* Results. WIDER: lists have to be as wide as `*width`, which has grown; for a short state, a whole one is needed. */
enum { KC_DONE, KC_WIDER, KC_REFUSED };

/* The other fields are in the partition's record. where: one of KC_NOWHERE ...; replicas: their number, with
 * KC_REASSIGNING if some are to be added or removed, and KC_SEEN; count: of the ISR. */
typedef struct {
    int32_t leader, leader_epoch, partition_epoch;
    int8_t recovery;
    uint8_t where, replicas, count;
    uint8_t in_sync[4 * KC_FEW];
} kc_short;

enum { KC_NOWHERE, KC_IN_SHORT, KC_IN_STATE };

/* items: KC_LISTS lists of `width` broker ids each, then as many directories of 16 bytes; all as in records. */
typedef struct {
    int32_t leader, leader_epoch, partition_epoch;
    int8_t recovery;
    uint8_t version;    /* of its record */
    int8_t directories; /* -1: none are known, all are MIGRATING */
    uint8_t count[KC_LISTS];
    uint8_t items[];
} kc_state;

/* Room for a state with the widest lists. */
typedef union {
    kc_state state;
    uint8_t bytes[sizeof(kc_state) + KC_MOST_ITEMS * (4 * KC_LISTS + 16)];
} kc_room;

static inline uint8_t *kc_list(kc_state *state, int width, int list) { return state->items + 4 * width * list; }

static inline uint8_t *kc_directories(kc_state *state, int width) { return kc_list(state, width, KC_LISTS); }

/* Returns the bytes of a state, in whole cache lines. */
static inline size_t kc_state_size(int width) {
    return (sizeof(kc_state) + (size_t)width * (4 * KC_LISTS + 16) + KC_LINE - 1) / KC_LINE * KC_LINE;
}

/* Changes are in the order of partitions, as a controller processes them, so the next ones are prefetched. */
static inline void kc_prefetch_short(const kc_short *state) {
    __builtin_prefetch(state + 12, 1);
    __builtin_prefetch(state + 14, 1);
}

/* Returns KC_DONE if lists of this many items fit; KC_WIDER with a sufficient `width`, if possible at least twice the
 * old one; KC_REFUSED for more than KC_MOST_ITEMS. */
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

/* Returns whether a broker is in a list twice, or has an invalid id. */
static inline int kc_is_odd_list(const uint8_t *items, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (items[4 * i] & 0x80)
            return 1;
        for (int32_t j = 0; j < i; j++)
            if (memcmp(items + 4 * i, items + 4 * j, 4) == 0)
                return 1;
    }
    return 0;
}

/* Returns whether a controller refuses a partition, or fails with it later; only the slower reader can judge it. */
static inline int kc_is_odd_partition(const kc_partition *p) {
    return p->isr > KC_MOST_ITEMS || p->elr > KC_MOST_ITEMS || kc_is_odd_list(p->in_sync, p->isr) ||
           kc_is_odd_list(p->eligible, p->elr) || (p->recovery & ~1) ||
           (p->directories > 0 && p->directories != p->replicas);
}

/* The same for a change, which has room for its lists. Other replicas without their directories are odd if any are
 * known. */
static inline int kc_is_odd_change(const kc_change *c, int replicas, int directories) {
    if (kc_is_odd_list(c->items[KC_ISR], c->count[KC_ISR]) || kc_is_odd_list(c->items[KC_ELR], c->count[KC_ELR]))
        return 1;
    if (c->recovery != KC_NO_RECOVERY_CHANGE && (c->recovery & ~1))
        return 1;
    if (c->directories >= 0)
        return c->directories != (c->count[KC_REPLICAS] >= 0 ? c->count[KC_REPLICAS] : replicas) || !c->directories;
    return c->count[KC_REPLICAS] >= 0 && directories >= 0;
}

/* Sets a state to the contents of a PartitionRecord. */
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
    state->version = (uint8_t)version;
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

/* Sets a short state to the contents of a PartitionRecord. WIDER, REFUSED: it can't be a short state, or any state. */
static inline int kc_load_short(kc_short *state, const kc_partition *p) {
    const int32_t counts[KC_LISTS] = {p->isr, p->replicas, p->elr, p->last_known, p->removing, p->adding};
    int width = KC_MOST_ITEMS;
    if (kc_fits(counts, p->directories, &width) != KC_DONE || kc_is_odd_partition(p))
        return KC_REFUSED;
    if (p->isr > KC_FEW)
        return KC_WIDER;
    state->leader = p->leader;
    state->leader_epoch = p->leader_epoch;
    state->partition_epoch = p->partition_epoch;
    state->recovery = p->recovery;
    state->replicas = (uint8_t)(p->replicas | (p->removing || p->adding ? KC_REASSIGNING : 0));
    state->count = (uint8_t)p->isr;
    memcpy(state->in_sync, p->in_sync, 4 * (size_t)p->isr);
    return KC_DONE;
}

/* Sets the fields of a short state in a whole one. */
static inline void kc_lay_over(kc_state *state, int width, const kc_short *over) {
    state->leader = over->leader;
    state->leader_epoch = over->leader_epoch;
    state->partition_epoch = over->partition_epoch;
    state->recovery = over->recovery;
    state->count[KC_ISR] = over->count;
    memcpy(kc_list(state, width, KC_ISR), over->in_sync, 4 * (size_t)over->count);
}

/* Copies a state to one with wider lists. */
static inline void kc_copy_state(kc_state *to, int wider, kc_state *from, int width) {
    memcpy(to, from, sizeof(kc_state));
    for (int list = 0; list < KC_LISTS; list++)
        memcpy(kc_list(to, wider, list), kc_list(from, width, list), 4 * (size_t)from->count[list]);
    if (from->directories > 0)
        memcpy(kc_directories(to, wider), kc_directories(from, width), 16 * (size_t)from->directories);
}

/* Applies the leader and recovery state of a change; the leader's epoch rises if the change has a leader, the
 * partition's with any change. */
static inline void kc_apply_leader(
    int32_t *leader, int32_t *leader_epoch, int32_t *partition_epoch, int8_t *recovery, const kc_change *c) {
    if (c->leader != KC_NO_LEADER_CHANGE) {
        *leader = c->leader;
        ++*leader_epoch;
    }
    if (c->recovery != KC_NO_RECOVERY_CHANGE)
        *recovery = c->recovery;
    ++*partition_epoch;
}

/* Applies a change. If the result is not KC_DONE, the state is unchanged. */
static inline int kc_apply_change(kc_state *state, int *width, const kc_change *c) {
    int answer = kc_fits(c->count, c->directories, width);
    if (answer != KC_DONE)
        return answer;
    if (state->leader_epoch == INT32_MAX || state->partition_epoch == INT32_MAX)
        return KC_REFUSED;
    if (kc_is_odd_change(c, state->count[KC_REPLICAS], state->directories))
        return KC_REFUSED;
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
    kc_apply_leader(&state->leader, &state->leader_epoch, &state->partition_epoch, &state->recovery, c);
    return KC_DONE;
}

/* The same for a short state. */
static inline int kc_apply_short(kc_short *state, const kc_change *c) {
    int32_t count = c->count[KC_ISR];
    if (!c->is_short || count > KC_FEW)
        return KC_WIDER;
    if (state->leader_epoch == INT32_MAX || state->partition_epoch == INT32_MAX || kc_is_odd_change(c, 0, -1))
        return KC_REFUSED;
    if (count >= 0) {
        memcpy(state->in_sync, c->items[KC_ISR], 4 * (size_t)count);
        state->count = (uint8_t)count;
    }
    kc_apply_leader(&state->leader, &state->leader_epoch, &state->partition_epoch, &state->recovery, c);
    return KC_DONE;
}

/* Bits: lacks replicas, has no leader, is reassigned. */
static inline int kc_facts(int isr, int replicas, int32_t leader, int moving) {
    return (isr < replicas) | (leader < 0) << 1 | (moving != 0) << 2;
}

static inline int kc_short_facts(const kc_short *s) {
    return kc_facts(s->count, s->replicas & ~KC_REASSIGNING, s->leader, s->replicas & KC_REASSIGNING);
}

static inline int kc_state_facts(const kc_state *s) {
    return kc_facts(s->count[KC_ISR], s->count[KC_REPLICAS], s->leader, s->count[KC_REMOVING] || s->count[KC_ADDING]);
}

static inline uint8_t *kc_put_list(uint8_t *at, kc_state *state, int width, int list) {
    size_t size = 4 * (size_t)state->count[list];
    at = kc_set_uvarint(at, state->count[list] + 1u);
    memcpy(at, kc_list(state, width, list), size);
    return at + size;
}

/* Writes a PartitionRecord with its frame, as Kafka does; returns its size, less than 1024 bytes. Its version is
 * the one from which the state was read, or the first that can hold it. */
static inline size_t kc_write_state(uint8_t *out, kc_state *state, int width, int32_t id, const uint8_t *topic) {
    uint8_t *at = out;
    int version = state->version, tags = (state->recovery != 0);
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

/* Returns whether a short state, whose other half is in a record, equals another record. */
static inline int kc_same_short(const kc_short *state, const kc_partition *rest, const kc_partition *other) {
    kc_partition mine = *rest;
    mine.leader = state->leader;
    mine.leader_epoch = state->leader_epoch;
    mine.partition_epoch = state->partition_epoch;
    mine.recovery = state->recovery;
    mine.isr = state->count;
    mine.in_sync = state->in_sync;
    return kc_same_partition(&mine, other);
}

#endif
