//! Frames over Wi-Fi cards in monitor mode: one injects, and all receive, frames with a wrong check sequence too.
//!
//! A frame is the payload of a data frame of 802.11 to everyone, which is not acknowledged and sent once. Its addresses say the link and the
//! direction ([`header`]), so frames of others and one's own are not taken. What several cards receive is combined ([`diversity`]).

mod card;
mod diversity;
#[cfg(test)]
mod fuzzed;
pub(super) mod header;
pub(super) mod radiotap;

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use headway_units::{Duration, Instant};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use self::card::Card;
use self::diversity::Diversity;
use self::header::{Direction, LEN, Reception};
use super::link::FrameLink;
use crate::{Clock, NetError};
pub use radiotap::LegacyRate;

/// The longest frame: what the longest payload of 802.11 (IEEE 802.11-2020, 9.2.4.7) leaves, in bytes.
const LONGEST: u16 = 2304 - 6;
/// The longest frame of an interface whose MTU is 1500, in bytes.
pub(super) const USUAL: u16 = 1472;
/// What is read of a frame, with radiotap and another card's fields in it.
const CAPTURED: usize = 4096;
/// A card that is gone is opened again after this time, and again so if that failed.
const REOPEN_EVERY: Duration = Duration::from_secs(1);

/// Wi-Fi cards in monitor mode.
pub(super) struct Monitor {
    /// With the names of their interfaces; `None`: it is gone.
    cards: Vec<(String, Option<Card>)>,
    /// From which it is read next.
    turn: usize,
    /// Readable where a card is, or where it is writable and something waits, or where a frame has waited for long enough.
    epoll: OwnedFd,
    timer: OwnedFd,
    is_timer_set: bool,
    /// The card that has to be writable.
    full: Option<usize>,
    sent: Direction,
    received: Direction,
    number: u16,
    diversity: Diversity,
    radiotap: Vec<u8>,
    longest: usize,
    captured: Vec<u8>,
    packet: Vec<u8>,
    /// For frames that wait.
    clock: Clock,
    /// The driver's time.
    now: Instant,
    reopen_at: Option<Instant>,
    trouble: Option<String>,
}

