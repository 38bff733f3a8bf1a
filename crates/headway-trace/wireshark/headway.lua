-- TCP HACK in Wireshark: the TCP options of kind 14 (Header Checksum), 15 (Header Checksum ACK) and
-- 16 (Extended Header Checksum ACK).
--
--   wireshark -X lua_script:headway.lua run.pcapng
--   tshark -X lua_script:headway.lua -r run.pcapng -Y headway.hackack.seq -T fields -e headway.hackack.seq
--
-- or put it into the folder of personal plugins (Help, About Wireshark, Folders).
--
-- Filters:
--   headway.hack.sum            value of a Header Checksum
--   headway.hack.verified       whether it is that of the header as captured (not on SYNs)
--   headway.hack.permitted      SYN: the sender understands TCP HACK
--   headway.hack.xhack          SYN: the sender understands Extended HACK too
--   headway.hackack.seq         octet that a special ACK names, relative where Wireshark numbers are
--   headway.hackack.seq_raw     the same as it stands there
--   headway.xhackack.seq, headway.xhackack.seq_raw, headway.xhackack.count   of a list

local headway = Proto("headway", "TCP HACK")

local KIND_SUM, KIND_ACK, KIND_LIST = 14, 15, 16
-- A SYN's value by which the sender says that it understands kind 16.
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
}
headway.fields = fields

local bad_length = ProtoExpert.new(
    "headway.bad_length", "TCP HACK option of a length that it cannot have",
    expert.group.MALFORMED, expert.severity.WARN
)
local bad_sum = ProtoExpert.new(
    "headway.bad_sum", "Header Checksum is not that of the header",
    expert.group.CHECKSUM, expert.severity.WARN
)
headway.experts = { bad_length, bad_sum }

local tcp_port = Field.new("tcp.srcport")
local tcp_header_len = Field.new("tcp.hdr_len")
local tcp_len = Field.new("tcp.len")
local tcp_flags = Field.new("tcp.flags")
local tcp_ack = Field.new("tcp.ack")
local tcp_ack_raw = Field.new("tcp.ack_raw")
local ip_src, ip_dst = Field.new("ip.src"), Field.new("ip.dst")
local ip6_src, ip6_dst = Field.new("ipv6.src"), Field.new("ipv6.dst")

-- The innermost, where packets are within packets.
local function last(...)
    local count = select("#", ...)
    if count > 0 then
        return (select(count, ...))
    end
end

-- The one's-complement sum of 16-bit words. Bytes at the places in `without` count as zero.
local function add_bytes(sum, range, without)
    -- `bytes` returns more than the bytes.
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

-- What the Header Checksum should be: the complement of the sum of pseudo-header and TCP header, with
-- the TCP checksum and the option's own value as zero.
local function expected_sum(header, value_at, source, destination, body_len)
    local without = { [16] = true, [17] = true, [value_at] = true, [value_at + 1] = true }
    local sum = add_bytes(0, header, without)
    sum = add_bytes(sum, source.range)
    sum = add_bytes(sum, destination.range)
    sum = sum + 6 + body_len
    return 0xffff - fold(sum)
end

-- A sequence number of the other direction as Wireshark shows it: as far from the acknowledgement
-- number as it is, which is relative or not.
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

function headway.dissector(buffer, pinfo, root)
    local port, header_len = last(tcp_port()), last(tcp_header_len())
    if not (port and header_len) or header_len.value < 20 then
        return
    end
    -- The port is the first field of the header. Its bytes may be in another buffer than the frame's
    -- (reassembled, decrypted), where they cannot be read from here.
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
            end
        end
        at = at + len
    end
end

register_postdissector(headway)
