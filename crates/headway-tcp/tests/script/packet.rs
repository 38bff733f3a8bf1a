//! Packets as scripts write them, in the manner of packetdrill: sequence numbers relative to the
//! initial ones.

use std::fmt::Write;

use headway_wire::{Ecn, SeqNumber, TcpFlags, TcpOptions, Timestamps, V2, V2Offsets};

use super::words::Words;

/// A segment with relative numbers, and what is to become of its bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packet {
    /// The ECN field of the IP header.
    pub(crate) ecn: Ecn,
    pub(crate) flags: TcpFlags,
    pub(crate) seq: u32,
    pub(crate) len: u32,
    pub(crate) ack: u32,
    /// The window field as it stands in the header.
    pub(crate) window: Option<u16>,
    pub(crate) urgent: u16,
    pub(crate) options: TcpOptions,
    /// The blocks of the first segment that a special ACK reports that arrived damaged, from 1, if it says so; or those that a patch
    /// has.
    pub(crate) blocks: Option<Vec<usize>>,
    /// Other options than these may be there too.
    pub(crate) open: bool,
    pub(crate) flips: Vec<Flip>,
}

/// A bit to turn over after the packet is built and summed, counted from the first of its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flip {
    Payload(usize),
    /// Of the TCP header with its options.
    Header(usize),
}

const FLAGS: [(char, TcpFlags); 8] = [
    ('F', TcpFlags::FIN),
    ('S', TcpFlags::SYN),
    ('R', TcpFlags::RST),
    ('P', TcpFlags::PSH),
    ('.', TcpFlags::ACK),
    ('U', TcpFlags::URG),
    ('E', TcpFlags::ECE),
    ('W', TcpFlags::CWR),
];

