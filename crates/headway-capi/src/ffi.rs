//! The functions of the header, and access to C memory. All `unsafe` of the crate is here.
//!
//! What C must guarantee, for every function: a pointer to text is null or points to text with a null byte at its end; a
//! pointer with a length is null or points to as many bytes; a pointer to a result is null or points to room for it; the
//! memory that the pointers of one call point to does not overlap. A null pointer that is not permitted gives
//! `HEADWAY_ERROR_NULL`, and changes nothing. Pointers to hosts and links are keys: they are never dereferenced, so any
//! value is safe.
//!
//! Every function returns a code, does not unwind, and may be called by any thread.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;

use headway_embed::records::{Fields, LINK_COUNTERS, PATH_COUNTS, STATISTICS};
use headway_embed::{EmbeddedHost, EmbeddedLink, Error, Keys, NEVER, names};

use crate::constants::{ABI_VERSION, number};
use crate::records;
use crate::registry::Registry;
use crate::status::{self, Code, Failure, Status, guard};

/// `headway_host` of the header.
#[repr(C)]
pub struct Host {
    private: [u8; 0],
}

/// `headway_link` of the header.
#[repr(C)]
pub struct Link {
    private: [u8; 0],
}

/// Where C wants a result.
type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// A host, with the buffer that it writes its packets into.
struct HostEntry {
    host: EmbeddedHost,
    packet: Vec<u8>,
}

static HOSTS: Registry<HostEntry> = Registry::new("host");
static LINKS: Registry<EmbeddedLink> = Registry::new("link");

// --- C memory -----------------------------------------------------------------------------------------

fn null(what: &str) -> Failure {
    Failure::new(Code::Null, format!("{what}: expected a pointer, got null"))
}

fn place<T>(place: Out<'_, T>) -> Result<&mut MaybeUninit<T>, Failure> {
    place.ok_or_else(|| null("result"))
}

/// # Safety
///
/// `text` is null or points to text with a null byte at its end, which stays as it is for `'a`.
unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(null(what));
    }
    // SAFETY: not null, and the caller guarantees the rest.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::new(Code::Text, format!("{what}: expected UTF-8, got {text:?}")))
}

/// No keys where the pointer is null.
///
/// # Safety
///
/// As for [`text`].
unsafe fn keys(keys: *const c_char) -> Result<Keys, Failure> {
    if keys.is_null() {
        return Ok(Keys::default());
    }
    // SAFETY: the caller guarantees it.
    Ok(unsafe { text(keys, "keys") }?.parse()?)
}

/// # Safety
///
/// `bytes` is null or points to `len` bytes, which stay as they are for `'a`.
unsafe fn bytes<'a>(bytes: *const c_void, len: usize, what: &str) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if bytes.is_null() {
        return Err(null(what));
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::new(
            Code::Length,
            format!("{what}: expected a length that memory has, got {len}"),
        ));
    }
    // SAFETY: not null, not too long, and the caller guarantees the rest.
    Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), len) })
}

/// # Safety
///
/// From `at` on, `to` has room for all bytes of `from`, and does not overlap with it.
unsafe fn copy_out(from: &[u8], to: *mut c_void, at: usize) {
    // SAFETY: the caller guarantees the room.
    unsafe { from.as_ptr().copy_to_nonoverlapping(to.cast::<u8>().add(at), from.len()) }
}

/// Copies the first `size` bytes of a structure: `size` is its length in the header that the caller was compiled with. Fields
/// that this version lacks are zero.
///
/// # Safety
///
/// `to` is null or points to `size` bytes.
unsafe fn put_record<T>(fields: &Fields<T>, source: &T, to: *mut c_void, size: usize) -> Result<(), Failure> {
    if to.is_null() {
        return Err(null("result"));
    }
    // No version has a structure this long: the size is wrong, and the caller's memory may be shorter.
    if size > 4096 {
        return Err(Failure::new(Code::Length, format!("size: expected that of the structure, got {size}")));
    }
    let mut bytes = records::bytes(fields, source);
    bytes.resize(size, 0);
    // SAFETY: not null, and the caller guarantees the size.
    unsafe { copy_out(&bytes, to, 0) };
    Ok(())
}

