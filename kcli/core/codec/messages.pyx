"""The operations on messages: read (Python values), json (text directly from the bytes), write, skip, select (columns).

kcli.grammar.native translates a grammar to a tree of four kinds of node: Scalar, Array, Optional, Message. The core
accepts only canonical bytes; others go to the node's `fallback`, the interpreted grammar, which either has a form that
keeps the odd bytes, or raises the full error. Nothing is allocated for a count before its bytes are known to be there.
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
