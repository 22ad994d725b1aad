  uvarint:
    doc: An unsigned varint of at most 5 bytes.
    seq:
      - {id: groups, type: u1, repeat: until, repeat-until: "_ < 128 or _index == 4"}
    instances:
      value:
        value: "(groups[0] & 127) + (groups.size > 1 ? (groups[1] & 127) << 7 : 0) + (groups.size > 2 ? (groups[2] & 127) << 14 : 0) + (groups.size > 3 ? (groups[3] & 127) << 21 : 0) + (groups.size > 4 ? (groups[4] & 15) << 28 : 0)"
  count:
    doc: A number of entries or bytes; -1 for null.
    params:
      - {id: compact, type: bool}
    seq:
      - {id: classic, type: s4, if: not compact}
      - {id: varint, type: uvarint, if: compact}
    instances:
      value: {value: "compact ? varint.value - 1 : classic"}
  text:
    params:
      - {id: compact, type: bool}
    seq:
      - {id: classic, type: s2, if: not compact}
      - {id: varint, type: uvarint, if: compact}
      - {id: value, type: str, encoding: UTF-8, size: len, if: len >= 0}
    instances:
      len: {value: "compact ? varint.value - 1 : classic"}
  blob:
    params:
      - {id: compact, type: bool}
    seq:
      - {id: len, type: count(compact)}
      - {id: value, size: len.value, if: len.value >= 0}
  record_batches:
    params:
      - {id: compact, type: bool}
    seq:
      - {id: len, type: count(compact)}
      - {id: value, type: batches, size: len.value, if: len.value >= 0}
  batches:
    seq:
      - {id: entries, type: batch, repeat: eos}
  batch:
    doc: A batch of magic 2 or a message of magic 0 or 1. A fetch response may end inside a batch, which is `cut` then.
    seq:
      - {id: base_offset, type: s8, if: is_whole}
      - {id: len_body, type: s4, if: is_whole}
      - {id: body, type: batch_body, size: len_body, if: is_whole}
      - {id: cut, size-eos: true, if: not is_whole}
    instances:
      left: {value: "_io.size - _io.pos"}
      said: {pos: "_io.pos + 8", type: s4, if: left >= 17}
      is_whole: {value: "left >= 17 and said >= 14 and said <= left - 12"}
  batch_body:
    seq:
      - {id: partition_leader_epoch, type: s4, if: magic == 2}
      - {id: message_crc, type: u4, if: magic < 2}
      - {id: magic_byte, type: s1}
      - {id: batch, type: batch_v2, if: magic == 2}
      - {id: message, type: message(magic), if: magic < 2}
    instances:
      magic: {pos: 4, type: s1}
  batch_v2:
    seq:
      - {id: crc, type: u4}
      - {id: attributes, type: u2}
      - {id: last_offset_delta, type: s4}
      - {id: base_timestamp, type: s8}
      - {id: max_timestamp, type: s8}
      - {id: producer_id, type: s8}
      - {id: producer_epoch, type: s2}
      - {id: base_sequence, type: s4}
      - {id: num_records, type: s4}
      - {id: records, type: record, repeat: expr, repeat-expr: num_records, if: compression == 0 and num_records >= 0}
      - {id: compressed_records, size-eos: true, if: compression != 0}
    instances:
      compression: {value: attributes & 7, doc: "0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd"}
      is_transactional: {value: (attributes & 16) != 0}
      is_control: {value: (attributes & 32) != 0}
  message:
    params:
      - {id: magic, type: s1}
    seq:
      - {id: attributes, type: s1}
      - {id: timestamp, type: s8, if: magic == 1}
      - {id: key, type: blob(false)}
      - {id: value, type: blob(false)}
  zigzag:
    doc: A signed varint of at most 10 bytes.
    seq:
      - {id: groups, type: u1, repeat: until, repeat-until: "_ < 128 or _index == 9"}
    instances:
      raw:
        value: "(groups[0] & 127) + (groups.size > 1 ? (groups[1] & 127) << 7 : 0) + (groups.size > 2 ? (groups[2] & 127) << 14 : 0) + (groups.size > 3 ? (groups[3] & 127) << 21 : 0) + (groups.size > 4 ? (groups[4] & 127) << 28 : 0) + (groups.size > 5 ? (groups[5] & 127) << 35 : 0) + (groups.size > 6 ? (groups[6] & 127) << 42 : 0) + (groups.size > 7 ? (groups[7] & 127) << 49 : 0) + (groups.size > 8 ? (groups[8] & 127) << 56 : 0) + (groups.size > 9 ? (groups[9] & 1) << 63 : 0)"
      value: {value: "(raw & 1) == 0 ? (raw >> 1) : -(raw >> 1) - 1"}
  record_bytes:
    seq:
      - {id: len, type: zigzag}
      - {id: value, size: len.value, if: len.value >= 0}
  record:
    seq:
      - {id: len_body, type: zigzag}
      - {id: body, type: record_body, size: len_body.value}
  record_body:
    seq:
      - {id: attributes, type: s1}
      - {id: timestamp_delta, type: zigzag}
      - {id: offset_delta, type: zigzag}
      - {id: key, type: record_bytes}
      - {id: value, type: record_bytes}
      - {id: num_headers, type: zigzag}
      - {id: headers, type: record_header, repeat: expr, repeat-expr: num_headers.value}
  record_header:
    seq:
      - {id: key, type: record_bytes}
      - {id: value, type: record_bytes}
  unknown_tags:
    doc: Tagged fields of a struct that has none of its own in any version.
    seq:
      - {id: num_fields, type: uvarint}
      - {id: fields, type: unknown_tag, repeat: expr, repeat-expr: num_fields.value}
  unknown_tag:
    seq:
      - {id: tag, type: uvarint}
      - {id: len, type: uvarint}
      - {id: value, size: len.value}
