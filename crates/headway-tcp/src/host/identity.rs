//! Numbers that an outsider cannot guess, derived from one secret.

use core::hash::Hasher;
use core::net::{IpAddr, SocketAddr};

use headway_units::Instant;
use headway_wire::SeqNumber;
use siphasher::sip::SipHasher24;

use crate::connection::Endpoints;

/// Makes initial sequence numbers, timestamp offsets and port offsets.
#[derive(Clone)]
pub(super) struct Identity {
    secret: [u8; 16],
}

/// What a number is for, so that no number reveals another.
#[derive(Clone, Copy)]
enum Purpose {
    Sequence = 1,
    Stamp = 2,
    Port = 3,
    Seed = 4,
    Cookie = 5,
}

impl Identity {
    pub(super) fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// RFC 6528, 3: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)", M being a
    /// timer of 4 microseconds.
    pub(super) fn initial_sequence(&self, ends: &Endpoints, now: Instant) -> SeqNumber {
        let timer = (now.as_nanos() / 4_000) as u32;
        SeqNumber(timer.wrapping_add(self.hash(Purpose::Sequence, ends) as u32))
    }

    /// RFC 7323, 5.4: "a random offset may be added to the timestamp clock on a per-connection
    /// basis".
    pub(super) fn tsval_offset(&self, ends: &Endpoints) -> u32 {
        self.hash(Purpose::Stamp, ends) as u32
    }

    /// For what connections are to do at different times.
    pub(super) fn seed(&self, ends: &Endpoints) -> u64 {
        self.hash(Purpose::Seed, ends)
    }

    /// RFC 6056, 3.3.3: where the search for a free port towards `remote` starts.
    pub(super) fn port_offset(&self, local: IpAddr, remote: SocketAddr) -> u32 {
        let ends = Endpoints { local: SocketAddr::new(local, 0), remote };
        self.hash(Purpose::Port, &ends) as u32 >> 1
    }

    /// For SYN cookies: of the ends and `words`.
    pub(super) fn cookie(&self, ends: &Endpoints, words: &[u32]) -> u32 {
        let mut hasher = self.hasher();
        hasher.write_u64(self.hash(Purpose::Cookie, ends));
        for word in words {
            hasher.write_u32(*word);
        }
        hasher.finish() as u32
    }

    /// A hasher for tables whose keys come from the network.
    pub(super) fn hasher(&self) -> SipHasher24 {
        SipHasher24::new_with_key(&self.secret)
    }

    fn hash(&self, purpose: Purpose, ends: &Endpoints) -> u64 {
        let mut hasher = self.hasher();
        hasher.write_u8(purpose as u8);
        for end in [ends.local, ends.remote] {
            match end.ip() {
                IpAddr::V4(ip) => hasher.write(&ip.octets()),
                IpAddr::V6(ip) => hasher.write(&ip.octets()),
            }
            hasher.write(&end.port().to_be_bytes());
        }
        hasher.finish()
    }
}
