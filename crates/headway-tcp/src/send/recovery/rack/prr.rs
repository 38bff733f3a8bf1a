//! Proportional rate reduction (RFC 6937, with the safe ACKs of RFC 9937).

/// How much may be sent during one recovery, so that the reduction is spread over it.
pub(super) struct Prr {
    /// "RecoverFS": octets in flight when recovery began.
    flight: u64,
    /// "prr_delivered" and "prr_out".
    delivered: u64,
    out: u64,
    /// What is left of the last "sndcnt".
    room: u32,
}

impl Prr {
    pub(super) fn new(flight: u32) -> Self {
        Self { flight: u64::from(flight.max(1)), delivered: 0, out: 0, room: 0 }
    }

    /// What may be sent now, bytes.
    pub(super) fn room(&self) -> u32 {
        self.room
    }

    /// An ACK delivered `delivered` bytes. `safe`: it moved `SND.UNA` and showed no new loss.
    pub(super) fn on_ack(&mut self, delivered: u32, pipe: u32, ssthresh: u32, mss: u32, safe: bool) {
        self.delivered += u64::from(delivered);
        let count = if pipe > ssthresh {
            // "sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out"
            (self.delivered * u64::from(ssthresh)).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            // "sndcnt = MAX(prr_delivered - prr_out, DeliveredData); if (safeACK) sndcnt += SMSS;
            // sndcnt = MIN(ssthresh - pipe, sndcnt)"
            let owed = self.delivered.saturating_sub(self.out).max(u64::from(delivered));
            (owed + if safe { u64::from(mss) } else { 0 }).min(u64::from(ssthresh - pipe))
        };
        // "Force a fast retransmit upon entering recovery".
        let min = if self.out == 0 { u64::from(mss) } else { 0 };
        self.room = u32::try_from(count.max(min)).unwrap_or(u32::MAX);
    }

    pub(super) fn on_sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
        self.room = self.room.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, section 4: twenty segments in flight, one lost, the window halved: one segment
    /// goes for every two that arrive.
    #[test]
    fn sends_in_proportion_to_what_arrives() {
        let mut prr = Prr::new(20_000);
        let (mut pipe, mut sent) = (19_000, 0);
        for _ in 0..19 {
            pipe -= 1000;
            prr.on_ack(1000, pipe, 10_000, 1000, false);
            while prr.room() >= 1000 {
                prr.on_sent(1000);
                pipe += 1000;
                sent += 1;
            }
        }
        assert_eq!((sent, pipe), (10, 10_000));
    }

    /// "Slow start reduction bound": after heavy losses the pipe grows back to the threshold by at
    /// most one segment for an ACK beyond what it delivered.
    #[test]
    fn grows_back_after_heavy_losses() {
        let mut prr = Prr::new(20_000);
        let mut pipe = 4_000;
        for _ in 0..4 {
            pipe -= 1000;
            prr.on_ack(1000, pipe, 10_000, 1000, true);
            while prr.room() >= 1000 {
                prr.on_sent(1000);
                pipe += 1000;
            }
        }
        assert_eq!(pipe, 8_000, "one more each time");
    }
}
