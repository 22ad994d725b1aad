# The programs of select, which kcli.grammar.native makes, as structs.


cdef enum What:
    RUN                   # only the fields of fixed width that any part may have in front
    SIZED                 # a string, bytes or records
    PASS                  # a field to skip
    EACH                  # an array's elements
    MAYBE                 # a struct that may be null
    TAGS

WHATS = {"run": RUN, "sized": SIZED, "pass": PASS, "each": EACH, "maybe": MAYBE, "tags": TAGS}


cdef int build_program(Program* made, list parts, list held, Level* levels) except -1:
    """Build a program from its parts. held: keeps the nodes alive."""
    cdef Part* part = NULL
    made.parts = <Part*>calloc(max(1, len(parts)), sizeof(Part))
    if made.parts == NULL:
        raise MemoryError
    for given in parts:
        if part == NULL or part.what != RUN or given["what"] == "run":
            part = &made.parts[made.count]
            made.count += 1
        build_part(part, given, held, levels)
    return 0


cdef int build_part(Part* part, dict given, list held, Level* levels) except -1:
    """Build a run, or a part after the run that the struct holds already."""
    cdef int i
    node, tags = given.get("node"), given.get("tags", ())
    part.what = WHATS[given["what"]]
    if part.what == RUN:
        return build_run(part, given["width"], given["picks"])
    held.append(node)
    part.node = <PyObject*>node
    part.slot, part.level, part.unknown = given.get("slot", -1), given.get("level", -1), given.get("unknown", -1)
    if part.what == SIZED:
        part.op, part.flags, part.least = (<Scalar?>node).op, (<Scalar>node).flags, 1
    elif part.what == EACH:
        part.flags, part.least = (<Array?>node).flags, (<Array>node).element.least
    if part.flags & COMPACT and part.least:
        part.first = 0 if part.flags & NULLABLE else 1
        part.brief = 128 - part.first
    part.tags = <TagPart*>calloc(max(1, len(tags)), sizeof(TagPart))
    if part.tags == NULL:
        raise MemoryError
    for i, (tag, slot, parts) in enumerate(tags):
        part.tag_count = i + 1
        part.tags[i].tag, part.tags[i].slot = tag, slot
        build_program(&part.tags[i].below, parts, held, levels)
    build_program(&part.below, given.get("below", []), held, levels)
    return build_blanks(part, &levels[part.level], given["filled"]) if part.what == EACH else 0


cdef int build_run(Part* part, int width, list picks) except -1:
    cdef int i
    part.width = width
    part.picks = <Pick*>calloc(max(1, len(picks)), sizeof(Pick))
    if part.picks == NULL:
        raise MemoryError
    fours, eights = [pick for pick in picks if pick[0] == "int32"], [pick for pick in picks if pick[0] == "int64"]
    others = [pick for pick in picks if pick[0] not in ("int32", "int64")]
    part.fours = part.picks + len(fours)
    part.eights = part.fours + len(eights)
    part.others = part.eights + len(others)
    for i, (type_, at, slot) in enumerate(fours + eights + others):
        part.picks[i] = Pick(OPS[type_], at, slot)
    return 0


cdef int build_blanks(Part* part, Level* level, object filled) except -1:
    cdef const int64_t* template = <const int64_t*>level.template
    cdef int slot, slots = level.width // sizeof(int64_t)
    part.below.blanks = <Blank*>calloc(slots, sizeof(Blank))
    if part.below.blanks == NULL:
        raise MemoryError
    for slot in set(range(slots)) - filled:
        part.below.blanks[part.below.blank] = Blank(template[slot], slot)
        part.below.blank += 1
    return 0


cdef void free_program(Program* program) noexcept:
    cdef int i, j
    for i in range(program.count):
        for j in range(program.parts[i].tag_count):
            free_program(&program.parts[i].tags[j].below)
        free_program(&program.parts[i].below)
        free(program.parts[i].picks)
        free(program.parts[i].tags)
    free(program.parts)
    free(program.blanks)
