//! Datagrams that the kernel has merged (UDP's receive offload), taken apart.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use socket2::Socket;

use crate::Clock;
use crate::carrier::batch::Inbox;
use crate::sys::{self, BATCH, Control};

/// The longest message: that of the longest IP packet.
const LONGEST: usize = 65_535;

/// Messages of a socket, each of one datagram, or of several that arrived one after the other with the same addresses and marks and
/// have the same length, except for the last, which may be shorter. The kernel merges those alone that have a checksum, which it
/// has verified.
pub(super) struct Merged {
    messages: Inbox,
    /// The message and the byte of it from which on datagrams were not taken.
    next: (usize, usize),
}

impl Merged {
    /// Has the kernel merge what arrives at `socket`.
    pub(super) fn new(socket: &Socket) -> Self {
        if let Err(error) = sys::set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1) {
            tracing::debug!(%error, "datagrams arrive one by one");
        }
        Self { messages: Inbox::of(BATCH, 0, LONGEST), next: (0, 0) }
    }

    /// Whether all datagrams were taken.
    pub(super) fn is_empty(&self) -> bool {
        self.next.0 == self.messages.len()
    }

    /// Reads the next messages.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, clock: &Clock) -> io::Result<()> {
        self.next = (0, 0);
        self.messages.receive(socket, clock).map(|_| ())
    }

    /// Replaces what `inbox` has by the next datagrams, as many as there is room for.
    pub(super) fn take(&mut self, inbox: &mut Inbox) {
        inbox.clear();
        while self.next.0 < self.messages.len() {
            let (index, start) = self.next;
            let (message, at, name) = self.messages.packet(index);
            let control = self.messages.control(index);
            let len = control.merged_len().unwrap_or(message.len()).max(1);
            for start in (start..message.len().max(1)).step_by(len) {
                let datagram = &message[start..message.len().min(start + len)];
                if !inbox.add(datagram, (at, name, control)) {
                    self.next.1 = start;
                    return;
                }
            }
            self.next = (index + 1, 0);
        }
    }
}

impl Control {
    /// The length of the datagrams that the kernel has merged.
    fn merged_len(&self) -> Option<usize> {
        let value = self.find(libc::SOL_UDP, libc::UDP_GRO)?;
        usize::try_from(i32::from_ne_bytes(*value.first_chunk()?)).ok()
    }
}

#[cfg(test)]
mod tests {
    use headway_wire::Ecn;

    use super::*;
    use crate::carrier::batch::Outbox;
    use crate::carrier::udp::socket::{open_socket, set_unchecked};
    use crate::sys::Name;

    /// Trains, one that ends with a shorter datagram, another with other marks, and datagrams alone, of which one is empty and one is longer
    /// than the inbox has room for: more than a batch. All come out one by one, with their marks and the place they are from.
    #[test]
    fn merged_datagrams_are_taken_apart() {
        let [from, to] =
            [(); 2].map(|()| open_socket(([127, 0, 0, 1], 0).into(), None).expect("a free port"));
        set_unchecked(&from, true, false).expect("an option");
        let mut merged = Merged::new(&to);
        let place = |socket: &Socket| socket.local_addr().ok()?.as_socket();
        let name = Name::of(place(&to).expect("an address"));
        let marked = Control::NONE.and_int(libc::IPPROTO_IP, libc::IP_TOS, Ecn::Ce as i32);
        let mut sent = Vec::new();
        for train in [[700; 40].as_slice(), &[700; 30], &[500, 500, 499], &[0], &[1200], &[600; 50]] {
            let mut outbox = Outbox::new(0, 1200).in_trains();
            let control = if train.len() == 30 { marked } else { Control::NONE };
            for &len in train {
                outbox.slot().expect("room")[..len].fill(sent.len() as u8);
                outbox.queue_with((0, len), name, control);
                let marks = if train.len() == 30 { Ecn::Ce } else { Ecn::NotEct };
                sent.push((vec![sent.len() as u8; len.min(1000)], marks));
            }
            assert!(outbox.send(from.as_fd(), true).expect("a socket"));
        }

        let clock = Clock::new();
        let mut inbox = Inbox::new(2, 1000);
        let (mut arrived, mut messages) = (Vec::new(), 0);
        loop {
            if merged.is_empty() {
                match merged.receive(to.as_fd(), &clock) {
                    Ok(()) => messages += merged.messages.len(),
                    Err(error) => {
                        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                        break;
                    }
                }
            }
            merged.take(&mut inbox);
            assert!(inbox.len() > 0);
            for index in 0..inbox.len() {
                let (datagram, _, name) = inbox.packet(index);
                assert_eq!(name.place(), place(&from));
                arrived.push((datagram.to_vec(), inbox.control(index).marks().1));
            }
        }
        assert_eq!(messages, 6, "the kernel passed each train as one");
        assert_eq!(arrived, sent);
        assert!(merged.is_empty());
    }
}
