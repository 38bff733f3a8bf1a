//! System calls without a safe binding: socket options by number, addresses of packet sockets, and
//! batches of packets.
//!
//! All functions are safe. Pointers passed to the kernel point into slices that outlive the call, with
//! their lengths; the kernel does not keep them.

mod ethtool;
mod saved_syn;
mod tcp_info;

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

pub(crate) use ethtool::{features, switch_feature};
pub(crate) use saved_syn::saved_syn;
pub(crate) use tcp_info::tcp_info;

/// The maximum number of packets in one system call.
pub(crate) const BATCH: usize = 64;

/// Room for a socket address of any family.
pub(crate) const NAME: usize = size_of::<libc::sockaddr_storage>();

/// Room for control messages: a timestamp, the ECN field, and a packet socket's auxiliary data.
pub(crate) const CONTROL: usize = 128;

/// A socket address in the kernel's format and alignment.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Name {
    pub(crate) bytes: [u8; NAME],
    pub(crate) len: usize,
}

impl Name {
    pub(crate) const NONE: Self = Self { bytes: [0; NAME], len: 0 };
}

/// Control messages in the kernel's format and alignment.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Control {
    pub(crate) bytes: [u8; CONTROL],
    pub(crate) len: usize,
}

impl Control {
    pub(crate) const NONE: Self = Self { bytes: [0; CONTROL], len: 0 };
}

/// Sets an option whose value is an `int`.
pub(crate) fn set_option(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: `value` lives until the call returns, and its size is passed.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Binds a packet socket to an interface; `protocol` is in host order.
pub(crate) fn bind_packet(fd: BorrowedFd<'_>, interface: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut name: libc::sockaddr_ll = unsafe { mem::zeroed() };
    name.sll_family = libc::AF_PACKET as libc::sa_family_t;
    name.sll_protocol = protocol.to_be();
    name.sll_ifindex = interface as i32;
    // SAFETY: `name` lives until the call returns, and its size is passed.
    let result = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            (&raw const name).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes an interface receive frames to a multicast Ethernet address, until the socket is closed.
pub(crate) fn join(fd: BorrowedFd<'_>, interface: u32, group: [u8; 6]) -> io::Result<()> {
    add_membership(fd, interface, libc::PACKET_MR_MULTICAST, &group)
}

/// Makes an interface promiscuous while the packet socket is open.
pub(crate) fn join_promiscuous(fd: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    add_membership(fd, interface, libc::PACKET_MR_PROMISC, &[])
}

/// `group` has at most 8 bytes.
fn add_membership(fd: BorrowedFd<'_>, interface: u32, kind: i32, group: &[u8]) -> io::Result<()> {
    // SAFETY: all zeros is a valid `packet_mreq`.
    let mut request: libc::packet_mreq = unsafe { mem::zeroed() };
    request.mr_ifindex = interface as i32;
    request.mr_type = kind as _;
    request.mr_alen = group.len() as _;
    request.mr_address[..group.len()].copy_from_slice(group);
    // SAFETY: `request` lives until the call returns, and its size is passed.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_ADD_MEMBERSHIP,
            (&raw const request).cast(),
            size_of::<libc::packet_mreq>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Receives packets without waiting: into `slots`, with lengths in `lens`, source addresses in `names`
/// and control messages in `controls`. Returns the number of packets.
pub(crate) fn receive_batch<'a>(
    fd: BorrowedFd<'_>,
    slots: impl Iterator<Item = &'a mut [u8]>,
    lens: &mut [usize; BATCH],
    names: &mut [Name; BATCH],
    controls: &mut [Control; BATCH],
) -> io::Result<usize> {
    // SAFETY: all zeros is a valid `iovec` and a valid `mmsghdr`.
    let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    let mut count = 0;
    for (index, slot) in slots.take(BATCH).enumerate() {
        vectors[index] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
        let header = &mut headers[index].msg_hdr;
        header.msg_name = names[index].bytes.as_mut_ptr().cast();
        header.msg_namelen = NAME as libc::socklen_t;
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = controls[index].bytes.as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        count = index + 1;
    }
    // SAFETY: the first `count` headers point at a slot, a name and a control buffer with their lengths;
    // all of them are borrowed for longer than this call.
    let received = unsafe {
        libc::recvmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr(),
            count as libc::c_uint,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        )
    };
    let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
    for (index, header) in headers[..received].iter().enumerate() {
        lens[index] = header.msg_len as usize;
        names[index].len = (header.msg_hdr.msg_namelen as usize).min(NAME);
        // The type differs between C libraries.
        #[allow(clippy::unnecessary_cast)]
        let control_len = header.msg_hdr.msg_controllen as usize;
        controls[index].len = control_len.min(CONTROL);
    }
    Ok(received)
}

/// A packet to send.
#[derive(Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub(crate) bytes: &'a [u8],
    /// Its destination, unless the socket is connected.
    pub(crate) name: Option<&'a Name>,
    /// Its control messages; may be empty.
    pub(crate) control: &'a Control,
    /// It belongs to the message of the packet before it, whose control messages have the kernel cut that.
    pub(crate) joined: bool,
}