/// A call on a host that gives a result.
fn of_host<T>(
    host: *mut Host,
    out: Out<'_, T>,
    work: impl FnOnce(&mut EmbeddedHost) -> Result<T, Error>,
) -> Status {
    guard(|| {
        let out = place(out)?;
        out.write(HOSTS.with(host.addr(), |entry| work(&mut entry.host))?);
        Ok(())
    })
}

/// A call on a host that gives none.
fn on_host(host: *mut Host, work: impl FnOnce(&mut EmbeddedHost) -> Result<(), Error>) -> Status {
    guard(|| HOSTS.with(host.addr(), |entry| work(&mut entry.host)))
}

// --- the library --------------------------------------------------------------------------------------

/// The version of the interface that this library has: `HEADWAY_ABI_VERSION` of its header.
#[unsafe(no_mangle)]
pub extern "C" fn headway_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of headway, as text.
#[unsafe(no_mangle)]
pub extern "C" fn headway_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The message of the latest call of this thread that failed; valid until the next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn headway_last_error() -> *const c_char {
    status::latest()
}

// --- hosts --------------------------------------------------------------------------------------------

/// Makes a host: [`EmbeddedHost::new`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_new(
    address: *const c_char,
    keys: *const c_char,
    name: *const c_char,
    seed: u64,
    host: Out<'_, *mut Host>,
) -> Status {
    guard(|| {
        let out = place(host)?;
        // SAFETY: as the module says.
        let (address, keys, name) =
            unsafe { (text(address, "address")?, self::keys(keys)?, text(name, "name")?) };
        let host = EmbeddedHost::new(address, &keys, name, seed)?;
        let packet = vec![0; host.mtu()];
        out.write(std::ptr::without_provenance_mut(HOSTS.insert(HostEntry { host, packet })));
        Ok(())
    })
}

/// Frees a host; its connections end without sending a packet.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_free(host: *mut Host) -> Status {
    guard(|| HOSTS.remove(host.addr()))
}

/// [`EmbeddedHost::add_address`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_add_address(host: *mut Host, address: *const c_char) -> Status {
    guard(|| {
        // SAFETY: as the module says.
        let address = unsafe { text(address, "address") }?;
        HOSTS.with(host.addr(), |entry| entry.host.add_address(address))
    })
}

/// [`EmbeddedHost::set_only_peer`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_set_only_peer(
    host: *mut Host,
    local: *const c_char,
    remote: *const c_char,
) -> Status {
    guard(|| {
        // SAFETY: as the module says.
        let (local, remote) = unsafe { (text(local, "local")?, text(remote, "remote")?) };
        HOSTS.with(host.addr(), |entry| entry.host.set_only_peer(local, remote))
    })
}

/// [`EmbeddedHost::mtu`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_mtu(host: *mut Host, mtu: Out<'_, usize>) -> Status {
    of_host(host, mtu, |host| Ok(host.mtu()))
}

// --- connections --------------------------------------------------------------------------------------

/// [`EmbeddedHost::listen`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_listen(
    host: *mut Host,
    local: *const c_char,
    backlog: usize,
    listener: Out<'_, u64>,
) -> Status {
    guard(|| {
        let out = place(listener)?;
        // SAFETY: as the module says.
        let local = unsafe { text(local, "local") }?;
        out.write(HOSTS.with(host.addr(), |entry| entry.host.listen(local, backlog))?);
        Ok(())
    })
}

/// [`EmbeddedHost::accept`]; 0 if no connection waits.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_accept(host: *mut Host, listener: u64, connection: Out<'_, u64>) -> Status {
    of_host(host, connection, |host| Ok(host.accept(listener)?.unwrap_or(0)))
}

