/* Where the fields of batches, messages and request headers stand, in bytes. Made by tools/layouts.py from kcli/grammar
 * (`make layouts`); a test fails when this is stale. */
#ifndef KCLI_LAYOUTS_H
#define KCLI_LAYOUTS_H

enum {
    KB_OVERHEAD = 12,
    KB_HEADER_2 = 61,
    KB_LEAST = 14,
    KB_LEAST_1 = 22,
    KB_LEAST_2 = 49,
    KB_AT_BASE_OFFSET = 0,
    KB_AT_BATCH_LENGTH = 8,
    KB_AT_PARTITION_LEADER_EPOCH = 12,
    KB_AT_MAGIC = 16,
    KB_AT_CRC = 17,
    KB_AT_ATTRIBUTES = 21,
    KB_AT_LAST_OFFSET_DELTA = 23,
    KB_AT_BASE_TIMESTAMP = 27,
    KB_AT_MAX_TIMESTAMP = 35,
    KB_AT_PRODUCER_ID = 43,
    KB_AT_PRODUCER_EPOCH = 51,
    KB_AT_BASE_SEQUENCE = 53,
    KB_AT_RECORD_COUNT = 57,
    KB_MESSAGE_0 = 26,
    KB_MESSAGE_1 = 34,
    KB_AT_0_OFFSET = 0,
    KB_AT_0_MESSAGE_SIZE = 8,
    KB_AT_0_CRC = 12,
    KB_AT_0_MAGIC = 16,
    KB_AT_0_ATTRIBUTES = 17,
    KB_AT_0_KEY = 18,
    KB_AT_1_OFFSET = 0,
    KB_AT_1_MESSAGE_SIZE = 8,
    KB_AT_1_CRC = 12,
    KB_AT_1_MAGIC = 16,
    KB_AT_1_ATTRIBUTES = 17,
    KB_AT_1_TIMESTAMP = 18,
    KB_AT_1_KEY = 26,
    KB_AT_REQUEST_API_KEY = 0,
    KB_AT_REQUEST_API_VERSION = 2,
    KB_AT_CORRELATION_ID = 4,
    KB_AT_CLIENT_ID = 8,
};

#endif
