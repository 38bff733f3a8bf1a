//! The lines of a script: when, and what.

use headway_units::Duration;

use super::failure::Failure;
use super::packet::Packet;
use super::words::Words;

/// One step of a script.
pub(crate) struct Line {
    /// Counted from 1.
    pub(crate) number: usize,
    /// Time since the step before.
    pub(crate) after: Duration,
    /// Which peer it is about; 1 unless the script says otherwise.
    pub(crate) peer: usize,
    pub(crate) action: Action,
}

pub(crate) enum Action {
    /// `<`: the peer sends a packet.
    Inject(Packet),
    /// `>`: the host must have sent this packet at this very time.
    Expect(Packet),
    /// Anything else.
    Command(String),
}

/// Reads a script.
pub(crate) fn parse(text: &str) -> Result<Vec<Line>, Failure> {
    let mut lines = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let content = raw.split("//").next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        let number = index + 1;
        let line = parse_line(number, content).map_err(|message| Failure {
            line: number,
            message,
            transcript: Vec::new(),
        })?;
        lines.push(line);
    }
    Ok(lines)
}

fn parse_line(number: usize, content: &str) -> Result<Line, String> {
    let mut words = Words::new(content);
    let mut after = Duration::ZERO;
    if let Some(delay) = words.peek().and_then(|word| word.strip_prefix('+')) {
        words.next();
        after = seconds(delay)?;
    }
    let verb = words.word("a step")?;
    let (verb, peer) = match verb.split_once('@') {
        Some((verb, peer)) => (verb, peer.parse().map_err(|_| format!("{peer:?} is no number of a peer"))?),
        None => (verb, 1),
    };
    let action = match verb {
        "<" => Action::Inject(Packet::parse(words.remainder())?),
        ">" => Action::Expect(Packet::parse(words.remainder())?),
        _ => Action::Command(format!("{verb} {}", words.remainder())),
    };
    Ok(Line { number, after, peer, action })
}

/// A time in seconds, as `+0.25` has it.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    format!("{text}s").parse().map_err(|error| format!("{text:?} is no time in seconds: {error}"))
}
