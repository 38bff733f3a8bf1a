//! What the wire shows of one side of a connection, and the rules that its packets keep.

use headway_test_fixture::pattern::Pattern;
use headway_units::Instant;
use headway_wire::{Segment, SeqNumber, TcpFlags};

/// Damage to a payload that no checksum saw.
pub(crate) struct Wrong {
    /// Where in the peer's stream it begins.
    at: i64,
    bytes: Vec<u8>,
}

/// One side as the wire shows it.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Its initial sequence number, once its SYN was seen.
    pub(crate) iss: Option<SeqNumber>,
    /// The peer's in SYN-ACKs that arrived, and the one that was acknowledged first: a host that answers with cookies has another in each.
    offered: Vec<SeqNumber>,
    accepted: Option<SeqNumber>,
    /// The shift of its window scale option.
    shift: Option<u8>,
    /// The end of what it has sent.
    nxt: SeqNumber,
    pub(crate) fin_sent: bool,
    /// The furthest right edge that the peer offered it, and the highest ACK number it received.
    edge: Option<SeqNumber>,
    una: Option<SeqNumber>,
    /// The ACK number and the right edge that it sent last.
    told: Option<(SeqNumber, SeqNumber)>,
    /// Which bytes of the peer's stream have arrived here, and how many without a gap.
    have: Vec<bool>,
    contiguous: usize,
    /// Where the peer's FIN is, once it has arrived.
    fin_at: Option<usize>,
    pub(crate) wrong: Vec<Wrong>,
    pub(crate) syns: u32,
    pub(crate) first_syn: Instant,
    /// It answered an old SYN after its connection was settled.
    pub(crate) ghosts: bool,
    /// An attempt with another initial sequence number ended before.
    pub(crate) gave_up: bool,
    pub(crate) resets_arrived: u32,
    /// When it last sent what calls for an answer.
    pub(crate) last_asked: Instant,
    /// When anything intact arrived last, and when something new was acknowledged last.
    pub(crate) last_arrival: Instant,
    pub(crate) last_advance: Instant,
    /// When it lately answered a mere ACK, itself an answer, with another.
    pub(crate) answers: Vec<Instant>,
    /// Segments with data or FIN sent, repeats included.
    pub(crate) data_sent: usize,
}

/// What a segment turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Ordinary,
    /// It belongs to a connection that no program knows.
    Ghost,
    KeepAlive,
}

/// What the program of this side has done so far.
pub(crate) struct Program {
    pub(crate) content: Pattern,
    pub(crate) written: usize,
    pub(crate) closed: bool,
}

/// Further apart than this two sequence numbers belong to different connections.
const FAR: u32 = 1 << 30;

fn near(a: SeqNumber, b: SeqNumber) -> bool {
    (a - b).unsigned_abs() < FAR
}

impl Ledger {
    /// The right edge that `segment`, sent by a side with shift `shift`, offers.
    fn offered(segment: &Segment<'_>, shift: u8) -> SeqNumber {
        let shift = if segment.tcp.flags.contains(TcpFlags::SYN) { 0 } else { shift };
        segment.tcp.ack + (u32::from(segment.tcp.window) << shift)
    }

    fn shifts(&self, peer: &Self) -> u8 {
        match (self.shift, peer.shift) {
            (Some(ours), Some(_)) => ours.min(14),
            _ => 0,
        }
    }

    /// This side sends a SYN. Says whether it is one of the connection that is known.
    pub(crate) fn syn_sent(&mut self, segment: &Segment<'_>, settled: bool, now: Instant) -> Role {
        let seq = segment.tcp.seq;
        if self.iss.is_some_and(|iss| iss != seq) {
            if settled {
                self.ghosts = true;
                return Role::Ghost;
            }
            // An earlier attempt failed before any program knew of it.
            *self = Self { gave_up: true, ..Self::default() };
        }
        self.iss = Some(seq);
        self.shift = segment.options.window_scale;
        if self.syns == 0 {
            self.nxt = seq + 1;
            self.first_syn = now;
        }
        self.syns += 1;
        self.last_asked = now;
        Role::Ordinary
    }

