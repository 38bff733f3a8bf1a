//! The text of a damage trace: parsed and written.

use super::{BitOrigin, Edit, Fate, HitPlace, Trace, TraceBuilder, edit};

/// The most edits of a line, if one of them is not a flipped bit.
const MAX_EDITS: usize = 1 << 16;
/// How much of a wrong line an error repeats.
const SHOWN: usize = 60;

/// A line that is not part of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {input:?}: expected {expected}")]
#[non_exhaustive]
pub struct ParseTraceError {
    /// Which line, counted from 1.
    pub line: usize,
    /// What stands there, without its remark; no more than the beginning of a long line.
    pub input: String,
    /// What should have stood there, with examples.
    pub expected: &'static str,
}

const FATES: &str = "a fate: ok, lost, hit or bits, such as `ok 37` or `hit payload 3`";
const OK: &str = "ok or ok N with a number of packets N >= 1, such as `ok 37`";
const LOST: &str = "lost or lost N with a number of packets N >= 1, such as `lost 2`";
const HIT: &str =
    "hit N, hit header N, hit payload N or hit both N with a number of bits N >= 1, such as `hit both 64`";
const BITS: &str = "bits, bits tcp or bits payload, then the places of different bits below 524600 (or none), such as `bits 161 980`, or \
                    other edits, each once: ~FROM..TO@RATE, -FROM..TO, -FROM.., +PLACE*COUNT, /PLACE or &";
const ANY_PACKET: &str = "the fate of at least one packet, such as `ok 37`";
const FEWER: &str =
    "the end: a trace has at most 1048576 changes of fate, 16777216 places of bits and 2^48 packets";

pub(super) fn parse(text: &str) -> Result<Trace, ParseTraceError> {
    let mut trace = TraceBuilder::new();
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        last = number + 1;
        let content = line.split_once('#').map_or(line, |(content, _)| content).trim();
        if content.is_empty() {
            continue;
        }
        let wrong = |expected| error(last, content, expected);
        let (fate, packets) = fate(content).map_err(wrong)?;
        trace.push_run(fate, packets).map_err(|_| wrong(FEWER))?;
    }
    trace.finish("").ok_or_else(|| error(last.max(1), "", ANY_PACKET))
}

fn error(line: usize, content: &str, expected: &'static str) -> ParseTraceError {
    ParseTraceError { line, input: content.chars().take(SHOWN).collect(), expected }
}

/// A line without its remark: a fate, and of how many packets.
fn fate(content: &str) -> Result<(Fate, u64), &'static str> {
    let mut words = content.split_whitespace();
    let model = words.next().unwrap_or_default();
    match model {
        "ok" => Ok((Fate::Ok, packets(words).ok_or(OK)?)),
        "lost" => Ok((Fate::Lost, packets(words).ok_or(LOST)?)),
        "hit" => Ok((hit(words).ok_or(HIT)?, 1)),
        "bits" => Ok((bits(words).ok_or(BITS)?, 1)),
        _ => Err(FATES),
    }
}

fn packets<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<u64> {
    let packets = words.next().map_or(Some(1), number)?;
    (packets >= 1 && words.next().is_none()).then_some(packets)
}

fn hit<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Fate> {
    let first = words.next()?;
    let place = match first {
        "header" => HitPlace::Header,
        "payload" => HitPlace::Payload,
        "both" => HitPlace::Both,
        _ => HitPlace::Any,
    };
    let flips = number(if place == HitPlace::Any { first } else { words.next()? })?;
    let flips = u32::try_from(flips).ok().filter(|flips| *flips >= 1)?;
    words.next().is_none().then_some(Fate::Hit { flips, place })
}

fn bits<'a>(words: impl Iterator<Item = &'a str>) -> Option<Fate> {
    let mut words = words.peekable();
    let from = match words.peek() {
        Some(&"tcp") => BitOrigin::Tcp,
        Some(&"payload") => BitOrigin::Payload,
        _ => BitOrigin::Ip,
    };
    if from != BitOrigin::Ip {
        words.next();
    }
    let (mut bits, mut edits) = (Vec::new(), Vec::new());
    for word in words {
        match edit::read(word)? {
            Edit::Flip(bit) => bits.push(bit),
            edit if edits.len() < MAX_EDITS => edits.push(edit),
            _ => return None,
        }
    }
    if edits.is_empty() {
        bits.sort_unstable();
        let differ = bits.windows(2).all(|pair| pair[0] != pair[1]);
        // Without any: a modem's own check may fail although every bit is right.
        return differ.then_some(Fate::Bits { from, bits: bits.into() });
    }
    let given = edits.len() + bits.len();
    edits.extend(bits.into_iter().map(Edit::Flip));
    super::builder::sort(&mut edits);
    (given <= MAX_EDITS && edits.len() == given).then_some(Fate::Edits { from, edits: edits.into() })
}

