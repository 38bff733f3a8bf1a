//! The C interface: the table of functions, and access to C memory. All `unsafe` of the crate is here.
//!
//! Requirements for every function of the table: `userdata` is the value that
//! [`packetdrill_interface_init`] stored in the table, it is not used after `free`, and pointers are
//! valid as for the system call of the same name. A null pointer to data gives `EFAULT`, as in the
//! system.
//!
//! A panic does not unwind into C: Rust aborts the process.

mod address;
mod calls;
mod memory;
mod messages;

use std::ffi::{CStr, c_char, c_int, c_longlong, c_uint, c_ulong, c_void};

use libc::{
    epoll_event, iovec, loff_t, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval,
    timezone, useconds_t,
};

use crate::blocking::Shared;
use crate::config::Config;
use crate::stack::Stack;

/// The table that packetdrill has filled in: `struct packetdrill_interface` of its
/// `packetdrill.h`, in that order. Every function takes the table's `userdata` first.
///
/// Errors are -1 with `errno`, unless stated otherwise.
#[repr(C)]
#[allow(missing_docs, reason = "the fields are the system calls of the same name")]
pub struct Interface {
    pub userdata: *mut c_void,
    /// Frees `userdata`.
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub socket: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int>,
    pub bind: Option<unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int>,
    pub listen: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int>,
    pub accept: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut sockaddr, *mut socklen_t) -> c_int>,
    pub connect: Option<unsafe extern "C" fn(*mut c_void, c_int, *const sockaddr, socklen_t) -> c_int>,
    pub read: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t) -> ssize_t>,
    pub readv: Option<unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t>,
    pub recv: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, size_t, c_int) -> ssize_t>,
    pub recvfrom: Option<
        unsafe extern "C" fn(
            *mut c_void,
            c_int,
            *mut c_void,
            size_t,
            c_int,
            *mut sockaddr,
            *mut socklen_t,
        ) -> ssize_t,
    >,
    pub recvmsg: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut msghdr, c_int) -> ssize_t>,
    pub write: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t) -> ssize_t>,
    pub writev: Option<unsafe extern "C" fn(*mut c_void, c_int, *const iovec, c_int) -> ssize_t>,
    pub send: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_void, size_t, c_int) -> ssize_t>,
    pub sendto: Option<
        unsafe extern "C" fn(
            *mut c_void,
            c_int,
            *const c_void,
            size_t,
            c_int,
            *const sockaddr,
            socklen_t,
        ) -> ssize_t,
    >,
    pub sendmsg: Option<unsafe extern "C" fn(*mut c_void, c_int, *const msghdr, c_int) -> ssize_t>,
    pub fcntl: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, ...) -> c_int>,
    pub ioctl: Option<unsafe extern "C" fn(*mut c_void, c_int, c_ulong, ...) -> c_int>,
    pub close: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
    pub shutdown: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int) -> c_int>,
    pub getsockopt:
        Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int>,
    pub setsockopt:
        Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *const c_void, socklen_t) -> c_int>,
    pub poll: Option<unsafe extern "C" fn(*mut c_void, *mut pollfd, nfds_t, c_int) -> c_int>,
    /// Delivers a packet to the stack: 0, or -1.
    pub netdev_send: Option<unsafe extern "C" fn(*mut c_void, *const c_void, size_t) -> c_int>,
    /// The next packet that the stack sends, its length (in: the room; out: 0 if none can follow) and the
    /// time in microseconds.
    pub netdev_receive:
        Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut size_t, *mut c_longlong) -> c_int>,
    pub usleep: Option<unsafe extern "C" fn(*mut c_void, useconds_t) -> c_int>,
    pub gettimeofday: Option<unsafe extern "C" fn(*mut c_void, *mut timeval, *mut timezone) -> c_int>,
    pub epoll_create: Option<unsafe extern "C" fn(*mut c_void, c_int) -> c_int>,
    pub epoll_ctl: Option<unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int, *mut epoll_event) -> c_int>,
    pub epoll_wait: Option<unsafe extern "C" fn(*mut c_void, c_int, *mut epoll_event, c_int, c_int) -> c_int>,
    pub pipe: Option<unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int>,
    pub splice: Option<
        unsafe extern "C" fn(*mut c_void, c_int, *mut loff_t, c_int, *mut loff_t, size_t, c_uint) -> c_int,
    >,
}

