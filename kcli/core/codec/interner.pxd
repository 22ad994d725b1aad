# Values by a pair of numbers, and numbers for texts.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "interner.h" nogil:
    ctypedef struct Slot "kc_slot":
        uint64_t a, b, value
    ctypedef struct Map "kc_map":
        Slot* slots
        size_t mask, used
    ctypedef struct Text "kc_text":
        uint8_t* data
        size_t size
        int kind
    ctypedef struct Texts "kc_texts":
        Text* texts
        size_t count
    uint64_t map_find "kc_map_find"(const Map* map, uint64_t a, uint64_t b)
    void map_ahead "kc_map_ahead"(const Map* map, uint64_t a, uint64_t b)
    void ahead "kc_ahead"(const void* p, size_t size)
    int map_put "kc_map_put"(Map* map, uint64_t a, uint64_t b, uint64_t value)
    void map_drop "kc_map_drop"(Map* map, uint64_t a, uint64_t b)
    void map_free "kc_map_free"(Map* map)
    void map_clear "kc_map_clear"(Map* map)
    int map_reserve "kc_map_reserve"(Map* map, size_t count)
    uint32_t text_find "kc_text_find"(const Texts* texts, const uint8_t* data, size_t size, int kind)
    uint32_t text_number "kc_text_number"(Texts* texts, const uint8_t* data, size_t size, int kind)
    void texts_free "kc_texts_free"(Texts* texts)
    uint64_t hash_of "kc_hash"(const uint8_t* data, size_t size)
    uint64_t text_place "kc_place_of"(const uint8_t* data, size_t size)