/// [`EmbeddedHost::close_listener`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_close_listener(host: *mut Host, now: u64, listener: u64) -> Status {
    on_host(host, |host| host.close_listener(now, listener))
}

/// [`EmbeddedHost::connect`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_connect(
    host: *mut Host,
    now: u64,
    local: *const c_char,
    remote: *const c_char,
    connection: Out<'_, u64>,
) -> Status {
    guard(|| {
        let out = place(connection)?;
        // SAFETY: as the module says.
        let (local, remote) = unsafe { (text(local, "local")?, text(remote, "remote")?) };
        out.write(HOSTS.with(host.addr(), |entry| entry.host.connect(now, local, remote))?);
        Ok(())
    })
}

/// [`EmbeddedHost::write`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_write(
    host: *mut Host,
    connection: u64,
    data: *const c_void,
    len: usize,
    written: Out<'_, usize>,
) -> Status {
    guard(|| {
        let out = place(written)?;
        // SAFETY: as the module says.
        let data = unsafe { bytes(data, len, "data") }?;
        out.write(HOSTS.with(host.addr(), |entry| entry.host.write(connection, data))?);
        Ok(())
    })
}

/// [`EmbeddedHost::writable`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_writable(host: *mut Host, connection: u64, len: Out<'_, usize>) -> Status {
    of_host(host, len, |host| host.writable(connection))
}

/// [`EmbeddedHost::readable`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_readable(host: *mut Host, connection: u64, len: Out<'_, usize>) -> Status {
    of_host(host, len, |host| host.readable(connection))
}

/// [`EmbeddedHost::read`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_read(
    host: *mut Host,
    connection: u64,
    buffer: *mut c_void,
    capacity: usize,
    len: Out<'_, usize>,
) -> Status {
    guard(|| {
        let out = place(len)?;
        if buffer.is_null() && capacity > 0 {
            return Err(null("buffer"));
        }
        let mut at = 0;
        let read = HOSTS.with(host.addr(), |entry| {
            entry.host.read(connection, capacity, |piece| {
                // SAFETY: as the module says; the pieces together have at most `capacity` bytes.
                unsafe { copy_out(piece, buffer, at) };
                at += piece.len();
            })
        });
        out.write(read?);
        Ok(())
    })
}

/// [`EmbeddedHost::is_finished`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_is_finished(
    host: *mut Host,
    connection: u64,
    finished: Out<'_, bool>,
) -> Status {
    of_host(host, finished, |host| host.is_finished(connection))
}

/// [`EmbeddedHost::shutdown`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_shutdown(host: *mut Host, now: u64, connection: u64) -> Status {
    on_host(host, |host| host.shutdown(now, connection))
}

/// [`EmbeddedHost::abort`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_abort(host: *mut Host, now: u64, connection: u64) -> Status {
    on_host(host, |host| host.abort(now, connection))
}

/// [`EmbeddedHost::release`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_release(host: *mut Host, now: u64, connection: u64) -> Status {
    on_host(host, |host| host.release(now, connection))
}

/// [`EmbeddedHost::state`], as a `HEADWAY_STATE_`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_state(host: *mut Host, connection: u64, state: Out<'_, i32>) -> Status {
    of_host(host, state, |host| host.state(connection).map(|state| number(names::of_state(state))))
}

/// [`EmbeddedHost::failure`], as a `HEADWAY_FAILURE_`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_failure(host: *mut Host, connection: u64, failure: Out<'_, i32>) -> Status {
    of_host(host, failure, |host| host.failure(connection).map(|failure| number(names::of_failure(failure))))
}

