//! What routers and hosts say of our segments.

use headway_wire::SeqNumber;
use headway_wire::icmp::IcmpKind;

use super::{Connection, Context, State};
use crate::ConnectionError;
use crate::event::{Event, Observer};

impl Connection {
    /// Whether `seq` has been sent and is not acknowledged (RFC 5927, 4.1).
    pub(crate) fn is_in_flight(&self, seq: SeqNumber) -> bool {
        self.snd.una.le(seq) && seq.lt(self.snd.nxt)
    }

    /// The path's MTU became known (RFC 8201, RFC 1191), or is to be found out anew.
    pub(crate) fn path_mtu_changed<O: Observer>(&mut self, cx: &mut Context<'_, O>) {
        let mtu = cx.path.mtu;
        cx.emit(|| Event::PathMtu { mtu });
        if self.snd.mss == 0 {
            return;
        }
        let before = self.snd.mss;
        self.update_mss(cx, false);
        if self.snd.mss >= before {
            return;
        }
        // Segments in flight that are too long are lost to the path, not to congestion: cut them
        // and send them again (RFC 1191, 6.4).
        let mut index = 0;
        while index < self.snd.queue.len() {
            let sent = self.snd.queue.get(index);
            if sent.payload_len() > self.snd.mss {
                self.snd.queue.split(index, self.snd.mss);
                self.snd.queue.mark_damaged(index);
                self.snd.queue.mark_damaged(index + 1);
                let seqs = [index, index + 1].map(|i| self.snd.queue.get(i).seq);
                seqs.into_iter().for_each(|seq| self.resends.wait(seq));
            }
            index += 1;
        }
    }

    /// A router or the peer's host says that a segment in flight cannot be brought further.
    ///
    /// RFC 1122, 4.2.3.9 has TCP abort on "hard error conditions", RFC 5927, 5.2 advises to take them
    /// for soft ones "when they are received for connections in any of the synchronized states":
    /// anybody who guesses a number can send them. What is being opened has nothing to lose.
    pub(crate) fn unreachable<O: Observer>(&mut self, cx: &mut Context<'_, O>, kind: IcmpKind) {
        cx.emit(|| Event::Icmp(kind));
        if kind.is_hard() && self.state == State::SynSent {
            self.fail(cx, ConnectionError::Unreachable(kind));
        }
    }
}
