//! The host under test with its virtual clock.

use std::collections::VecDeque;

use headway_tcp::{Host, HostConfig, Notification, Transmit};
use headway_units::{Duration, Instant};
use headway_wire::{ChecksumTrust, Received, ip::Datagram};
use libc::c_int;

use crate::config::Config;
use crate::descriptors::Descriptors;
use crate::errno::Result;
use crate::info::Phases;
use crate::offload::Offload;
use crate::pipes::Pipes;

/// The initial time of the clock: not zero, as on a running host.
const START: Duration = Duration::from_secs(1_000_000);

/// A sent packet and its time.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) packet: Vec<u8>,
}

pub(crate) struct Stack {
    pub(crate) config: Config,
    pub(crate) host: Host<Phases>,
    pub(crate) now: Instant,
    pub(crate) descriptors: Descriptors,
    pub(crate) pipes: Pipes,
    outbox: VecDeque<Sent>,
    offload: Offload,
    buffer: Vec<u8>,
}

impl Stack {
    pub(crate) fn new(config: Config) -> Self {
        let addresses = config.local.to_vec();
        // A fixed secret, so that every run has the same sequence numbers.
        let secret = *b"packetdrill runs";
        let host = HostConfig { addresses, secret, max_connections: 1 << 16 };
        Self {
            config,
            host: Host::with_observer(host, Phases::default()),
            now: Instant::ZERO + START,
            descriptors: Descriptors::default(),
            pipes: Pipes::default(),
            outbox: VecDeque::new(),
            offload: Offload::default(),
            buffer: vec![0; usize::from(u16::MAX)],
        }
    }

    /// A packet arrives from the network.
    pub(crate) fn inject(&mut self, packet: &[u8]) {
        if let Ok(datagram) = Datagram::parse(packet) {
            // The stack is the only host on this network.
            self.host.add_address(datagram.header.dst);
        }
        self.host.receive(self.now, &Received::parse(packet, ChecksumTrust::None));
    }

    /// The oldest sent packet that was not taken yet.
    pub(crate) fn take_sent(&mut self) -> Option<Sent> {
        self.outbox.pop_front()
    }

    /// The next deadline.
    pub(crate) fn next_deadline(&mut self) -> Option<Instant> {
        self.host.next_deadline()
    }

    /// Handles expired timers.
    pub(crate) fn expire_timers(&mut self) {
        self.host.handle_timeout(self.now);
        self.flush();
    }

    /// Sends pending packets and counts events of connections.
    pub(crate) fn flush(&mut self) {
        let before = self.outbox.len();
        while let Some(Transmit { len, .. }) = self.host.poll_transmit(self.now, &mut self.buffer) {
            self.outbox.push_back(Sent { at: self.now, packet: self.buffer[..len].to_vec() });
        }
        if self.config.offload {
            self.offload.mark(self.outbox.range_mut(before..).map(|sent| &mut sent.packet));
        }
        while let Some((id, notification)) = self.host.poll_notification() {
            let Some(socket) = self.descriptors.owner(id) else { continue };
            match notification {
                Notification::Readable | Notification::Urgent => socket.event_counts.input += 1,
                Notification::Writable => socket.event_counts.output += 1,
                _ => {
                    socket.event_counts.input += 1;
                    socket.event_counts.output += 1;
                }
            }
        }
    }

    pub(crate) fn set_nonblocking(&mut self, fd: c_int, on: bool) -> Result<()> {
        self.descriptors.get_mut(fd)?.nonblocking = on;
        Ok(())
    }
}