/// Both ends of a connection as text, `192.0.2.1:49152 192.0.2.2:80`, with a null byte.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_endpoints(
    host: *mut Host,
    connection: u64,
    text: *mut c_char,
    capacity: usize,
) -> Status {
    guard(|| {
        if text.is_null() {
            return Err(null("text"));
        }
        let ends = HOSTS.with(host.addr(), |entry| entry.host.endpoints(connection))?;
        let ends = format!("{} {}\0", ends.local, ends.remote);
        if ends.len() > capacity {
            return Err(Error::ShortBuffer { given: capacity, needed: ends.len() }.into());
        }
        // SAFETY: as the module says, and there is room.
        unsafe { copy_out(ends.as_bytes(), text.cast(), 0) };
        Ok(())
    })
}

/// [`EmbeddedHost::statistics`]: the first `size` bytes of the structure.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_statistics(
    host: *mut Host,
    connection: u64,
    statistics: *mut c_void,
    size: usize,
) -> Status {
    guard(|| {
        let values = HOSTS.with(host.addr(), |entry| entry.host.statistics(connection))?;
        // SAFETY: as the module says.
        unsafe { put_record(STATISTICS, &values, statistics, size) }
    })
}

/// [`EmbeddedHost::path_counts`]: the first `size` bytes of the structure.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_path_counts(
    host: *mut Host,
    connection: u64,
    counts: *mut c_void,
    size: usize,
) -> Status {
    guard(|| {
        let values = HOSTS.with(host.addr(), |entry| entry.host.path_counts(connection))?;
        // SAFETY: as the module says.
        unsafe { put_record(PATH_COUNTS, &values, counts, size) }
    })
}

/// [`EmbeddedHost::poll_notification`], as a `HEADWAY_NOTIFICATION_`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_poll_notification(
    host: *mut Host,
    connection: Out<'_, u64>,
    notification: Out<'_, i32>,
) -> Status {
    guard(|| {
        let (connection, notification) = (place(connection)?, place(notification)?);
        let next = HOSTS.with(host.addr(), |entry| Ok::<_, Failure>(entry.host.poll_notification()))?;
        connection.write(next.map_or(0, |(number, _)| number));
        notification.write(number(names::of_notification(next.map(|(_, notification)| notification))));
        Ok(())
    })
}

// --- the network of a host ----------------------------------------------------------------------------

/// [`EmbeddedHost::receive`]; `what`, which may be null, becomes a `HEADWAY_PACKET_`.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_receive(
    host: *mut Host,
    now: u64,
    packet: *const c_void,
    len: usize,
    what: Out<'_, i32>,
) -> Status {
    guard(|| {
        // SAFETY: as the module says.
        let packet = unsafe { bytes(packet, len, "packet") }?;
        let verdict = HOSTS.with(host.addr(), |entry| entry.host.receive(now, packet))?;
        if let Some(what) = what {
            what.write(number(names::of_verdict(verdict)));
        }
        Ok(())
    })
}

/// [`EmbeddedHost::poll_transmit`]; the length is 0 if there is nothing to send.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_host_poll_transmit(
    host: *mut Host,
    now: u64,
    buffer: *mut c_void,
    capacity: usize,
    len: Out<'_, usize>,
) -> Status {
    guard(|| {
        let out = place(len)?;
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        let written = HOSTS.with(host.addr(), |HostEntry { host, packet }| {
            let room = packet.len().min(capacity);
            let len = host.poll_transmit(now, &mut packet[..room])?.unwrap_or(0);
            // SAFETY: as the module says, and there is room for what fits into `capacity` bytes.
            unsafe { copy_out(&packet[..len], buffer, 0) };
            Ok::<_, Error>(len)
        });
        out.write(written?);
        Ok(())
    })
}

/// [`EmbeddedHost::next_deadline`], or `HEADWAY_NEVER`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_next_deadline(host: *mut Host, at: Out<'_, u64>) -> Status {
    of_host(host, at, |host| Ok(host.next_deadline().unwrap_or(NEVER)))
}

