
-- Records: batches of magic 2, messages of magic 0 and 1, opened where this Wireshark, or this file, can decompress.

local batch = {
  node = field(ProtoField.none, "batch", "batch"),
  baseOffset = field(ProtoField.int64, "batch.baseOffset", "baseOffset"),
  lastOffset = field(ProtoField.int64, "batch.lastOffset", "lastOffset"),
  magic = field(ProtoField.int8, "batch.magic", "magic"),
  compression = field(ProtoField.string, "batch.compression", "compression"),
  timestampType = field(ProtoField.string, "batch.timestampType", "timestampType"),
  isTransactional = field(ProtoField.bool, "batch.isTransactional", "isTransactional"),
  isControl = field(ProtoField.bool, "batch.isControl", "isControl"),
  partitionLeaderEpoch = field(ProtoField.int32, "batch.partitionLeaderEpoch", "partitionLeaderEpoch"),
  producerId = field(ProtoField.int64, "batch.producerId", "producerId"),
  producerEpoch = field(ProtoField.int16, "batch.producerEpoch", "producerEpoch"),
  baseSequence = field(ProtoField.int32, "batch.baseSequence", "baseSequence"),
  baseTimestamp = field(ProtoField.int64, "batch.baseTimestamp", "baseTimestamp"),
  maxTimestamp = field(ProtoField.int64, "batch.maxTimestamp", "maxTimestamp"),
  count = field(ProtoField.int32, "batch.count", "count"),
  sizeInBytes = field(ProtoField.uint32, "batch.sizeInBytes", "sizeInBytes"),
  crc = field(ProtoField.uint32, "batch.crc", "crc", base.HEX),
  crcValid = field(ProtoField.bool, "batch.crcValid", "crcValid"),
}
local record = {
  node = field(ProtoField.none, "record", "record"),
  offset = field(ProtoField.int64, "record.offset", "offset"),
  timestamp = field(ProtoField.int64, "record.timestamp", "timestamp"),
  key = field(ProtoField.bytes, "record.key", "key"),
  value = field(ProtoField.bytes, "record.value", "value"),
  header = field(ProtoField.string, "record.header", "header"),
  headerValue = field(ProtoField.bytes, "record.header.value", "value"),
}
local CODECS = { [0] = "none", "gzip", "snappy", "lz4", "zstd" }

-- Checksums -----------------------------------------------------------------------------------------------------------

local bits = rawget(_G, "bit32") or rawget(_G, "bit")
local bxor = bits and bits.bxor or load("return function(a, b) return a ~ b end")()

local function crc_table(polynomial)
  local made = {}
  for index = 0, 255 do
    local value = index
    for _ = 1, 8 do
      local odd = value % 2
      value = math.floor(value / 2)
      if odd == 1 then value = bxor(value, polynomial) % 4294967296 end
    end
    made[index] = value
  end
  return made
end
local CRC32, CRC32C = crc_table(0xEDB88320), crc_table(0x82F63B78)

local function checksum(table_, data)
  local value = 4294967295
  for at = 1, #data do
    value = bxor(table_[bxor(value % 256, data:byte(at)) % 256], math.floor(value / 256)) % 4294967296
  end
  return 4294967295 - value
end

-- Decompression -------------------------------------------------------------------------------------------------------

local function snappy_block(data, at, stop, out)
  repeat
    local byte = byte_at(data, at)
    at = at + 1
  until byte < 128
  local begin = #out -- copies reach back in their own block only
  while at <= stop do
    local tag = byte_at(data, at)
    local kind, size, distance = tag % 4, math.floor(tag / 4), 0
    if kind == 0 then
      local width = size - 59
      at = at + 1
      if width > 0 then
        size = little(data, at, width)
        at = at + width
      end
      at = literal(data, at, size + 1, out)
    else
      if kind == 1 then
        distance = math.floor(tag / 32) * 256 + byte_at(data, at + 1)
        size, at = size % 8 + 4, at + 2
      else
        local width = kind == 2 and 2 or 4
        distance = little(data, at + 1, width)
        size, at = size + 1, at + 1 + width
      end
      if distance > #out - begin then error("a copy from before the begin", 0) end
      copy(out, distance, size)
    end
  end
