//! One frame of the copies that several cards receive.
//!
//! An intact copy is handed up at once, and the others are dropped. A damaged one waits a little for those of the other cards. Where
//! two are damaged in different places, the check sequence of 802.11 tells which of both is right in each place where they differ
//! (A. Miu, H. Balakrishnan, C. E. Koksal, *Improving Loss Resilience with Multi-Radio Diversity in Wireless Networks*,
//! MobiCom 2005). Where that fails one of them is handed up, so that the TCP counts and reports one damaged packet.

use headway_units::{Duration, Instant};

use super::header::{Reception, frame_of, wrong_bits_of_fcs};

/// How long a damaged copy waits for those of the other cards, which are read in turn. It delays the report of the damage.
const WAIT: Duration = Duration::from_millis(1);
/// How many frames wait at most.
const MOST_WAITING: usize = 64;
/// For so long a frame's number says that a copy of it was handed up; then it may be that of another.
const REMEMBERED: Duration = Duration::from_millis(100);
/// How many such numbers there are.
const NUMBERS: usize = 256;
/// Two copies that differ in more places are not combined: of 2^12 combinations one that is wrong has the right check sequence once
/// in a million, and then the checksums of the segment find it.
const MOST_PLACES: usize = 12;
/// Bytes that differ with fewer than this between them are one place, so that a burst is one: the first that gives so few places.
const APART: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Combines what several cards receive.
pub(super) struct Diversity {
    cards: usize,
    handed_up: Box<[Option<HandedUp>; NUMBERS]>,
    /// Those that wait, the oldest first.
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy)]
struct HandedUp {
    number: u16,
    at: Instant,
    is_intact: bool,
}

/// The damaged copies of a frame.
struct Waiting {
    number: u16,
    until: Instant,
    copies: Vec<Copy>,
}

struct Copy {
    card: usize,
    bytes: Vec<u8>,
    has_fcs: bool,
}

impl Diversity {
    /// Of this many cards.
    pub(super) fn new(cards: usize) -> Self {
        Self { cards, handed_up: Box::new([None; NUMBERS]), waiting: Vec::new() }
    }

    /// Takes what a card received. The frame that can be handed up then.
    pub(super) fn take(&mut self, now: Instant, card: usize, reception: &Reception<'_>) -> Option<Vec<u8>> {
        let Reception { number, is_intact, bytes, has_fcs } = *reception;
        if self.was_handed_up(now, number, is_intact) {
            return None;
        }
        let found = self.waiting.iter().position(|waiting| waiting.number == number);
        let frame = reception.frame().to_vec();
        if is_intact {
            found.map(|index| self.waiting.remove(index));
            self.remember(now, number, true);
            return Some(frame);
        }
        let copy = Copy { card, bytes: bytes.to_vec(), has_fcs };
        let Some(index) = found else {
            if self.cards == 1 || self.waiting.len() == MOST_WAITING {
                return Some(frame);
            }
            self.waiting.push(Waiting { number, until: now + WAIT, copies: vec![copy] });
            return None;
        };
        let copies = &mut self.waiting[index].copies;
        // A card receives a frame once: this one's number is damaged.
        if copies.iter().any(|other| other.card == card) {
            return Some(frame);
        }
        let combined = copies.iter().find_map(|other| other.combined_with(&copy));
        copies.push(copy);
        let is_intact = combined.is_some();
        if !is_intact && copies.len() < self.cards {
            return None;
        }
        let waiting = self.waiting.remove(index);
        self.remember(now, number, is_intact);
        combined.or_else(|| waiting.first())
    }

    /// The frame that has waited for long enough. To be asked when no card has more.
    pub(super) fn take_overdue(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.next_deadline().filter(|until| *until <= now)?;
        let waiting = self.waiting.remove(0);
        self.remember(now, waiting.number, false);
        waiting.first()
    }

    /// When a frame has waited for long enough.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.waiting.first().map(|waiting| waiting.until)
    }

    fn remember(&mut self, at: Instant, number: u16, is_intact: bool) {
        self.handed_up[usize::from(number) % NUMBERS] = Some(HandedUp { number, at, is_intact });
    }

    /// Whether a copy that is as good was handed up.
    fn was_handed_up(&self, now: Instant, number: u16, is_intact: bool) -> bool {
        self.handed_up[usize::from(number) % NUMBERS].is_some_and(|last| {
            last.number == number && now < last.at + REMEMBERED && (last.is_intact || !is_intact)
        })
    }
}

