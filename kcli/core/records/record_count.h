/* Counts the records of a records field by the headers of its batches; a wrapped message set of magic 0 or 1 counts as
 * one. */
#ifndef KCLI_RECORD_COUNT_H
#define KCLI_RECORD_COUNT_H

#include "batches.h"

static inline int64_t kb_record_count(const uint8_t *p, int64_t size) {
    const uint8_t *end = p + (size > 0 ? size : 0);
    int64_t count = 0;
    kb_batch batch;
    while (kb_read_batch(&batch, p, end) == KB_OK) {
        if (batch.count > 0) count += batch.count;
        p += batch.size;
    }
    return count;
}

#endif