/// Codepoints of the ECN field as they are written; not ECN-capable is written as nothing.
const ECN: [(&str, Ecn); 3] = [("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

impl Packet {
    /// Reads `[ECN] FLAGS SEQ:END(LEN) [ack N] [win N] [urg N] [<OPTIONS>] [flip payload|header N...]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = Words::new(text);
        let ecn = words.bracketed('[', ']')?.map(parse_ecn).transpose()?.unwrap_or_default();
        let mut packet = Self { ecn, flags: parse_flags(words.word("flags")?)?, ..Self::default() };
        packet.parse_range(words.word("SEQ:END(LEN)")?)?;
        if words.take("ack") {
            packet.ack = number(words.word("an ACK number")?)?;
            if !packet.flags.contains(TcpFlags::ACK) && !packet.flags.contains(TcpFlags::RST) {
                return Err("an ACK number without the flag '.'".into());
            }
        } else if packet.flags.contains(TcpFlags::ACK) {
            return Err("the flag '.' without an ACK number".into());
        }
        if words.take("win") {
            packet.window = Some(words.value("a window")?);
        }
        if words.take("urg") {
            packet.urgent = words.value("an urgent pointer")?;
        }
        if let Some(options) = words.bracketed('<', '>')? {
            packet.parse_options(options)?;
        }
        packet.parse_flips(&mut words)?;
        words.end()?;
        Ok(packet)
    }

    fn parse_range(&mut self, text: &str) -> Result<(), String> {
        let malformed = || format!("expected SEQ:END(LEN), found {text:?}");
        let (seq, rest) = text.split_once(':').ok_or_else(malformed)?;
        let (end, len) = rest.split_once('(').ok_or_else(malformed)?;
        self.seq = number(seq)?;
        self.len = len.strip_suffix(')').and_then(|len| len.parse().ok()).ok_or_else(malformed)?;
        if number(end)? != self.seq.wrapping_add(self.len) {
            return Err(format!("{text}: END is not SEQ + LEN"));
        }
        Ok(())
    }

    fn parse_options(&mut self, text: &str) -> Result<(), String> {
        for option in text.split(',').map(str::trim) {
            self.parse_option(option)?;
        }
        Ok(())
    }

    fn parse_option(&mut self, text: &str) -> Result<(), String> {
        let mut words = Words::new(text);
        let options = &mut self.options;
        match words.word("an option")? {
            "..." => self.open = true,
            "nop" | "eol" => {}
            "mss" => options.mss = Some(words.value("a segment size")?),
            "wscale" => options.window_scale = Some(words.value("a shift")?),
            "sackOK" => options.sack_permitted = true,
            "TS" => {
                let mut stamp = |name: &str| {
                    if words.take(name) {
                        words.value("a timestamp")
                    } else {
                        Err(format!("TS without {name}"))
                    }
                };
                options.timestamps = Some(Timestamps { tsval: stamp("val")?, tsecr: stamp("ecr")? });
            }
            "sack" => {
                while let Some(block) = words.next() {
                    let (from, to) = block.split_once(':').ok_or_else(|| format!("{block:?} is no block"))?;
                    let block = (SeqNumber(number(from)?), SeqNumber(number(to)?));
                    if !options.sack.push(block) {
                        return Err("more SACK blocks than fit".into());
                    }
                }
            }
            "hack" => {
                let value = words.next().map(hexadecimal).transpose()?;
                options.hack = Some(value.unwrap_or(0));
            }
            "hackack" => options.hack_ack = Some(SeqNumber(number(words.word("a sequence number")?)?)),
            "xhack" => {
                while let Some(word) = words.next() {
                    if !options.xhack_ack.push(SeqNumber(number(word)?)) {
                        return Err("more numbers than an extended list holds".into());
                    }
                }
            }
            "v2" => {
                let syn = self.flags.contains(TcpFlags::SYN);
                options.v2 = Some(parse_v2(&mut words, syn, self.len > 0)?);
                if words.take("blocks") {
                    self.blocks = Some(parse_blocks(&mut words)?);
                }
            }
            other => return Err(format!("unknown option {other:?}")),
        }
        words.end()
    }

    fn parse_flips(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        while words.take("flip") {
            let place: fn(usize) -> Flip = match words.word("payload or header")? {
                "payload" => Flip::Payload,
                "header" => Flip::Header,
                other => return Err(format!("flip payload or header, not {other:?}")),
            };
            self.flips.push(place(words.value("the number of a bit")?));
            while words.peek().is_some_and(|word| word != "flip") {
                self.flips.push(place(words.value("the number of a bit")?));
            }
        }
        Ok(())
    }

    /// Why `actual` is not what this packet asks for, if it is not.
    pub(crate) fn mismatch(&self, actual: &Self) -> Option<&'static str> {
        let (wanted, got) = (&self.options, &actual.options);
        let is_syn = self.flags.contains(TcpFlags::SYN);
        // Without SYN the value is a sum, which the verdict on the packet has checked.
        let hack_fits = match (wanted.hack, got.hack) {
            (Some(wanted), Some(got)) => !is_syn || wanted == got,
            (Some(_), None) => false,
            (None, got) => self.open || got.is_none(),
        };
        // The sums of version 2 have been checked likewise.
        let v2_fits = match (&wanted.v2, &got.v2) {
            (Some(wanted), Some(got)) => show_v2(wanted) == show_v2(got),
            (Some(_), None) => false,
            (None, got) => self.open || got.is_none(),
        };
        let may_miss = |missing: bool| self.open && missing;
        let checks = [
            (self.ecn == actual.ecn, "the ECN field differs"),
            (self.flags == actual.flags, "the flags differ"),
            (self.seq == actual.seq, "the sequence number differs"),
            (self.len == actual.len, "the length differs"),
            (self.ack == actual.ack, "the ACK number differs"),
            (self.window.is_none_or(|window| Some(window) == actual.window), "the window differs"),
            (self.urgent == actual.urgent, "the urgent pointer differs"),
            (wanted.mss == got.mss || may_miss(wanted.mss.is_none()), "the MSS option differs"),
            (
                wanted.window_scale == got.window_scale || may_miss(wanted.window_scale.is_none()),
                "the window scale differs",
            ),
            (
                wanted.sack_permitted == got.sack_permitted || may_miss(!wanted.sack_permitted),
                "SACK permitted differs",
            ),
            (
                wanted.timestamps == got.timestamps || may_miss(wanted.timestamps.is_none()),
                "the timestamps differ",
            ),
            (wanted.sack == got.sack || may_miss(wanted.sack.is_empty()), "the SACK blocks differ"),
            (hack_fits, "the Header Checksum option differs"),
            (v2_fits, "the option of version 2 differs"),
            (self.blocks == actual.blocks, "the blocks differ"),
            (
                wanted.hack_ack == got.hack_ack || may_miss(wanted.hack_ack.is_none()),
                "the Header Checksum ACK differs",
            ),
            (
                wanted.xhack_ack == got.xhack_ack || may_miss(wanted.xhack_ack.is_empty()),
                "the Extended Header Checksum ACK differs",
            ),
        ];
        checks.into_iter().find(|(fits, _)| !fits).map(|(_, why)| why)
    }

    /// The packet as a script would write it.
    pub(crate) fn show(&self) -> String {
        let mut text = match ECN.iter().find(|(_, ecn)| *ecn == self.ecn) {
            Some((name, _)) => format!("[{name}] "),
            None => String::new(),
        };
        text.extend(FLAGS.iter().filter(|(_, flag)| self.flags.contains(*flag)).map(|(name, _)| *name));
        if self.flags == TcpFlags::NONE {
            text.push('-');
        }
        let seq = self.seq as i32;
        let _ = write!(text, " {seq}:{}({})", i64::from(seq) + i64::from(self.len), self.len);
        if self.flags.contains(TcpFlags::ACK) {
            let _ = write!(text, " ack {}", self.ack as i32);
        }
        if let Some(window) = self.window {
            let _ = write!(text, " win {window}");
        }
        if self.urgent != 0 {
            let _ = write!(text, " urg {}", self.urgent);
        }
        let options = self.show_options();
        if !options.is_empty() {
            let _ = write!(text, " <{}>", options.join(","));
        }
        for flip in &self.flips {
            let _ = match flip {
                Flip::Payload(bit) => write!(text, " flip payload {bit}"),
                Flip::Header(bit) => write!(text, " flip header {bit}"),
            };
        }
        text
    }

    fn show_options(&self) -> Vec<String> {
        let options = &self.options;
        let mut shown = Vec::new();
        shown.extend(options.mss.map(|mss| format!("mss {mss}")));
        if options.sack_permitted {
            shown.push("sackOK".into());
        }
        shown
            .extend(options.timestamps.map(|stamps| format!("TS val {} ecr {}", stamps.tsval, stamps.tsecr)));
        shown.extend(options.window_scale.map(|shift| format!("wscale {shift}")));
        shown.extend(options.hack.map(|value| match value {
            _ if !self.flags.contains(TcpFlags::SYN) => "hack".into(),
            value => format!("hack {value:#x}"),
        }));
        shown.extend(options.hack_ack.map(|seq| format!("hackack {}", seq.0 as i32)));
        if !options.xhack_ack.is_empty() {
            let numbers: Vec<String> =
                options.xhack_ack.iter().map(|seq| (seq.0 as i32).to_string()).collect();
            shown.push(format!("xhack {}", numbers.join(" ")));
        }
        shown.extend(options.v2.as_ref().map(show_v2));
        if !options.sack.is_empty() {
            let blocks: Vec<String> =
                options.sack.iter().map(|(from, to)| format!("{}:{}", from.0 as i32, to.0 as i32)).collect();
            shown.push(format!("sack {}", blocks.join(" ")));
        }
        if self.open {
            shown.push("...".into());
        }
        shown
    }
}