impl Waiting {
    fn first(self) -> Option<Vec<u8>> {
        self.copies.first().map(|copy| frame_of(&copy.bytes, copy.has_fcs).to_vec())
    }
}

impl Copy {
    /// The frame, if it is what one of both has in each place where they differ.
    fn combined_with(&self, other: &Self) -> Option<Vec<u8>> {
        if !(self.has_fcs && other.has_fcs) || self.bytes.len() != other.bytes.len() {
            return None;
        }
        let places =
            APART.into_iter().find_map(|apart| places_where_different(&self.bytes, &other.bytes, apart))?;
        let with = |chosen: &mut dyn Iterator<Item = &(usize, usize)>| {
            let mut bytes = self.bytes.clone();
            chosen.for_each(|&(start, end)| bytes[start..end].copy_from_slice(&other.bytes[start..end]));
            bytes
        };
        // A CRC is linear: what each place changes of it is found once.
        let wrong = wrong_bits_of_fcs(&self.bytes);
        let changes: Vec<u32> = places
            .iter()
            .map(|place| wrong ^ wrong_bits_of_fcs(&with(&mut std::iter::once(place))))
            .collect();
        let right = (1_u32..1 << places.len()).find(|choice| {
            let chosen = changes.iter().enumerate().filter(|(index, _)| choice >> index & 1 != 0);
            chosen.fold(wrong, |wrong, (_, change)| wrong ^ change) == 0
        })?;
        let mut chosen =
            places.iter().enumerate().filter(|(index, _)| right >> index & 1 != 0).map(|(_, place)| place);
        Some(frame_of(&with(&mut chosen), true).to_vec())
    }
}

