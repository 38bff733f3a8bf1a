//! Someone on the path sends damaged copies of packets ahead of these, and packets that they make up.

use headway_test_fixture::rng::Rng;
use headway_trunk_proto::SegmentIntegrity;
use headway_units::Duration;

use super::{HEADER, TAGS};
use crate::world::{Sent, World};

/// The number of damaged packets of one kind that have arrived intact before damage is not believed.
const FEWEST: u32 = 32;
/// Where the number of a packet is in its datagram.
const NUMBER: std::ops::Range<usize> = 5..9;
/// Sequence and ACK number in a sealed header.
const NUMBERS: std::ops::Range<usize> = 9 + 4..9 + 12;

/// The datagram with a number that is higher by `ahead`, and random bytes behind it.
fn noise(like: &Sent, ahead: u32, rng: &mut Rng) -> Sent {
    let mut noise = like.clone();
    rng.fill(&mut noise.bytes[NUMBER.end..]);
    let number = u32::from_be_bytes(like.bytes[NUMBER].try_into().expect("four bytes"));
    noise.bytes[NUMBER].copy_from_slice(&number.wrapping_add(ahead).to_be_bytes());
    noise
}

fn disbelieved(world: &World) -> u64 {
    world.far.peers().next().expect("a peer").counters.disbelieved
}

/// What was sent is taken all the same, once, and so is a damaged packet.
#[test]
fn a_damaged_copy_does_not_displace_what_was_sent() {
    let mut world = World::connected();
    for seq in 0..4000_u32 {
        let (sent, packet) = world.seal(true, seq, &[7; 500]).expect("a session");
        let damaged = |place: usize| {
            let mut copy = sent.clone();
            copy.bytes[place] ^= 1;
            copy
        };
        let copy = damaged(if seq % 2 == 0 { TAGS.end + 9 } else { HEADER.start + 9 });
        let first = world.deliver(copy.clone());
        // After some of each kind, what so often arrives intact is not announced any more.
        assert!(first.is_some() == (seq < 2 * FEWEST), "{seq}: {first:?}");
        assert_eq!(world.deliver(copy), None, "it counts once");
        if seq % 2 == 0 {
            assert_eq!(world.deliver(damaged(HEADER.start)), None, "however it is damaged");
        }
        assert_eq!(world.deliver(sent.clone()), Some((SegmentIntegrity::Intact, packet)));
        assert_eq!(world.deliver(sent), None);
    }
    assert_eq!(disbelieved(&world), u64::from(4000 - 2 * FEWEST));
}

/// Between the copy and the packet come others that are made up, with numbers that are still to come: a copy is no less disproved.
#[test]
fn noise_numbered_ahead_hides_no_proof() {
    for ahead in [1, 2, 63, 500, 1000, 1023, 1024, 2048, 4096] {
        let (mut world, mut rng) = (World::connected(), Rng::new(u64::from(ahead)));
        let mut announced = 0;
        for seq in 0..3000_u32 {
            let (sent, packet) = world.seal_data(true, seq, &[7; 500], false).expect("a session");
            let mut copy = sent.clone();
            *copy.bytes.last_mut().expect("a payload") ^= 1;
            announced += u32::from(world.deliver(copy).is_some());
            world.deliver(noise(&sent, ahead, &mut rng));
            world.deliver(noise(&sent, rng.between(1, 5000), &mut rng));
            assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        }
        assert_eq!(announced, FEWEST, "{ahead}");
    }
}

/// A copy need not be alike to resemble a header of the connection: its numbers may be any.
#[test]
fn a_copy_is_disproved_however_much_of_it_was_changed() {
    let (mut world, mut rng) = (World::connected(), Rng::new(7));
    let mut announced = 0;
    for seq in 0..1000_u32 {
        let (sent, packet) = world.seal_data(true, seq, &[7; 500], false).expect("a session");
        let mut copy = sent.clone();
        let mut flips = 0;
        while flips < 32 {
            let (byte, bit) = (rng.between(NUMBERS.start, NUMBERS.end), 1 << rng.below(8_u32));
            if (copy.bytes[byte] ^ sent.bytes[byte]) & bit == 0 {
                copy.bytes[byte] ^= bit;
                flips += 1;
            }
        }
        announced += u32::from(world.deliver(copy).is_some());
        assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
    }
    assert_eq!(announced, FEWEST);
}

/// Who sees the numbers of the packets can make up others of each; a payload that the link damaged is announced all the same.
#[test]
fn noise_hides_no_damage_to_payloads() {
    let (mut world, mut rng) = (World::connected(), Rng::new(8));
    for seq in 0..3000_u32 {
        let (mut sent, packet) = world.seal_data(true, seq, &[7; 500], false).expect("a session");
        world.deliver(noise(&sent, 0, &mut rng));
        world.deliver(noise(&sent, 700, &mut rng));
        if seq % 10 == 0 {
            *sent.bytes.last_mut().expect("a payload") ^= 1;
            assert_eq!(
                world.deliver(sent).map(|(verdict, _)| verdict),
                Some(SegmentIntegrity::Corrupted),
                "{seq}"
            );
        } else {
            assert_eq!(world.deliver(sent), Some((SegmentIntegrity::Intact, packet)));
        }
    }
    assert!(disbelieved(&world) > 2000, "noise is");
}

/// What is announced before anything is authenticated between is bounded, and of each number it is one at most.
#[test]
fn noise_is_bounded_by_what_is_authentic() {
    let (mut world, mut rng) = (World::connected(), Rng::new(9));
    let (sent, _) = world.seal_data(true, 1, &[7; 500], false).expect("a session");
    let mut announced = 0;
    for ahead in (0..20_000).chain(0..20_000) {
        announced += u32::from(world.deliver(noise(&sent, ahead, &mut rng)).is_some());
    }
    assert_eq!(announced, 1024);
    // A new session has a window of its own.
    world.run(Duration::from_secs(130));
    assert!(world.exchange(true) && world.exchange(false));
}
