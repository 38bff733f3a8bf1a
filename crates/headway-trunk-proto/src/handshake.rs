//! The handshake: Noise IKpsk2 with X25519, ChaCha20-Poly1305 and BLAKE2s, as in WireGuard.

#[cfg(all(test, target_os = "linux"))]
mod residue;

use crate::key::Key;
use crate::keys::{PresharedKey, PublicKey, SecretKey};
use crate::message::{
    HANDSHAKE_PAYLOAD, INITIATION_HEADER, INITIATION_LEN, MAC, NOISE_INITIATION, NOISE_RESPONSE,
    RESPONSE_HEADER, RESPONSE_LEN, initiation_header, response_header,
};
use crate::noise::Noise;
use crate::secret::{Secret, with_wiped_stack};
use crate::tunnel::Random;

/// Where the parts of a Noise message are: the ephemeral key is at its start, the sealed static key of an initiation behind it.
const EPHEMERAL: usize = 32;
const STATIC: usize = EPHEMERAL + 32 + 16;

/// What the two ends have after a handshake.
pub(crate) struct SessionKeys {
    pub(crate) sending: Key,
    pub(crate) receiving: Key,
}

impl SessionKeys {
    pub(crate) fn new(sending: Secret, receiving: Secret) -> Self {
        Self { sending: Key::new(sending), receiving: Key::new(receiving) }
    }
}

/// A process's identifier, random at each start: a peer that has another one has been restarted.
pub(crate) type Boot = [u8; 8];

/// What a handshake message carries: its sender's process, and its sender's time, in nanoseconds since 1970. The time
/// orders initiations: a replayed one is older than the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Introduction {
    pub(crate) boot: Boot,
    pub(crate) time: u64,
}

impl Introduction {
    fn bytes(self) -> [u8; HANDSHAKE_PAYLOAD] {
        let mut bytes = [0; HANDSHAKE_PAYLOAD];
        bytes[..8].copy_from_slice(&self.boot);
        bytes[8..].copy_from_slice(&self.time.to_be_bytes());
        bytes
    }

    fn parse(bytes: &[u8; HANDSHAKE_PAYLOAD]) -> Self {
        let [boot, time] = [0, 8].map(|at| std::array::from_fn(|i| bytes[at + i]));
        Self { boot, time: u64::from_be_bytes(time) }
    }
}

/// Our initiation, until its response arrives.
pub(crate) struct Initiator {
    noise: Noise,
    ours: SecretKey,
    ephemeral: SecretKey,
    preshared: PresharedKey,
    /// Our index of the session to be.
    pub(crate) index: u32,
    /// mac1 of the initiation that was sent: a cookie reply is bound to it.
    pub(crate) mac1: [u8; MAC],
    /// Our time in it.
    pub(crate) time: u64,
}

impl Initiator {
    /// Begins a handshake with an ephemeral key from `random`. Writes the message, with mac2 if there is a cookie.
    pub(crate) fn begin(
        ours: &SecretKey,
        (peer, preshared): (&PublicKey, &PresharedKey),
        index: u32,
        introduction: Introduction,
        cookie: Option<&[u8; MAC]>,
        random: &mut Random,
    ) -> Option<(Self, Vec<u8>)> {
        let mut message = initiation_header(index).to_vec();
        message.resize(INITIATION_LEN, 0);
        let body = &mut message[INITIATION_HEADER..INITIATION_HEADER + NOISE_INITIATION];
        let (ephemeral, noise) = with_wiped_stack(|| {
            let mut noise = Noise::new(peer);
            let ephemeral = SecretKey::generate(random);
            let public = ephemeral.public();
            body[..EPHEMERAL].copy_from_slice(public.bytes());
            noise.mix_ephemeral(&public);
            let key = noise.mix_key(ephemeral.agree(peer).bytes());
            body[EPHEMERAL..][..32].copy_from_slice(ours.public().bytes());
            noise.seal(key, &mut body[EPHEMERAL..STATIC])?;
            let key = noise.mix_key(ours.agree(peer).bytes());
            body[STATIC..][..HANDSHAKE_PAYLOAD].copy_from_slice(&introduction.bytes());
            noise.seal(key, &mut body[STATIC..])?;
            Some((ephemeral, noise))
        })?;
        crate::cookie::authenticate(peer, cookie, &mut message);
        let mac1 = *message[INITIATION_LEN - 2 * MAC..].first_chunk()?;
        let (ours, preshared) = (ours.clone(), preshared.clone());
        Some((Self { noise, ours, ephemeral, preshared, index, mac1, time: introduction.time }, message))
    }

