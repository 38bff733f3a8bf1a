-- TCP HACK in Wireshark: the TCP options of kind 14 (Header Checksum), 15 (Header Checksum ACK) and
-- 16 (Extended Header Checksum ACK), and version 2 (kind 253 with an identifier; docs/protocol.md).
--
--   wireshark -X lua_script:headway.lua run.pcapng
--   tshark -X lua_script:headway.lua -r run.pcapng -Y headway.hackack.seq -T fields -e headway.hackack.seq
--
-- or copy it to the folder of personal plugins (Help, About Wireshark, Folders).
--
-- Filters:
--   headway.hack.sum            value of a Header Checksum
--   headway.hack.verified       whether it is valid for the captured header (not on SYNs)
--   headway.hack.permitted      SYN: the sender supports TCP HACK
--   headway.hack.xhack          SYN: the sender supports Extended HACK too
--   headway.hackack.seq         sequence number that a special ACK reports, relative if Wireshark's are
--   headway.hackack.seq_raw     the same, raw
--   headway.xhackack.seq, headway.xhackack.seq_raw, headway.xhackack.count   of a list (kind 16)
--   headway.v2.partial, headway.v2.path_check    SYN: partial recovery supported; path check
--   headway.v2.path_verified    SYN: whether addresses, ports and sequence numbers arrived unchanged
--   headway.v2.header_crc, headway.v2.header_verified     CRC-32C of the header, and whether it is valid
--   headway.v2.payload_crc, headway.v2.payload_verified   the same for the payload
--   headway.v2.damaged          count of damaged packets that carried data
--   headway.v2.seq, headway.v2.offset, headway.v2.count   segments that a special ACK reports
--   headway.v2.block            CRC-16 of a block, for partial recovery
--

local headway = Proto("headway", "TCP HACK")

local KIND_SUM, KIND_ACK, KIND_LIST, KIND_EXPERIMENT = 14, 15, 16, 253
local VERSION = 2
-- The 16-bit ExIDs of version 2 (RFC 6994), and of its form for blocks of a segment.
local EXID = 0x4857
local PATCH_EXID = 0xb7a8
-- The value of a SYN's Header Checksum option with which the sender announces support of kind 16.
local XHACK_PERMITTED = 0x5848

local fields = {
    sum = ProtoField.uint16("headway.hack.sum", "Header Checksum", base.HEX),
    verified = ProtoField.bool("headway.hack.verified", "Header Checksum verified"),
    permitted = ProtoField.bool("headway.hack.permitted", "TCP HACK permitted"),
    xhack = ProtoField.bool("headway.hack.xhack", "Extended HACK permitted"),
    ack_seq = ProtoField.uint32("headway.hackack.seq", "Damaged segment"),
    ack_seq_raw = ProtoField.uint32("headway.hackack.seq_raw", "Damaged segment (raw)"),
    list_seq = ProtoField.uint32("headway.xhackack.seq", "Damaged segment"),
    list_seq_raw = ProtoField.uint32("headway.xhackack.seq_raw", "Damaged segment (raw)"),
    list_count = ProtoField.uint8("headway.xhackack.count", "Damaged segments listed"),
    v2_partial = ProtoField.bool("headway.v2.partial", "Partial recovery supported"),
    v2_path = ProtoField.uint16("headway.v2.path_check", "Path check", base.HEX),
    v2_path_ok = ProtoField.bool("headway.v2.path_verified", "Path check verified"),
    v2_header = ProtoField.uint32("headway.v2.header_crc", "Header CRC", base.HEX),
    v2_header_ok = ProtoField.bool("headway.v2.header_verified", "Header CRC verified"),
    v2_payload = ProtoField.uint32("headway.v2.payload_crc", "Payload CRC", base.HEX),
    v2_payload_ok = ProtoField.bool("headway.v2.payload_verified", "Payload CRC verified"),
    v2_damaged = ProtoField.uint16("headway.v2.damaged", "Damaged packets"),
    v2_count = ProtoField.uint8("headway.v2.count", "Damaged segments reported"),
    v2_offset = ProtoField.uint32("headway.v2.offset", "Offset of a damaged segment"),
    v2_seq = ProtoField.uint32("headway.v2.seq", "Damaged segment"),
    v2_block = ProtoField.uint16("headway.v2.block", "Block checksum", base.HEX),
    v2_patch = ProtoField.bytes("headway.v2.patch", "What a damaged segment lacks"),
}
headway.fields = fields