    /// The initial sequence numbers of this side and of the peer.
    fn initial(&self, peer: &Self) -> Option<(SeqNumber, SeqNumber)> {
        peer.accepted.or(self.iss).zip(self.accepted.or(peer.iss))
    }

    /// This side sends a segment without SYN and RST: is it one that it may send?
    /// `keep_alive_expired`: that timer just has.
    pub(crate) fn sent(
        &mut self,
        segment: &Segment<'_>,
        program: &Program,
        peer: &Self,
        now: Instant,
        keep_alive_expired: bool,
    ) -> Result<Role, String> {
        let mut offered = self.offered.iter().copied();
        self.accepted = self.accepted.or_else(|| offered.find(|&iss| segment.tcp.ack == iss + 1));
        let Some((iss, peer_iss)) = self.initial(peer) else { return Ok(Role::Ghost) };
        if self.iss.replace(iss) != Some(iss) {
            self.nxt = iss + 1;
        }
        let tcp = &segment.tcp;
        if !near(tcp.seq, iss) || !near(tcp.ack, peer_iss) {
            return Ok(Role::Ghost);
        }
        let fin = tcp.flags.contains(TcpFlags::FIN);
        let at = i64::from(tcp.seq - (iss + 1));
        let len = segment.payload.len();
        let role = if len > 0 || fin {
            self.check_text(segment, at, program)?;
            self.last_asked = now;
            let end = tcp.seq + segment.sequence_len();
            if self.edge.is_some_and(|edge| end.gt(edge + 1)) {
                return Err(format!("sends up to {at}+{len}, {:?} beyond the peer's window", self.edge));
            }
            self.nxt = self.nxt.max(end);
            self.fin_sent |= fin;
            Role::Ordinary
        } else if tcp.seq + 1 == self.nxt
            && keep_alive_expired
            // Not an ACK that stays below a closed window.
            && self.edge.is_some_and(|edge| edge.ge(self.nxt))
        {
            if self.una.is_some_and(|una| una.lt(self.nxt)) {
                // RFC 9293, 3.8.4: "Keep-alive packets MUST only be sent when no sent data is
                // outstanding" (MUST-26).
                return Err("sends a keep-alive while data is outstanding".into());
            }
            self.last_asked = now;
            Role::KeepAlive
        } else if tcp.seq.gt(self.nxt) {
            return Err(format!("an ACK at {at}, beyond SND.NXT"));
        } else {
            Role::Ordinary
        };
        self.check_ack(segment, peer, peer_iss)?;
        Ok(role)
    }

    fn check_text(&self, segment: &Segment<'_>, at: i64, program: &Program) -> Result<(), String> {
        let end = at + segment.payload.len() as i64;
        if at < 0 || end > program.written as i64 {
            return Err(format!("sends {at}..{end}, but only {} bytes were written", program.written));
        }
        if let Some(place) = program.content.difference(at as usize, segment.payload) {
            return Err(format!("sends byte {place} as it never was"));
        }
        if segment.tcp.seq.gt(self.nxt) {
            return Err(format!("sends {at}..{end} and leaves a gap before it"));
        }
        let fin = segment.tcp.flags.contains(TcpFlags::FIN);
        if fin && !(program.closed && end == program.written as i64) {
            return Err(format!("sends FIN at {end}; {} bytes were written", program.written));
        }
        Ok(())
    }