/// `v2 [partial]` on a SYN, `v2` on data, `v2 patch` on blocks of it, `v2 COUNT [OFFSET ...]` on an ACK without data, the last two perhaps with `blocks N ...` behind it.
fn parse_v2(words: &mut Words<'_>, syn: bool, data: bool) -> Result<V2, String> {
    if syn {
        return Ok(V2::syn(words.take("partial")));
    }
    if data {
        return Ok(V2::data());
    }
    if words.take("patch") {
        return Ok(V2::patch());
    }
    let count = words.value("the count of damaged packets")?;
    let mut offsets = V2Offsets::default();
    while words.peek().is_some_and(|word| word != "blocks")
        && let Some(word) = words.next()
    {
        let offset = word.parse().map_err(|_| format!("{word:?} is no offset from the ACK number"))?;
        if !offsets.push(offset) {
            return Err("more offsets than the option holds".into());
        }
    }
    Ok(V2::ack(count, offsets))
}

/// The numbers of blocks, from 1 in ascending order.
fn parse_blocks(words: &mut Words<'_>) -> Result<Vec<usize>, String> {
    let mut blocks = Vec::new();
    while let Some(word) = words.next() {
        match word.parse() {
            Ok(block) if block > blocks.last().copied().unwrap_or(0) => blocks.push(block),
            _ => return Err(format!("{word:?} is no block above {blocks:?}")),
        }
    }
    Ok(blocks)
}

fn show_v2(v2: &V2) -> String {
    match &v2 {
        V2::Syn(syn) if syn.partial_recovery => "v2 partial".into(),
        V2::Syn(_) | V2::Data(_) => "v2".into(),
        V2::Patch(_) => "v2 patch".into(),
        V2::Ack(ack) => {
            let offsets: String = ack.reported.iter().map(|offset| format!(" {offset}")).collect();
            format!("v2 {}{offsets}", ack.damaged)
        }
    }
}

fn parse_flags(text: &str) -> Result<TcpFlags, String> {
    let mut flags = TcpFlags::NONE;
    if text == "-" {
        return Ok(flags);
    }
    for letter in text.chars() {
        let (_, flag) = FLAGS
            .iter()
            .find(|(name, _)| *name == letter)
            .ok_or_else(|| format!("unknown flag {letter:?} in {text:?}"))?;
        flags.insert(*flag);
    }
    Ok(flags)
}

fn parse_ecn(text: &str) -> Result<Ecn, String> {
    let found = ECN.iter().find(|(name, _)| *name == text).map(|(_, ecn)| *ecn);
    found.ok_or_else(|| format!("expected [ect0], [ect1] or [ce], found {text:?}"))
}

/// A relative sequence number; negative ones lie below the initial one.
fn number(text: &str) -> Result<u32, String> {
    text.parse::<i64>().map(|number| number as u32).map_err(|_| format!("{text:?} is no sequence number"))
}

fn hexadecimal(text: &str) -> Result<u16, String> {
    match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    }
    .map_err(|_| format!("{text:?} is no 16-bit value"))
}