local bad_length = ProtoExpert.new(
    "headway.bad_length", "TCP HACK option with an invalid length",
    expert.group.MALFORMED, expert.severity.WARN
)
local bad_sum = ProtoExpert.new(
    "headway.bad_sum", "Header Checksum is wrong",
    expert.group.CHECKSUM, expert.severity.WARN
)
local bad_crc = ProtoExpert.new(
    "headway.bad_crc", "CRC of version 2 is wrong",
    expert.group.CHECKSUM, expert.severity.WARN
)
headway.experts = { bad_length, bad_sum, bad_crc }

local tcp_port = Field.new("tcp.srcport")
local tcp_header_len = Field.new("tcp.hdr_len")
local tcp_len = Field.new("tcp.len")
local tcp_flags = Field.new("tcp.flags")
local tcp_ack = Field.new("tcp.ack")
local tcp_ack_raw = Field.new("tcp.ack_raw")
local ip_src, ip_dst = Field.new("ip.src"), Field.new("ip.dst")
local ip6_src, ip6_dst = Field.new("ipv6.src"), Field.new("ipv6.dst")

-- The innermost value, for encapsulated packets.
local function last(...)
    local count = select("#", ...)
    if count > 0 then
        return (select(count, ...))
    end
end

-- The one's-complement sum of 16-bit words. Bytes at the offsets in `without` count as zero.
local function add_bytes(sum, range, without)
    -- `bytes` returns more than one value.
    local bytes = (range:bytes())
    for at = 0, bytes:len() - 1 do
        if not (without and without[at]) then
            local byte = bytes:get_index(at)
            sum = sum + (at % 2 == 0 and byte * 256 or byte)
        end
    end
    return sum
end

local function fold(sum)
    while sum > 0xffff do
        sum = math.floor(sum / 0x10000) + sum % 0x10000
    end
    return sum
end

-- The expected Header Checksum: the complement of the sum of pseudo-header and TCP header, with
-- the TCP checksum and the option's own value as zero.
local function expected_sum(header, value_at, source, destination, body_len)
    local without = { [16] = true, [17] = true, [value_at] = true, [value_at + 1] = true }
    local sum = add_bytes(0, header, without)
    sum = add_bytes(sum, source.range)
    sum = add_bytes(sum, destination.range)
    sum = sum + 6 + body_len
    return 0xffff - fold(sum)
end

-- A sequence number of the other direction as Wireshark shows it, relative or raw like the
-- acknowledgement number.
local function shown(seq)
    local ack, raw = last(tcp_ack()), last(tcp_ack_raw())
    if not (ack and raw) then
        return seq
    end
    return (seq - raw.value + ack.value) % 0x100000000
end

local function add_sum(tree, header, option, at, len)
    if len ~= 4 then
        tree:add_proto_expert_info(bad_length)
        return
    end
    local value = option(2, 2)
    local flags = last(tcp_flags())
    if flags and math.floor(flags.value / 2) % 2 == 1 then
        tree:add(fields.permitted, option, true)
        tree:add(fields.xhack, value, value:uint() == XHACK_PERMITTED)
        return
    end
    tree:add(fields.sum, value)
    local source = last(ip6_src()) or last(ip_src())
    local destination = last(ip6_dst()) or last(ip_dst())
    local data = last(tcp_len())
    if not (source and destination and data) then
        return
    end
    local expected = expected_sum(header, at + 2, source, destination, header:len() + data.value)
    local is_right = expected == value:uint()
    local item = tree:add(fields.verified, value, is_right):set_generated()
    if not is_right then
        item:append_text(string.format(", expected 0x%04x", expected))
        item:add_proto_expert_info(bad_sum)
    end
end

