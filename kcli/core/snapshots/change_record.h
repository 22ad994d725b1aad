/* PartitionChangeRecord, read in place. */
#ifndef KCLI_CHANGE_RECORD_H
#define KCLI_CHANGE_RECORD_H

#include "snapshot.h"

#define KC_NO_LEADER_CHANGE -2
#define KC_NO_RECOVERY_CHANGE -1

enum { KC_ISR, KC_REPLICAS, KC_ELR, KC_LAST_ELR, KC_REMOVING, KC_ADDING, KC_LISTS };

/* count -1: null or not sent, no change; is_short: no field that a short state lacks */
typedef struct {
    int32_t id;
    int is_short;
    const uint8_t *topic;
    int32_t count[KC_LISTS];
    const uint8_t *items[KC_LISTS];
    int32_t leader;
    int8_t recovery;
    int32_t directories;
    const uint8_t *directory;
} kc_change;

/* Reads a PartitionChangeRecord, versions 0 to 2; returns 0 if it ends with the bytes and has no unknown tag, else
 * -1. */
static inline int kc_read_change(const uint8_t *at, const uint8_t *end, int version, kc_change *c) {
    uint64_t count, tag = 0;
    if (end - at < 21)
        return -1;
    c->id = (int32_t)kc_be32(at);
    c->topic = at + 4;
    c->leader = KC_NO_LEADER_CHANGE;
    c->recovery = KC_NO_RECOVERY_CHANGE;
    c->directories = -1;
    c->is_short = 1;
    for (int list = 0; list < KC_LISTS; list++)
        c->count[list] = -1;
    if (!(at = kc_uvarint_of(at + 20, end, 5, &count)))
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *stop;
        int list = KC_LISTS;
        if (!(at = kc_next_tag(at, end, i == 0, &tag, &stop)))
            return -1;
        c->is_short &= tag == 0 || tag == 1 || tag == 5;
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
            return -1; /* an unknown tag: lawful, but only the slower reader can show it */
        }
        if (list < KC_LISTS && kc_array(at, stop, 4, &c->count[list], &c->items[list]) != stop)
            return -1;
        at = stop;
    }
    return at == end ? 0 : -1;
}

#endif
