//! Socket options.

use headway_tcp::{KeepAlive, Profile};
use headway_units::Duration;
use headway_wire::{Dscp, Ecn, IpHeader};
use libc::c_int;

use crate::errno::{Errno, Result};

/// Values of socket options.
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
    /// `TCP_INQ`: `recvmsg` returns the number of unread bytes.
    pub(crate) reports_unread: bool,
    /// `TCP_NOTSENT_LOWAT`: a socket with this much unsent is not writable. Zero: no limit.
    pub(crate) unsent_limit: u32,
    is_kept_alive: bool,
    keep_alive: KeepAlive,
    /// The value of `TCP_MAXSEG`.
    max_segment: Option<u16>,
    /// The MTU of the profile before `TCP_MAXSEG`.
    mtu: u16,
}

impl Settings {
    pub(crate) fn new(profile: Profile) -> Self {
        // Linux's defaults: two hours, 75 s, 9 probes.
        let default =
            KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 };
        Self {
            linger: None,
            receive_timeout: None,
            send_timeout: None,
            receive_low_water: 1,
            reports_unread: false,
            unsent_limit: 0,
            is_kept_alive: profile.keep_alive.is_some(),
            keep_alive: profile.keep_alive.unwrap_or(default),
            max_segment: None,
            mtu: profile.mtu,
            profile,
        }
    }

    fn update_keep_alive(&mut self) {
        self.profile.keep_alive = self.is_kept_alive.then_some(self.keep_alive);
    }
}

/// The number of most options.
fn number(value: &[u8]) -> Result<c_int> {
    let bytes = value.first_chunk().ok_or(Errno(libc::EINVAL))?;
    Ok(c_int::from_ne_bytes(*bytes))
}

/// A `struct timeval`; zero means none.
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

/// The DSCP of `IP_TOS` or `IPV6_TCLASS`, a byte or an `int`; -1 is the default one. The ECN bits stay TCP's, as on Linux.
fn traffic_class(value: &[u8]) -> Result<Dscp> {
    let octet = if let [octet] = value { c_int::from(*octet) } else { number(value)? };
    let octet = if octet == -1 { Ok(0) } else { u8::try_from(octet) };
    Ok(Dscp::from_traffic_class(octet.map_err(|_| Errno(libc::EINVAL))?))
}

/// `IP_TTL` or `IPV6_UNICAST_HOPS`, a byte or an `int`; -1 is the default.
fn hop_limit(value: &[u8]) -> Result<u8> {
    let hops = if let [hops] = value { c_int::from(*hops) } else { number(value)? };
    if hops == -1 {
        return Ok(IpHeader::HOP_LIMIT);
    }
    u8::try_from(hops).ok().filter(|hops| *hops > 0).ok_or(Errno(libc::EINVAL))
}

/// `TCP_INQ` of `linux/tcp.h`.
pub(crate) const TCP_INQ: c_int = 36;

/// The length of the IP and TCP headers without options.
pub(crate) fn bare_headers(is_v6: bool) -> u16 {
    if is_v6 { 60 } else { 40 }
}