/// The target of `userdata`. The first two fields are called by `variadic.c`.
#[repr(C)]
struct Userdata {
    fcntl: unsafe extern "C" fn(*mut c_void, c_int, c_int, c_int) -> c_int,
    ioctl: unsafe extern "C" fn(*mut c_void, c_int, c_ulong, *mut c_int) -> c_int,
    shared: Shared,
}

unsafe extern "C" {
    fn headway_packetdrill_fcntl(userdata: *mut c_void, fd: c_int, command: c_int, ...) -> c_int;
    fn headway_packetdrill_ioctl(userdata: *mut c_void, fd: c_int, request: c_ulong, ...) -> c_int;
}

/// Makes a stack as `flags` say and fills in `interface`. The calling thread becomes the one that
/// moves the stack's clock.
///
/// Invalid flags are reported on standard error and end the process: packetdrill does not
/// ask whether this went well.
///
/// # Safety
///
/// `flags` is null or ends with a zero byte, `interface` points to room for a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(flags: *const c_char, interface: *mut Interface) {
    let flags = if flags.is_null() {
        ""
    } else {
        // SAFETY: the caller guarantees for the zero byte.
        unsafe { CStr::from_ptr(flags) }.to_str().unwrap_or("flags that are no text")
    };
    let config = match Config::parse(flags) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("headway: {error}");
            std::process::exit(2);
        }
    };
    let userdata =
        Userdata { fcntl: calls::fcntl, ioctl: calls::ioctl, shared: Shared::new(Stack::new(config)) };
    let table = Interface {
        userdata: Box::into_raw(Box::new(userdata)).cast(),
        free: Some(free),
        socket: Some(calls::socket),
        bind: Some(calls::bind),
        listen: Some(calls::listen),
        accept: Some(calls::accept),
        connect: Some(calls::connect),
        read: Some(messages::read),
        readv: Some(messages::readv),
        recv: Some(messages::recv),
        recvfrom: Some(messages::recvfrom),
        recvmsg: Some(messages::recvmsg),
        write: Some(messages::write),
        writev: Some(messages::writev),
        send: Some(messages::send),
        sendto: Some(messages::sendto),
        sendmsg: Some(messages::sendmsg),
        fcntl: Some(headway_packetdrill_fcntl),
        ioctl: Some(headway_packetdrill_ioctl),
        close: Some(calls::close),
        shutdown: Some(calls::shutdown),
        getsockopt: Some(calls::getsockopt),
        setsockopt: Some(calls::setsockopt),
        poll: Some(calls::poll),
        netdev_send: Some(calls::netdev_send),
        netdev_receive: Some(calls::netdev_receive),
        usleep: Some(calls::usleep),
        gettimeofday: Some(calls::gettimeofday),
        epoll_create: Some(calls::epoll_create),
        epoll_ctl: Some(calls::epoll_ctl),
        epoll_wait: Some(calls::epoll_wait),
        pipe: Some(calls::pipe),
        splice: Some(calls::splice),
    };
    // SAFETY: the caller guarantees for the room.
    unsafe { interface.write(table) };
}

unsafe extern "C" fn free(userdata: *mut c_void) {
    // SAFETY: it comes from `Box::into_raw` above, and it is not used after this call.
    drop(unsafe { Box::from_raw(userdata.cast::<Userdata>()) });
}

/// The stack behind `userdata`.
///
/// # Safety
///
/// `userdata` is that of the table, and not freed.
unsafe fn shared<'a>(userdata: *mut c_void) -> &'a Shared {
    // SAFETY: as the caller guarantees; it is only ever shared.
    unsafe { &(*userdata.cast::<Userdata>()).shared }
}