    fn check_ack(&mut self, segment: &Segment<'_>, peer: &Self, peer_iss: SeqNumber) -> Result<(), String> {
        let ack = segment.tcp.ack;
        let fin = u32::from(self.fin_at.is_some_and(|fin| fin <= self.contiguous));
        let arrived = peer_iss + (1 + self.contiguous as u32 + fin);
        if ack.gt(arrived) {
            return Err(format!("acknowledges {} bytes that never arrived", ack - arrived));
        }
        let edge = Self::offered(segment, self.shifts(peer));
        if let Some((last, right)) = self.told {
            if ack.lt(last) {
                return Err(format!("RCV.NXT moves back by {}", last - ack));
            }
            // RFC 9293, 3.8.6: "a TCP receiver SHOULD NOT shrink the window". By less than a unit of a
            // scaled field it may (RFC 7323, 2.4).
            if (edge + (1 << self.shifts(peer))).le(right) {
                return Err(format!("the window's right edge moves left by {}", right - edge));
            }
        }
        self.told = Some((ack, self.told.map_or(edge, |(_, right)| edge.max(right))));
        for &(start, end) in segment.options.sack.as_slice() {
            let (from, to) = (start - (peer_iss + 1), end - (peer_iss + 1));
            // Nothing may be claimed that is not held; a FIN that has arrived counts.
            let claimed = [from, (from + to) / 2, to - 1];
            let held = |&at: &i32| {
                usize::try_from(at)
                    .is_ok_and(|at| self.have.get(at) == Some(&true) || self.fin_at == Some(at))
            };
            if from >= to || !claimed.iter().all(held) {
                return Err(format!("SACK block {from}..{to} of bytes that never arrived"));
            }
        }
        Ok(())
    }

    /// A segment of the peer arrives intact here.
    pub(crate) fn arrived(&mut self, segment: &Segment<'_>, peer: &Self, now: Instant) {
        self.last_arrival = now;
        let tcp = &segment.tcp;
        if tcp.flags.contains(TcpFlags::RST) {
            self.resets_arrived += 1;
            return;
        }
        if tcp.flags.contains(TcpFlags::SYN | TcpFlags::ACK) && self.iss.is_some_and(|iss| tcp.ack == iss + 1)
        {
            self.offered.push(tcp.seq);
        }
        let Some((iss, peer_iss)) = self.initial(peer) else { return };
        if !near(tcp.seq, peer_iss) {
            return;
        }
        if tcp.flags.contains(TcpFlags::ACK) && near(tcp.ack, iss) {
            let edge = Self::offered(segment, peer.shifts(self));
            self.edge = Some(self.edge.map_or(edge, |known| known.max(edge)));
            if self.una.is_none_or(|una| tcp.ack.gt(una)) {
                self.una = Some(tcp.ack);
                self.last_advance = now;
            }
        } else if tcp.flags.contains(TcpFlags::SYN) {
            let edge = iss + 1 + u32::from(tcp.window);
            self.edge = Some(self.edge.map_or(edge, |known| known.max(edge)));
        }
        let at = tcp.seq - (peer_iss + 1);
        if let Ok(at) = usize::try_from(at) {
            let end = at + segment.payload.len();
            self.have_arrived(at, end);
            if tcp.flags.contains(TcpFlags::FIN) {
                self.fin_at = Some(end);
            }
        }
    }

    /// A segment of the peer is complete here, assembled from damaged transmissions: what the program reads
    /// shows whether it is correct.
    pub(crate) fn completed(&mut self, seq: SeqNumber, len: u32, peer: &Self) {
        let Some((_, peer_iss)) = self.initial(peer) else { return };
        if near(seq, peer_iss)
            && (seq + len).le(peer.nxt)
            && let Ok(at) = usize::try_from(seq - (peer_iss + 1))
        {
            self.have_arrived(at, at + len as usize);
        }
    }

    fn have_arrived(&mut self, at: usize, end: usize) {
        if self.have.len() < end {
            self.have.resize(end, false);
        }
        self.have[at..end].fill(true);
        while self.have.get(self.contiguous) == Some(&true) {
            self.contiguous += 1;
        }
    }

    /// A segment whose payload is damaged, unseen by any checksum, arrives here.
    pub(crate) fn arrived_wrong(&mut self, segment: &Segment<'_>, peer: &Self) {
        let Some((_, peer_iss)) = self.initial(peer) else { return };
        let at = i64::from(segment.tcp.seq - (peer_iss + 1));
        self.wrong.push(Wrong { at, bytes: segment.payload.to_vec() });
    }

    /// Whether a damaged packet explains that byte `at` of the peer's stream was read as `byte`.
    pub(crate) fn explains(&self, at: usize, byte: u8) -> bool {
        self.wrong.iter().any(|wrong| {
            usize::try_from(at as i64 - wrong.at).is_ok_and(|i| wrong.bytes.get(i) == Some(&byte))
        })
    }
}
