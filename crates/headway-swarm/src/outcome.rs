//! What a world was like.

use headway_units::Duration;

/// What a world was like that holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Packets that hosts sent.
    pub packets: u64,
    /// Bytes that programs read.
    pub bytes: u64,
    /// Connections.
    pub flows: u64,
    /// Connections that ended with an error, for a reason that is in order.
    pub failed: u64,
    /// Connections with damaged headers that no checksum saw.
    pub poisoned: u64,
    /// Bytes delivered that damage had changed unseen.
    pub wrong_bytes: u64,
    /// Packets that arrived with a readable header and a damaged payload.
    pub corrupted: u64,
    /// Segments made whole from damaged payloads.
    pub completed: u64,
    /// Special ACKs sent.
    pub special_acks: u64,
    /// Handshakes of tunnels that were completed.
    pub handshakes: u64,
    /// Forged and repeated packets that were sent.
    pub attacks: u64,
    /// Virtual time.
    pub time: Duration,
    /// Depends on every packet sent.
    pub digest: u64,
}

impl Outcome {
    /// Counts another world too.
    pub fn add(&mut self, other: &Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.flows += other.flows;
        self.failed += other.failed;
        self.poisoned += other.poisoned;
        self.wrong_bytes += other.wrong_bytes;
        self.corrupted += other.corrupted;
        self.completed += other.completed;
        self.special_acks += other.special_acks;
        self.handshakes += other.handshakes;
        self.attacks += other.attacks;
        self.time += other.time;
        // In whatever order.
        self.digest = self.digest.wrapping_add(other.digest);
    }
}