local function add_seq(tree, range, field, field_raw)
    local raw = range:uint()
    local seq = shown(raw)
    tree:add(field, range, seq)
    tree:add(field_raw, range, raw)
    return seq
end

local function add_named(tree, option, len, info)
    if len ~= 6 then
        tree:add_proto_expert_info(bad_length)
        return
    end
    local seq = add_seq(tree, option(2, 4), fields.ack_seq, fields.ack_seq_raw)
    info:append(string.format(" [HACK %u]", seq))
end

local function add_list(tree, option, len, info)
    if len < 6 or len % 4 ~= 2 then
        tree:add_proto_expert_info(bad_length)
        return
    end
    tree:add(fields.list_count, option(1, 1), (len - 2) / 4)
    local listed = {}
    for at = 2, len - 4, 4 do
        listed[#listed + 1] = add_seq(tree, option(at, 4), fields.list_seq, fields.list_seq_raw)
    end
    info:append(" [HACK " .. table.concat(listed, ", ") .. "]")
end

-- CRC-32C, least significant bit first.
local crc_table = {}
for byte = 0, 255 do
    local register = byte
    for _ = 1, 8 do
        local half = bit.rshift(register, 1)
        register = bit.band(register, 1) == 1 and bit.bxor(half, 0x82f63b78) or half
    end
    crc_table[byte] = register
end

-- The register after `bytes`; bytes at the offsets in `without` count as zero.
local function crc_add(register, bytes, without)
    for at = 0, bytes:len() - 1 do
        local byte = without and without[at] and 0 or bytes:get_index(at)
        register = bit.bxor(bit.rshift(register, 8), crc_table[bit.band(bit.bxor(register, byte), 0xff)])
    end
    return register
end

-- The CRC of a register: complemented, and not negative.
local function crc_of(register)
    return bit.bxor(register, 0xffffffff) % 0x100000000
end

-- The bytes of a field or a range: `bytes` returns more than one value.
local function bytes_of(range)
    return (range:bytes())
end

local function big_endian(number, len)
    local bytes = ByteArray.new()
    bytes:set_size(len)
    for at = len - 1, 0, -1 do
        bytes:set_index(at, number % 256)
        number = math.floor(number / 256)
    end
    return bytes
end

-- Shows whether `value` is the `expected` one.
local function add_verdict(tree, field, range, value, expected, format)
    local is_right = value == expected
    local item = tree:add(field, range, is_right):set_generated()
    if not is_right then
        item:append_text(string.format(format, expected))
        item:add_proto_expert_info(bad_crc)
    end
end

local function add_syn_v2(tree, header, option, source, destination)
    tree:add(fields.v2_partial, option(5, 1), math.floor(option(5, 1):uint() / 4) % 2 == 1)
    local check = option(6, 2)
    tree:add(fields.v2_path, check)
    if source and destination then
        local register = crc_add(0xffffffff, bytes_of(source.range))
        register = crc_add(register, bytes_of(destination.range))
        register = crc_add(register, bytes_of(header(0, 12)))
        add_verdict(tree, fields.v2_path_ok, check, check:uint(), crc_of(register) % 0x10000, ", expected 0x%04x")
    end
end

local function add_header_crc(tree, header, option, at, source, destination, data_len)
    local crc = option(4, 4)
    tree:add(fields.v2_header, crc)
    if not (source and destination) then
        return
    end
    local body_len = header:len() + data_len
    local register = crc_add(0xffffffff, bytes_of(source.range))
    register = crc_add(register, bytes_of(destination.range))
    if source.len == 4 then
        register = crc_add(register, big_endian(6, 2))
        register = crc_add(register, big_endian(body_len, 2))
    else
        register = crc_add(register, big_endian(body_len, 4))
        register = crc_add(register, big_endian(6, 4))
    end
    local without = { [16] = true, [17] = true }
    for place = at + 4, at + 7 do
        without[place] = true
    end
    register = crc_add(register, bytes_of(header), without)
    add_verdict(tree, fields.v2_header_ok, crc, crc:uint(), crc_of(register), ", expected 0x%08x")
end

-- The option of a segment without data, after the header CRC.
local function add_ack_v2(tree, option, len, data, info)
    local names = (len - 10) / 4
    tree:add(fields.v2_damaged, option(len - 2, 2))
    tree:add(fields.v2_count, option(1, 1), names)
    local ack = last(tcp_ack())
    local listed = {}
    for at = 8, 4 + 4 * names, 4 do
        local offset = option(at, 4)
        tree:add(fields.v2_offset, offset)
        if ack then
            local seq = (ack.value + offset:uint()) % 0x100000000
            tree:add(fields.v2_seq, offset, seq)
            listed[#listed + 1] = string.format("%u", seq)
        end
    end
    if data then
        for at = 0, data:len() - 2, 2 do
            tree:add(fields.v2_block, data(at, 2))
        end
    end
    if names > 0 then
        info:append(" [HACK " .. table.concat(listed, ", ") .. (data and " in blocks]" or "]"))
    end
end

local function is_form(option, len)
    if option(2, 2):uint() == PATCH_EXID then
        return len == 12
    end
    return (len == 8 and option(4, 1):uint() == VERSION) or len == 12 or (len >= 10 and len % 4 == 2)
end

local function add_v2(tree, header, option, at, len, data, info)
    local source = last(ip6_src()) or last(ip_src())
    local destination = last(ip6_dst()) or last(ip_dst())
    if not is_form(option, len) then
        tree:add_proto_expert_info(bad_length)
    elseif len == 8 then
        add_syn_v2(tree, header, option, source, destination)
    else
        local data_len = last(tcp_len())
        data_len = data_len and data_len.value or 0
        add_header_crc(tree, header, option, at, source, destination, data_len)
        if len ~= 12 then
            add_ack_v2(tree, option, len, data, info)
        else
            local crc = option(8, 4)
            tree:add(fields.v2_payload, crc)
            if option(2, 2):uint() == PATCH_EXID then
                info:append(" [HACK patch]")
                if data then
                    tree:add(fields.v2_patch, data)
                end
            end
            -- Only if all data was captured.
            if data and data:len() == data_len or data_len == 0 then
                local register = data_len == 0 and 0xffffffff or crc_add(0xffffffff, bytes_of(data))
                add_verdict(tree, fields.v2_payload_ok, crc, crc:uint(), crc_of(register), ", expected 0x%08x")
            end
        end
    end
end

function headway.dissector(buffer, pinfo, root)
    local port, header_len = last(tcp_port()), last(tcp_header_len())
    if not (port and header_len) or header_len.value < 20 then
        return
    end
    -- The port is the first field of the header. If its bytes are in another buffer than the frame's
    -- (reassembled, decrypted), they cannot be read here.
    local start = port.offset
    if start + header_len.value > buffer:len() or buffer(start, 2):uint() ~= port.value then
        return
    end
    local header = buffer(start, header_len.value)
    local tree
    local function branch()
        tree = tree or root:add(headway, header)
        return tree
    end
    local data_len = last(tcp_len())
    local data_at = start + header_len.value
    local data
    if data_len and data_len.value > 0 and data_at + data_len.value <= buffer:len() then
        data = buffer(data_at, data_len.value)
    end
    local info = { append = function(_, text) pinfo.cols.info:append(text) end }
    local at = 20
    while at < header:len() do
        local kind = header(at, 1):uint()
        if kind == 0 then
            break
        end
        local len = 1
        if kind ~= 1 then
            if at + 2 > header:len() then
                break
            end
            len = header(at + 1, 1):uint()
            if len < 2 or at + len > header:len() then
                break
            end
            local option = header(at, len)
            if kind == KIND_SUM then
                add_sum(branch(), header, option, at, len)
            elseif kind == KIND_ACK then
                add_named(branch(), option, len, info)
            elseif kind == KIND_LIST then
                add_list(branch(), option, len, info)
            elseif kind == KIND_EXPERIMENT and len >= 4 then
                local exid = option(2, 2):uint()
                if exid == EXID or exid == PATCH_EXID then
                    add_v2(branch(), header, option, at, len, data, info)
                end
            end
        end
        at = at + len
    end
end

register_postdissector(headway)
