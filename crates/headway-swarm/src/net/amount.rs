//! How much is sent: of data to bring what programs wrote, and to addresses that have not proven that anyone is there.

use std::collections::BTreeMap;
use std::net::SocketAddr;

/// What may be sent to an address for each byte that came from there (RFC 9000, 8.1). RFC 9293 has a SYN-ACK retransmitted, so
/// a host without a tunnel sends more of them.
const MOST_SEALED: u64 = 3;
const MOST_PLAIN: u64 = 13;
/// Bytes that may be sent for each one that programs wrote, and for each one that was lost or damaged on the way.
const PER_WRITTEN: u64 = 3;
const PER_LOST: u64 = 8;
/// And whatever happens, for each connection: probes of a closed window, tails sent twice.
const ANYHOW: u64 = 400_000;

/// What was sent.
#[derive(Default)]
pub(super) struct Amounts {
    /// Bytes of data, and of those what was dropped or damaged.
    pub(super) data: u64,
    pub(super) lost: u64,
    /// Bytes from addresses of no host, and to them.
    unproven: BTreeMap<SocketAddr, (u64, u64)>,
}

impl Amounts {
    /// Something arrives that says it is from an address that no host has.
    pub(super) fn count_from(&mut self, address: SocketAddr, bytes: usize) {
        self.unproven.entry(address).or_default().0 += bytes as u64;
    }

    /// Something is sent to such an address.
    pub(super) fn count_to(
        &mut self,
        address: SocketAddr,
        bytes: usize,
        is_sealed: bool,
    ) -> Result<(), String> {
        let (received, sent) = self.unproven.entry(address).or_default();
        *sent += bytes as u64;
        let most = if is_sealed { MOST_SEALED } else { MOST_PLAIN };
        if *sent > most * *received {
            return Err(format!("{sent} bytes were sent to {address}, from where {received} came"));
        }
        Ok(())
    }

    /// Checks the data that was sent for what programs wrote.
    pub(super) fn check(&self, written: u64, flows: u64) -> Result<(), String> {
        let Self { data, lost, .. } = self;
        let most = PER_WRITTEN * written + PER_LOST * lost + ANYHOW * flows;
        if *data > most {
            return Err(format!(
                "{data} bytes of data were sent for {written}, of which {lost} were lost; {most} at most"
            ));
        }
        Ok(())
    }
}