impl Settings {
    /// Sets an option of a socket.
    pub(crate) fn set(&mut self, is_v6: bool, level: c_int, name: c_int, value: &[u8]) -> Result<()> {
        match (level, name) {
            // Accepted without effect: every address may be bound at any time, and there is one interface.
            (libc::IPPROTO_IP, libc::IP_FREEBIND) => {
                number(value)?;
            }
            (
                libc::SOL_SOCKET,
                libc::SO_REUSEADDR | libc::SO_REUSEPORT | libc::SO_PRIORITY | libc::SO_MARK,
            ) => {
                number(value)?;
            }
            (libc::IPPROTO_IP, libc::IP_TOS) => self.profile.dscp = traffic_class(value)?,
            (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) if is_v6 => self.profile.dscp = traffic_class(value)?,
            (libc::IPPROTO_IP, libc::IP_TTL) => self.profile.hop_limit = hop_limit(value)?,
            (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) if is_v6 => {
                self.profile.hop_limit = hop_limit(value)?;
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => {
                self.profile.send_buffer = number(value)?.clamp(2304, 1 << 29) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => {
                self.profile.receive_buffer = number(value)?.clamp(1152, 1 << 29) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let on = number(value)? != 0;
                let seconds = number(value.get(4..).unwrap_or_default())?.max(0) as u64;
                self.linger = on.then(|| Duration::from_secs(seconds));
            }
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO) => self.receive_timeout = time(value)?,
            (libc::SOL_SOCKET, libc::SO_SNDTIMEO) => self.send_timeout = time(value)?,
            (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => {
                self.receive_low_water = number(value)?.max(1) as usize;
            }
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => {
                self.is_kept_alive = number(value)? != 0;
                self.update_keep_alive();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => {
                self.keep_alive.idle = Duration::from_secs(positive(number(value)?)?.into());
                self.update_keep_alive();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => {
                self.keep_alive.interval = Duration::from_secs(positive(number(value)?)?.into());
                self.update_keep_alive();
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => {
                self.keep_alive.probes = positive(number(value)?)?;
                self.update_keep_alive();
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => self.profile.nagle = number(value)? == 0,
            (libc::IPPROTO_TCP, libc::TCP_SYNCNT) => {
                self.profile.syn_retries = positive(number(value)?)?;
            }
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                let millis = u64::try_from(number(value)?).map_err(|_| Errno(libc::EINVAL))?;
                self.profile.user_timeout = (millis > 0).then(|| Duration::from_millis(millis));
            }
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => {
                // Linux accepts 88 (TCP_MIN_MSS) to 32767 (MAX_TCP_WINDOW).
                let segment = u16::try_from(number(value)?).ok().filter(|size| (88..=32_767).contains(size));
                let segment = segment.ok_or(Errno(libc::EINVAL))?;
                self.max_segment = Some(segment);
                self.profile.mtu = self.mtu.min((segment + bare_headers(is_v6)).max(128));
            }
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT) => {
                self.unsent_limit = number(value)?.cast_unsigned();
            }
            (libc::IPPROTO_TCP, TCP_INQ) => match number(value)? {
                on @ 0..=1 => self.reports_unread = on == 1,
                _ => return Err(Errno(libc::EINVAL)),
            },
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        }
        Ok(())
    }

    /// The value of an option.
    pub(crate) fn value(&self, level: c_int, name: c_int) -> Result<Vec<u8>> {
        let profile = &self.profile;
        let seconds = |time: Duration| (time.as_millis() / 1000) as c_int;
        let value = match (level, name) {
            (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => libc::IPPROTO_TCP,
            (libc::SOL_SOCKET, libc::SO_REUSEADDR) => 0,
            // Linux returns twice the value, for its own overhead.
            (libc::SOL_SOCKET, libc::SO_SNDBUF) => (profile.send_buffer * 2) as c_int,
            (libc::SOL_SOCKET, libc::SO_RCVBUF) => (profile.receive_buffer * 2) as c_int,
            (libc::SOL_SOCKET, libc::SO_RCVLOWAT) => self.receive_low_water as c_int,
            (libc::SOL_SOCKET, libc::SO_KEEPALIVE) => self.is_kept_alive.into(),
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let pair = [self.linger.is_some().into(), self.linger.map_or(0, seconds)];
                return Ok(pair.into_iter().flat_map(c_int::to_ne_bytes).collect());
            }
            (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                profile.dscp.traffic_class(Ecn::NotEct).into()
            }
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS) => {
                profile.hop_limit.into()
            }
            (libc::IPPROTO_TCP, libc::TCP_NODELAY) => (!profile.nagle).into(),
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => self.max_segment.unwrap_or(536).into(),
            (libc::IPPROTO_TCP, libc::TCP_SYNCNT) => profile.syn_retries as c_int,
            (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => {
                profile.user_timeout.map_or(0, |limit| limit.as_millis() as c_int)
            }
            (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE) => seconds(self.keep_alive.idle),
            (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL) => seconds(self.keep_alive.interval),
            (libc::IPPROTO_TCP, libc::TCP_KEEPCNT) => self.keep_alive.probes as c_int,
            (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT) => self.unsent_limit.cast_signed(),
            (libc::IPPROTO_TCP, TCP_INQ) => self.reports_unread.into(),
            _ => return Err(Errno(libc::ENOPROTOOPT)),
        };
        Ok(value.to_ne_bytes().to_vec())
    }
}
