//! `setsockopt`, `getsockopt`, `fcntl` and `ioctl`.

use std::sync::Arc;

use headway_tcp::{ConnectionId, KeepAlive, Profile, Statistics};
use headway_units::Duration;
use libc::{c_int, c_ulong};

use crate::errno::{Errno, Result};
use crate::info;
use crate::sockets::{Phase, Socket};
use crate::stack::Stack;

/// What socket options have set.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) profile: Profile,
    /// `SO_LINGER`.
    pub(crate) linger: Option<Duration>,
    /// `SO_RCVTIMEO`.
    pub(crate) receive_timeout: Option<Duration>,
    /// `SO_SNDTIMEO`.
    pub(crate) send_timeout: Option<Duration>,
    /// `SO_RCVLOWAT`.
    pub(crate) receive_low_water: usize,
    /// `TCP_INQ`: `recvmsg` tells how much is left to read.
    pub(crate) tells_left: bool,
    /// `TCP_NOTSENT_LOWAT`: a socket with this much unsent is not writable. Zero: no limit.
    pub(crate) unsent_limit: u32,
    is_kept_alive: bool,
    keep_alive: KeepAlive,
    /// `TCP_MAXSEG` as it was set.
    max_segment: Option<u16>,
    /// The MTU that the profile had.
    mtu: u16,
}

impl Settings {
    pub(crate) fn new(profile: Profile) -> Self {
        // Linux's defaults: two hours, 75 s, 9 probes.
        let usual =
            KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 };
        Self {
            linger: None,
            receive_timeout: None,
            send_timeout: None,
            receive_low_water: 1,
            tells_left: false,
            unsent_limit: 0,
            is_kept_alive: profile.keep_alive.is_some(),
            keep_alive: profile.keep_alive.unwrap_or(usual),
            max_segment: None,
            mtu: profile.mtu,
            profile,
        }
    }

    fn keep_alive_changed(&mut self) {
        self.profile.keep_alive = self.is_kept_alive.then_some(self.keep_alive);
    }
}

/// The one number that most options are.
fn number(value: &[u8]) -> Result<c_int> {
    let bytes = value.first_chunk().ok_or(Errno(libc::EINVAL))?;
    Ok(c_int::from_ne_bytes(*bytes))
}

/// A `struct timeval`; zero stands for none.
fn time(value: &[u8]) -> Result<Option<Duration>> {
    let (seconds, rest) = value.split_first_chunk::<8>().ok_or(Errno(libc::EINVAL))?;
    let micros = rest.first_chunk::<8>().ok_or(Errno(libc::EINVAL))?;
    let [seconds, micros] = [seconds, micros].map(|bytes| u64::try_from(i64::from_ne_bytes(*bytes)));
    let (Ok(seconds), Ok(micros @ 0..1_000_000)) = (seconds, micros) else {
        return Err(Errno(libc::EDOM));
    };
    let total = seconds.saturating_mul(1_000_000).saturating_add(micros);
    Ok((total > 0).then(|| Duration::from_micros(total)))
}

fn positive(number: c_int) -> Result<u32> {
    u32::try_from(number).ok().filter(|&number| number > 0).ok_or(Errno(libc::EINVAL))
}

/// `TCP_INQ` of `linux/tcp.h`.
pub(crate) const TCP_INQ: c_int = 36;

/// `SO_MEMINFO` of `asm-generic/socket.h`.
const SO_MEMINFO: c_int = 55;

/// The size of a TCP/IP header without options.
fn bare_headers(is_v6: bool) -> u16 {
    if is_v6 { 60 } else { 40 }
}

