//! Calls the table of functions in this process, without packetdrill.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod common;

use std::ffi::c_int;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use common::{LOCAL, Left, PORT, Peer, REMOTE, Table, address, call};
use headway_test_fixture::packet;
use headway_wire::{Integrity, SeqNumber, TcpFlags, TcpOptions, judge};

fn syn_options() -> TcpOptions {
    TcpOptions { mss: Some(1000), ..TcpOptions::default() }
}

/// A connection from the SYN to TIME-WAIT, with every packet that is sent.
fn conversation() -> Vec<Left> {
    let table = Table::new("linux");
    let mut left = Vec::new();
    let listener = table.listener();
    let mut peer = Peer::connect(&table, &syn_options());
    let fd = table.accept(listener).unwrap() as c_int;

    table.inject(&peer.packet(TcpFlags::ACK | TcpFlags::PSH, b"hello"));
    peer.seq += 5;
    assert_eq!(table.read(fd, 100).as_deref(), Ok(&b"hello"[..]));
    let ack = table.next().expect("a delayed ACK");
    assert_eq!(ack.segment().tcp.ack, SeqNumber(6));
    left.push(ack);

    assert_eq!(table.write(fd, &[7; 3000]), Ok(3000));
    for (len, is_last) in [(1000, false), (1000, false), (1000, true)] {
        let data = table.next().expect("data");
        assert_eq!(judge(&data.packet), Ok(Integrity::Intact));
        let segment = data.segment();
        assert_eq!((segment.tcp.seq, segment.payload.len()), (peer.ack, len));
        assert!(segment.payload.iter().all(|&byte| byte == 7));
        assert_eq!(segment.tcp.flags.contains(TcpFlags::PSH), is_last);
        peer.ack += len as u32;
        left.push(data);
    }
    table.inject(&peer.packet(TcpFlags::ACK, &[]));

    assert_eq!(table.close(fd), Ok(0));
    let fin = table.next().expect("a FIN");
    assert!(fin.segment().tcp.flags.contains(TcpFlags::FIN));
    peer.ack += 1;
    table.inject(&peer.packet(TcpFlags::ACK | TcpFlags::FIN, &[]));
    let last = table.next().expect("the last ACK");
    assert_eq!(last.segment().tcp.ack, SeqNumber(7));
    left.extend([fin, last]);
    assert_eq!(table.close(listener), Ok(0));
    assert_eq!(table.next(), None, "TIME-WAIT ends in silence, and then nothing can come");
    left
}

#[test]
fn a_conversation_is_the_same_every_time() {
    assert_eq!(conversation(), conversation());
}

#[test]
fn the_clock_moves_as_it_must() {
    let table = Table::new("");
    let first = table.now();
    assert!(table.now() > first, "packetdrill spins on the clock");
    let before = table.now();
    table.sleep(1_000_000);
    assert!(table.now() - before >= 1_000_020, "packetdrill wakes up 20 us early");
}

#[test]
fn time_runs_from_timer_to_timer() {
    let table = Table::new("linux");
    let _listener = table.listener();
    let peer = Peer { seq: 0, ack: SeqNumber(0) };
    table.inject(&peer.packet(TcpFlags::SYN, &[]));
    let sent: Vec<i64> = std::iter::from_fn(|| table.next()).map(|left| left.at).collect();
    let gaps: Vec<i64> = sent.windows(2).map(|pair| (pair[1] - pair[0] + 5_000) / 1_000_000).collect();
    // RFC 6298: one second, doubled each time; then the attempt is aborted.
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32]);
}

/// As packetdrill does before it continues: virtual time does not advance.
fn wait_until_asleep(thread: libc::pid_t) {
    for _ in 0..10_000 {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        if stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("the call does not wait");
}

#[test]
fn a_waiting_call_returns_at_its_time() {
    let table = Table::new("linux");
    let listener = table.listener();
    let start = table.now();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let table = &table;
        let waiting = scope.spawn(move || {
            sender.send(unsafe { libc::gettid() }).unwrap();
            let fd = table.accept(listener).unwrap() as c_int;
            (fd, table.now())
        });
        wait_until_asleep(receiver.recv().unwrap());
        table.sleep(300_000);
        Peer::connect(table, &syn_options());
        table.sleep(5_000_000);
        let (fd, at) = waiting.join().unwrap();
        assert_ne!(fd, listener);
        assert!((300_000..301_000).contains(&(at - start)), "{}", at - start);
    });
}

