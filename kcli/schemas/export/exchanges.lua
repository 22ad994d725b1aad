
-- Frames of a connection: which side is the broker, where frames begin, which request a response answers.

kafka.fields = all_fields
kafka.prefs.tcp_ports = Pref.range("TCP ports", "9092", "Ports of brokers", 65535)
kafka.prefs.tls_ports = Pref.range("TLS ports", "9093", "Ports of brokers with TLS", 65535)

local MOST_FRAME = 1073741824
local MOST_BY_DEFAULT = 104857600 -- socket.request.max.bytes
local NEWER = 16 -- versions beyond those of the tables that a frame may still have
local DESEGMENT_MORE = 0x0fffffff
local MOST_LOOKS = 3 -- at segments of a connection for responses
local SURE_RESPONSE = 24 -- shorter ones may be anything
local SYN_SEEN = 3 -- of tcp.completeness: relative numbers begin where the connection does
local stream_field, completeness_field = Field.new("tcp.stream"), Field.new("tcp.completeness")
local sequence_field, acknowledged_field = Field.new("tcp.seq"), Field.new("tcp.ack")
local streams, requests, responses

function kafka.init()
  streams = {} -- by TCP stream: the broker's port, and the requests that are not answered yet, by correlation id
  requests, responses = {}, {} -- by frame, correlation id and size: the exchange
end

local function stream_of(pinfo)
  local known = stream_field()
  local key = known and known.value or tostring(pinfo.src_port) .. "-" .. tostring(pinfo.dst_port)
  local stream = streams[key]
  if not stream then
    stream = { pending = {} }
    streams[key] = stream
  end
  return stream
end

local function key_of(pinfo, correlation, size)
  return pinfo.number .. ":" .. correlation .. ":" .. size
end

-- Whether a request seems to begin at `at`: its API, version and the length of its client id make sense.
local function is_request(tvb, at, size, slack)
  if size < 8 or size > MOST_FRAME or tvb:len() - at < 12 then return false end
  local api, version = APIS[tvb(at + 4, 2):int()], tvb(at + 6, 2):int()
  if not api or version < api.lo or version > api.hi + slack then return false end
  local header = api.request_headers[version - api.lo + 1] or 2
  if header == 0 or tvb:len() - at < 14 then return true end
  local client = tvb(at + 12, 2):int()
  return client >= -1 and client <= size - 10
end

-- 1: this segment is the first with bytes of its connection, a client's if it is Kafka's; 2: it is the first of the side
-- that was spoken to; nil: neither, or the capture does not have the connection's begin.
local function turn_of(pinfo)
  if stream_of(pinfo).opened_by == pinfo.src_port then return 1 end
  local completeness, sequence, acknowledged = completeness_field(), sequence_field(), acknowledged_field()
  if not (completeness and sequence and acknowledged) or completeness.value % (SYN_SEEN + 1) == 0 then return nil end
  if sequence.value ~= 1 then return nil end
  return acknowledged.value == 1 and 1 or 2
end

-- Whether the bytes surely begin with a request: in a version that the tables have, of a client whose name prints, and
-- to its last byte, where that is there. Of a frame that goes on later what is there has to make sense, and to name its
-- client, unless a connection begins with it. A request is never what the side that was spoken to says first.
local function begins_with_request(tvb, turn)
  if tvb:len() < 14 or turn == 2 then return false end
  local size = tvb(0, 4):int()
  if size > MOST_BY_DEFAULT or not is_request(tvb, 0, size, 0) then return false end
  local api, version = APIS[tvb(4, 2):int()], tvb(6, 2):int()
  local header_version = api.request_headers[version - api.lo + 1]
  local header = read_message("RequestHeader", header_version, tvb, 4, size + 4)
  if header.fault then return header.fault.past_end and turn == 1 end
  local named = turn == 1
  for _, node in ipairs(header.nodes) do
    if node.encoding then
      if tvb(node.from, node.to - node.from):raw():find("[%z\1-\31\127]") then return false end
      named = named or node.to > node.from
    end
  end
  local body = read_message(api.request, version, tvb, header.at, size + 4)
  if body.fault then return body.fault.past_end and named end
  return size + 4 - body.at <= 8
end

-- Whether the bytes are a response of any API in any version.
local function is_response(tvb, at, stop)
  for _, api in pairs(APIS) do
    for version = api.hi, api.lo, -1 do
      local header = read_message("ResponseHeader", api.response_headers[version - api.lo + 1] or 0, tvb, at, stop)
      if not header.fault then
        local body = read_message(api.response, version, tvb, header.at, stop)
        if body.fault == nil and body.at == stop then return true end
      end
    end
  end
  return false