/// [`EmbeddedHost::handle_timeout`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_host_handle_timeout(host: *mut Host, now: u64) -> Status {
    on_host(host, |host| host.handle_timeout(now))
}

// --- links --------------------------------------------------------------------------------------------

/// Makes one direction of a link: [`EmbeddedLink::new`].
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_link_new(
    keys: *const c_char,
    name: *const c_char,
    seed: u64,
    link: Out<'_, *mut Link>,
) -> Status {
    guard(|| {
        let out = place(link)?;
        // SAFETY: as the module says.
        let (keys, name) = unsafe { (self::keys(keys)?, text(name, "name")?) };
        let key = LINKS.insert(EmbeddedLink::new(&keys, name, seed)?);
        out.write(std::ptr::without_provenance_mut(key));
        Ok(())
    })
}

/// Frees a link, with the packets in it.
#[unsafe(no_mangle)]
pub extern "C" fn headway_link_free(link: *mut Link) -> Status {
    guard(|| LINKS.remove(link.addr()))
}

/// [`EmbeddedLink::push`]; `queued`, which may be null, is false for a packet that is dropped.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_link_push(
    link: *mut Link,
    now: u64,
    packet: *const c_void,
    len: usize,
    queued: Out<'_, bool>,
) -> Status {
    guard(|| {
        // SAFETY: as the module says.
        let packet = unsafe { bytes(packet, len, "packet") }?;
        let is_queued = LINKS.with(link.addr(), |link| link.push(now, packet))?;
        if let Some(queued) = queued {
            queued.write(is_queued);
        }
        Ok(())
    })
}

/// [`EmbeddedLink::next_event`], or `HEADWAY_NEVER`.
#[unsafe(no_mangle)]
pub extern "C" fn headway_link_next_event(link: *mut Link, at: Out<'_, u64>) -> Status {
    guard(|| {
        let out = place(at)?;
        out.write(LINKS.with(link.addr(), |link| Ok::<_, Failure>(link.next_event().unwrap_or(NEVER)))?);
        Ok(())
    })
}

/// [`EmbeddedLink::pop`]; the length is 0 if nothing has arrived. `flipped_bits` may be null.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_link_pop(
    link: *mut Link,
    now: u64,
    buffer: *mut c_void,
    capacity: usize,
    len: Out<'_, usize>,
    flipped_bits: Out<'_, u32>,
) -> Status {
    guard(|| {
        let out = place(len)?;
        if buffer.is_null() {
            return Err(null("buffer"));
        }
        let arrival = LINKS.with(link.addr(), |link| link.pop_at_most(now, capacity))?;
        let packet = arrival.as_ref().map_or(&[][..], |arrival| &arrival.packet);
        // SAFETY: as the module says, and there is room.
        unsafe { copy_out(packet, buffer, 0) };
        out.write(packet.len());
        if let Some(flipped_bits) = flipped_bits {
            flipped_bits.write(arrival.map_or(0, |arrival| arrival.flipped_bits));
        }
        Ok(())
    })
}

/// Packets that wait in the queue at the time of the latest push or pop: [`EmbeddedLink::queue_len`].
#[unsafe(no_mangle)]
pub extern "C" fn headway_link_queue_len(link: *mut Link, packets: Out<'_, usize>) -> Status {
    guard(|| {
        let out = place(packets)?;
        out.write(LINKS.with(link.addr(), |link| Ok::<_, Failure>(link.queue_len()))?);
        Ok(())
    })
}

/// [`EmbeddedLink::counters`]: the first `size` bytes of the structure.
///
/// # Safety
///
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headway_link_statistics(
    link: *mut Link,
    counters: *mut c_void,
    size: usize,
) -> Status {
    guard(|| {
        let values = LINKS.with(link.addr(), |link| Ok::<_, Failure>(link.counters()))?;
        // SAFETY: as the module says.
        unsafe { put_record(LINK_COUNTERS, &values, counters, size) }
    })
}
