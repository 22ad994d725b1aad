
-- Messages: bytes become nodes (of a tree to come), which are drawn when all is read, or as far as it could be read.

local kafka = Proto("kafka2", "Apache Kafka (kcli)")
local P = "kafka2."
local experts = {
  malformed = ProtoExpert.new(P .. "malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR),
  unknown = ProtoExpert.new(P .. "unknownVersion", "Not in the tables", expert.group.UNDECODED, expert.severity.WARN),
  trailing = ProtoExpert.new(P .. "trailing", "Bytes behind the message", expert.group.PROTOCOL, expert.severity.NOTE),
  cut = ProtoExpert.new(P .. "cut", "Packets were cut when they were captured", expert.group.UNDECODED, expert.severity.NOTE),
  noFrame = ProtoExpert.new(P .. "noFrame", "No frame of Kafka begins here", expert.group.SEQUENCE, expert.severity.NOTE),
  unmatched = ProtoExpert.new(P .. "unmatched", "Its request was not captured", expert.group.SEQUENCE, expert.severity.NOTE),
  error = ProtoExpert.new(P .. "errorCode", "An error code", expert.group.RESPONSE_CODE, expert.severity.NOTE),
  checksum = ProtoExpert.new(P .. "badChecksum", "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR),
  closed = ProtoExpert.new(P .. "closed", "Not opened", expert.group.UNDECODED, expert.severity.NOTE),
}
kafka.experts = experts

local all_fields = {}
local function field(make, name, label, ...)
  local made = make(P .. name, label, ...)
  all_fields[#all_fields + 1] = made
  return made
end

local api_names = {}
for key, api in pairs(APIS) do api_names[key] = api.log_name end

local common = {
  length = field(ProtoField.int32, "length", "length"),
  api_key = field(ProtoField.int16, "apiKey", "apiKey", base.DEC, api_names),
  api_version = field(ProtoField.int16, "apiVersion", "apiVersion", base.DEC),
  correlation_id = field(ProtoField.int32, "correlationId", "correlationId", base.DEC),
  client_id = field(ProtoField.string, "clientId", "clientId"),
  request_frame = field(ProtoField.framenum, "requestFrame", "request in", base.NONE, frametype.REQUEST),
  response_frame = field(ProtoField.framenum, "responseFrame", "response in", base.NONE, frametype.RESPONSE),
  latency = field(ProtoField.relative_time, "latency", "latency"),
  variant = field(ProtoField.string, "_variant", "layout"),
  trailing = field(ProtoField.bytes, "_trailing", "bytes behind the message"),
  body = field(ProtoField.bytes, "_body", "body"),
  null = field(ProtoField.string, "_null", "null"),
  tags = field(ProtoField.uint32, "_tags", "tagged fields"),
  unknown_tag = field(ProtoField.uint32, "_unknownTag", "unknown tagged field"),
  tag_data = field(ProtoField.bytes, "_unknownTag.data", "data"),
  error = field(ProtoField.string, "error", "error"),
  topic = field(ProtoField.string, "topic", "topic"),
}

local WIDTHS = { bool = 1, int8 = 1, int16 = 2, int32 = 4, int64 = 8, uint16 = 2, uint32 = 4, float64 = 8, uuid = 16 }
local MAKERS = {
  bool = ProtoField.bool, int8 = ProtoField.int8, int16 = ProtoField.int16, int32 = ProtoField.int32,
  int64 = ProtoField.int64, uint16 = ProtoField.uint16, uint32 = ProtoField.uint32, float64 = ProtoField.double,
  uuid = ProtoField.string, string = ProtoField.string, bytes = ProtoField.bytes, records = ProtoField.bytes,
}

-- Every field of every message is a field of Wireshark under its path: kafka2.FetchRequest.topics.topic. A variant's
-- fields that the newest layout has as well are the same.
local by_path = {}
local function declare(members, path)
  for _, member in ipairs(members) do
    local here = path .. "." .. member.name
    member.path = here
    local kind = member.fields and "struct" or member.type
    local known = by_path[here]
    if known and known.kind ~= kind then
      here = here .. "_" .. kind
      known = by_path[here]
    end
    if not known then
      known = { kind = kind }
      by_path[here] = known
      if member.fields then
        known.field = field(ProtoField.none, here, member.name)
      elseif kind == "int16" and member.name:find("rrorCode$") then
        known.field = field(ProtoField.int16, here, member.name, base.DEC, ERRORS)
      else
        known.field = field(MAKERS[kind], here, member.name)
      end
    end
    if member.array and not known.count then
      known.count = field(ProtoField.uint32, here .. "._count", member.name)
    end
    member.field, member.count = known.field, known.count
    if member.fields then declare(member.fields, member.path) end
  end
end
for name, message in pairs(MESSAGES) do
  message.field = field(ProtoField.none, name, name)
  declare(message.fields, name)
  for _, variant in ipairs(message.variants or {}) do declare(variant.fields, name) end
end

-- Reading -------------------------------------------------------------------------------------------------------------

local MOST_NODES = 200000 -- of one message: Wireshark itself gives up at a million

local Reader = {}
Reader.__index = Reader

-- tvb: what is read, up to `stop`, which may lie behind what is there. budget: nodes that may still be made, shared by a
-- message and its batches.
local function reader(tvb, at, stop, budget)
  local made = { tvb = tvb, at = at, stop = stop, there = tvb:len(), budget = budget or { left = MOST_NODES } }
  return setmetatable(made, Reader)
end

local function fail(path, at, reason)
  error({ path = path, at = at, reason = reason }, 0)
end

function Reader:need(size, path)
  if size > self.stop - self.at then
    fail(path, self.at, string.format("needs %d bytes at 0x%x, %d left", size, self.at, self.stop - self.at))
  elseif size > self.there - self.at then
    error({ path = path, at = self.at, reason = "goes on in packets to come", past_end = true }, 0)
  end
end

function Reader:take(size, path)
  self:need(size, path)
  local range = self.tvb(self.at, size)
  self.at = self.at + size
  return range
end

-- An unsigned varint of at most 5 bytes.
function Reader:varint(path)
  local start, value, scale = self.at, 0, 1
  for index = 1, 5 do
    local byte = self:take(1, path):uint()
    value = value + (byte % 128) * scale
    if byte < 128 then return value % 4294967296 end
    scale = scale * 128
    if index == 5 then fail(path, start, string.format("a varint of more than 5 bytes at 0x%x", start)) end
  end
end

-- A length or count: -1 is null.
function Reader:length(compact, width, path)
  if compact then return self:varint(path) - 1 end
  return self:take(width, path):int()
end

function Reader:node(parent, node)
  self.budget.left = self.budget.left - 1
  if self.budget.left < 0 then fail(node.path, self.at, "more fields than are shown of one message") end
  node.tvb, node.from = node.tvb or self.tvb, node.from or self.at
  parent[#parent + 1] = node
  return node
end

local function includes(lo, hi, version)
  return lo ~= nil and version >= lo and version <= hi
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

-- 16 bytes as Kafka's Uuid.toString has them: base64 for URLs, without padding.
local function uuid_text(range)
  local made = {}
  for at = 0, 15, 3 do
    local left = math.min(3, 16 - at)
    local bits = 0
    for index = 0, 2 do bits = bits * 256 + (index < left and range(at + index, 1):uint() or 0) end
    for index = 0, left do
      local six = math.floor(bits / 64 ^ (3 - index)) % 64
      made[#made + 1] = ALPHABET:sub(six + 1, six + 1)
    end
  end
  return table.concat(made)
end

local read_struct, open_records

function Reader:null(parent, member, from)
  self:node(parent, { field = common.null, from = from, to = self.at, value = member.path, path = member.path,
    text = member.name .. ": null" })
end

function Reader:scalar(parent, member, nullable, compact, seen)
  local kind, path, from = member.type, member.path, self.at
  local node = { field = member.field, path = path }
  local width = WIDTHS[kind]
  if width then
    local range = self:take(width, path)
    node.from, node.to = from, self.at
    if kind == "uuid" then
      node.value = uuid_text(range)
    elseif kind == "int16" then
      node.number = range:int()
      if node.number ~= 0 and member.name:find("rrorCode$") then
        local name = ERRORS[node.number] or tostring(node.number)
        seen.errors[#seen.errors + 1] = { name = name, node = node }
      elseif member.name == "acks" then
        seen.acks = node.number
      end
    end
    self:node(parent, node)
    return
  end
  local length = self:length(compact, kind == "string" and 2 or 4, path)
  if length < 0 then
    if not nullable then fail(path, from, string.format("null at 0x%x, where this version allows none", from)) end
    self:null(parent, member, from)
    return
  end
  node.from = self.at
  local range = self:take(length, path)
  node.to = self.at
  if kind == "string" then
    node.encoding = ENC_UTF_8
    if member.topic then seen.topics[#seen.topics + 1] = node end
  elseif kind == "records" then
    node.text = string.format("%s: %d bytes", member.name, length)
    node.kids = {}
    self:node(parent, node)
    open_records(self.tvb, node.from, node.to, node.kids, self.budget, seen)
    return
  end
  self:node(parent, node)
end

function Reader:array(parent, member, version, flexible, nullable, compact, seen)
  local from = self.at
  local count = self:length(compact, 4, member.path)
  if count < 0 then
    if not nullable then fail(member.path, from, string.format("null at 0x%x, where this version allows none", from)) end
    self:null(parent, member, from)
    return
  end
  if count > self.stop - self.at then
    fail(member.path, from, string.format("an array at 0x%x says %d entries, %d bytes are left", from, count,
      self.stop - self.at))
  end
  local node = self:node(parent, { field = member.count, from = from, value = count, kids = {}, path = member.path,
    text = string.format("%s: %d %s", member.name, count, count == 1 and "entry" or "entries") })
  for index = 0, count - 1 do
    if member.fields then
      local entry = self:node(node.kids, { field = member.field, kids = {}, path = member.path,
        text = string.format("%s[%d]", member.name, index) })
      read_struct(self, entry.kids, member.fields, version, flexible, seen)
      entry.to = self.at
    else
      self:scalar(node.kids, member, false, compact, seen)
    end
  end
  node.to = self.at
end

function Reader:member(parent, member, version, flexible, seen)
  local nullable = includes(member.null_lo, member.null_hi, version)
  local compact = flexible
  if member.flexible_lo then compact = includes(member.flexible_lo, member.flexible_hi, version) end
  if member.array then
    self:array(parent, member, version, flexible, nullable, compact, seen)
  elseif member.fields then
    local from = self.at
    if nullable then
      local present
      if includes(member.tag_lo, member.tag_hi, version) then
        local marker = self:varint(member.path)
        present = marker > 0 and marker < 2147483648
      else
        present = self:take(1, member.path):int() >= 0
      end
      if not present then
        self:null(parent, member, from)
        return
      end
    end
    local node = self:node(parent, { field = member.field, from = from, kids = {}, path = member.path })
    read_struct(self, node.kids, member.fields, version, flexible, seen)
    node.to = self.at
  else
    self:scalar(parent, member, nullable, compact, seen)
  end
end

function Reader:tag(parent, tagged, version, seen)
  local from = self.at
  local tag, size = self:varint("_tags"), self:varint("_tags")
  self:need(size, "_tags")
  local member = tagged[tag]
  if member == nil then
    local node = self:node(parent, { field = common.unknown_tag, from = from, to = self.at + size, value = tag, kids = {} })
    self:node(node.kids, { field = common.tag_data, to = self.at + size })
    self.at = self.at + size
    return
  end
  local start, stop = self.at, self.stop
  self.stop = start + size
  self:member(parent, member, version, true, seen)
  self.stop = stop
  if self.at ~= start + size then
    fail(member.path, start, string.format("a tagged field at 0x%x says %d bytes and takes %d", start, size,
      self.at - start))
  end
end

function read_struct(from, parent, members, version, flexible, seen)
  local tagged = {}
  for _, member in ipairs(members) do
    if includes(member.tag_lo, member.tag_hi, version) then
      tagged[member.tag] = member
    elseif version >= member.lo and version <= member.hi then
      from:member(parent, member, version, flexible, seen)
    end
  end
  if not flexible then return end
  local start = from.at
  local count = from:varint("_tags")
  if count == 0 then return end
  local node = from:node(parent, { field = common.tags, from = start, value = count, kids = {} })
  for _ = 1, count do from:tag(node.kids, tagged, version, seen) end
  node.to = from.at
end

-- {nodes, at, fault}: what could be read of a message's version at `at`; fault: why no more.
local function attempt(message, members, version, tvb, at, stop)
  local made = { nodes = {}, seen = { errors = {}, topics = {} } }
  local source = reader(tvb, at, stop)
  local flexible = message.flexible ~= nil and version >= message.flexible
  local fine, fault = pcall(read_struct, source, made.nodes, members, version, flexible, made.seen)
  made.at = source.at
  if not fine then
    made.fault = type(fault) == "table" and fault or { path = message.name, at = source.at, reason = tostring(fault) }
  end
  return made
end

-- The newest layout, unless it does not fit and one that old releases had under this version does.
local function read_message(name, version, tvb, at, stop)
  local message = MESSAGES[name]
  local newest = attempt(message, message.fields, version, tvb, at, stop)
  if newest.fault == nil and newest.at == stop then return newest end
  for _, variant in ipairs(message.variants or {}) do
    if version >= variant.lo and version <= variant.hi then
      local other = attempt(variant, variant.fields, version, tvb, at, stop)
      if other.fault == nil and other.at == stop then
        other.variant = variant.name
        return other
      end
    end
  end
  return newest
end

-- Drawing -------------------------------------------------------------------------------------------------------------

local function draw(tree, nodes)
  for _, node in ipairs(nodes) do
    local to = node.to or node.tvb:len()
    local range = node.tvb(node.from, math.max(0, math.min(to, node.tvb:len()) - node.from))
    local item
    if node.value ~= nil then
      item = tree:add(node.field, range, node.value)
    elseif node.encoding then
      item = tree:add_packet_field(node.field, range, node.encoding)
    else
      item = tree:add(node.field, range)
    end
    if node.text then item:set_text(node.text) end
    if node.generated then item:set_generated() end
    if node.expert then item:add_proto_expert_info(experts[node.expert], node.said) end
    if node.kids then draw(item, node.kids) end
  end
end
