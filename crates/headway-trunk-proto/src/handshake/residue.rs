//! What a handshake leaves in the memory of its process: none of its secrets, once they are dropped.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::sync::mpsc::sync_channel;
use std::thread;

use super::*;

/// Bytes of a secret that are looked for: an allocator writes over the first 16 of what is freed, and X25519 changes the last.
const PART: std::ops::Range<usize> = 16..24;
const PART_LEN: usize = PART.end - PART.start;

/// The complement of a part of a secret: the secret itself is nowhere in the test.
struct Masked(&'static str, Vec<u8>);

fn masked(name: &'static str, secret: &[u8; 32]) -> Masked {
    Masked(name, secret[PART].iter().map(|byte| !byte).collect())
}

/// How often each secret is in what this process can write: its heap, its data and its stacks.
fn occurrences(secrets: &[Masked]) -> Vec<usize> {
    const STEP: usize = 1 << 16;
    let mut found = vec![0; secrets.len()];
    let mut is_first = [false; 256];
    secrets.iter().for_each(|Masked(_, mask)| is_first[usize::from(!mask[0])] = true);
    let memory = File::open("/proc/self/mem").expect("the memory of this process");
    let maps = fs::read_to_string("/proc/self/maps").expect("a map of it");
    let mut piece = vec![0; STEP + PART_LEN - 1];
    for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
        let (start, end) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).expect("an address"));
        for at in (start..end).step_by(STEP) {
            let len = (end - at).min(piece.len() as u64) as usize;
            // A stack that another thread has given back meanwhile cannot be read.
            let read = memory.read_at(&mut piece[..len], at).unwrap_or(0);
            for (i, byte) in piece[..read.saturating_sub(PART_LEN - 1)].iter().enumerate() {
                if is_first[usize::from(*byte)] {
                    for (Masked(_, mask), found) in secrets.iter().zip(&mut found) {
                        *found += usize::from(piece[i..i + PART_LEN].iter().zip(mask).all(|(a, b)| *a == !b));
                    }
                }
            }
        }
    }
    found
}

/// The secrets of a handshake, and the public keys of both ends and of both messages.
struct Secrets {
    keys: [SecretKey; 2],
    ephemeral: SecretKey,
    preshared: PresharedKey,
    first: [Secret; 2],
    session: SessionKeys,
    public: [PublicKey; 4],
}

impl Secrets {
    fn masked(&self) -> Vec<Masked> {
        let ([near, far], [near_public, far_public, first, second]) = (&self.keys, &self.public);
        with_wiped_stack(|| {
            vec![
                masked("static key of the initiator", near.bytes()),
                masked("static key of the responder", far.bytes()),
                masked("ephemeral key of the initiator", self.ephemeral.bytes()),
                masked("preshared key", self.preshared.bytes()),
                masked("chained from the first message", self.first[0].bytes()),
                masked("key of the initiator's packets", self.session.sending.secret().bytes()),
                masked("key of the responder's packets", self.session.receiving.secret().bytes()),
                masked("DH es", far.agree(first).bytes()),
                masked("DH ss", far.agree(near_public).bytes()),
                masked("DH ee", self.ephemeral.agree(second).bytes()),
                masked("DH se", near.agree(second).bytes()),
                masked("DH ss of the other end", near.agree(far_public).bytes()),
            ]
        })
    }
}

/// A handshake of two gateways.
#[inline(never)]
fn handshake() -> Box<Secrets> {
    let mut system = File::open("/dev/urandom").expect("a source of randomness");
    let mut random: Random = Box::new(move |bytes| system.read_exact(bytes).expect("random bytes"));
    let (near, far) = (SecretKey::generate(&mut random), SecretKey::generate(&mut random));
    // A preshared key is read from a text.
    let preshared: PresharedKey = SecretKey::generate(&mut random).to_base64().parse().expect("a key");
    let introduction = Introduction { boot: [1; 8], time: 1 };
    let begun = Initiator::begin(&near, (&far.public(), &preshared), 1, introduction, None, &mut random);
    let (initiator, initiation) = begun.expect("an initiation");
    let responder = Responder::read(&far, &initiation).expect("authentic");
    let (theirs, first) = (responder.theirs, responder.noise.split());
    let answer = responder.answer(&preshared, (2, 1), introduction, &mut random);
    let (keys, response) = answer.expect("a response");
    let (session, _) = initiator.finish(&response).expect("authentic");
    assert!(session.sending.secret() == keys.receiving.secret());
    let second = PublicKey::from_bytes(*response[RESPONSE_HEADER..].first_chunk().expect("a key"));
    let public = [near.public(), far.public(), theirs, second];
    let ephemeral = initiator.ephemeral.clone();
    Box::new(Secrets { keys: [near, far], ephemeral, preshared, first, session, public })
}

#[test]
fn no_secret_is_left_in_memory() {
    let (sender, shown) = sync_channel(0);
    let (go_on, goes_on) = sync_channel::<()>(0);
    thread::scope(|scope| {
        // While it waits, its stack stays as the handshake has left it.
        scope.spawn(move || {
            sender.send(handshake()).expect("a receiver");
            let _ = goes_on.recv();
        });
        let secrets = shown.recv().expect("a handshake");
        let masked = secrets.masked();
        let is_there = occurrences(&masked);
        assert!(is_there[..7].iter().all(|found| *found > 0), "they are found: {is_there:?}");
        drop(secrets);
        let found = occurrences(&masked);
        let left: Vec<_> = masked.iter().zip(found).filter(|(_, found)| *found > 0).collect();
        let left: Vec<_> = left.iter().map(|(Masked(name, _), found)| format!("{name}: {found}")).collect();
        assert!(left.is_empty(), "left in memory: {left:?}");
        drop(go_on);
    });
}