impl Monitor {
    /// Opens the interfaces, for frames of at most `longest` bytes between the ends of these names, ours first.
    pub(super) fn open(
        interfaces: &[String],
        rate: Option<LegacyRate>,
        longest: u16,
        [own, peer]: [&str; 2],
    ) -> Result<Self, NetError> {
        let bad = |got, expected| Err(NetError::BadAddress { got, expected });
        if longest > LONGEST {
            return bad(format!("frames of {longest} bytes"), "at most 2298 over Wi-Fi");
        }
        let is_twice = |name| interfaces.iter().filter(|other| *other == name).count() > 1;
        if interfaces.is_empty() || interfaces.iter().any(|name| name.is_empty() || is_twice(name)) {
            return bad(
                format!("interfaces {:?}", interfaces.join(",")),
                "one or more, each once, such as wlan0,wlan1",
            );
        }
        if own == peer || peer.is_empty() {
            return bad(
                format!("ends {own:?} and {peer:?}"),
                "two, which the other end has the other way round",
            );
        }
        let start = |error: rustix::io::Errno| NetError::Start(error.into());
        let radiotap = radiotap::header(rate);
        let mut monitor = Self {
            cards: interfaces.iter().map(|name| (name.clone(), None)).collect(),
            turn: 0,
            epoll: epoll::create(CreateFlags::CLOEXEC).map_err(start)?,
            timer: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)
                .map_err(start)?,
            is_timer_set: false,
            full: None,
            sent: Direction::new(own.as_bytes(), peer.as_bytes()),
            received: Direction::new(peer.as_bytes(), own.as_bytes()),
            number: 0,
            diversity: Diversity::new(interfaces.len()),
            longest: radiotap.len() + LEN + usize::from(longest),
            radiotap,
            captured: vec![0; CAPTURED],
            packet: Vec::new(),
            clock: Clock::new(),
            now: Instant::ZERO,
            reopen_at: None,
            trouble: None,
        };
        epoll::add(&monitor.epoll, &monitor.timer, EventData::new_u64(0), EventFlags::IN).map_err(start)?;
        (0..interfaces.len()).try_for_each(|index| monitor.open_card(index))?;
        Ok(monitor)
    }

    fn open_card(&mut self, index: usize) -> Result<(), NetError> {
        let (name, place) = &mut self.cards[index];
        let card = Card::open(name, self.longest)?;
        epoll::add(&self.epoll, &card, EventData::new_u64(0), EventFlags::IN)
            .map_err(|error| NetError::Start(error.into()))?;
        *place = Some(card);
        Ok(())
    }

    /// The card is gone.
    fn close_card(&mut self, index: usize, why: &io::Error) {
        let (name, card) = &mut self.cards[index];
        *card = None;
        tracing::warn!(interface = name, %why, "the card is gone: it is opened again when it is back");
        self.trouble = Some(format!("interface {name}: {why}: it is opened again when it is back"));
        self.full = self.full.filter(|full| *full != index);
        self.reopen_at = Some(self.now + REOPEN_EVERY);
    }

    fn reopen(&mut self) {
        self.reopen_at = None;
        for index in 0..self.cards.len() {
            if self.cards[index].1.is_some() {
                continue;
            }
            match self.open_card(index) {
                Ok(()) => tracing::info!(interface = self.cards[index].0, "the card is back"),
                Err(error) => {
                    self.trouble = Some(format!("{error}: it is opened again when it is back"));
                    self.reopen_at = Some(self.now + REOPEN_EVERY);
                }
            }
        }
    }

    /// The card that wakes the driver when something can be sent; `None`: nothing waits.
    fn wait_to_write(&mut self, index: Option<usize>) {
        if self.full == index {
            return;
        }
        let full = std::mem::replace(&mut self.full, index);
        for (index, wanted) in [(full, EventFlags::IN), (index, EventFlags::IN | EventFlags::OUT)] {
            let Some((name, Some(card))) = index.map(|index| &self.cards[index]) else { continue };
            if let Err(error) = epoll::modify(&self.epoll, card, EventData::new_u64(0), wanted) {
                tracing::debug!(%error, interface = name, "epoll");
            }
        }
    }

    /// What the next card has: which one, and how long it is.
    fn capture(&mut self) -> Option<(usize, usize)> {
        // In turn, so that the copies of a frame come one after the other.
        for _ in 0..self.cards.len() {
            let index = self.turn;
            self.turn = (index + 1) % self.cards.len();
            let Some(card) = &mut self.cards[index].1 else { continue };
            match card.receive(&mut self.captured) {
                Ok(len) => return Some((index, len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Linux says once that an interface went down, or is gone.
                Err(error) => self.close_card(index, &error),
            }
        }
        None
    }

    /// Makes the link readable when a frame has waited for long enough.
    fn set_timer(&mut self, now: Instant) {
        let deadline = self.diversity.next_deadline();
        if deadline.is_none() && !self.is_timer_set {
            return;
        }
        self.is_timer_set = deadline.is_some();
        // Zero switches it off.
        let left = deadline.map_or(0, |deadline| deadline.saturating_since(now).as_nanos().max(1));
        let value = Timespec::try_from(std::time::Duration::from_nanos(left)).unwrap_or_default();
        let setting = Itimerspec { it_interval: Timespec::default(), it_value: value };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &setting) {
            tracing::debug!(%error, "a timer");
        }
    }
}

impl FrameLink for Monitor {
    fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    fn name(&self) -> String {
        let names: Vec<&str> = self.cards.iter().map(|(name, _)| name.as_str()).collect();
        format!("Wi-Fi {}", names.join(","))
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let captured = self.capture();
        let now = self.clock.now();
        let frame = match captured {
            Some((card, len)) => {
                let reception = radiotap::parse(&self.captured[..len])
                    .and_then(|captured| Reception::new(captured, &self.received));
                reception.and_then(|reception| self.diversity.take(now, card, &reception))
            }
            None => self.diversity.take_overdue(now),
        };
        // A batch may be full before there is nothing more to read.
        if captured.is_none() && frame.is_none() || !self.is_timer_set {
            self.set_timer(now);
        }
        match frame {
            Some(frame) => {
                let len = frame.len().min(buffer.len());
                buffer[..len].copy_from_slice(&frame[..len]);
                Ok(len)
            }
            None if captured.is_some() => Ok(0),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        let first =
            self.cards.iter().enumerate().find_map(|(index, (_, card))| Some((index, card.as_ref()?)));
        // Without a card it is as if lost on the way.
        let Some((index, card)) = first else { return Ok(frame.len()) };
        self.packet.clear();
        self.packet.extend(&self.radiotap);
        self.sent.write(self.number, &mut self.packet);
        self.packet.extend(frame);
        let sent = card.send(&self.packet);
        let is_full = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        self.wait_to_write(is_full.then_some(index));
        match sent {
            Ok(_) => self.number = self.number.wrapping_add(1),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::EMSGSIZE) => return Err(error),
                _ => self.close_card(index, &error),
            },
        }
        Ok(frame.len())
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn explain(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.name())
    }

    fn judged(&mut self, _is_readable: bool) {}

    fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.reopen_at
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if self.reopen_at.is_some_and(|at| at <= now) {
            self.reopen();
        }
    }
}
