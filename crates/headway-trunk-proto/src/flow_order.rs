//! The order of the packets of a flow, in a stream whose records are delivered as they arrive.
//!
//! What is behind a hole of the stream waits only if the hole may have a packet of the same flow. The sender numbers the
//! packets of a flow, and the receiver delivers them by number. Flows share [`GROUPS`] sequences of numbers, so neither
//! end keeps a list of flows: two flows that meet in one sequence keep an order between them too.

use std::collections::BTreeMap;

/// Sequences of numbers.
pub const GROUPS: u16 = 4096;
/// The bytes ahead of a packet that has a number: a mark, the group, the number.
pub const HEADER: usize = 7;
/// What an IP packet does not begin with.
const MARK: u8 = 1;
/// What a waiting packet costs beside its bytes.
const ENTRY: usize = 64;

/// The place of a packet: its group, and its number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceInFlow {
    group: u16,
    number: u32,
}

/// Numbers the packets of one stream.
#[derive(Clone, Debug)]
pub struct FlowNumbers(Box<[u32]>);

impl Default for FlowNumbers {
    fn default() -> Self {
        Self(vec![0; GROUPS.into()].into())
    }
}

impl FlowNumbers {
    /// What goes ahead of the next packet of `flow`. That packet must be sent: those behind it wait for it.
    pub fn header(&mut self, flow: u64) -> [u8; HEADER] {
        let group = (flow % u64::from(GROUPS)) as u16;
        let next = &mut self.0[usize::from(group)];
        let number = *next;
        *next = next.wrapping_add(1);
        let ([a, b], [c, d, e, f]) = (group.to_be_bytes(), number.to_be_bytes());
        [MARK, a, b, c, d, e, f]
    }
}

/// The place of a packet, if it has one, and the packet.
pub fn parse(message: &[u8]) -> (Option<PlaceInFlow>, &[u8]) {
    match message.split_first_chunk::<HEADER>() {
        Some(([MARK, a, b, number @ ..], packet)) => {
            let group = u16::from_be_bytes([*a, *b]) % GROUPS;
            (Some(PlaceInFlow { group, number: u32::from_be_bytes(*number) }), packet)
        }
        _ => (None, message),
    }
}

/// What waits in one group, and the number that it waits for.
#[derive(Debug)]
struct Group<T> {
    next: u64,
    held: BTreeMap<u64, (usize, T)>,
}

/// Brings the packets of one stream into the order of their flows.
#[derive(Debug)]
pub struct FlowOrder<T> {
    groups: BTreeMap<u16, Group<T>>,
    /// Bytes that wait, and how many may.
    held: usize,
    most: usize,
}

impl<T> FlowOrder<T> {
    /// In which `window` bytes wait at most, which is as many as the stream's window lets the sender have under way. Beyond that all
    /// is delivered.
    pub fn new(window: usize) -> Self {
        // Short packets cost more than their bytes.
        Self { groups: BTreeMap::new(), held: 0, most: window.saturating_mul(2) }
    }

    /// A packet of `len` bytes has arrived, in whatever order. Gives to `deliver` what is in order with it.
    pub fn take(&mut self, place: PlaceInFlow, len: usize, packet: T, mut deliver: impl FnMut(T)) {
        let group =
            self.groups.entry(place.group).or_insert_with(|| Group { next: 0, held: BTreeMap::new() });
        let ahead = place.number.wrapping_sub(group.next as u32);
        // A sender that keeps the rules numbers each packet once, and has fewer under way.
        if ahead > u32::MAX / 2 {
            return deliver(packet);
        }
        let len = len + ENTRY;
        self.held += len;
        if let Some((len, twice)) = group.held.insert(group.next + u64::from(ahead), (len, packet)) {
            self.held -= len;
            deliver(twice);
        }
        while let Some((len, packet)) = group.held.remove(&group.next) {
            group.next += 1;
            self.held -= len;
            deliver(packet);
        }
        if self.held > self.most {
            self.give_up(deliver);
        }
    }

