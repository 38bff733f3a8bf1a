//! What a test asks of the machine.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Says that a test is skipped, past the test harness, which does not show what a test that passes prints.
pub fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {}", why.trim());
}

/// Whether there is such a program: one that says its version when it is asked for it. Says that the test is skipped
/// where there is not.
pub fn is_installed(program: &str, version: &str) -> bool {
    let there =
        Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        say_skipped(&format!("there is no {program}"));
    }
    there
}

/// Addresses of the loopback that are free and that no other test gets: their ports are outside of the
/// range from which the system assigns.
pub fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    free_addresses_of(Ipv4Addr::LOCALHOST.into())
}

/// As [`free_addresses`], of one of this machine's addresses.
pub fn free_addresses_of<const N: usize>(ip: IpAddr) -> [SocketAddr; N] {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    [(); N].map(|()| {
        loop {
            let number =
                std::process::id().wrapping_mul(97).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
            let address = SocketAddr::new(ip, 10_000 + (number % 20_000) as u16);
            if UdpSocket::bind(address).is_ok() {
                return address;
            }
        }
    })
}

/// Waits until it is so: long enough for any machine, and no test depends on how long it takes.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("{what}: not in a minute");
}

/// Bytes of memory that this process has.
pub fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number of pages") * 4096
}
