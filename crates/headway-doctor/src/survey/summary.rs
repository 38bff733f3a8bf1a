//! What the frames of a direction show.

use serde::Serialize;

use super::frames::HEADER;
use super::record::{Arrived, BLOCK, Record};

/// How many parts the frame, and the time, are divided into.
const PARTS: usize = 20;
/// Wrong bits with fewer right bits than this between them are one burst.
const GAP: u32 = 8;
/// The longest burst of each class, in bits; those of the last are longer.
pub(super) const BURSTS: [u32; 5] = [1, 8, 32, 128, 512];
/// Shorter packets that are compared with those of the survey, in bytes.
const SHORTER: [usize; 4] = [128, 256, 512, 1024];

/// A direction in numbers. Shares are of the frames, or blocks, that were sent, 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Summary {
    /// Frames.
    pub(super) sent: u32,
    pub(super) lost: u32,
    pub(super) damaged: u32,
    pub(super) intact: u32,
    /// Of the damaged ones: that ended early, and that were longer than sent.
    pub(super) cut: u32,
    pub(super) longer: u32,
    pub(super) share_lost: f64,
    pub(super) share_damaged: f64,
    pub(super) share_intact: f64,
    /// Blocks of 32 bytes of payload.
    pub(super) share_of_intact_blocks: f64,
    pub(super) wrong_bits: u64,
    /// Of the bits that arrived.
    pub(super) share_of_wrong_bits: f64,
    /// Wrong bits in each twentieth of a frame, from its beginning.
    pub(super) places: [u64; PARTS],
    /// Bursts of at most 1, 8, 32, 128 and 512 bits, and longer ones.
    pub(super) bursts: [u64; BURSTS.len() + 1],
    pub(super) longest_burst: u32,
    /// The time between the first frame and the last, in milliseconds.
    pub(super) milliseconds: u32,
    /// Frames that arrived in each twentieth of it, and those of them that were damaged.
    pub(super) arrived_over_time: [u32; PARTS],
    pub(super) damaged_over_time: [u32; PARTS],
    /// What packets of several lengths would carry.
    pub(super) packets: Vec<Yield>,
}

/// What packets of a length would carry where bits are wrong as they were: shares of the link's rate, headers taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Yield {
    /// The length, with IP header.
    pub(super) bytes: usize,
    /// Payload of intact packets.
    pub(super) intact_packets: f64,
    /// Intact blocks of packets whose header is intact.
    pub(super) intact_blocks: f64,
}

impl Summary {
    /// Of `sent` frames of `len` bytes with an IP header of `ip_len` bytes.
    pub(super) fn new(record: &Record, sent: u32, len: usize, ip_len: usize) -> Self {
        let sent = record.covered(sent);
        let frames = record.frames();
        let mut summary = Self { sent, ..Self::default() };
        summary.milliseconds = frames.iter().map(|frame| frame.ms).max().unwrap_or(0);
        let mut seen_bits = 0;
        for frame in frames {
            seen_bits += 8 * (frame.cut.map_or(len, |cut| cut as usize) - ip_len) as u64;
            summary.add(frame, len, ip_len);
        }
        summary.lost = sent - frames.len() as u32;
        let share = |part: u32| f64::from(part) / f64::from(sent.max(1));
        summary.share_lost = share(summary.lost);
        summary.share_damaged = share(summary.damaged);
        summary.share_intact = share(summary.intact);
        summary.share_of_wrong_bits = summary.wrong_bits as f64 / seen_bits.max(1) as f64;
        let shorter = SHORTER.into_iter().filter(|shorter| *shorter < len);
        for bytes in shorter.chain([len]) {
            summary.packets.push(carried(frames, sent, bytes, len, ip_len));
        }
        let payload = [(ip_len + HEADER, len)];
        let blocks: usize =
            frames.iter().map(|frame| intact_blocks(&wrong_bytes(frame, len), &payload)).sum();
        let all = sent as usize * (len - ip_len - HEADER).div_ceil(BLOCK);
        summary.share_of_intact_blocks = blocks as f64 / all.max(1) as f64;
        summary
    }

    fn add(&mut self, frame: &Arrived, len: usize, ip_len: usize) {
        let slot = (frame.ms as usize * PARTS / (self.milliseconds as usize + 1)).min(PARTS - 1);
        self.arrived_over_time[slot] += 1;
        if !frame.hit {
            self.intact += 1;
            return;
        }
        self.damaged += 1;
        self.damaged_over_time[slot] += 1;
        self.cut += u32::from(frame.cut.is_some());
        self.longer += u32::from(frame.longer);
        // The first and the last wrong bit of the burst.
        let mut burst: Option<(u32, u32)> = None;
        for bit in frame.bits() {
            self.wrong_bits += 1;
            let place = (bit as usize / 8).saturating_sub(ip_len) * PARTS / (len - ip_len);
            self.places[place.min(PARTS - 1)] += 1;
            burst = match burst {
                Some((first, last)) if bit - last <= GAP => Some((first, bit)),
                ended => {
                    self.add_burst(ended);
                    Some((bit, bit))
                }
            };
        }
        self.add_burst(burst);
    }

    fn add_burst(&mut self, burst: Option<(u32, u32)>) {
        let Some((first, last)) = burst else { return };
        let bits = last - first + 1;
        let class = BURSTS.iter().position(|most| bits <= *most).unwrap_or(BURSTS.len());
        self.bursts[class] += 1;
        self.longest_burst = self.longest_burst.max(bits);
    }

