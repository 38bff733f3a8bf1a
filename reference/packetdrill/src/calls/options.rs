//! `setsockopt`, `getsockopt`, `fcntl` and `ioctl`.

use std::sync::Arc;

use headway_tcp::{ConnectionId, Statistics};
use libc::{c_int, c_ulong};

use crate::errno::{Errno, Result};
use crate::info;
use crate::settings::{Settings, bare_headers};
use crate::socket::Phase;
use crate::stack::Stack;

/// `SO_MEMINFO` of `asm-generic/socket.h`.
const SO_MEMINFO: c_int = 55;

impl Stack {
    /// `setsockopt`.
    pub(crate) fn set_option(&mut self, fd: c_int, level: c_int, name: c_int, value: &[u8]) -> Result<()> {
        let socket = self.descriptors.socket_mut(fd)?;
        let before = socket.settings.profile.clone();
        let is_v6 = socket.is_v6;
        socket.settings.set(is_v6, level, name, value)?;
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

    /// Applies the options that can change on an open connection.
    pub(crate) fn apply_settings(&mut self, id: ConnectionId, settings: &Settings) -> Result<()> {
        let profile = &settings.profile;
        self.host.set_nagle(self.now, id, profile.nagle)?;
        self.host.set_dscp(self.now, id, profile.dscp)?;
        self.host.set_hop_limit(self.now, id, profile.hop_limit)?;
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
            (libc::IPPROTO_TCP, libc::TCP_INFO, Phase::Fresh) => {
                Ok(info::encode_unconnected(&socket.settings.profile, None))
            }
            (libc::IPPROTO_TCP, libc::TCP_INFO, Phase::Listening(listener)) => {
                let waiting = self.host.acceptable(listener) as u32;
                Ok(info::encode_unconnected(&socket.settings.profile, Some((waiting, socket.backlog))))
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
                // `SK_MEMINFO_*` of linux/sock_diag.h; no forward allocation, no drops.
                let all = [received, buffers[0], sent, buffers[1], 0, sent, 0, 0, 0];
                Ok(all.into_iter().flat_map(u32::to_ne_bytes).collect())
            }
            // Reno and CUBIC have no such information.
            (libc::IPPROTO_TCP, libc::TCP_CC_INFO, _) => Ok(Vec::new()),
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG, Phase::Connection(id)) => {
                let mss = self.host.statistics(id).map_or(0, |statistics| statistics.mss);
                Ok(mss.to_ne_bytes().to_vec())
            }
            (libc::SOL_SOCKET, libc::SO_ACCEPTCONN, phase) => {
                let is_listening = matches!(phase, Phase::Listening(_));
                Ok(c_int::from(is_listening).to_ne_bytes().to_vec())
            }
            _ => socket.settings.value(level, name),
        }
    }

    /// The value of `TCP_INQ`: unread bytes, or one at the end of the stream.
    pub(crate) fn unread(&self, fd: c_int) -> c_int {
        let Ok(Phase::Connection(id)) = self.descriptors.socket(fd).map(|socket| socket.phase) else {
            return 0;
        };
        match self.host.readable(id) {
            0 => self.host.is_finished(id).into(),
            readable => readable as c_int,
        }
    }

    /// `fcntl`: `F_GETFL` and `F_SETFL` with `O_NONBLOCK` only, and `F_SETFD`.
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

    /// `ioctl`: the number of unread, unacknowledged or unsent bytes.
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
