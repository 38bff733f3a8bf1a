//! The interface as packetdrill uses it: the table's functions, called with C types, and test packets.

use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::net::Ipv4Addr;
use std::ptr;

use headway_packetdrill::{Interface, packetdrill_interface_init};
use headway_test_fixture::packet;
use headway_wire::{Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions};

pub(crate) const LOCAL: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
pub(crate) const REMOTE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const PORT: u16 = 8080;
pub(crate) const REMOTE_PORT: u16 = 40_000;

/// The result of a call, or `errno`.
pub(crate) type Outcome = Result<i64, c_int>;

/// A packet that the stack sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Microseconds.
    pub(crate) at: i64,
    pub(crate) packet: Vec<u8>,
}

impl Left {
    pub(crate) fn segment(&self) -> Segment<'_> {
        Segment::parse(&self.packet).expect("the stack sends well-formed packets")
    }
}

pub(crate) struct Table {
    pub(crate) interface: Interface,
}

// packetdrill calls from two threads too.
unsafe impl Sync for Table {}

/// Calls a function of the table; the first argument is always `userdata`.
macro_rules! call {
    ($table:expr, $name:ident $(, $argument:expr)*) => {{
        let function = $table.interface.$name.expect("the table is full");
        let result = unsafe { function($table.interface.userdata $(, $argument)*) } as i64;
        if result < 0 { Err(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { Ok(result) }
    }};
}
pub(crate) use call;

impl Table {
    pub(crate) fn new(flags: &str) -> Self {
        let flags = CString::new(flags).unwrap();
        let mut interface = MaybeUninit::uninit();
        let interface = unsafe {
            packetdrill_interface_init(flags.as_ptr(), interface.as_mut_ptr());
            interface.assume_init()
        };
        Self { interface }
    }

    pub(crate) fn socket(&self) -> c_int {
        call!(self, socket, libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP).unwrap() as c_int
    }

    pub(crate) fn listener(&self) -> c_int {
        let fd = self.socket();
        let address = address(LOCAL, PORT);
        let len = size_of_val(&address) as libc::socklen_t;
        assert_eq!(call!(self, bind, fd, (&raw const address).cast(), len), Ok(0));
        assert_eq!(call!(self, listen, fd, 5), Ok(0));
        fd
    }

    pub(crate) fn accept(&self, fd: c_int) -> Outcome {
        call!(self, accept, fd, ptr::null_mut(), ptr::null_mut())
    }

    pub(crate) fn write(&self, fd: c_int, data: &[u8]) -> Outcome {
        call!(self, write, fd, data.as_ptr().cast(), data.len())
    }

    pub(crate) fn read(&self, fd: c_int, len: usize) -> Result<Vec<u8>, c_int> {
        let mut data = vec![0; len];
        let count = call!(self, read, fd, data.as_mut_ptr().cast(), len)?;
        data.truncate(count as usize);
        Ok(data)
    }

    pub(crate) fn close(&self, fd: c_int) -> Outcome {
        call!(self, close, fd)
    }

    /// The clock, in microseconds.
    pub(crate) fn now(&self) -> i64 {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        assert_eq!(call!(self, gettimeofday, &raw mut time, ptr::null_mut()), Ok(0));
        time.tv_sec * 1_000_000 + time.tv_usec
    }

    pub(crate) fn sleep(&self, micros: u32) {
        assert_eq!(call!(self, usleep, micros), Ok(0));
    }

    pub(crate) fn inject(&self, packet: &[u8]) {
        assert_eq!(call!(self, netdev_send, packet.as_ptr().cast::<c_void>(), packet.len()), Ok(0));
    }

    /// The next packet that is sent; `None` if none can follow.
    pub(crate) fn next(&self) -> Option<Left> {
        let mut packet = vec![0; 4096];
        let (mut len, mut at) = (packet.len(), 0);
        let buffer = packet.as_mut_ptr().cast();
        assert_eq!(call!(self, netdev_receive, buffer, &raw mut len, &raw mut at), Ok(0));
        packet.truncate(len);
        (len > 0).then_some(Left { at, packet })
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        unsafe { self.interface.free.unwrap()(self.interface.userdata) };
    }
}

pub(crate) fn address(ip: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
        sin_zero: [0; 8],
    }
}

/// The peer: its sequence numbers start at 0, its window is 65535.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) seq: u32,
    pub(crate) ack: SeqNumber,
}

impl Peer {
    pub(crate) fn packet(&self, flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
        let options = match flags.contains(TcpFlags::SYN) {
            true => TcpOptions { mss: Some(1000), ..TcpOptions::default() },
            false => TcpOptions::default(),
        };
        self.packet_with(flags, &options, payload)
    }

    pub(crate) fn packet_with(&self, flags: TcpFlags, options: &TcpOptions, payload: &[u8]) -> Vec<u8> {
        let (ip, tcp) = packet::headers((REMOTE, REMOTE_PORT).into(), (LOCAL, PORT).into(), flags);
        let tcp = TcpHeader { seq: SeqNumber(self.seq), ack: self.ack, window: 65_535, ..tcp };
        packet::segment(&ip, &tcp, options, payload)
    }

    /// A handshake with a listener of `table`.
    pub(crate) fn connect(table: &Table, options: &TcpOptions) -> Self {
        let mut peer = Self { seq: 0, ack: SeqNumber(0) };
        table.inject(&peer.packet_with(TcpFlags::SYN, options, &[]));
        let answer = table.next().expect("a SYN-ACK");
        let segment = answer.segment();
        assert_eq!(segment.tcp.flags, TcpFlags::SYN | TcpFlags::ACK);
        assert_eq!(segment.tcp.ack, SeqNumber(1));
        peer.seq = 1;
        peer.ack = segment.tcp.seq + 1;
        table.inject(&peer.packet_with(TcpFlags::ACK, &TcpOptions::default(), &[]));
        peer
    }
}
