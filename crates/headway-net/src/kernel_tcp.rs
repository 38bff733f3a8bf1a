//! What the kernel's TCP knows of a connection.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use crate::sys;

/// The state of one of the kernel's TCP connections: the part of `TCP_INFO` that concerns what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelTcp {
    retransmissions: u64,
    cwnd: u64,
    smoothed_rtt: Duration,
    acknowledged: u64,
}

impl KernelTcp {
    /// Of a TCP socket.
    ///
    /// # Errors
    ///
    /// It is not a TCP socket.
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let info = sys::tcp_info(socket.as_fd())?;
        Ok(Self {
            retransmissions: info.tcpi_total_retrans.into(),
            // The kernel counts it in segments.
            cwnd: u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss),
            smoothed_rtt: Duration::from_micros(info.tcpi_rtt.into()),
            acknowledged: info.tcpi_bytes_acked,
        })
    }

    /// Segments retransmitted since the connection was opened.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Congestion window, bytes.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Duration {
        self.smoothed_rtt
    }

    /// Bytes acknowledged; the SYN and the FIN may count as one each.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn the_kernel_counts_what_is_acknowledged() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        stream.write_all(&[7; 100_000]).unwrap();
        accepted.read_exact(&mut [0; 100_000]).unwrap();
        // The peer's FIN comes with the acknowledgement of all data.
        drop(accepted);
        stream.read_to_end(&mut Vec::new()).unwrap();
        let state = KernelTcp::of(&stream).unwrap();
        assert!((100_000..=100_002).contains(&state.acknowledged()), "{state:?}");
        // RFC 6928: at least ten segments, or what is left of them after a loss.
        let mss = socket2::SockRef::from(&stream).tcp_mss().unwrap();
        assert!(
            state.cwnd() >= 2 * u64::from(mss) && state.cwnd().is_multiple_of(mss.into()),
            "{mss}: {state:?}"
        );
        assert!(state.smoothed_rtt() > Duration::ZERO, "{state:?}");
    }

    #[test]
    fn other_sockets_have_no_such_state() {
        assert!(KernelTcp::of(UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
