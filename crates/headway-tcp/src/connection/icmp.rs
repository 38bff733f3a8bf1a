//! What routers and hosts say of our segments.

use headway_wire::SeqNumber;
use headway_wire::icmp::IcmpKind;

use super::{Connection, Context, State};
use crate::ConnectionError;
use crate::event::{Event, Observer};

impl Connection {
    /// Whether a segment that begins with `seq` has been sent and is not acknowledged. RFC 5927, 4.1 asks only for
    /// a number in flight; a router, however, quotes the beginning of a segment, and of a large window a number is
    /// soon guessed.
    pub(crate) fn is_in_flight(&self, seq: SeqNumber) -> bool {
        self.snd.is_in_flight(seq)
    }

    /// The path's MTU became known (RFC 8201, RFC 1191), or is to be found out anew.
    pub(crate) fn path_mtu_changed<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let mtu = cx.path.largest_packet();
        cx.emit(|| Event::PathMtu { mtu });
        if self.snd.mss() > 0 {
            self.update_mss(cx, false);
        }
    }

    /// A router or the peer's host says that a segment in flight cannot be brought further.
    ///
    /// RFC 1122, 4.2.3.9 has TCP abort on "hard error conditions", RFC 5927, 5.2 advises to take them
    /// for soft ones "when they are received for connections in any of the synchronized states":
    /// any host that guesses a number can send them. What is being opened has nothing to lose.
    pub(crate) fn unreachable<O: Observer>(&mut self, cx: &mut Context<'_, O>, kind: IcmpKind) {
        cx.emit(|| Event::Icmp(kind));
        match self.state {
            State::SynSent if kind.is_hard() => self.fail(cx, ConnectionError::Unreachable(kind)),
            State::SynSent => self.opening.set_soft_error(kind),
            _ => {}
        }
    }
}