end

-- Whether so few bytes may be how a connection's first request begins.
local function may_begin_with_request(tvb, turn)
  if turn ~= 1 or tvb:len() >= 14 or tvb(0, 1):uint() ~= 0 then return false end
  if tvb:len() < 8 then return tvb:len() < 4 or tvb(0, 4):int() >= 8 and tvb(0, 4):int() <= MOST_BY_DEFAULT end
  local api = APIS[tvb(4, 2):int()]
  return api ~= nil and tvb(6, 2):int() >= api.lo and tvb(6, 2):int() <= api.hi
end

local function pending_of(stream, correlation)
  local waiting = stream.pending[correlation]
  return waiting and waiting[1]
end

local function expect(stream, exchange)
  local waiting = stream.pending[exchange.correlation] or {}
  stream.pending[exchange.correlation] = waiting
  waiting[#waiting + 1] = exchange
end

local function meet(stream, exchange, pinfo)
  table.remove(stream.pending[exchange.correlation], 1)
  local seconds = math.max(0, pinfo.abs_ts - exchange.time)
  exchange.response = pinfo.number
  exchange.latency = NSTime(math.floor(seconds), math.floor(seconds % 1 * 1e9))
end

-- Drawing of a frame --------------------------------------------------------------------------------------------------

local function generated(tree, proto_field, value)
  tree:add(proto_field, value):set_generated()
end

local function draw_message(frame, name, made, tvb, start, stop, cut)
  local tree = frame:add(MESSAGES[name].field, tvb(start, stop - start))
  draw(tree, made.nodes)
  if made.variant then generated(tree, common.variant, made.variant) end
  for _, found in ipairs(made.seen.errors) do
    local item = tree:add(common.error, found.node.tvb(found.node.from, 2), found.name)
    item:set_generated()
    item:add_proto_expert_info(experts.error, found.name)
  end
  for _, node in ipairs(made.seen.topics) do
    tree:add_packet_field(common.topic, node.tvb(node.from, node.to - node.from), ENC_UTF_8):set_generated()
  end
  if made.fault then
    local said = string.format("%s: %s: %s", name, made.fault.path, made.fault.reason)
    tree:add_proto_expert_info(cut and experts.cut or experts.malformed, said)
  elseif made.at < stop then
    tree:add(common.trailing, tvb(made.at, stop - made.at)):add_proto_expert_info(experts.trailing)
  end
end

local function unknown(tree, tvb, at, stop, api, version)
  local item = tree:add(common.body, tvb(at, stop - at))
  item:add_proto_expert_info(experts.unknown, string.format("API %s version %d: not in the tables",
    api and api.name or "?", version))
end

local function links(tree, exchange, is_response)
  if is_response then
    generated(tree, common.api_key, exchange.api_key)
    generated(tree, common.api_version, exchange.version)
    if exchange.client then generated(tree, common.client_id, exchange.client) end
    generated(tree, common.request_frame, exchange.frame)
    if exchange.latency then generated(tree, common.latency, exchange.latency) end
  elseif exchange.response then
    generated(tree, common.response_frame, exchange.response)
  end
end

local function words(api, version, what)
  return string.format("%s v%d %s", api and api.name or "?", version, what)
end

local function frame_tree(tree, tvb, at, stop, text)
  local made = tree:add(kafka, tvb(at, stop - at))
  made:append_text(", " .. text)
  made:add(common.length, tvb(at, 4))
  return made
end

-- The first message of a segment takes the column's place, others stand behind it.
local function add_info(pinfo, stream, text)
  if stream.shown == pinfo.number then
    pinfo.cols.info:append(", " .. text)
  else
    pinfo.cols.info:set(text)
    stream.shown = pinfo.number
  end
  pinfo.cols.info:fence()
end

local function dissect_request(tvb, at, stop, size, pinfo, tree, stream, cut)
  local api_key, version, correlation = tvb(at + 4, 2):int(), tvb(at + 6, 2):int(), tvb(at + 8, 4):int()
  local api = APIS[api_key]
  local text = words(api, version, "request")
  local frame = frame_tree(tree, tvb, at, stop, text .. " #" .. correlation)
  add_info(pinfo, stream, text)
  local header_version = api.request_headers[version - api.lo + 1] or 2
  local header = read_message("RequestHeader", header_version, tvb, at + 4, stop)
  frame:add(common.api_key, tvb(at + 4, 2))
  frame:add(common.api_version, tvb(at + 6, 2))
  frame:add(common.correlation_id, tvb(at + 8, 4))
  local client
  for _, node in ipairs(header.nodes) do
    if node.encoding then
      client = node.tvb(node.from, node.to - node.from)
      frame:add_packet_field(common.client_id, client, ENC_UTF_8)
      client = client:string(ENC_UTF_8)
    end
  end
  draw(frame:add(MESSAGES.RequestHeader.field, tvb(at + 4, header.at - at - 4)), header.nodes)
  local known = MESSAGES[api.request] and version >= api.lo and version <= api.hi
  local made
  if header.fault then
    frame:add_proto_expert_info(cut and experts.cut or experts.malformed, "RequestHeader: " .. header.fault.reason)
  elseif known then
    made = read_message(api.request, version, tvb, header.at, stop)
  end
  local key = key_of(pinfo, correlation, size)
  if not pinfo.visited and not requests[key] then
    local exchange = { api_key = api_key, version = version, correlation = correlation, client = client,
      frame = pinfo.number, time = pinfo.abs_ts }
    requests[key] = exchange
    -- a Produce with acks=0 is not answered
    if not (made and api_key == PRODUCE and made.seen.acks == 0) then expect(stream, exchange) end
  end
  if requests[key] then links(frame, requests[key], false) end
  if made then
    draw_message(frame, api.request, made, tvb, header.at, stop, cut)
  elseif not header.fault then
    unknown(frame, tvb, header.at, stop, api, version)
  end
end

-- A broker that does not know the version of an ApiVersions request answers in version 0 (KIP-511).
local function answered_version(exchange, tvb, at, stop)
  if exchange.api_key == API_VERSIONS and exchange.version ~= 0 and stop - at >= 2 and tvb(at, 2):uint() == 35 then
    local oldest = read_message(APIS[API_VERSIONS].response, 0, tvb, at, stop)
    if oldest.fault == nil and oldest.at == stop then return 0 end
  end
  return exchange.version
end

local function dissect_response(tvb, at, stop, pinfo, tree, stream, exchange, cut)
  local api = APIS[exchange.api_key]
  local text = words(api, exchange.version, "response")
  local frame = frame_tree(tree, tvb, at, stop, text .. " #" .. exchange.correlation)
  add_info(pinfo, stream, text)
  frame:add(common.correlation_id, tvb(at + 4, 4))
  links(frame, exchange, true)
  local header_version = api.response_headers[exchange.version - api.lo + 1] or 0
  local header = read_message("ResponseHeader", header_version, tvb, at + 4, stop)
  draw(frame:add(MESSAGES.ResponseHeader.field, tvb(at + 4, header.at - at - 4)), header.nodes)
  local version = answered_version(exchange, tvb, header.at, stop)
  if header.fault then
    frame:add_proto_expert_info(cut and experts.cut or experts.malformed, "ResponseHeader: " .. header.fault.reason)
  elseif version >= api.lo and version <= api.hi then
    local made = read_message(api.response, version, tvb, header.at, stop)
    draw_message(frame, api.response, made, tvb, header.at, stop, cut)
  else
    unknown(frame, tvb, header.at, stop, api, version)
  end
end

-- Whether a response follows the last one of its connection by its number: then its request comes in a later segment.
local function is_next(stream, tvb, at, size)
  return stream.answered ~= nil and size >= 4 and size <= MOST_FRAME and tvb(at + 4, 4):int() == stream.answered + 1
end

local function no_frame(tvb, at, stop, tree, why)
  tree:add(kafka, tvb(at, stop - at)):add_proto_expert_info(experts[why])
end

-- Frames --------------------------------------------------------------------------------------------------------------

local function from_broker(stream, tvb, pinfo)
  if stream.broker then return pinfo.src_port == stream.broker end
  local matched = pinfo.match_uint
  if pinfo.src_port ~= pinfo.dst_port and (matched == pinfo.src_port or matched == pinfo.dst_port) then
    stream.broker = matched
  elseif begins_with_request(tvb, turn_of(pinfo)) then
    stream.broker = pinfo.dst_port
  end
  return pinfo.src_port == stream.broker
end

local function exchange_at(tvb, at, size, pinfo, stream)
  if size < 4 or size > MOST_FRAME or tvb:len() - at < 8 then return nil end
  local correlation = tvb(at + 4, 4):int()
  local key = key_of(pinfo, correlation, size)
  -- Once all packets were seen: an answer that was captured before its request, too.
  return responses[key] or pending_of(stream, correlation), key
end

function kafka.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "KAFKA"
  local stream, at = stream_of(pinfo), 0
  local answers = from_broker(stream, tvb, pinfo)
  local captured, reported = tvb:len(), tvb:reported_len()
  while at < captured do
    if captured - at < 12 and captured == reported and (captured - at < 4 or tvb(at, 4):int() > captured - at - 4) then
      pinfo.desegment_offset, pinfo.desegment_len = at, DESEGMENT_MORE
      return
    end
    if captured - at < 8 then return end
    local size = tvb(at, 4):int()
    local exchange, key
    if answers then exchange, key = exchange_at(tvb, at, size, pinfo, stream) end
    if not (exchange or (not answers and is_request(tvb, at, size, NEWER))) then
      local whole = answers and size >= 4 and size <= captured - at - 4
      local stop = whole and at + 4 + size or captured
      if answers and is_next(stream, tvb, at, size) then
        if at + 4 + size > reported then
          pinfo.desegment_offset, pinfo.desegment_len = at, at + 4 + size - reported
          return
        end
        stream.answered = stream.answered + 1
      end
      no_frame(tvb, at, stop, tree, whole and "unmatched" or "noFrame")
      at = stop
    else
      local stop = at + 4 + size
      if stop > reported then
        pinfo.desegment_offset, pinfo.desegment_len = at, stop - reported
        return
      end
      local cut = stop > captured
      if exchange then
        if not responses[key] then
          responses[key] = exchange
          meet(stream, exchange, pinfo)
        end
        stream.answered = exchange.correlation
        dissect_response(tvb, at, math.min(stop, captured), pinfo, tree, stream, exchange, cut)
      else
        dissect_request(tvb, at, math.min(stop, captured), size, pinfo, tree, stream, cut)
      end
      at = stop
    end
  end
end

-- On other ports: a connection is Kafka's from its first request on.
local function begins_like_kafka(tvb, pinfo)
  if not begins_with_request(tvb, turn_of(pinfo)) then return false end
  stream_of(pinfo).broker = pinfo.dst_port
  return true
end

-- Whether bytes from the middle of a connection are responses: whole frames, the first of which is some API's response to
-- its last byte. Wireshark has heuristics of other protocols that would take them.
local function goes_on_like_kafka(tvb, pinfo)
  local stream, at = stream_of(pinfo), 0
  stream.looks = (stream.looks or 0) + 1
  if stream.looks > MOST_LOOKS or turn_of(pinfo) == 1 then return false end
  while tvb:len() - at >= 8 do
    local size = tvb(at, 4):int()
    if size < 4 or size > tvb:len() - at - 4 then return false end
    at = at + 4 + size
  end
  if at ~= tvb:len() or tvb(0, 4):int() < SURE_RESPONSE or not is_response(tvb, 4, 4 + tvb(0, 4):int()) then return false end
  stream.broker = pinfo.src_port
  return true
end

kafka:register_heuristic("tcp", function(tvb, pinfo, tree)
  if may_begin_with_request(tvb, turn_of(pinfo)) then
    stream_of(pinfo).opened_by = pinfo.src_port
    pinfo.desegment_offset, pinfo.desegment_len = 0, DESEGMENT_MORE -- and then whoever takes it asks again
    return true
  end
  if not begins_like_kafka(tvb, pinfo) and not goes_on_like_kafka(tvb, pinfo) then return false end
  pinfo.conversation = kafka
  kafka.dissector(tvb, pinfo, tree)
  return true
end)

-- Inside TLS each piece asks again: the conversation itself stays that of TLS.
kafka:register_heuristic("tls", function(tvb, pinfo, tree)
  if not stream_of(pinfo).broker and not begins_like_kafka(tvb, pinfo) then return false end
  kafka.dissector(tvb, pinfo, tree)
  return true
end)

local bound = {}
local function bind(table_name, ports)
  local ports_table = DissectorTable.get(table_name)
  if bound[table_name] then ports_table:remove(bound[table_name], kafka) end
  ports_table:add(ports, kafka)
  bound[table_name] = ports
end
local function bind_ports()
  bind("tcp.port", kafka.prefs.tcp_ports)
  bind("tls.port", kafka.prefs.tls_ports)
end
kafka.prefs_changed = bind_ports
bind_ports()