#[test]
fn a_wait_ends_with_its_limit() {
    let table = Table::new("linux");
    let listener = table.listener();
    let mut list = [libc::pollfd { fd: listener, events: libc::POLLIN, revents: -1 }];
    let start = table.now();
    assert_eq!(call!(table, poll, list.as_mut_ptr(), 1, 250), Ok(0));
    assert!((250_000..250_100).contains(&(table.now() - start)));
    assert_eq!(list[0].revents, 0);
    Peer::connect(&table, &syn_options());
    assert_eq!(call!(table, poll, list.as_mut_ptr(), 1, 250), Ok(1));
    assert_eq!(list[0].revents, libc::POLLIN);
}

#[test]
fn a_call_that_would_wait_for_ever_is_refused() {
    let table = Table::new("linux");
    let listener = table.listener();
    assert_eq!(table.accept(listener), Err(libc::EDEADLK));
}

#[test]
fn variadic_calls_get_their_argument() {
    let table = Table::new("linux");
    let listener = table.listener();
    assert_eq!(call!(table, fcntl, listener, libc::F_GETFL), Ok(libc::O_RDWR.into()));
    let flags = libc::O_RDWR | libc::O_NONBLOCK;
    assert_eq!(call!(table, fcntl, listener, libc::F_SETFL, flags), Ok(0));
    assert_eq!(call!(table, fcntl, listener, libc::F_GETFL), Ok(flags.into()));
    assert_eq!(table.accept(listener), Err(libc::EAGAIN));

    let peer = Peer::connect(&table, &syn_options());
    let fd = table.accept(listener).unwrap() as c_int;
    table.inject(&peer.packet(TcpFlags::ACK, b"four"));
    let mut count: c_int = -1;
    assert_eq!(call!(table, ioctl, fd, libc::FIONREAD, &raw mut count), Ok(0));
    assert_eq!(count, 4);
    assert_eq!(call!(table, ioctl, fd, 0x1234, &raw mut count), Err(libc::ENOTTY));
}

#[test]
fn an_active_open_tells_how_it_goes() {
    let table = Table::new("linux");
    let fd = table.socket();
    assert_eq!(call!(table, fcntl, fd, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK), Ok(0));
    let to = address(REMOTE, PORT);
    let connect = || call!(table, connect, fd, (&raw const to).cast(), size_of_val(&to) as libc::socklen_t);
    assert_eq!(connect(), Err(libc::EINPROGRESS));
    assert_eq!(connect(), Err(libc::EALREADY));
    assert!(table.next().expect("a SYN").segment().tcp.flags.contains(TcpFlags::SYN));
    // Without an answer the retries end, and the error is returned once.
    while table.next().is_some() {}
    let error = || {
        let (mut error, mut len): (c_int, _) = (-1, size_of::<c_int>() as libc::socklen_t);
        let value = (&raw mut error).cast();
        assert_eq!(
            call!(table, getsockopt, fd, libc::SOL_SOCKET, libc::SO_ERROR, value, &raw mut len),
            Ok(0)
        );
        error
    };
    assert_eq!(error(), libc::ETIMEDOUT);
    assert_eq!(error(), 0);
}

#[test]
fn mistakes_have_their_numbers() {
    let table = Table::new("linux");
    assert_eq!(table.close(-1), Err(libc::EBADF));
    assert_eq!(table.read(12_345, 10), Err(libc::EBADF));
    let fd = table.socket();
    assert_eq!(table.read(fd, 10), Err(libc::ENOTCONN));
    assert_eq!(table.write(fd, b"x"), Err(libc::EPIPE));
    assert_eq!(call!(table, shutdown, fd, libc::SHUT_WR), Err(libc::ENOTCONN));
    assert_eq!(call!(table, bind, fd, std::ptr::null(), 16), Err(libc::EFAULT));
    let name = libc::TCP_FASTOPEN;
    let on: c_int = 1;
    let value = (&raw const on).cast();
    assert_eq!(call!(table, setsockopt, fd, libc::IPPROTO_TCP, name, value, 4), Err(libc::ENOPROTOOPT));
    assert_eq!(
        call!(table, setsockopt, fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, value, 2),
        Err(libc::EINVAL)
    );
}

#[test]
fn closing_with_unread_data_resets() {
    let table = Table::new("linux");
    let listener = table.listener();
    let peer = Peer::connect(&table, &syn_options());
    let fd = table.accept(listener).unwrap() as c_int;
    table.inject(&peer.packet(TcpFlags::ACK, b"never read"));
    assert_eq!(table.close(fd), Ok(0));
    assert!(table.next().expect("a RST").segment().tcp.flags.contains(TcpFlags::RST));
}

