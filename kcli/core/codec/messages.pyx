"""A message's verbs at C speed: read (Python values), json (text straight from the bytes), write, skip, select (columns).

A grammar is translated (kcli.grammar.native) to a tree of four kinds of node: Scalar, Array, Optional, Message.
The fast way takes canonical bytes only; what it refuses goes to the node's `fallback`, the interpreted grammar, which
either has a form that keeps the odd bytes or raises the full error. Bounds: nothing is allocated for a count before
the bytes it speaks of are known to be there.
"""

cimport cython

include "cursor.pxi"
include "fixed.pxi"
include "sized.pxi"
include "names.pxi"
include "nodes.pxi"
include "scalars.pxi"
include "secrets.pxi"
include "envelope.pxi"
include "arrays.pxi"
include "steps.pxi"
include "message.pxi"
include "message_read.pxi"
include "message_json.pxi"
include "message_skip.pxi"
include "message_scan.pxi"
include "message_differences.pxi"
include "batch_differences.pxi"
include "message_write.pxi"
include "select_program.pxi"
include "select.pxi"