    /// Delivers what waits, whatever is missing.
    fn give_up(&mut self, mut deliver: impl FnMut(T)) {
        for group in self.groups.values_mut() {
            for (number, (_, packet)) in std::mem::take(&mut group.held) {
                group.next = number + 1;
                deliver(packet);
            }
        }
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Packets of the flows, numbered: the header, and what the packet is.
    fn numbered(flows: impl IntoIterator<Item = u64>) -> Vec<([u8; HEADER], (u64, usize))> {
        let mut numbers = FlowNumbers::default();
        flows.into_iter().enumerate().map(|(at, flow)| (numbers.header(flow), (flow, at))).collect()
    }

    fn place(header: &[u8]) -> PlaceInFlow {
        parse(header).0.expect("a place")
    }

    proptest! {
        #[test]
        fn a_flow_keeps_its_order_and_waits_for_no_other(
            flows in prop::collection::vec(0_u64..5, 1..200), seed in any::<u64>(),
        ) {
            let sent = numbered(flows);
            let mut arriving: Vec<usize> = (0..sent.len()).collect();
            arriving.sort_by_key(|at| (*at as u64 ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let (mut order, mut delivered) = (FlowOrder::new(1 << 20), Vec::new());
            let mut arrived = Vec::new();
            for at in arriving {
                let (header, packet) = sent[at];
                arrived.push(packet);
                order.take(place(&header), 1000, packet, |packet| delivered.push(packet));
                // Of each flow all that has nothing missing ahead of it is delivered, in order.
                for flow in 0..5 {
                    let of = |packets: &[(u64, usize)]| -> Vec<_> {
                        packets.iter().filter(|packet| packet.0 == flow).copied().collect()
                    };
                    let all = of(&sent.iter().map(|sent| sent.1).collect::<Vec<_>>());
                    let whole = all.iter().take_while(|packet| arrived.contains(packet)).count();
                    prop_assert_eq!(of(&delivered), all[..whole].to_vec());
                }
            }
            prop_assert_eq!((order.held, delivered.len()), (0, sent.len()));
        }

        #[test]
        fn a_peer_that_breaks_the_rules_has_no_memory_and_loses_nothing(
            // Many come twice.
            places in prop::collection::vec((0_u16..3, prop_oneof![0_u32..50, any::<u32>()]), 0..300),
            len in 0_usize..100_000,
        ) {
            let (mut order, mut delivered) = (FlowOrder::new(2 << 20), 0);
            for (group, number) in &places {
                order.take(PlaceInFlow { group: *group, number: *number }, len, (), |()| delivered += 1);
                prop_assert!(order.held <= 4 << 20);
            }
            let waiting: usize = order.groups.values().map(|group| group.held.len()).sum();
            prop_assert_eq!(delivered + waiting, places.len());
            prop_assert_eq!(order.held, waiting * (len + ENTRY));
        }
    }

    #[test]
    fn numbers_wrap_around() {
        let (mut order, mut delivered) = (FlowOrder::new(1 << 20), Vec::new());
        order.groups.insert(7, Group { next: u64::from(u32::MAX) - 100, held: BTreeMap::new() });
        let mut numbers = FlowNumbers::default();
        numbers.0[7] = u32::MAX - 100;
        let sent: Vec<_> = (0..1000).map(|at| (numbers.header(7), at)).collect();
        for pair in sent.chunks(2).map(|pair| [pair[1], pair[0]]) {
            for (header, at) in pair {
                order.take(place(&header), 1000, at, |at| delivered.push(at));
            }
        }
        assert!(delivered.iter().copied().eq(0..1000));
    }

    /// As many short packets of one flow as a window of 16 MiB holds, behind one hole.
    #[test]
    fn a_long_hole_holds_up_nothing_for_good() {
        let (mut order, mut delivered) = (FlowOrder::new(16 << 20), Vec::new());
        let sent = numbered(std::iter::repeat_n(7, 250_000));
        for (header, (_, at)) in sent.iter().skip(1).chain(&sent[..1]) {
            order.take(place(header), 60, *at, |at| delivered.push(at));
        }
        assert!(delivered.iter().copied().eq(0..250_000));
        assert_eq!(order.held, 0);
    }

    #[test]
    fn an_ip_packet_has_no_place() {
        for packet in [&[0x45, 0, 0, 0, 0, 0, 0, 0][..], &[0x60; 40], &[1, 2, 3], &[]] {
            assert_eq!(parse(packet), (None, packet));
        }
        assert_eq!(
            parse(&[1, 0xff, 0xff, 0, 1, 0, 9, 0x45]).0,
            Some(PlaceInFlow { group: 4095, number: 0x1_0009 })
        );
    }
}
