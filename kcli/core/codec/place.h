/* Places in hash tables of what a capture holds. They depend on a key that differs from process to process: without it
 * nobody can choose values that all get one place, so that each search would pass all of them. A hash that several
 * processes need is another one. */
#ifndef KC_PLACE_H
#define KC_PLACE_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* Derived from the key of Python's own hashes, as modules look into each other's tables. */
static uint64_t kc_key[2];

/* Python loads the module, so that its functions may be called here. */
__attribute__((constructor)) static void kc_make_key(void) {
    for (int i = 0; i < 2; i++) {
        PyObject *text = PyBytes_FromString(i ? "second" : "first");
        if (text) kc_key[i] = (uint64_t)PyObject_Hash(text);
        else PyErr_Clear();
        Py_XDECREF(text);
    }
}

static inline uint64_t kc_product(uint64_t a, uint64_t b) {
    unsigned __int128 made = (unsigned __int128)a * b;
    return (uint64_t)made ^ (uint64_t)(made >> 64);
}

static inline uint64_t kc_place(uint64_t a, uint64_t b) {
    return kc_product(kc_product(a ^ kc_key[0], b ^ kc_key[1]) ^ kc_key[1], kc_key[0] | 1);
}

/* Mixes the size of a text and its words, one after the other. */
static inline uint64_t kc_mix_words(uint64_t (*mix)(uint64_t, uint64_t), const uint8_t *data, size_t size) {
    uint64_t mixed = size, word;
    for (; size >= 8; size -= 8, data += 8) {
        memcpy(&word, data, 8);
        mixed = mix(mixed, word);
    }
    word = 0;
    if (size) memcpy(&word, data, size);
    return mix(mixed, word);
}

static inline uint64_t kc_place_of(const uint8_t *data, size_t size) { return kc_mix_words(kc_place, data, size); }

#endif
