/* The fields at fixed offsets in the header of every request (KIP-43, RequestHeader.json); offsets: layouts.h. */
#ifndef KCLI_REQUESTS_H
#define KCLI_REQUESTS_H

#include "bytes.h"
#include "layouts.h"

enum { KC_NO_CLIENT_ID = -1, KC_CUT_HEADER = -2 };

/* Returns the client id; *length: its bytes, or one of the codes above. ControlledShutdown v0 has none: see
 * kc_has_client_id. */
static inline const uint8_t *kc_client_id(const uint8_t *frame, size_t size, int64_t *length) {
    const uint8_t *text = frame + KB_AT_CLIENT_ID + 2;
    *length = KC_CUT_HEADER;
    if (size < KB_AT_CLIENT_ID + 2) return frame;
    *length = (int16_t)kc_be16(frame + KB_AT_CLIENT_ID);
    if (*length < KC_NO_CLIENT_ID || *length > (int64_t)size - (KB_AT_CLIENT_ID + 2)) *length = KC_CUT_HEADER;
    return text;
}

static inline int kc_has_client_id(int api_key, int version) { return api_key != 7 || version != 0; }

static inline int32_t kc_correlation_id(const uint8_t *frame) { return (int32_t)kc_be32(frame + KB_AT_CORRELATION_ID); }

#endif
