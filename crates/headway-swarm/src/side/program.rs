//! A program at one end of a connection: writes, reads, closes and aborts as its plan says.

use headway_tcp::{ConnectionError, ConnectionId, Error, Host, Notification, State};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::rng::Rng;
use headway_units::{Duration, Instant};

use super::ledger::{Ledger, Program};
use super::plan::{Change, Closes, SidePlan, Style};
use super::recorder::Recorder;

/// One side of a connection: its program, and what the wire shows of it.
pub(crate) struct Side {
    pub(crate) plan: SidePlan,
    pub(crate) id: Option<ConnectionId>,
    pub(crate) program: Program,
    pub(crate) ledger: Ledger,
    /// What the peer's program writes.
    theirs: Pattern,
    /// Bytes read.
    pub(crate) read: usize,
    pub(crate) connected: bool,
    pub(crate) aborted: bool,
    /// It gave its connection away without waiting for the end.
    pub(crate) left: bool,
    /// The end of the peer's stream was seen.
    pub(crate) finished: bool,
    pub(crate) error: Option<ConnectionError>,
    /// The error whose reason has been looked into.
    pub(crate) judged: Option<ConnectionError>,
    pub(crate) released: bool,
    /// When a timed program works next.
    pub(crate) next_tick: Option<Instant>,
    may_write: bool,
    may_read: bool,
    /// Set while the connection was open.
    user_timeout: Option<Duration>,
    /// Bytes read that damage had changed unseen.
    pub(crate) wrong_bytes: usize,
}

/// What a program is given at each call.
pub(crate) struct Moment {
    pub(crate) now: Instant,
    /// The same by the host's clock.
    pub(crate) clock: Instant,
    pub(crate) start: Instant,
    /// The schedule is not harsh any more.
    pub(crate) healed: bool,
    /// Everything has come to rest: time to close.
    pub(crate) at_rest: bool,
    /// Damage to a header of this connection went unseen: nothing about it is certain.
    pub(crate) poisoned: bool,
    /// Spoils what was read, from that place on: the oracle must notice.
    pub(crate) sabotage: Option<fn(usize, &mut [u8])>,
}

impl Side {
    pub(crate) fn new(plan: SidePlan, ours: Pattern, theirs: Pattern) -> Self {
        Self {
            plan,
            id: None,
            program: Program { content: ours, written: 0, closed: false },
            ledger: Ledger::default(),
            theirs,
            read: 0,
            connected: false,
            aborted: false,
            left: false,
            finished: false,
            error: None,
            judged: None,
            released: false,
            next_tick: None,
            may_write: false,
            may_read: false,
            user_timeout: None,
            wrong_bytes: 0,
        }
    }

    /// The connection exists from now on.
    pub(crate) fn opened(&mut self, id: ConnectionId, now: Instant) {
        self.id = Some(id);
        self.may_write = self.plan.writes_early;
        if let Style::Timed { .. } = self.plan.style {
            self.next_tick = Some(now);
        }
    }