#[test]
fn the_flags_choose_variants() {
    for (flags, granted) in [("linux", false), ("linux22,hack", true)] {
        let table = Table::new(flags);
        let _listener = table.listener();
        let peer = Peer { seq: 0, ack: SeqNumber(0) };
        let options = TcpOptions { hack: Some(0), ..syn_options() };
        table.inject(&peer.packet_with(TcpFlags::SYN, &options, &[]));
        let answer = table.next().expect("a SYN-ACK");
        assert_eq!(answer.segment().options.hack.is_some(), granted, "{flags}");
    }
}

#[test]
fn a_damaged_payload_is_reported() {
    let table = Table::new("linux,hack+sack");
    let listener = table.listener();
    let peer = Peer::connect(&table, &TcpOptions { hack: Some(0), ..syn_options() });
    let fd = table.accept(listener).unwrap() as c_int;
    let sealed = TcpOptions { hack: Some(0), ..TcpOptions::default() };
    let whole = peer.packet_with(TcpFlags::ACK, &sealed, b"damaged on the way");
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    table.inject(&damaged);
    let special = table.next().expect("a special ACK");
    assert_eq!(special.segment().options.hack_ack, Some(SeqNumber(peer.seq)));
    table.inject(&whole);
    assert_eq!(table.read(fd, 100).as_deref(), Ok(&b"damaged on the way"[..]));
}

#[test]
fn edges_are_told_once() {
    let table = Table::new("linux");
    let listener = table.listener();
    let set = call!(table, epoll_create, 1).unwrap() as c_int;
    let mut peer = Peer::connect(&table, &syn_options());
    let fd = table.accept(listener).unwrap() as c_int;
    let mut event = libc::epoll_event { events: (libc::EPOLLIN | libc::EPOLLET) as u32, u64: 99 };
    assert_eq!(call!(table, epoll_ctl, set, libc::EPOLL_CTL_ADD, fd, &raw mut event), Ok(0));
    let mut found = libc::epoll_event { events: 0, u64: 0 };
    let mut wait = || call!(table, epoll_wait, set, &raw mut found, 1, 0);
    assert_eq!(wait(), Ok(0));
    for text in [b"one", b"two"] {
        table.inject(&peer.packet(TcpFlags::ACK, text));
        peer.seq += 3;
        assert_eq!(wait(), Ok(1));
        assert_eq!(wait(), Ok(0), "it was reported, and there was no event since");
    }
    assert_eq!({ found.u64 }, 99);
}

#[test]
fn splice_moves_what_arrived() {
    let table = Table::new("linux");
    let listener = table.listener();
    let peer = Peer::connect(&table, &syn_options());
    let fd = table.accept(listener).unwrap() as c_int;
    let mut ends = [0; 2];
    assert_eq!(call!(table, pipe, ends.as_mut_ptr()), Ok(0));
    table.inject(&peer.packet(TcpFlags::ACK, b"through a pipe"));
    let null = std::ptr::null_mut;
    assert_eq!(call!(table, splice, fd, null(), ends[1], null(), 100, 0), Ok(14));
    assert_eq!(table.read(ends[0], 7).as_deref(), Ok(&b"through"[..]));
    assert_eq!(call!(table, splice, ends[0], null(), fd, null(), 100, 0), Ok(7));
    let echoed = std::iter::from_fn(|| table.next()).find(|left| !left.segment().payload.is_empty());
    assert_eq!(echoed.expect("data").segment().payload, b" a pipe");
}

/// Sets an option whose value is an `int`, or the error.
fn set(table: &Table, fd: c_int, level: c_int, name: c_int, value: c_int) -> common::Outcome {
    let len = size_of::<c_int>() as libc::socklen_t;
    call!(table, setsockopt, fd, level, name, (&raw const value).cast(), len)
}

fn option<const N: usize>(table: &Table, fd: c_int, level: c_int, name: c_int) -> Result<[u8; N], c_int> {
    let (mut value, mut len) = ([0; N], N as libc::socklen_t);
    call!(table, getsockopt, fd, level, name, value.as_mut_ptr().cast(), &raw mut len)?;
    assert_eq!(len as usize, N);
    Ok(value)
}