impl Socket {
    fn set(&mut self, level: c_int, name: c_int, value: &[u8]) -> Result<()> {
        let settings = &mut self.settings;
        match (level, name) {
            // Every address may be bound, again and at once, and there is one interface.
            (libc::IPPROTO_IP, libc::IP_FREEBIND) => {
                number(value)?;
            }
            (
                libc::SOL_SOCKET,
                libc::SO_REUSEADDR | libc::SO_REUSEPORT | libc::SO_PRIORITY | libc::SO_MARK,
            ) => {
                number(value)?;
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                settings.profile.send_buffer = number(value)?.clamp(2304, 1 << 29) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => {
                settings.profile.receive_buffer = number(value)?.clamp(1152, 1 << 29) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let on = number(value)? != 0;
                let seconds = number(value.get(4..).unwrap_or_default())?.max(0) as u64;
                settings.linger = on.then(|| Duration::from_secs(seconds));
            }
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => settings.receive_timeout = time(value)?,
            (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => settings.send_timeout = time(value)?,
            (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => {
                settings.receive_low_water = number(value)?.max(1) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => {
                settings.is_kept_alive = number(value)? != 0;
                settings.keep_alive_changed();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => {
                settings.keep_alive.idle = Duration::from_secs(positive(number(value)?)?.into());
                settings.keep_alive_changed();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => {
                settings.keep_alive.interval = Duration::from_secs(positive(number(value)?)?.into());
                settings.keep_alive_changed();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => {
                settings.keep_alive.probes = positive(number(value)?)?;
                settings.keep_alive_changed();
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => settings.profile.nagle = number(value)? == 0,
            (libc::IPPROTO_TCP, libc::TCP_SYNCNT) => {
                settings.profile.syn_retries = positive(number(value)?)?;
            }
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                let millis = u64::try_from(number(value)?).map_err(|_| Errno(libc::EINVAL))?;
                settings.profile.user_timeout = (millis > 0).then(|| Duration::from_millis(millis));
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
                // Linux takes 88 (TCP_MIN_MSS) to 32767 (MAX_TCP_WINDOW).
                let segment = u16::try_from(number(value)?).ok().filter(|size| (88..=32_767).contains(size));
                let segment = segment.ok_or(Errno(libc::EINVAL))?;
                settings.max_segment = Some(segment);
                settings.profile.mtu = settings.mtu.min((segment + bare_headers(self.is_v6)).max(128));
            }
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT) => {
                settings.unsent_limit = number(value)?.cast_unsigned();
            }
            (libc::IPPROTO_TCP, TCP_INQ) => match number(value)? {
                on @ 0..=1 => settings.tells_left = on == 1,
                _ => return Err(Errno(libc::EINVAL)),
            },
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(())
    }

    fn value(&self, level: c_int, name: c_int) -> Result<Vec<u8>> {
        let settings = &self.settings;
        let profile = &settings.profile;
        let seconds = |time: Duration| (time.as_millis() / 1000) as c_int;
        let value = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => libc::IPPROTO_TCP,
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => matches!(self.phase, Phase::Listening(_)).into(),
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => 0,
            // Linux shows twice what was set: it counts its own bookkeeping.
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => (profile.send_buffer * 2) as c_int,
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => (profile.receive_buffer * 2) as c_int,
            (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => settings.receive_low_water as c_int,
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => settings.is_kept_alive.into(),
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let pair = [settings.linger.is_some().into(), settings.linger.map_or(0, seconds)];
                return Ok(pair.into_iter().flat_map(c_int::to_ne_bytes).collect());
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => (!profile.nagle).into(),
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => settings.max_segment.unwrap_or(536).into(),
            (libc::IPPROTO_TCP, libc::TCP_SYNCNT) => profile.syn_retries as c_int,
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                profile.user_timeout.map_or(0, |limit| limit.as_millis() as c_int)
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => seconds(settings.keep_alive.idle),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => seconds(settings.keep_alive.interval),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => settings.keep_alive.probes as c_int,
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT) => settings.unsent_limit.cast_signed(),
            (libc::IPPROTO_TCP, TCP_INQ) => settings.tells_left.into(),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        };
        Ok(value.to_ne_bytes().to_vec())
    }
}

impl Stack {
    /// `setsockopt`.
    pub(crate) fn set_option(&mut self, fd: c_int, level: c_int, name: c_int, value: &[u8]) -> Result<()> {
        let socket = self.descriptors.socket_mut(fd)?;
        let before = socket.settings.profile.clone();
        socket.set(level, name, value)?;
        if before == socket.settings.profile {
            return Ok(());
        }
        match socket.phase {
            Phase::Fresh => Ok(()),
            Phase::Listening(listener) => {
                let profile = socket.settings.profile.clone();
                Ok(self.host.set_listener_profile(listener, Arc::new(profile))?)
            }
            Phase::Connection(id) => {
                let settings = socket.settings.clone();
                self.apply_settings(id, &settings)
            }
        }
    }

    /// Hands to an open connection what may still change.
    pub(crate) fn apply_settings(&mut self, id: ConnectionId, settings: &Settings) -> Result<()> {
        let profile = &settings.profile;
        self.host.set_nagle(self.now, id, profile.nagle)?;
        self.host.set_keep_alive(self.now, id, profile.keep_alive)?;
        self.host.set_user_timeout(self.now, id, profile.user_timeout)?;
        Ok(())
    }

    /// `getsockopt`.
    pub(crate) fn option(&mut self, fd: c_int, level: c_int, name: c_int) -> Result<Vec<u8>> {
        let socket = self.descriptors.socket(fd)?;
        match (level, name, socket.phase) {
            (libc::SOL_SOCKET, libc::SO_ERROR, _) => {
                let error = self.take_error(fd)?.map_or(0, |error| error.0);
                Ok(error.to_ne_bytes().to_vec())
            }
            (libc::IPPROTO_TCP, libc::TCP_INFO, Phase::Connection(id)) => {
                let statistics = self.host.statistics(id).ok_or(Errno(libc::ENOTCONN))?;
                let negotiated = self.host.negotiated(id).unwrap_or_default();
                let offered = socket.settings.profile.mtu - bare_headers(socket.is_v6);
                Ok(info::encode(&statistics, negotiated, self.host.observer().linux(id), offered))
            }
            (libc::SOL_SOCKET, SO_MEMINFO, phase) => {
                let (received, sent) = match phase {
                    Phase::Connection(id) => {
                        let waiting = |s: Statistics| s.unsent + s.unacknowledged;
                        (self.host.readable(id) as u32, self.host.statistics(id).map_or(0, waiting))
                    }
                    _ => (0, 0),
                };
                let profile = &socket.settings.profile;
                let buffers = [profile.receive_buffer * 2, profile.send_buffer * 2].map(|size| size as u32);
                // `SK_MEMINFO_*` of linux/sock_diag.h; nothing is kept ahead, nothing was dropped.
                let all = [received, buffers[0], sent, buffers[1], 0, sent, 0, 0, 0];
                Ok(all.into_iter().flat_map(u32::to_ne_bytes).collect())
            }
            // Neither Reno nor CUBIC tells anything there.
            (libc::IPPROTO_TCP, libc::TCP_CC_INFO, _) => Ok(Vec::new()),
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG, Phase::Connection(id)) => {
                let mss = self.host.statistics(id).map_or(0, |statistics| statistics.mss);
                Ok(mss.to_ne_bytes().to_vec())
            }
            _ => socket.value(level, name),
        }
    }

    /// What `TCP_INQ` tells: octets to read, and one for the end of the stream.
    pub(crate) fn left(&self, fd: c_int) -> c_int {
        let Ok(Phase::Connection(id)) = self.descriptors.socket(fd).map(|socket| socket.phase) else {
            return 0;
        };
        match self.host.readable(id) {
            0 => self.host.is_finished(id).into(),
            readable => readable as c_int,
        }
    }

    /// `fcntl`: `F_GETFL` and `F_SETFL`, of which only `O_NONBLOCK` counts, and `F_SETFD`.
    pub(crate) fn control(&mut self, fd: c_int, command: c_int, argument: c_int) -> Result<c_int> {
        let descriptor = self.descriptors.get(fd)?;
        match command {
            libc::F_GETFL => Ok(libc::O_RDWR | if descriptor.nonblocking { libc::O_NONBLOCK } else { 0 }),
            libc::F_SETFL => {
                self.set_nonblocking(fd, argument & libc::O_NONBLOCK != 0)?;
                Ok(0)
            }
            libc::F_GETFD | libc::F_SETFD => Ok(0),
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// `ioctl`: how much is there to read, how much was not acknowledged, how much was not sent.
    pub(crate) fn query(&mut self, fd: c_int, request: c_ulong) -> Result<c_int> {
        /// `SIOCOUTQNSD` of `linux/sockios.h`.
        const UNSENT: c_ulong = 0x894B;
        let socket = self.descriptors.socket(fd)?;
        if !matches!(request, libc::FIONREAD | libc::TIOCOUTQ | UNSENT) {
            return Err(Errno(libc::ENOTTY));
        }
        let id = match socket.phase {
            Phase::Connection(id) => id,
            Phase::Listening(_) => return Err(Errno(libc::EINVAL)),
            Phase::Fresh => return Ok(0),
        };
        let statistics = self.host.statistics(id).ok_or(Errno(libc::ENOTCONN))?;
        let count = match request {
            libc::FIONREAD => self.host.readable(id) as u32,
            UNSENT => statistics.unsent,
            _ => statistics.unsent + statistics.unacknowledged,
        };
        Ok(count as c_int)
    }
}