end

local XERIAL = "\130SNAPPY\0"

local function snappy(data)
  local out = {}
  if data:sub(1, 8) ~= XERIAL then
    snappy_block(data, 1, #data, out)
    return chars(out)
  end
  local at = 17
  while at <= #data do
    local size = little(data:sub(at, at + 3):reverse(), 1, 4)
    if at + 3 + size > #data then error("it ends early", 0) end
    snappy_block(data, at + 4, at + 3 + size, out)
    at = at + 4 + size
  end
  return chars(out)
end

local function lz4_length(data, at, size)
  if size < 15 then return size, at end
  repeat
    local more = byte_at(data, at)
    size, at = size + more, at + 1
  until more < 255
  return size, at
end

local function lz4_block(data, at, stop, out)
  while at <= stop do
    local token = byte_at(data, at)
    local size
    size, at = lz4_length(data, at + 1, math.floor(token / 16))
    at = literal(data, at, size, out)
    if at > stop then return end
    local distance = little(data, at, 2)
    size, at = lz4_length(data, at + 2, token % 16)
    copy(out, distance, size + 4)
  end
end

local function lz4(data)
  local out = {}
  if little(data, 1, 4) ~= 0x184D2204 then error("no lz4 frame", 0) end
  local flags = byte_at(data, 5)
  local checked, sized, dictionary = math.floor(flags / 16) % 2, math.floor(flags / 8) % 2, flags % 2
  local at = 8 + 8 * sized + 4 * dictionary
  while true do
    local size = little(data, at, 4)
    at = at + 4
    if size == 0 then return chars(out) end
    local plain = size >= 2147483648
    size = size % 2147483648
    if at + size - 1 > #data then error("it ends early", 0) end
    if plain then literal(data, at, size, out) else lz4_block(data, at, at + size - 1, out) end
    at = at + size + 4 * checked
  end
end

-- Wireshark's own decompression of zlib and gzip, under its name of 4.4, or the one before.
local function inflated(range)
  local fine, found = pcall(function() return range:uncompress_zlib("gzip records") end)
  if not fine then fine, found = pcall(function() return range:uncompress("gzip records") end) end
  if not fine or found == nil then error("no gzip", 0) end
  return found:tvb()
end

-- (tvb, at, stop) of a batch's records, decompressed. Errors say why not.
local function decompressed(tvb, from, to, codec)
  if codec == 0 then return tvb, from, to end
  local range = tvb(from, to - from)
  local opened
  if codec == 1 then
    opened = inflated(range)
  elseif codec == 2 or codec == 3 then
    local data = (codec == 2 and snappy or lz4)(range:raw())
    opened = ByteArray.new(data, true):tvb(CODECS[codec] .. " records")
  elseif codec == 4 then
    local data = zstd(range:raw())
    opened = ByteArray.new(data, true):tvb("zstd records")
  else
    error("no such codec: " .. codec, 0)
  end
  return opened, 0, opened:len()
end

-- Records of magic 2 --------------------------------------------------------------------------------------------------

-- A zigzag varint; exact up to 53 bits, beyond them an Int64.
function Reader:zigzag(path)
  local low, high, scale = 0, 0, 1
  for index = 0, 9 do
    local byte = self:take(1, path):uint()
    if index < 7 then
      low = low + (byte % 128) * scale
      scale = index == 6 and 1 or scale * 128
    else
      high = high + (byte % 128) * scale
      scale = scale * 128
    end
    if byte < 128 then
      if high == 0 then
        local half = math.floor(low / 2)
        return low % 2 == 0 and half or -half - 1
      end
      local half = Int64(math.floor(low / 2) % 4294967296, 0) + Int64(0, math.floor(low / 2 / 4294967296))
        + Int64(0, 65536) * (high % 65536)
      return low % 2 == 0 and half or Int64(0) - half - 1
    end
  end
  fail(path, self.at, "a varint of more than 10 bytes")
end

local function show_bytes(range)
  local text = range:raw()
  if text:find("[%z\1-\31\127]") then return nil end
  local at = 1
  while at <= #text do
    local byte = text:byte(at)
    local size = byte < 0x80 and 0 or byte < 0xC2 and -1 or byte < 0xE0 and 1 or byte < 0xF0 and 2 or byte < 0xF5 and 3 or -1
    if size < 0 or (size > 0 and not text:find("^[\128-\191]" .. ("[\128-\191]"):rep(size - 1), at + 1)) then return nil end
    at = at + 1 + size
  end
  return #text <= 200 and text or text:sub(1, 200):gsub("[\192-\255]?[\128-\191]*$", "") .. "..."
end

-- A key, value or header's value of `length` bytes; below 0 it is null.
function Reader:blob(parent, blob_field, name, length, from)
  if length < 0 then
    self:node(parent, { field = common.null, from = from, to = self.at, value = "record." .. name, text = name .. ": null" })
    return
  end
  local start = self.at
  local range = self:take(length, "record." .. name)
  local shown = show_bytes(range)
  self:node(parent, { field = blob_field, from = start, to = self.at, text = shown and name .. ": " .. shown })
end

function Reader:record(parent, index, base_offset, base_timestamp, append_time)
  local from = self.at
  local size = self:zigzag("record.length")
  if type(size) ~= "number" or size < 0 or size > self.stop - self.at then
    fail("record.length", from, string.format("says %s bytes at 0x%x, %d left", tostring(size), from, self.stop - self.at))
  end
  local stop, outer = self.at + size, self.stop
  local node = self:node(parent, { field = record.node, from = from, to = stop, kids = {}, text = "record " .. index })
  self.stop = stop
  self:take(1, "record.attributes")
  local at = self.at
  local timestamp = base_timestamp + self:zigzag("record.timestampDelta")
  self:node(node.kids, { field = record.timestamp, from = at, to = self.at, value = append_time or timestamp })
  at = self.at
  local offset = base_offset + self:zigzag("record.offsetDelta")
  self:node(node.kids, { field = record.offset, from = at, to = self.at, value = offset })
  at = self.at
  self:blob(node.kids, record.key, "key", self:zigzag("record.key"), at)
  at = self.at
  self:blob(node.kids, record.value, "value", self:zigzag("record.value"), at)
  local count = self:zigzag("record.headers")
  if count < 0 or count > self.stop - self.at then fail("record.headers", self.at, "says " .. count .. " headers") end
  for _ = 1, count do
    local length = self:zigzag("record.header.key")
    if length < 0 then fail("record.header.key", self.at, "null, where a key is needed") end
    local start = self.at
    self:take(length, "record.header.key")
    local header = self:node(node.kids, { field = record.header, from = start, to = self.at, encoding = ENC_UTF_8, kids = {} })
    at = self.at
    self:blob(header.kids, record.headerValue, "header.value", self:zigzag("record.header.value"), at)
  end
  if self.at ~= stop then fail("record.length", from, string.format("says %d bytes, the fields take %d", size, self.at - stop + size)) end
  self.stop = outer
end

-- A node of a batch, for a value that stands at `at`, or is derived (no width).
local function put(source, kids, name, at, width, value)
  source:node(kids, { field = batch[name], from = at, to = at + width, value = value, generated = width == 0 })
end

local function check(source, kids, tvb, at, from, to, table_)
  local said = tvb(at, 4):uint()
  local valid = checksum(table_, tvb(from, to - from):raw()) == said
  put(source, kids, "crc", at, 4)
  local node = source:node(kids, { field = batch.crcValid, from = at, to = at + 4, value = valid, generated = true })
  if not valid then node.expert, node.said = "checksum", "Wrong checksum" end
end

local function open_batch(source, node, tvb, at, to)
  local kids = node.kids
  local attributes = tvb(at + 21, 2):uint()
  local codec = attributes % 8
  local base_offset, base_timestamp = tvb(at, 8):int64(), tvb(at + 27, 8):int64()
  local append = math.floor(attributes / 8) % 2 == 1
  put(source, kids, "baseOffset", at, 8)
  put(source, kids, "lastOffset", at + 23, 4, base_offset + tvb(at + 23, 4):int())
  put(source, kids, "magic", at + 16, 1)
  put(source, kids, "compression", at + 21, 2, CODECS[codec] or tostring(codec))
  put(source, kids, "timestampType", at + 21, 2, append and "LogAppendTime" or "CreateTime")
  put(source, kids, "isTransactional", at + 21, 2, math.floor(attributes / 16) % 2 == 1)
  put(source, kids, "isControl", at + 21, 2, math.floor(attributes / 32) % 2 == 1)
  put(source, kids, "partitionLeaderEpoch", at + 12, 4)
  put(source, kids, "producerId", at + 43, 8)
  put(source, kids, "producerEpoch", at + 51, 2)
  put(source, kids, "baseSequence", at + 53, 4)
  put(source, kids, "baseTimestamp", at + 27, 8)
  put(source, kids, "maxTimestamp", at + 35, 8)
  put(source, kids, "count", at + 57, 4)
  put(source, kids, "sizeInBytes", at + 8, 4, to - at)
  check(source, kids, tvb, at + 17, at + 21, to, CRC32C)
  local count = tvb(at + 57, 4):int()
  local fine, opened, start, stop = pcall(decompressed, tvb, at + 61, to, codec)
  if not fine then
    node.expert, node.said = "closed", (CODECS[codec] or codec) .. " records: " .. tostring(opened)
    return
  end
  local inner = reader(opened, start, stop, source.budget)
  for index = 0, count - 1 do
    inner:record(kids, index, base_offset, base_timestamp, append and tvb(at + 35, 8):int64() or nil)
  end
end

-- Messages of magic 0 and 1 -------------------------------------------------------------------------------------------

-- {offset, timestamp, key and value: {at, to} or false} of the message at `at`.
local function message_at(tvb, at, to)
  local magic = tvb(at + 16, 1):int()
  local found = { tvb = tvb, at = at, to = to, magic = magic, attributes = tvb(at + 17, 1):uint(), offset = tvb(at, 8):int64() }
  local next_at = at + 18
  if magic == 1 then
    found.timestamp = tvb(next_at, 8):int64()
    next_at = next_at + 8
  else
    found.timestamp = Int64(-1)
  end
  for _, name in ipairs({ "key", "value" }) do
    if next_at + 4 > to then fail("message." .. name, next_at, "the message ends early") end
    local size = tvb(next_at, 4):int()
    next_at = next_at + 4
    if size > to - next_at then fail("message." .. name, next_at, string.format("says %d bytes, %d left", size, to - next_at)) end
    found[name] = size >= 0 and { next_at, next_at + size } or false
    next_at = next_at + math.max(size, 0)
  end
  return found
end

local function put_message(source, kids, index, message, shift, append_time)
  local node = source:node(kids, { tvb = message.tvb, field = record.node, from = message.at, to = message.to, kids = {},
    text = "record " .. index })
  local inner = reader(message.tvb, message.at, message.to, source.budget)
  inner:node(node.kids, { field = record.timestamp, from = message.at + 18, to = message.at + 18,
    value = append_time or message.timestamp })
  inner:node(node.kids, { field = record.offset, to = message.at + 8, value = message.offset + shift })
  for _, name in ipairs({ "key", "value" }) do
    local place = message[name]
    inner.at = place and place[1] or message.at
    inner:blob(node.kids, record[name], name, place and place[2] - place[1] or -1, message.at)
  end
end

-- The messages in a wrapper's value.
local function inner_messages(opened, at, stop)
  local found = {}
  while at + 12 <= stop do
    local to = at + 12 + opened(at + 8, 4):int()
    if to > stop or to - at < 26 then fail("message.size", at, "a message beyond the end of its wrapper") end
    found[#found + 1] = message_at(opened, at, to)
    at = to
  end
  if #found == 0 then fail("message", at, "a wrapper without messages") end
  return found
end

local function open_message(source, node, tvb, at, to)
  local kids, outer = node.kids, message_at(tvb, at, to)
  local codec = outer.attributes % 8
  local append = outer.magic == 1 and math.floor(outer.attributes / 8) % 2 == 1
  local inside, shift, failed = { outer }, Int64(0), nil
  if codec ~= 0 and outer.value then
    local fine, opened, start, stop = pcall(decompressed, tvb, outer.value[1], outer.value[2], codec)
    if fine then
      inside = inner_messages(opened, start, stop)
      if outer.magic == 1 and outer.offset ~= Int64(0) then shift = outer.offset - inside[#inside].offset end
    else
      failed = opened
    end
  end
  put(source, kids, "baseOffset", at, 8, inside[1].offset + shift)
  put(source, kids, "lastOffset", at, 8)
  put(source, kids, "magic", at + 16, 1)
  put(source, kids, "compression", at + 17, 1, CODECS[codec] or tostring(codec))
  put(source, kids, "timestampType", at + 17, 1,
    outer.magic == 0 and "NoTimestampType" or append and "LogAppendTime" or "CreateTime")
  put(source, kids, "maxTimestamp", at + 18, 0, outer.timestamp)
  put(source, kids, "count", at, 0, #inside)
  put(source, kids, "sizeInBytes", at + 8, 4, to - at)
  check(source, kids, tvb, at + 12, at + 16, to, CRC32)
  if failed then
    node.expert, node.said = "closed", CODECS[codec] .. " messages: " .. tostring(failed)
    return
  end
  for index, message in ipairs(inside) do
    put_message(source, kids, index - 1, message, shift, append and outer.timestamp or nil)
  end
end

local LEAST = { [0] = 26, 34, 61 } -- bytes of a batch, by magic
local FARTHEST = 65536 -- bytes in which the next batch is searched

-- (bytes, magic) of the batch at `at` by its head; nothing where there is none.
local function head_of(tvb, at, stop)
  if stop - at < 18 then return nil end
  local size, magic = tvb(at + 8, 4):int() + 12, tvb(at + 16, 1):int()
  if LEAST[magic] and size >= LEAST[magic] then return size, magic end
end

-- Where the next batch with a right checksum begins, behind bytes that are none.
local function next_batch(tvb, at, stop)
  for place = at, math.min(stop - 18, at + FARTHEST) do
    local size, magic = head_of(tvb, place, stop)
    if size and size <= stop - place then
      local crc_at, from = magic == 2 and 17 or 12, magic == 2 and 21 or 16
      local covered = tvb(place + from, size - from):raw()
      if checksum(magic == 2 and CRC32C or CRC32, covered) == tvb(place + crc_at, 4):uint() then return place end
    end
  end
  return stop
end

-- The batches of a records field. A fetch response may end inside a batch; what is wrong is said at its batch.
function open_records(tvb, at, stop, kids, budget)
  local source, index = reader(tvb, at, stop, budget), 0
  while at < stop do
    local size, magic = head_of(tvb, at, stop)
    local to = size and at + size or stop - at >= 18 and next_batch(tvb, at + 1, stop) or stop
    local node = source:node(kids, { field = batch.node, from = at, to = math.min(to, stop), kids = {},
      text = string.format("batch %d", index) })
    if not size and stop - at >= 18 then
      node.expert, node.said = "malformed", string.format("no batch at 0x%x", at)
    elseif not size or to > stop then
      node.text = string.format("%d bytes of a batch that goes on", stop - at)
    else
      local fine, fault = pcall(magic == 2 and open_batch or open_message, source, node, tvb, at, to)
      if not fine then
        node.expert = "malformed"
        node.said = type(fault) == "table" and fault.path .. ": " .. fault.reason or tostring(fault)
      end
    end
    at, index = to, index + 1
  end
end