    pub(crate) fn told(&mut self, notification: Notification) {
        match notification {
            Notification::Connected => {
                self.connected = true;
                self.may_write = true;
            }
            Notification::Writable => self.may_write = true,
            _ => self.may_read = true,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.aborted || self.left || self.error.is_some()
    }

    /// When the plan wants something whatever happens.
    pub(crate) fn next_time(&self, start: Instant) -> Option<Instant> {
        if self.id.is_none() || self.released {
            return None;
        }
        let abort = self.plan.aborts.map(|at| start + at);
        let change = self.plan.changes.map(|(at, _)| start + at);
        [abort, change, self.next_tick].into_iter().flatten().min()
    }

    /// The shortest user timeout that was ever in force, `first` at the beginning.
    pub(crate) fn shortest_user_timeout(&self, first: Option<Duration>) -> Option<Duration> {
        [first, self.user_timeout].into_iter().flatten().min()
    }

    /// Lets the program work.
    pub(crate) fn work(
        &mut self,
        host: &mut Host<Recorder>,
        moment: &Moment,
        rng: &mut Rng,
    ) -> Result<(), String> {
        let Some(id) = self.id.filter(|_| !self.released) else { return Ok(()) };
        let now = moment.now;
        if let Some((_, change)) = self.plan.changes.take_if(|(at, _)| moment.start + *at <= now) {
            apply(host, moment.clock, id, change)?;
            if let Change::UserTimeout(limit) = change {
                self.user_timeout = limit;
            }
        }
        if self.plan.aborts.take_if(|at| moment.start + *at <= now).is_some()
            && host.state(id) != State::Closed
        {
            host.observer_mut().say(now, "aborts");
            host.abort(moment.clock, id).map_err(|error| error.to_string())?;
            self.aborted = true;
        }
        match self.plan.style {
            Style::Timed { gap, writes, reads } if !moment.healed => {
                if self.next_tick.is_some_and(|at| at <= now) {
                    self.next_tick =
                        Some(now + Duration::from_micros(rng.between(1, gap.as_micros().max(1))));
                    if self.plan.writes_early || host.state(id).is_synchronized() {
                        let most = rng.between(1, writes);
                        self.write(host, id, most)?;
                    }
                    let most = rng.between(1, reads);
                    self.read(host, id, most, moment)?;
                }
            }
            Style::Timed { .. } => {
                self.next_tick = None;
                self.write(host, id, usize::MAX)?;
                self.read(host, id, usize::MAX, moment)?;
            }
            Style::Told => {
                if std::mem::take(&mut self.may_write) {
                    self.write(host, id, usize::MAX)?;
                }
                if std::mem::take(&mut self.may_read) {
                    self.read(host, id, usize::MAX, moment)?;
                }
            }
        }
        self.close(host, id, moment)
    }

    /// Writes up to `most` bytes, until the host takes no more.
    fn write(&mut self, host: &mut Host<Recorder>, id: ConnectionId, most: usize) -> Result<(), String> {
        let mut left = most.min(self.plan.total - self.program.written);
        let mut chunk = [0; 2048];
        while left > 0 && !self.program.closed {
            let room = host.writable(id);
            let chunk = &mut chunk[..left.min(2048).min(room + 1)];
            self.program.content.fill(self.program.written, chunk);
            match host.write(id, chunk) {
                Ok(taken) => {
                    if taken != room.min(chunk.len()) {
                        return Err(format!("writable() said {room}, write() took {taken}"));
                    }
                    self.program.written += taken;
                    left -= taken;
                    if taken < chunk.len() {
                        break;
                    }
                }
                Err(Error::Connection(_)) => break,
                Err(error) => return Err(format!("write: {error}")),
            }
        }
        Ok(())
    }

    fn read(
        &mut self,
        host: &mut Host<Recorder>,
        id: ConnectionId,
        most: usize,
        moment: &Moment,
    ) -> Result<(), String> {
        let mut left = most;
        let mut chunk = [0; 2048];
        while left > 0 {
            let room = left.min(chunk.len());
            let n = host.read(id, &mut chunk[..room]).map_err(|error| format!("read: {error}"))?;
            if n == 0 {
                break;
            }
            left -= n;
            if let Some(sabotage) = moment.sabotage {
                sabotage(self.read, &mut chunk[..n]);
            }
            self.compare(&chunk[..n], moment)?;
        }
        Ok(())
    }

    /// What was read is what the peer wrote, or what a damaged packet that passed every checksum contained.
    fn compare(&mut self, bytes: &[u8], moment: &Moment) -> Result<(), String> {
        for (i, &byte) in bytes.iter().enumerate() {
            let at = self.read + i;
            if byte == self.theirs.byte(at) {
                continue;
            }
            if !moment.poisoned && !self.ledger.explains(at, byte) {
                return Err(format!("byte {at} was read as {byte:#04x}, which no damaged packet explains"));
            }
            self.wrong_bytes += 1;
        }
        self.read += bytes.len();
        Ok(())
    }

    fn close(&mut self, host: &mut Host<Recorder>, id: ConnectionId, moment: &Moment) -> Result<(), String> {
        let now = moment.now;
        self.connected |= host.state(id).is_synchronized();
        self.error = host.error(id);
        if self.error.is_none() && host.is_finished(id) {
            if host.readable(id) > 0 {
                return Err(format!(
                    "the stream is over, and {} bytes of it wait to be read",
                    host.readable(id)
                ));
            }
            self.finished = true;
        }
        let all_written = self.program.written == self.plan.total;
        let due = match self.plan.closes {
            Closes::Written | Closes::Leaves => all_written,
            Closes::After => all_written && self.finished,
            Closes::AtRest => false,
        };
        if !self.program.closed && ((self.connected && due) || moment.at_rest) {
            host.observer_mut().say(now, "closes");
            host.close(moment.clock, id).map_err(|error| error.to_string())?;
            self.program.closed = true;
        }
        let state = host.state(id);
        if self.program.closed && self.plan.closes == Closes::Leaves && state.is_synchronized() {
            host.observer_mut().say(now, "leaves");
            host.release(moment.clock, id);
            self.released = true;
            self.left = true;
            return Ok(());
        }
        if matches!(state, State::TimeWait | State::Closed) && host.readable(id) == 0 {
            self.error = host.error(id);
            self.finished = self.error.is_none();
            host.release(moment.clock, id);
            self.released = true;
        }
        Ok(())
    }
}

fn apply(host: &mut Host<Recorder>, now: Instant, id: ConnectionId, change: Change) -> Result<(), String> {
    match change {
        Change::Nagle(on) => host.set_nagle(now, id, on),
        Change::KeepAlive(config) => host.set_keep_alive(now, id, config),
        Change::UserTimeout(limit) => host.set_user_timeout(now, id, limit),
    }
    .map_err(|error| format!("{change:?}: {error}"))
}
