/* Two PartitionRecords beside each other. */
#ifndef KCLI_SAME_PARTITION_H
#define KCLI_SAME_PARTITION_H

#include <string.h>

#include "snapshot.h"

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

/* Returns whether two PartitionRecords, of any versions, describe the same partition state. */
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
