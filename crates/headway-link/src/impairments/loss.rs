//! Silent loss: which packets vanish.

use crate::{
    ParseLinkError,
    damage::starts_bad,
    random::{Chance, Stream},
};
use headway_units::Share;
use std::{fmt, str::FromStr};

/// Which packets are lost without a trace.
///
/// Written as a share, `1%`, or as `burst:1%:10`: the same share, in runs of 10 packets on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// The share of the packets.
    pub share: Share,
    /// The mean number of packets lost in a row, after Gilbert ("Capacity of a Burst-Noise Channel", Bell
    /// System Technical Journal 39, 1960, with all packets lost in the bad state and none in the good one);
    /// `None`: each packet is lost independently of the others.
    pub run: Option<u32>,
}

impl Loss {
    /// No packet.
    pub const NONE: Self = Self { share: Share::ZERO, run: None };

    /// Whether no packet is lost.
    pub fn is_zero(self) -> bool {
        self.share.is_zero()
    }

    /// The probabilities of going bad and good; `None` where losses are independent or of all packets.
    fn chain(self) -> Option<(Share, Share)> {
        let run = f64::from(self.run?);
        let share = self.share.value();
        // share = p / (p + r), run = 1 / r.
        let p = share / (run * (1.0 - share));
        // 90 % in runs of 9 are possible: p is 1, apart from rounding.
        let p = if p < 1.0 + 1e-9 { p.min(1.0) } else { p };
        Some((Share::new(p)?, Share::new(1.0 / run)?))
    }
}

impl From<Share> for Loss {
    fn from(share: Share) -> Self {
        Self { share, run: None }
    }
}

impl FromStr for Loss {
    type Err = ParseLinkError;

    fn from_str(input: &str) -> Result<Self, ParseLinkError> {
        let text = input.trim();
        let loss = match text.strip_prefix("burst:") {
            None => text.parse::<Share>().ok().map(Self::from),
            Some(rest) => rest.split_once(':').and_then(|(share, run)| {
                let run: u32 = run.parse().ok().filter(|run| *run >= 1)?;
                let loss = Self { share: share.parse().ok()?, run: Some(run) };
                loss.chain().map(|_| loss)
            }),
        };
        loss.ok_or_else(|| {
            ParseLinkError::new(
                input,
                "a share such as 1%, or burst:SHARE:RUN with a mean of RUN >= 1 packets lost in a row and at least \
                 one that arrives in between, such as burst:1%:10",
            )
        })
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.run {
            None => self.share.fmt(f),
            Some(run) => f.pad(&format!("burst:{}:{run}", self.share)),
        }
    }
}

/// Decides packet after packet.
#[derive(Clone, Debug)]
pub(crate) enum Losses {
    Independent(Chance),
    /// Going bad and good; lost while bad.
    Runs {
        leave: [Chance; 2],
        is_bad: bool,
    },
}

impl Losses {
    pub(crate) fn new(loss: Loss, stream: &mut Stream) -> Self {
        match loss.chain() {
            Some((p, r)) => Self::Runs { leave: [p, r].map(Chance::new), is_bad: starts_bad(p, r, stream) },
            None => Self::Independent(Chance::new(loss.share)),
        }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(crate) fn loses(&mut self, stream: &mut Stream) -> bool {
        match self {
            Self::Independent(chance) => chance.happens(stream),
            Self::Runs { leave, is_bad } => {
                let loses = *is_bad;
                *is_bad ^= leave[usize::from(loses)].happens(stream);
                loses
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Streams;

    #[test]
    fn reads_what_it_writes() {
        for text in ["0%", "1%", "100%", "burst:1%:10", "burst:50%:1", "burst:90%:9"] {
            assert_eq!(text.parse::<Loss>().unwrap().to_string(), text);
        }
        for text in
            ["", "200%", "burst", "burst:1%", "burst:1%:0", "burst:1%:1.5", "burst:51%:1", "burst:100%:9"]
        {
            assert!(text.parse::<Loss>().unwrap_err().to_string().contains("burst:1%:10"), "{text}");
        }
    }

    #[test]
    fn share_and_mean_run_come_true() {
        for text in ["burst:1%:10", "burst:20%:3", "burst:90%:9", "burst:50%:1", "burst:0%:4"] {
            let loss: Loss = text.parse().unwrap();
            let mut stream = Streams::new(11).loss;
            let mut losses = Losses::new(loss, &mut stream);
            let (mut lost, mut runs, mut before) = (0u32, 0u32, false);
            let packets = 5_000_000;
            for _ in 0..packets {
                let loses = losses.loses(&mut stream);
                lost += u32::from(loses);
                runs += u32::from(loses && !before);
                before = loses;
            }
            let share = f64::from(lost) / f64::from(packets);
            assert!((share - loss.share.value()).abs() <= 0.06 * loss.share.value(), "{text}: {share}");
            if runs > 0 {
                let mean = f64::from(lost) / f64::from(runs);
                assert!((mean / f64::from(loss.run.unwrap()) - 1.0).abs() < 0.06, "{text}: {mean}");
            }
        }
    }
}
