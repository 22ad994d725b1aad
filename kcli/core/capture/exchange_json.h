/* The parts of an exchange's line of JSON that are no message: times, addresses, sizes. */
#ifndef KCLI_EXCHANGE_JSON_H
#define KCLI_EXCHANGE_JSON_H

#include <stdint.h>
#include <string.h>

#include "json_text.h"

/* "2026-11-21T00:52:34.167123Z", 27 characters; the date of the latest day is kept. */
typedef struct { uint64_t day; char text[11]; } kc_date;

static void kc_set_date(kc_date *date, uint64_t day) {
    uint64_t z = day + 719468, era = z / 146097, doe = z - era * 146097;
    uint64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    uint64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    uint64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9, y = yoe + era * 400 + (m <= 2);
    char *t = date->text;
    memcpy(t, kc_pairs + y / 100 % 100 * 2, 2);
    memcpy(t + 2, kc_pairs + y % 100 * 2, 2);
    t[4] = t[7] = '-';
    memcpy(t + 5, kc_pairs + m * 2, 2);
    memcpy(t + 8, kc_pairs + d * 2, 2);
    t[10] = 'T';
    date->day = day;
}

static inline char *kc_put_instant(char *p, kc_date *date, uint64_t ns) {
    uint64_t us = ns / 1000, seconds = us / 1000000, day = seconds / 86400;
    uint32_t rest = (uint32_t)(us % 1000000), clock = (uint32_t)(seconds % 86400);
    if (day != date->day) kc_set_date(date, day);
    memcpy(p, date->text, 11);
    memcpy(p + 11, kc_pairs + clock / 3600 * 2, 2);
    memcpy(p + 14, kc_pairs + clock / 60 % 60 * 2, 2);
    memcpy(p + 17, kc_pairs + clock % 60 * 2, 2);
    p[13] = p[16] = ':';
    p[19] = '.';
    memcpy(p + 20, kc_pairs + rest / 10000 * 2, 2);
    memcpy(p + 22, kc_pairs + rest / 100 % 100 * 2, 2);
    memcpy(p + 24, kc_pairs + rest % 100 * 2, 2);
    p[26] = 'Z';
    return p + 27;
}

/* Milliseconds in Python's format: "2.0", "14.812". */
static inline char *kc_put_millis(char *p, uint64_t us) {
    uint32_t rest = (uint32_t)(us % 1000);
    p = kc_u64(p, us / 1000);
    *p++ = '.';
    *p++ = (char)('0' + rest / 100);
    if (rest % 100) *p++ = (char)('0' + rest / 10 % 10);
    if (rest % 10) *p++ = (char)('0' + rest % 10);
    return p;
}

#define KC_LITERAL(p, s) (memcpy(p, s, sizeof(s) - 1), (p) + sizeof(s) - 1)
static inline char *kc_put_opening(char *p) { return KC_LITERAL(p, "{\"timestamp\":\""); }
static inline char *kc_put_link(char *p, const char *link, size_t n) {
    p = KC_LITERAL(p, "\",\"connection\":\"");
    memcpy(p, link, n);
    return KC_LITERAL(p + n, "\",\"requestHeader\":");
}
static inline char *kc_put_sizes(char *p, uint64_t request) {
    return kc_u64(KC_LITERAL(p, ",\"requestBytes\":"), request);
}
static inline char *kc_put_answer(char *p, uint64_t response, uint64_t us) {
    p = kc_u64(KC_LITERAL(p, ",\"responseBytes\":"), response);
    return kc_put_millis(KC_LITERAL(p, ",\"latencyMs\":"), us);
}
static inline char *kc_put_no_answer(char *p) { return KC_LITERAL(p, ",\"responseBytes\":null,\"latencyMs\":null"); }
static inline char *kc_put_no_errors(char *p) { return KC_LITERAL(p, ",\"errors\":[]}\n"); }

#endif