    /// Reads the response: the keys, and the peer's boot identifier. A forged or damaged one changes nothing.
    pub(crate) fn finish(&self, response: &[u8]) -> Option<(SessionKeys, Introduction)> {
        let body = response.get(RESPONSE_HEADER..RESPONSE_HEADER + NOISE_RESPONSE)?;
        let (theirs, sealed) = body.split_first_chunk::<EPHEMERAL>()?;
        with_wiped_stack(|| {
            let (mut noise, theirs) = (self.noise.clone(), PublicKey::from_bytes(*theirs));
            noise.mix_ephemeral(&theirs);
            noise.mix_key(self.ephemeral.agree(&theirs).bytes());
            noise.mix_key(self.ours.agree(&theirs).bytes());
            let key = noise.mix_preshared(&self.preshared);
            let introduction = Introduction::parse(&noise.open(key, sealed)?);
            let [sending, receiving] = noise.split();
            Some((SessionKeys::new(sending, receiving), introduction))
        })
    }
}

/// A peer's initiation, read.
pub(crate) struct Responder {
    noise: Noise,
    /// The ephemeral key of its sender.
    theirs: PublicKey,
    /// Who it says it is; proven by the message.
    pub(crate) peer: PublicKey,
    pub(crate) introduction: Introduction,
}

impl Responder {
    /// Reads an initiation.
    pub(crate) fn read(ours: &SecretKey, initiation: &[u8]) -> Option<Self> {
        let body = initiation.get(INITIATION_HEADER..INITIATION_HEADER + NOISE_INITIATION)?;
        let (theirs, sealed) = body.split_first_chunk::<EPHEMERAL>()?;
        let (sealed_static, sealed_payload) = sealed.split_at(STATIC - EPHEMERAL);
        with_wiped_stack(|| {
            let (mut noise, theirs) = (Noise::new(&ours.public()), PublicKey::from_bytes(*theirs));
            noise.mix_ephemeral(&theirs);
            let key = noise.mix_key(ours.agree(&theirs).bytes());
            let peer = PublicKey::from_bytes(noise.open(key, sealed_static)?);
            let key = noise.mix_key(ours.agree(&peer).bytes());
            let introduction = Introduction::parse(&noise.open(key, sealed_payload)?);
            Some(Self { noise, theirs, peer, introduction })
        })
    }

    /// Writes the response, without mac2, with an ephemeral key from `random`.
    pub(crate) fn answer(
        mut self,
        preshared: &PresharedKey,
        (ours, theirs): (u32, u32),
        introduction: Introduction,
        random: &mut Random,
    ) -> Option<(SessionKeys, Vec<u8>)> {
        let mut message = response_header(ours, theirs).to_vec();
        message.resize(RESPONSE_LEN, 0);
        let body = &mut message[RESPONSE_HEADER..RESPONSE_HEADER + NOISE_RESPONSE];
        let (noise, peer) = (&mut self.noise, &self.peer);
        let keys = with_wiped_stack(|| {
            let ephemeral = SecretKey::generate(random);
            let public = ephemeral.public();
            body[..EPHEMERAL].copy_from_slice(public.bytes());
            noise.mix_ephemeral(&public);
            noise.mix_key(ephemeral.agree(&self.theirs).bytes());
            noise.mix_key(ephemeral.agree(peer).bytes());
            let key = noise.mix_preshared(preshared);
            body[EPHEMERAL..][..HANDSHAKE_PAYLOAD].copy_from_slice(&introduction.bytes());
            noise.seal(key, &mut body[EPHEMERAL..])?;
            // The initiator sends with the first key of the two.
            let [receiving, sending] = noise.split();
            Some(SessionKeys::new(sending, receiving))
        })?;
        crate::cookie::authenticate(peer, None, &mut message);
        Some((keys, message))
    }
}