/// The places where two copies differ, each from its first byte to its end; `None` if they are too many.
fn places_where_different(a: &[u8], b: &[u8], apart: usize) -> Option<Vec<(usize, usize)>> {
    let mut places: Vec<(usize, usize)> = Vec::new();
    for at in (0..a.len()).filter(|&at| a[at] != b[at]) {
        let is_full = places.len() == MOST_PLACES;
        match places.last_mut() {
            Some((_, end)) if at < *end + apart => *end = at + 1,
            _ if is_full => return None,
            _ => places.push((at, at + 1)),
        }
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::rng::Rng;

    use super::super::header::{Direction, LEN};
    use super::super::radiotap::Captured;
    use super::*;

    const NOW: Instant = Instant::from_nanos(1_000_000_000);

    fn direction() -> Direction {
        Direction::new(b"near", b"far")
    }

    /// Frame `number` on the air, and what it carries.
    fn sent(number: u16) -> (Vec<u8>, Vec<u8>) {
        let (mut bytes, mut frame) = (Vec::new(), vec![0; 1000]);
        Rng::new(number.into()).fill(&mut frame);
        direction().write(number, &mut bytes);
        bytes.extend(&frame);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        (bytes, frame)
    }

    fn take(cards: &mut Diversity, now: Instant, card: usize, bytes: &[u8]) -> Option<Vec<u8>> {
        let captured = Captured { frame: bytes, has_fcs: true, is_bad: false };
        cards.take(now, card, &Reception::new(captured, &direction()).expect("a frame"))
    }

    fn hit(bytes: &[u8], places: &[usize]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        places.iter().for_each(|&at| bytes[at] ^= 0x41);
        bytes
    }

    #[test]
    fn an_intact_copy_wins_and_is_handed_up_once() {
        let (bytes, frame) = sent(7);
        let damaged = hit(&bytes, &[200, 201, 400]);
        for (first, second) in [(&bytes, &bytes), (&bytes, &damaged), (&damaged, &bytes)] {
            let mut cards = Diversity::new(2);
            let taken = [(0, first), (1, second)].map(|(card, copy)| take(&mut cards, NOW, card, copy));
            assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), std::slice::from_ref(&frame));
            assert_eq!(cards.take_overdue(NOW + WAIT), None);
            // A number comes again, of another frame.
            assert_eq!(take(&mut cards, NOW + REMEMBERED, 1, &bytes), Some(frame.clone()));
        }
    }

    #[test]
    fn copies_that_are_damaged_in_different_places_are_one_intact_frame() {
        let (bytes, frame) = sent(8);
        let end = bytes.len();
        for (a, b) in [
            (vec![0, 12], vec![300]),
            (vec![LEN, 500, 501, 502, 507, 900], vec![100, 130, end - 1]),
            ((0..6).map(|at| 40 + 50 * at).collect(), (0..6).map(|at| 540 + 50 * at).collect()),
            // Bursts.
            ((0..20).map(|at| 40 + 3 * at).collect(), (0..20).map(|at| 540 + 2 * at).collect()),
        ] {
            let mut cards = Diversity::new(2);
            assert_eq!(take(&mut cards, NOW, 1, &hit(&bytes, &a)), None);
            assert_eq!(take(&mut cards, NOW, 0, &hit(&bytes, &b)), Some(frame.clone()), "{a:?} and {b:?}");
            assert_eq!(take(&mut cards, NOW, 0, &bytes), None, "it was handed up intact");
        }
    }

    #[test]
    fn what_cannot_be_combined_is_handed_up_once_as_it_came() {
        let (bytes, _) = sent(9);
        // In the same place, and in too many.
        let many: Vec<usize> = (0..=MOST_PLACES).map(|at| 40 + 70 * at).collect();
        for (a, b) in [(vec![300], vec![300, 600]), (vec![800], many)] {
            let (a, b) = (hit(&bytes, &a), hit(&bytes, &b));
            let mut cards = Diversity::new(2);
            assert_eq!(take(&mut cards, NOW, 0, &a), None);
            assert_eq!(take(&mut cards, NOW, 1, &b).as_deref(), Some(frame_of(&a, true)));
            assert_eq!(take(&mut cards, NOW, 1, &b), None, "a damaged one was handed up");
            assert_eq!(take(&mut cards, NOW, 1, &bytes).as_deref(), Some(frame_of(&bytes, true)));
        }
        // Cut, or without a check sequence.
        let mut cards = Diversity::new(2);
        assert_eq!(take(&mut cards, NOW, 0, &hit(&bytes, &[300])), None);
        assert!(take(&mut cards, NOW, 1, &bytes[..bytes.len() - 1]).is_some());
    }

    #[test]
    fn a_damaged_copy_waits_where_there_are_other_cards() {
        let damaged = hit(&sent(10).0, &[300]);
        let frame = Some(frame_of(&damaged, true).to_vec());
        assert_eq!(take(&mut Diversity::new(1), NOW, 0, &damaged), frame);
        let mut cards = Diversity::new(3);
        assert_eq!(take(&mut cards, NOW, 0, &damaged), None);
        // Another frame, whose number is damaged.
        assert_eq!(take(&mut cards, NOW, 0, &damaged), frame);
        assert_eq!((cards.next_deadline(), cards.take_overdue(NOW)), (Some(NOW + WAIT), None));
        assert_eq!(take(&mut cards, NOW, 1, &hit(&damaged, &[301])), None, "the third may have it");
        assert_eq!(cards.take_overdue(NOW + WAIT), frame);
        assert_eq!((take(&mut cards, NOW + WAIT, 2, &damaged), cards.next_deadline()), (None, None));
    }

    #[test]
    fn few_wait() {
        let mut cards = Diversity::new(2);
        for number in 0..1000 {
            let was_handed_up = take(&mut cards, NOW, 0, &hit(&sent(number).0, &[300])).is_some();
            assert_eq!(was_handed_up, usize::from(number) >= MOST_WAITING);
        }
    }

    /// Of two cards that both receive 1 bit in 2000 wrong, each for itself, more frames are intact than of one.
    #[test]
    fn two_cards_with_independent_damage_deliver_more_than_one() {
        let seed = 2304;
        eprintln!("seed {seed}");
        let mut rng = Rng::new(seed);
        let intact = [1, 2, 3].map(|count| {
            let (mut cards, mut intact) = (Diversity::new(count), 0);
            for number in 0..500 {
                let (bytes, frame) = sent(number);
                let mut handed_up = Vec::new();
                for card in 0..count {
                    let mut copy = bytes.clone();
                    (0..copy.len() * 8)
                        .filter(|_| rng.one_in(2000))
                        .for_each(|bit| copy[bit / 8] ^= 1 << (bit % 8));
                    handed_up.extend(take(&mut cards, NOW, card, &copy));
                }
                assert!(handed_up.len() <= 2, "one, or a damaged and an intact one");
                intact += u32::from(handed_up.last() == Some(&frame));
            }
            intact
        });
        let [one, two, three] = intact;
        assert!(one < 20 && two > 400 && three > 450, "{intact:?} of 500");
    }
}