/// Sends packets without waiting. Returns how many were sent; an error concerns the first one only, and those that are
/// joined to it.
pub(crate) fn send_batch<'a>(
    fd: BorrowedFd<'_>,
    packets: impl Iterator<Item = Outgoing<'a>>,
) -> io::Result<usize> {
    // SAFETY: all zeros is a valid `iovec` and a valid `mmsghdr`.
    let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
        unsafe { (mem::zeroed(), mem::zeroed()) };
    let mut count = 0;
    for (index, packet) in packets.take(BATCH).enumerate() {
        // Sending does not write to the packet.
        let bytes = packet.bytes;
        vectors[index] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        if packet.joined && count > 0 {
            headers[count - 1].msg_hdr.msg_iovlen += 1;
            continue;
        }
        let header = &mut headers[count].msg_hdr;
        if packet.control.len > 0 {
            header.msg_control = packet.control.bytes.as_ptr().cast_mut().cast();
            header.msg_controllen = packet.control.len.min(CONTROL) as _;
        }
        if let Some(name) = packet.name {
            header.msg_name = name.bytes.as_ptr().cast_mut().cast();
            header.msg_namelen = name.len.min(NAME) as libc::socklen_t;
        }
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: the first `count` headers point at the vectors of their packets, which follow each other, and perhaps a name and
    // control messages with their lengths; all of them are borrowed for longer than this call.
    let sent = unsafe {
        libc::sendmmsg(
            fd.as_raw_fd(),
            headers.as_mut_ptr(),
            count as libc::c_uint,
            (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
        )
    };
    let sent = usize::try_from(sent).map_err(|_| io::Error::last_os_error())?;
    // The type differs between C libraries.
    #[allow(clippy::unnecessary_cast)]
    let packets = headers[..sent].iter().map(|header| header.msg_hdr.msg_iovlen as usize).sum();
    Ok(packets)
}

/// The hardware type (`ARPHRD_`) of the interface to which a packet socket is bound.
pub(crate) fn hardware_type(fd: BorrowedFd<'_>) -> io::Result<u16> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut name: libc::sockaddr_ll = unsafe { mem::zeroed() };
    let mut len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which `name` has.
    let result = unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut name).cast(), &raw mut len) };
    if result == 0 { Ok(name.sll_hatype) } else { Err(io::Error::last_os_error()) }
}

/// The index of the interface of this name in the network namespace of `fd`, a socket of any kind;
/// independent of the calling thread's namespace.
pub(crate) fn interface_index(fd: BorrowedFd<'_>, name: &str) -> io::Result<u32> {
    let answer = ask_of_interface(fd, name, libc::SIOCGIFINDEX as _)?;
    // SAFETY: the kernel has written the index.
    Ok(unsafe { answer.ifr_ifru.ifru_ifindex } as u32)
}

/// The MTU of the interface of this name in the network namespace of `fd`, a socket of any kind.
pub(crate) fn interface_mtu(fd: BorrowedFd<'_>, name: &str) -> io::Result<i32> {
    let answer = ask_of_interface(fd, name, libc::SIOCGIFMTU as _)?;
    // SAFETY: the kernel has written the MTU.
    Ok(unsafe { answer.ifr_ifru.ifru_mtu })
}

/// The answer to a request that has the name of an interface, and no other argument.
fn ask_of_interface(fd: BorrowedFd<'_>, name: &str, question: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: `request` lives until the call returns.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), question, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(request) }
}

/// How many packets a packet socket dropped since the last call.
pub(crate) fn packet_drops(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, which `statistics` has.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut len,
        )
    };
    if result == 0 { Ok(statistics.tp_drops) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread real-time priority (`SCHED_FIFO`, at the lowest level).
pub(crate) fn run_in_real_time() -> io::Result<()> {
    // SAFETY: all zeros is a valid `sched_param`.
    let mut parameters: libc::sched_param = unsafe { mem::zeroed() };
    parameters.sched_priority = 1;
    // SAFETY: `parameters` lives until the call returns; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
