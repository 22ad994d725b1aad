
-- Zstandard (RFC 8878) and what all codecs share: bytes gathered in a table, up to a bound.

local MOST_BYTES = 33554432 -- of decompressed records, one batch

local function chars(bytes)
  local made = {}
  for at = 1, #bytes, 4096 do
    made[#made + 1] = string.char(table.unpack(bytes, at, math.min(at + 4095, #bytes)))
  end
  return table.concat(made)
end

local function byte_at(data, at)
  return data:byte(at) or error("it ends early", 0)
end

local function little(data, at, width)
  local value = 0
  for index = width - 1, 0, -1 do value = value * 256 + byte_at(data, at + index) end
  return value
end

local function literal(data, at, size, out)
  if at + size - 1 > #data then error("a literal beyond the end", 0) end
  if #out + size > MOST_BYTES then error("more than is opened of one batch", 0) end
  local length = #out
  for index = 0, size - 1 do out[length + index + 1] = data:byte(at + index) end
  return at + size
end

local function copy(out, distance, size)
  local length = #out
  local from = length - distance
  if distance < 1 or from < 0 then error("a copy from before the begin", 0) end
  if length + size > MOST_BYTES then error("more than is opened of one batch", 0) end
  for index = 1, size do out[length + index] = out[from + index] end
end

local function shifted(value, places)
  return math.floor(value / 2 ^ places)
end

local function high_bit(value)
  local found = -1
  while value >= 1 do
    value, found = math.floor(value / 2), found + 1
  end
  return found
end

-- `count` bits of data[start...] from bit `place` on, little endian.
local function bits_at(data, start, place, count)
  if count == 0 then return 0 end
  local first, skip = start + math.floor(place / 8), place % 8
  local value, scale = 0, 1
  for index = first, first + math.floor((skip + count - 1) / 8) do
    value = value + byte_at(data, index) * scale
    scale = scale * 256
  end
  return shifted(value, skip) % 2 ^ count
end

-- A stream of bits that is read from its end; before its begin there are zeros.
local Backwards = {}
Backwards.__index = Backwards

local function backwards(data, start, size)
  local last = byte_at(data, start + size - 1)
  if size < 1 or last == 0 then error("a stream of bits without its end", 0) end
  return setmetatable({ data = data, start = start, left = size * 8 - 8 + high_bit(last) }, Backwards)
end

function Backwards:read(count)
  self.left = self.left - count
  if self.left >= 0 then return bits_at(self.data, self.start, self.left, count) end
  local there = count + self.left
  return there > 0 and bits_at(self.data, self.start, 0, there) * 2 ^ -self.left or 0
end

-- Finite state entropy ------------------------------------------------------------------------------------------------

local function fse_table(chances, log)
  local size = 2 ^ log
  local symbols, following, high = {}, {}, size
  for symbol = 0, #chances do
    if chances[symbol] == -1 then
      high = high - 1
      symbols[high], following[symbol] = symbol, 1
    else
      following[symbol] = chances[symbol]
    end
  end
  local place, step = 0, shifted(size, 1) + shifted(size, 3) + 3
  for symbol = 0, #chances do
    for _ = 1, chances[symbol] do
      symbols[place] = symbol
      repeat place = (place + step) % size until place < high
    end
  end
  local states = { log = log }
  for state = 0, size - 1 do
    local symbol = symbols[state]
    local next_state = following[symbol]
    following[symbol] = next_state + 1
    local bits = log - high_bit(next_state)
    states[state] = { symbol, bits, next_state * 2 ^ bits - size }
  end
  return states
end

-- (table, where what is behind it begins)
local function read_fse(data, at, most_log)
  local log = bits_at(data, at, 0, 4) + 5
  if log > most_log then error("too large a table of states", 0) end
  local place, left, chances, symbol = 4, 2 ^ log, {}, 0
  while left > 0 do
    local bits = high_bit(left + 1) + 1
    local half = 2 ^ (bits - 1)
    local threshold = 2 ^ bits - 1 - (left + 1)
    local value = bits_at(data .. "\0\0", at, place, bits)
    if value % half < threshold then
      value, place = value % half, place + bits - 1
    else
      place = place + bits
      if value >= half then value = value - threshold end
    end
    local chance = value - 1
    left = left - math.abs(chance)
    if left < 0 or symbol > 255 then error("a table of states that says too much", 0) end
    chances[symbol], symbol = chance, symbol + 1
    if chance == 0 then
      repeat
        local zeros = bits_at(data, at, place, 2)
        place = place + 2
        for _ = 1, zeros do chances[symbol], symbol = 0, symbol + 1 end
      until zeros < 3
    end
  end
  return fse_table(chances, log), at + math.ceil(place / 8)
end

-- Literals ------------------------------------------------------------------------------------------------------------

local function fse_weights(data, at, size)
  local states, start = read_fse(data, at, 6)
  local source = backwards(data, start, at + size - start)
  local weights, one, other = {}, source:read(states.log), source:read(states.log)
  while #weights < 256 do
    local state = states[one]
    weights[#weights + 1] = state[1]
    one = state[3] + source:read(state[2])
    if source.left < 0 then
      weights[#weights + 1] = states[other][1]
      break
    end
    one, other = other, one
  end
  return weights
end

-- ({[code] = {symbol, bits}, bits = most}, where what is behind it begins)
local function read_huffman(data, at)
  local head, weights = byte_at(data, at), {}
  at = at + 1
  if head < 128 then
    weights, at = fse_weights(data, at, head), at + head
  else
    for index = 0, head - 128 do
      local byte = byte_at(data, at + math.floor(index / 2))
      weights[index + 1] = index % 2 == 0 and math.floor(byte / 16) or byte % 16
    end
    at = at + math.ceil((head - 127) / 2)
  end
  local sum = 0
  for _, weight in ipairs(weights) do sum = sum + (weight > 0 and 2 ^ (weight - 1) or 0) end
  if sum == 0 then error("a Huffman tree of nothing", 0) end
  local most = high_bit(sum) + 1
  if most > 11 then error("too deep a Huffman tree", 0) end
  weights[#weights + 1] = high_bit(2 ^ most - sum) + 1
  local codes, place = { bits = most }, 0
  for wanted = 1, most do
    for index, weight in ipairs(weights) do
      if weight == wanted then
        local code = { index - 1, most + 1 - weight }
        for _ = 1, 2 ^ (weight - 1) do codes[place], place = code, place + 1 end
      end
    end
  end
  return codes, at
end

local function huffman_stream(codes, data, at, size, out, count)
  local source, most, length = backwards(data, at, size), codes.bits, #out
  for index = 1, count do
    local code = codes[source:read(most)]
    source.left = source.left + most - code[2]
    out[length + index] = code[1]
  end
  if source.left ~= 0 then error("literals that don't fit their stream", 0) end
end

local function huffman_literals(frame, data, at, size, count, streams)
  local out = {}
  if streams == 1 then
    huffman_stream(frame.huffman, data, at, size, out, count)
    return out
  end
  local each, from, rest = math.floor((count + 3) / 4), at + 6, size - 6
  for index = 0, 3 do
    local length = index < 3 and little(data, at + 2 * index, 2) or rest
    huffman_stream(frame.huffman, data, from, length, out, index < 3 and each or count - 3 * each)
    from, rest = from + length, rest - length
  end
  return out
end

-- (bytes, where what is behind them begins)
local function read_literals(frame, data, at)
  local kind, form = byte_at(data, at) % 4, math.floor(byte_at(data, at) / 4) % 4
  if kind < 2 then
    local width = form == 3 and 3 or form == 1 and 2 or 1
    local count = shifted(little(data, at, width), form % 2 == 0 and 3 or 4)
    local out = {}
    at = at + width
    if count > 131072 then error("too many literals", 0) end
    if kind == 0 then return out, literal(data, at, count, out) end
    for index = 1, count do out[index] = byte_at(data, at) end
    return out, at + 1
  end
  local width, bits = form < 2 and 3 or form + 2, form < 2 and 10 or form * 4 + 6
  local head = shifted(little(data, at, width), 4)
  local count, size = head % 2 ^ bits, shifted(head, bits)
  at = at + width
  local stop = at + size
  if kind == 2 then frame.huffman, at = read_huffman(data, at) end
  if not frame.huffman or at > stop or count > 131072 then error("literals without their tree", 0) end
  return huffman_literals(frame, data, at, stop - at, count, form == 0 and 1 or 4), stop
end

-- Sequences -----------------------------------------------------------------------------------------------------------

-- {first value, extra bits} of each code, from runs of {bits, codes}.
local function code_values(value, runs)
  local made, code = {}, 0
  for _, run in ipairs(runs) do
    for _ = 1, run[2] do
      made[code], code, value = { value, run[1] }, code + 1, value + 2 ^ run[1]
    end
  end
  return made
end
local LITERAL_LENGTHS = code_values(0, { { 0, 16 }, { 1, 4 }, { 2, 2 }, { 3, 2 }, { 4, 1 }, { 6, 1 }, { 7, 1 }, { 8, 1 },
  { 9, 1 }, { 10, 1 }, { 11, 1 }, { 12, 1 }, { 13, 1 }, { 14, 1 }, { 15, 1 }, { 16, 1 } })
local MATCH_LENGTHS = code_values(3, { { 0, 32 }, { 1, 4 }, { 2, 2 }, { 3, 2 }, { 4, 2 }, { 5, 1 }, { 7, 1 }, { 8, 1 },
  { 9, 1 }, { 10, 1 }, { 11, 1 }, { 12, 1 }, { 13, 1 }, { 14, 1 }, { 15, 1 }, { 16, 1 } })

local function chances(list)
  local made = {}
  for index, chance in ipairs(list) do made[index - 1] = chance end
  return made
end
local PREDEFINED = {
  fse_table(chances({ 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1 }), 6),
  fse_table(chances({ 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1 }), 5),
  fse_table(chances({ 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1 }), 6),
}
local MOST_LOGS = { 9, 8, 9 } -- of literal lengths, offsets, match lengths

local function read_tables(frame, data, at)
  local modes = byte_at(data, at)
  at = at + 1
  for index = 1, 3 do
    local mode = shifted(modes, 8 - 2 * index) % 4
    if mode == 0 then
      frame[index] = PREDEFINED[index]
    elseif mode == 1 then
      frame[index], at = { log = 0, [0] = { byte_at(data, at), 0, 0 } }, at + 1
    elseif mode == 2 then
      frame[index], at = read_fse(data, at, MOST_LOGS[index])
    elseif not frame[index] then
      error("a table that was not there before", 0)
    end
  end
  return at
end

local function distance_of(frame, value, literals)
  local recent = frame.recent
  if value > 3 then
    table.insert(recent, 1, value - 3)
    recent[4] = nil
    return recent[1]
  end
  local index = value + (literals == 0 and 1 or 0)
  local distance = index == 4 and recent[1] - 1 or recent[index]
  if index > 1 then
    table.remove(recent, math.min(index, 3))
    table.insert(recent, 1, distance)
  end
  return distance
end

local function sequences(frame, data, at, stop, bytes, out)
  local count = byte_at(data, at)
  at = at + 1
  if count > 127 then
    if count < 255 then
      count, at = (count - 128) * 256 + byte_at(data, at), at + 1
    else
      count, at = little(data, at, 2) + 32512, at + 2
    end
  end
  local used = 0
  local function put(size)
    if used + size > #bytes then error("more literals than there are", 0) end
    local length = #out
    for index = 1, size do out[length + index] = bytes[used + index] end
    used = used + size
  end
  if count > 0 then
    at = read_tables(frame, data, at)
    local source, states = backwards(data, at, stop - at), {}
    for index = 1, 3 do states[index] = frame[index][source:read(frame[index].log)] end
    for sequence = 1, count do
      local literals, match = LITERAL_LENGTHS[states[1][1]], MATCH_LENGTHS[states[3][1]]
      if not literals or not match or states[2][1] > 31 then error("no such code", 0) end
      local value = 2 ^ states[2][1] + source:read(states[2][1])
      local size = match[1] + source:read(match[2])
      local before = literals[1] + source:read(literals[2])
      put(before)
      copy(out, distance_of(frame, value, before), size)
      if sequence < count then
        for _, index in ipairs({ 1, 3, 2 }) do
          states[index] = frame[index][states[index][3] + source:read(states[index][2])]
        end
      end
      if source.left < 0 then error("sequences that end early", 0) end
    end
  end
  put(#bytes - used)
end

-- Frames --------------------------------------------------------------------------------------------------------------

local function zstd_block(frame, data, at, out)
  local head = little(data, at, 3)
  local last, kind, size = head % 2 == 1, math.floor(head / 2) % 4, math.floor(head / 8)
  at = at + 3
  if kind == 0 then return last, literal(data, at, size, out) end
  if kind == 1 then
    if #out + size > MOST_BYTES then error("more than is opened of one batch", 0) end
    for index = #out + 1, #out + size do out[index] = byte_at(data, at) end
    return last, at + 1
  end
  if kind == 3 or at + size - 1 > #data then error("a block beyond the end", 0) end
  local bytes, behind = read_literals(frame, data, at)
  sequences(frame, data, behind, at + size, bytes, out)
  return last, at + size
end

local function zstd(data)
  local at, out = 1, {}
  while at <= #data do
    local magic = little(data, at, 4)
    if magic >= 0x184D2A50 and magic <= 0x184D2A5F then
      at = at + 8 + little(data, at + 4, 4)
    elseif magic ~= 0xFD2FB528 then
      error("no zstd frame", 0)
    else
      local flags = byte_at(data, at + 4)
      local single = math.floor(flags / 32) % 2
      local sizes = { [0] = single, 2, 4, 8 }
      local dictionaries = { [0] = 0, 1, 2, 4 }
      at = at + 6 - single + dictionaries[flags % 4] + sizes[math.floor(flags / 64)]
      local frame, last = { recent = { 1, 4, 8 } }, false
      while not last do last, at = zstd_block(frame, data, at, out) end
      at = at + 4 * (math.floor(flags / 4) % 2)
    end
  end
  return chars(out)
end