/// A number of digits alone: `u64` would read a leading plus sign too.
pub(super) fn number(word: &str) -> Option<u64> {
    word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_every_fate() {
        let text = "# a link\n\nok 3\n  lost   # gone\nlost\thit\n".replace("\thit", " 2")
            + "hit 1\r\nhit header 2\nhit payload 3\nhit both 64\nbits 161 980\nbits tcp 0\nbits payload 7 1\nbits # none\nok";
        let trace: Trace = text.parse().unwrap();
        let hit = |flips, place| Fate::Hit { flips, place };
        let bits = |from, bits: &[u32]| Fate::Bits { from, bits: bits.into() };
        let mut expected = vec![Fate::Ok; 3];
        expected.extend(vec![Fate::Lost; 3]);
        expected.extend([
            hit(1, HitPlace::Any),
            hit(2, HitPlace::Header),
            hit(3, HitPlace::Payload),
            hit(64, HitPlace::Both),
            bits(BitOrigin::Ip, &[161, 980]),
            bits(BitOrigin::Tcp, &[0]),
            bits(BitOrigin::Payload, &[1, 7]),
            Fate::Ok,
            Fate::Ok,
        ]);
        assert_eq!(trace.fates().cloned().collect::<Vec<_>>(), expected);
        assert_eq!(trace.packets(), 15);
        assert_eq!((trace.share_hit(), trace.share_lost()), (7.0 / 15.0, 3.0 / 15.0));
        assert!(
            trace.to_string().starts_with("ok 3\nlost 3\nhit 1\nhit header 2\n")
                && trace.to_string().ends_with("bits payload 1 7\nok 2\n")
        );
        assert_eq!(trace.to_string().parse(), Ok(trace));
    }

    #[test]
    fn refuses_everything_else_and_says_where_and_what_it_wants() {
        for (line, expected) in [
            ("okay", FATES),
            ("OK", FATES),
            ("3 ok", FATES),
            ("ok 0", OK),
            ("ok -1", OK),
            ("ok +1", OK),
            ("ok 1 2", OK),
            ("ok 18446744073709551616", OK),
            ("ok 18446744073709551615", FEWER),
            ("lost many", LOST),
            ("hit", HIT),
            ("hit 0", HIT),
            ("hit payload", HIT),
            ("hit data 3", HIT),
            ("hit payload 3 4", HIT),
            ("hit both 4294967296", HIT),
            ("bits ip 3", BITS),
            ("bits 3 3", BITS),
            ("bits 524600", BITS),
            ("bits 1,2", BITS),
            ("bits -3 -3", BITS),
            ("bits -3..3", BITS),
            ("bits -..3", BITS),
            ("bits -3..524601", BITS),
            ("bits +3*0", BITS),
            ("bits +-3", BITS),
            ("bits /", BITS),
            ("bits &3", BITS),
            ("bits ~3", BITS),
            ("bits ~3@200%", BITS),
            ("bits \u{e4}3", BITS),
            ("ok &", OK),
        ] {
            let error = format!("ok\n\n{line} # no\nok").parse::<Trace>().unwrap_err();
            assert_eq!((error.line, error.input.as_str(), error.expected), (3, line, expected));
        }
        let message = "hit 0".parse::<Trace>().unwrap_err().to_string();
        assert!(message.starts_with("line 1: \"hit 0\": expected hit N, "), "{message}");
        for empty in ["", "\n\n", "# nothing"] {
            assert_eq!(empty.parse::<Trace>().unwrap_err().expected, ANY_PACKET);
        }
        let long = "x".repeat(1_000_000).parse::<Trace>().unwrap_err();
        assert_eq!(long.input.len(), SHOWN);
    }

    #[test]
    fn reads_every_edit() {
        let text = "bits /4000 & 5 -161 -169..177 -8000.. +161 +200*8 ~0..12000@15% ~7@100% ~9..@1%";
        let edits = |trace: &Trace| match trace.fates().next() {
            Some(Fate::Edits { from: BitOrigin::Ip, edits }) => edits.to_vec(),
            other => panic!("{other:?}"),
        };
        let trace: Trace = text.parse().unwrap();
        let share = |text: &str| text.parse().unwrap();
        let expected = [
            Edit::Dense { from: 0, to: Some(12_000), rate: share("15%") },
            Edit::Flip(5),
            Edit::Dense { from: 7, to: Some(8), rate: share("100%") },
            Edit::Dense { from: 9, to: None, rate: share("1%") },
            Edit::Added { before: 161, count: 1 },
            Edit::Missing { from: 161, to: Some(162) },
            Edit::Missing { from: 169, to: Some(177) },
            Edit::Added { before: 200, count: 8 },
            Edit::Break(4000),
            Edit::Missing { from: 8000, to: None },
            Edit::NoEnd,
        ];
        assert_eq!(edits(&trace), expected);
        assert_eq!((trace.share_hit(), trace.to_string().parse()), (1.0, Ok(trace)));
        // A packet that is joined to the one before is damaged too; the last is followed by the first.
        let joined: Trace = "ok\nbits &\nok 2\nbits &\nlost\nbits tcp &".parse().unwrap();
        assert_eq!((joined.packets(), joined.share_hit()), (7, 4.0 / 7.0));
    }

    #[test]
    fn stays_within_bounds() {
        let most = "ok\nlost\n".repeat(1 << 19);
        assert_eq!(most.parse::<Trace>().unwrap().packets(), 1 << 20);
        let error = (most + "ok").parse::<Trace>().unwrap_err();
        assert_eq!((error.line, error.expected), ((1 << 20) + 1, FEWER));
        // The last is the same fate: no change.
        assert!(("ok\nlost\n".repeat(1 << 19) + "lost").parse::<Trace>().is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(ok|lost|hit|bits|tcp|payload|[0-9]{1,6}|#|\n| |[-+/~][0-9]{0,3}|\\.\\.|\\*3|@15%|&){0,40}") {
            if let Ok(trace) = text.parse::<Trace>() {
                prop_assert_eq!(trace.to_string().parse(), Ok(trace));
            }
        }
    }
}
