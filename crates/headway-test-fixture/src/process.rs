//! What a test asks of the machine.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Says that a test is skipped, since the machine lacks `need`: past the test harness, which does not show what a test that
/// passes prints. `why` is what the machine said, if anything.
///
/// # Panics
///
/// `HEADWAY_STRICT` is set, and `HEADWAY_LACKS` does not list the need: then a skip is a failure.
pub fn say_skipped(need: &str, why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let variable = |name| std::env::var(name).unwrap_or_default();
    let is_known = variable("HEADWAY_LACKS").split_whitespace().any(|lacking| lacking == need);
    let text = format!("{test} needs {need}: {}", why.trim()).trim_end_matches([':', ' ']).to_owned();
    assert!(is_known || variable("HEADWAY_STRICT").is_empty(), "skipped, but HEADWAY_STRICT is set: {text}");
    let _ = writeln!(std::io::stderr(), "SKIPPED {text}");
}

/// Whether there is such a program: one that says its version when it is asked for it. Says that the test is skipped
/// where there is not.
pub fn is_installed(program: &str, version: &str) -> bool {
    let there =
        Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        say_skipped(program, "");
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
            let port = 10_000 + (number % 20_000) as u16;
            if !is_in_use(port) {
                return SocketAddr::new(ip, port);
            }
        }
    })
}

/// Whether a UDP socket has the port. To bind one and see would occupy it for longer than that: a process that another
/// test starts at this moment has the socket too, until it becomes its program.
fn is_in_use(port: u16) -> bool {
    let place = format!(":{port:04X}");
    ["/proc/net/udp", "/proc/net/udp6"].iter().any(|table| {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| line.split_whitespace().nth(1).is_some_and(|local| local.ends_with(&place)))
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

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_port_is_in_use_as_long_as_a_socket_has_it() {
        let [address, other] = free_addresses();
        assert_ne!(address, other);
        let socket = UdpSocket::bind(address).expect("it is free");
        assert!(is_in_use(address.port()));
        drop(socket);
        wait_until("it is free again", || !is_in_use(address.port()));
    }
}