    /// Frames that arrived.
    pub(super) fn arrived(&self) -> u32 {
        self.damaged + self.intact
    }

    /// The packets with the most payload in intact ones, and those with the most in intact blocks.
    pub(super) fn best(&self) -> [Yield; 2] {
        let best = |share: fn(&Yield) -> f64| {
            let most = self.packets.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
            most.copied().unwrap_or_default()
        };
        [best(|packets| packets.intact_packets), best(|packets| packets.intact_blocks)]
    }
}

/// The bytes of a frame that are wrong or missing, ascending.
fn wrong_bytes(frame: &Arrived, len: usize) -> Vec<usize> {
    let missing = frame.cut.map_or(len, |cut| cut as usize)..len;
    let mut bytes: Vec<usize> = frame.bits().map(|bit| bit as usize / 8).chain(missing).collect();
    bytes.dedup();
    bytes
}

fn is_intact(wrong: &[usize], from: usize, to: usize) -> bool {
    let first = wrong.partition_point(|byte| *byte < from);
    wrong.get(first).is_none_or(|byte| *byte >= to)
}

/// How many blocks of these ranges are intact.
fn intact_blocks(wrong: &[usize], ranges: &[(usize, usize)]) -> usize {
    let blocks = |&(from, to): &(usize, usize)| {
        (from..to).step_by(BLOCK).filter(|at| is_intact(wrong, *at, to.min(at + BLOCK))).count()
    };
    ranges.iter().map(blocks).sum()
}

/// What packets of `bytes` bytes would carry, of which `frames` of `len` bytes are pieces.
fn carried(frames: &[Arrived], sent: u32, bytes: usize, len: usize, ip_len: usize) -> Yield {
    let piece = bytes - ip_len;
    let pieces: Vec<(usize, usize)> =
        (ip_len..).step_by(piece).map(|at| (at, at + piece)).take_while(|(_, end)| *end <= len).collect();
    let (mut packets, mut blocks) = (0, 0);
    for frame in frames {
        let wrong = wrong_bytes(frame, len);
        packets += pieces.iter().filter(|(from, to)| is_intact(&wrong, *from, *to)).count();
        let readable: Vec<_> = pieces
            .iter()
            .filter(|(from, _)| is_intact(&wrong, *from, from + HEADER))
            .map(|(from, to)| (from + HEADER, *to))
            .collect();
        blocks += intact_blocks(&wrong, &readable);
    }
    let all = (sent as usize * pieces.len()).max(1) as f64;
    let of_payload = (piece - HEADER) as f64 / bytes as f64;
    Yield {
        bytes,
        intact_packets: packets as f64 / all * of_payload,
        intact_blocks: blocks as f64 / (all * (piece - HEADER).div_ceil(BLOCK) as f64) * of_payload,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{Found, Numbers};
    use super::*;

    /// Frames of 1492 bytes with these wrong bits; every other number is missing.
    fn record(bits: &[&[u32]]) -> Record {
        let mut record = Record::default();
        for (number, bits) in (0..).zip(bits) {
            let found = Found {
                numbers: Numbers { number: 2 * number, answers: 0 },
                bits: bits.to_vec(),
                seen: 1492,
                is_cut: false,
                is_longer: false,
            };
            record.push(Arrived::new(&found, 100 * number, bits.is_empty()));
        }
        record
    }

    #[test]
    fn what_arrived_is_counted() {
        // 44 blocks and a part of one, in each frame: three frames arrive of six.
        let summary = Summary::new(&record(&[&[], &[600, 603, 612, 8000], &[160]]), 6, 1492, 20);
        let frames = (summary.sent, summary.lost, summary.damaged, summary.intact);
        assert_eq!((frames, summary.cut, summary.wrong_bits), ((6, 3, 2, 1), 0, 5));
        assert_eq!((summary.bursts, summary.longest_burst), ([3, 1, 0, 0, 0, 0], 4));
        // The header of the third is hit, and two blocks of the second.
        let blocks = 1428_usize.div_ceil(BLOCK);
        assert_eq!(summary.share_of_intact_blocks, (3 * blocks - 2) as f64 / (6 * blocks) as f64);
        assert_eq!(summary.places.iter().filter(|bits| **bits > 0).count(), 2);
        assert_eq!(summary.arrived_over_time.iter().sum::<u32>(), 3);
        assert_eq!(summary.damaged_over_time[PARTS - 1], 1);
        let all = summary.packets.last().expect("the frames themselves");
        assert_eq!((all.bytes, all.intact_packets), (1492, 1.0 / 6.0 * 1428.0 / 1492.0));
        let usable = (2 * blocks - 2) as f64 / (6 * blocks) as f64 * 1428.0 / 1492.0;
        assert!((all.intact_blocks - usable).abs() < 1e-12);
    }

    /// One wrong bit in each frame: shorter packets lose less, and blocks less still.
    #[test]
    fn shorter_packets_are_better_where_each_long_one_is_hit() {
        let [packets, blocks] = Summary::new(&record(&[&[6000][..]; 4]), 8, 1492, 20).best();
        assert!(packets.bytes < 1000, "{packets:?}");
        assert!(blocks.bytes > packets.bytes && blocks.intact_blocks > packets.intact_packets, "{blocks:?}");
        let [packets, _] = Summary::new(&record(&[&[][..]; 4]), 8, 1492, 20).best();
        assert_eq!(packets.bytes, 1492);
    }
}