#[test]
fn the_dscp_and_the_time_to_live_are_options() {
    let table = Table::new("linux");
    let listener = table.listener();
    // RFC 3168: the two lower bits are TCP's.
    assert_eq!(set(&table, listener, libc::IPPROTO_IP, libc::IP_TOS, 0xbb), Ok(0));
    assert_eq!(set(&table, listener, libc::IPPROTO_IP, libc::IP_TTL, 9), Ok(0));
    assert_eq!(option(&table, listener, libc::IPPROTO_IP, libc::IP_TOS), Ok(0xb8_i32.to_ne_bytes()));
    let mut peer = Peer { seq: 0, ack: SeqNumber(0) };
    table.inject(&peer.packet(TcpFlags::SYN, &[]));
    let syn_ack = table.next().expect("a SYN-ACK");
    assert_eq!((syn_ack.segment().ip.dscp.value(), syn_ack.segment().ip.hop_limit), (46, 9));
    peer = Peer { seq: 1, ack: syn_ack.segment().tcp.seq + 1 };
    table.inject(&peer.packet(TcpFlags::ACK, &[]));
    let fd = table.accept(listener).unwrap() as c_int;
    assert_eq!(option(&table, fd, libc::IPPROTO_IP, libc::IP_TTL), Ok(9_i32.to_ne_bytes()));
    // One byte is enough on Linux, and -1 is the default.
    let octet = 0x28_u8;
    assert_eq!(
        call!(table, setsockopt, fd, libc::IPPROTO_IP, libc::IP_TOS, (&raw const octet).cast(), 1),
        Ok(0)
    );
    assert_eq!(set(&table, fd, libc::IPPROTO_IP, libc::IP_TTL, -1), Ok(0));
    assert_eq!(table.write(fd, b"data"), Ok(4));
    let data = table.next().expect("data");
    assert_eq!((data.segment().ip.dscp.value(), data.segment().ip.hop_limit), (10, 64));
    for (level, name, value, error) in [
        (libc::IPPROTO_IP, libc::IP_TTL, 0, libc::EINVAL),
        (libc::IPPROTO_IP, libc::IP_TTL, 256, libc::EINVAL),
        (libc::IPPROTO_IP, libc::IP_TOS, 256, libc::EINVAL),
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 0, libc::ENOPROTOOPT),
        (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 1, libc::ENOPROTOOPT),
    ] {
        assert_eq!(set(&table, fd, level, name, value), Err(error), "{name} {value}");
    }
    let v6 = call!(table, socket, libc::AF_INET6, libc::SOCK_STREAM, 0).unwrap() as c_int;
    assert_eq!(set(&table, v6, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, 0x20), Ok(0));
    assert_eq!(set(&table, v6, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 7), Ok(0));
    assert_eq!(option(&table, v6, libc::IPPROTO_IPV6, libc::IPV6_TCLASS), Ok(0x20_i32.to_ne_bytes()));
    assert_eq!(option(&table, v6, libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS), Ok(7_i32.to_ne_bytes()));
}

#[test]
fn sockets_without_a_connection_have_a_state_too() {
    let table = Table::new("linux");
    let state = |fd| option::<280>(&table, fd, libc::IPPROTO_TCP, libc::TCP_INFO).map(|info| info[0]);
    assert_eq!(state(table.socket()), Ok(7), "TCP_CLOSE");
    let listener = table.listener();
    assert_eq!(state(listener), Ok(10), "TCP_LISTEN");
    Peer::connect(&table, &syn_options());
    let info: [u8; 280] = option(&table, listener, libc::IPPROTO_TCP, libc::TCP_INFO).unwrap();
    assert_eq!((info[24], info[28]), (1, 5), "one waits, of as many as the backlog");
}

/// What `SO_ERROR` says after a SYN that an ICMP message is about, and that is never answered.
fn error_after(kind: u8, code: u8) -> c_int {
    let table = Table::new("linux,syn_retries=1");
    let fd = table.socket();
    assert_eq!(call!(table, fcntl, fd, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK), Ok(0));
    let to = address(REMOTE, 80);
    let len = size_of_val(&to) as libc::socklen_t;
    assert_eq!(call!(table, connect, fd, (&raw const to).cast(), len), Err(libc::EINPROGRESS));
    let syn = table.next().expect("a SYN").packet;
    let ip = packet::ip(REMOTE.into(), LOCAL.into());
    table.inject(&packet::icmp(&ip, [kind, code], [0; 4], &syn[..28]));
    table.sleep(10_000_000);
    c_int::from_ne_bytes(option(&table, fd, libc::SOL_SOCKET, libc::SO_ERROR).unwrap())
}

#[test]
fn icmp_messages_have_the_errors_of_linux() {
    for (kind, code, error) in [
        (3, 0, libc::ENETUNREACH),
        (3, 1, libc::EHOSTUNREACH),
        (3, 2, libc::ENOPROTOOPT),
        (3, 3, libc::ECONNREFUSED),
        (3, 6, libc::ENETUNREACH),
        (3, 13, libc::EHOSTUNREACH),
        (11, 0, libc::EHOSTUNREACH),
        (12, 0, libc::EPROTO),
        // No error about a segment.
        (5, 0, libc::ETIMEDOUT),
    ] {
        assert_eq!(error_after(kind, code), error, "type {kind}, code {code}");
    }
}
