//! The handshake: Noise IKpsk2 with X25519, ChaCha20-Poly1305 and BLAKE2s, as in WireGuard, by the crate `snow`.

use snow::{Builder, HandshakeState};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::keys::{PresharedKey, PublicKey, SecretKey};
use crate::message::{
    HANDSHAKE_PAYLOAD, INITIATION_HEADER, INITIATION_LEN, MAC, NOISE_INITIATION, NOISE_RESPONSE,
    RESPONSE_HEADER, RESPONSE_LEN, initiation_header, response_header,
};

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// Both ends must speak this version of the protocol.
const PROLOGUE: &[u8] = b"headway trunk 3";
/// The preshared key is mixed into the second message.
const PSK_AT: u8 = 2;

/// What the two ends have after a handshake.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct SessionKeys {
    pub(crate) sending: [u8; 32],
    pub(crate) receiving: [u8; 32],
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
    noise: HandshakeState,
    /// Our index of the session to be.
    pub(crate) index: u32,
    /// mac1 of the initiation that was sent: a cookie reply is bound to it.
    pub(crate) mac1: [u8; MAC],
    /// Our time in it.
    pub(crate) time: u64,
}

fn builder<'a>(ours: &'a SecretKey) -> Option<Builder<'a>> {
    let params = PATTERN.parse().ok()?;
    Builder::new(params).local_private_key(ours.bytes()).ok()?.prologue(PROLOGUE).ok()
}

impl Initiator {
    /// Begins a handshake. Writes the message, without mac2; `None` if the system has no randomness.
    pub(crate) fn begin(
        ours: &SecretKey,
        (peer, preshared): (&PublicKey, &PresharedKey),
        index: u32,
        introduction: Introduction,
        cookie: Option<&[u8; MAC]>,
    ) -> Option<(Self, Vec<u8>)> {
        let builder =
            builder(ours)?.remote_public_key(peer.bytes()).ok()?.psk(PSK_AT, preshared.bytes()).ok()?;
        let mut noise = builder.build_initiator().ok()?;
        let mut message = initiation_header(index).to_vec();
        message.resize(INITIATION_LEN, 0);
        let body = &mut message[INITIATION_HEADER..INITIATION_HEADER + NOISE_INITIATION];
        noise.write_message(&introduction.bytes(), body).ok()?;
        crate::cookie::authenticate(peer, cookie, &mut message);
        let mac1 = *message[INITIATION_LEN - 2 * MAC..].first_chunk()?;
        Some((Self { noise, index, mac1, time: introduction.time }, message))
    }

    /// Reads the response: the keys, and the peer's boot identifier. A forged or damaged one changes nothing.
    pub(crate) fn finish(&mut self, response: &[u8]) -> Option<(SessionKeys, Introduction)> {
        let body = response.get(RESPONSE_HEADER..RESPONSE_HEADER + NOISE_RESPONSE)?;
        let mut payload = [0; HANDSHAKE_PAYLOAD];
        self.noise.read_message(body, &mut payload).ok()?;
        let (sending, receiving) = self.noise.dangerously_get_raw_split();
        Some((SessionKeys { sending, receiving }, Introduction::parse(&payload)))
    }
}

/// A peer's initiation, read.
pub(crate) struct Responder {
    noise: HandshakeState,
    /// Who it says it is; proven by the message.
    pub(crate) peer: PublicKey,
    pub(crate) introduction: Introduction,
}

impl Responder {
    /// Reads an initiation.
    pub(crate) fn read(ours: &SecretKey, initiation: &[u8]) -> Option<Self> {
        let mut noise = builder(ours)?.build_responder().ok()?;
        let body = initiation.get(INITIATION_HEADER..INITIATION_HEADER + NOISE_INITIATION)?;
        let mut payload = [0; HANDSHAKE_PAYLOAD];
        noise.read_message(body, &mut payload).ok()?;
        let peer = PublicKey::from_bytes(noise.get_remote_static()?.try_into().ok()?);
        Some(Self { noise, peer, introduction: Introduction::parse(&payload) })
    }

    /// Writes the response, without mac2.
    pub(crate) fn answer(
        mut self,
        preshared: &PresharedKey,
        (ours, theirs): (u32, u32),
        introduction: Introduction,
    ) -> Option<(SessionKeys, Vec<u8>)> {
        self.noise.set_psk(PSK_AT.into(), preshared.bytes()).ok()?;
        let mut message = response_header(ours, theirs).to_vec();
        message.resize(RESPONSE_LEN, 0);
        let body = &mut message[RESPONSE_HEADER..RESPONSE_HEADER + NOISE_RESPONSE];
        self.noise.write_message(&introduction.bytes(), body).ok()?;
        crate::cookie::authenticate(&self.peer, None, &mut message);
        // The initiator sends with the first key of the two.
        let (receiving, sending) = self.noise.dangerously_get_raw_split();
        Some((SessionKeys { sending, receiving }, message))
    }
}
