//! Socket addresses in C memory.

use std::net::{IpAddr, SocketAddr};

use libc::{sockaddr, sockaddr_in, sockaddr_in6, socklen_t};

use crate::errno::{Errno, Result};

/// The target of `connect`.
pub(super) enum Target {
    Address(SocketAddr),
    /// `AF_UNSPEC`: disconnect.
    Nowhere,
}

/// Reads an address; an IPv4-mapped one is IPv4.
///
/// # Safety
///
/// `address` is null or points to `len` readable bytes.
pub(super) unsafe fn read(address: *const sockaddr, len: socklen_t) -> Result<Target> {
    if address.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let len = len as usize;
    if len < size_of::<libc::sa_family_t>() {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: the family is the first field, and `len` covers it.
    let family = unsafe { (&raw const (*address).sa_family).read_unaligned() };
    match i32::from(family) {
        libc::AF_UNSPEC => Ok(Target::Nowhere),
        libc::AF_INET if len >= size_of::<sockaddr_in>() => {
            // SAFETY: it is of that family and long enough.
            let found = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
            let ip = IpAddr::from(found.sin_addr.s_addr.to_ne_bytes());
            Ok(Target::Address(SocketAddr::new(ip, u16::from_be(found.sin_port))))
        }
        libc::AF_INET6 if len >= size_of::<sockaddr_in6>() => {
            // SAFETY: it is of that family and long enough.
            let found = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            let ip = IpAddr::from(found.sin6_addr.s6_addr).to_canonical();
            Ok(Target::Address(SocketAddr::new(ip, u16::from_be(found.sin6_port))))
        }
        libc::AF_INET | libc::AF_INET6 => Err(Errno(libc::EINVAL)),
        _ => Err(Errno(libc::EAFNOSUPPORT)),
    }
}

/// Writes an address as `accept` does: truncated to the room, with its full length. With a null `address`
/// nothing is written.
///
/// # Safety
///
/// `address` and `len` are null, or `len` can be read and written and `address` points to `len` writable
/// bytes.
pub(super) unsafe fn write(address: *mut sockaddr, len: *mut socklen_t, value: SocketAddr, as_v6: bool) {
    if address.is_null() || len.is_null() {
        return;
    }
    let copy = |from: *const u8, size: usize| {
        // SAFETY: the caller guarantees `len` and the room at `address`.
        unsafe {
            let room = (len.read() as usize).min(size);
            from.copy_to_nonoverlapping(address.cast(), room);
            len.write(size as socklen_t);
        }
    };
    let port = value.port().to_be();
    match value.ip() {
        IpAddr::V4(ip) if !as_v6 => {
            let found = sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: port,
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
                sin_zero: [0; 8],
            };
            copy((&raw const found).cast(), size_of_val(&found));
        }
        ip => {
            let bytes = match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            let found = sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: port,
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: bytes },
                sin6_scope_id: 0,
            };
            copy((&raw const found).cast(), size_of_val(&found));
        }
    }
}
