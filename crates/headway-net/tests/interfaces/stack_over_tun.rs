//! A stack on a TUN, with this machine's kernel as its peer.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Shutdown, TcpStream, UdpSocket};
use std::thread;

use headway_net::{Carrier as _, Clock, Stack, StackConfig, TunCarrier, TunConfig};
use headway_tcp::{HackMode, Profile, Transmit};
use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::wait_until;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Runtime;

use super::cable::{in_namespace, ip, segment, wait};

const LEN: usize = 3_000_000;

fn config(address: &str) -> TunConfig {
    TunConfig {
        device: "hw0".into(),
        address: address.parse().expect("a prefix"),
        kernel: None,
        mtu: None,
        offload: false,
        only_peer: None,
    }
}

/// With offload several segments are one packet; otherwise each is one.
#[test]
fn data_goes_both_ways_with_and_without_offload() {
    let runtime = Runtime::new().expect("threads");
    for (offload, address) in [(true, "10.78.0.2/24"), (true, "fd78::2/64"), (false, "10.78.0.2/24")] {
        in_namespace(|| {
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "0").expect("a kernel with IPv6");
            std::fs::write("/proc/sys/net/ipv6/conf/default/accept_dad", "0").expect("a kernel with IPv6");
            let carrier = TunCarrier::open(&TunConfig { offload, ..config(address) }).expect("a TUN");
            assert_eq!(carrier.properties().keeps_segments, !offload);
            wait_until("an address that can be used", || !ip("addr show dev hw0").contains("tentative"));
            let ours: IpAddr = config(address).address.address();
            let hack = if offload { HackMode::Off } else { HackMode::Hack };
            let profile = Some(Profile { hack, ..Profile::modern() });
            let config = StackConfig { addresses: vec![ours], profile, ..StackConfig::default() };
            let stack = Stack::start(carrier, config).expect("a thread");
            let listener = stack.listen((ours, 80).into(), 16).expect("a free port");
            let serving = runtime.spawn(async move {
                let (stream, from) = listener.accept().await.expect("a connection");
                let (mut reading, mut writing) = tokio::io::split(stream);
                tokio::io::copy(&mut reading, &mut writing).await.expect("an echo");
                writing.shutdown().await.expect("an end");
                from
            });
            let mut near = TcpStream::connect((ours, 80)).expect("a connection");
            let mut writing = near.try_clone().expect("a descriptor");
            let mut back = Vec::new();
            thread::scope(|scope| {
                scope.spawn(move || {
                    writing.write_all(&Pattern(3).bytes(0, LEN)).expect("a connection");
                    writing.shutdown(Shutdown::Write).expect("a connection");
                });
                near.read_to_end(&mut back).expect("a connection");
            });
            Pattern(3).check_all(LEN, &back);
            let from = runtime.block_on(serving).expect("no panic");
            assert_eq!(from, near.local_addr().expect("an address"));
        });
    }
}

/// A device that is down gives nothing to read and drops what is written, and works again when it is up.
#[test]
fn a_device_that_is_set_down_for_a_while_is_kept() {
    in_namespace(|| {
        let mut carrier = TunCarrier::open(&config("10.78.0.2/24")).expect("a TUN");
        let clock = Clock::new();
        ip("link set hw0 down");
        assert_eq!(carrier.fill(&clock).expect("not a failure"), 0);
        let packet = segment("10.78.0.2", "10.78.0.1", b"data");
        carrier.slot().expect("room")[..packet.len()].copy_from_slice(&packet);
        carrier.queue(Transmit { len: packet.len(), compact: false });
        assert!(carrier.flush().expect("not a failure"), "it is dropped");
        ip("link set hw0 up");
        let near = UdpSocket::bind("10.78.0.1:0").expect("the kernel's address");
        near.send_to(b"up again", "10.78.0.2:9").expect("a route");
        wait(carrier.fd());
        assert_eq!(carrier.fill(&clock).expect("a device that is up"), 1);
    });
}

#[test]
fn a_carrier_that_joins_segments_is_refused_for_hack() {
    in_namespace(|| {
        let carrier =
            TunCarrier::open(&TunConfig { offload: true, ..config("10.78.0.2/24") }).expect("a TUN");
        let profile = Some(Profile { hack: HackMode::Hack, ..Profile::modern() });
        let addresses = vec!["10.78.0.2".parse().expect("an address")];
        let refused = Stack::start(carrier, StackConfig { addresses, profile, ..StackConfig::default() });
        let error = refused.err().expect("an error").to_string();
        assert!(error.contains("TUN hw0") && error.contains("HACK"), "{error}");
    });
}

#[test]
fn the_kernel_gets_the_address_it_has_not() {
    in_namespace(|| {
        let has = || ip("-o addr show dev hw0");
        let kernel = "10.78.0.7".parse().ok();
        for (config, expected) in [
            (config("10.78.0.2/24"), "10.78.0.1/24"),
            (config("10.78.0.1/24"), "10.78.0.2/24"),
            (TunConfig { kernel, ..config("10.78.0.1/24") }, "10.78.0.7/24"),
        ] {
            let carrier = TunCarrier::open(&config).expect("a TUN");
            assert!(has().contains(expected), "{}", has());
            assert_eq!((carrier.mtu(), carrier.name()), (1500, "TUN hw0".into()));
            drop(carrier);
            wait_until("the end of the device", || !ip("link show").contains("hw0"));
        }
        ip("tuntap add hw0 mode tun");
        ip("addr add 10.78.0.9/24 dev hw0");
        let mut carrier =
            TunCarrier::open(&TunConfig { mtu: Some(1300), ..config("10.78.0.2/24") }).expect("a TUN");
        assert_eq!(has().matches("inet ").count(), 1, "it has one already");
        assert_eq!(carrier.mtu(), 1300);
        assert_eq!(carrier.slot().expect("room").len(), 1300);
        assert!(ip("link show dev hw0").contains("mtu 1300"));
        drop(carrier);
        // The device stays, and its address is the kernel's.
        let error = TunCarrier::open(&config("10.78.0.9/24")).err().expect("an error").to_string();
        assert!(error.contains("10.78.0.9"), "{error}");
    });
}

#[test]
fn what_cannot_work_is_refused() {
    in_namespace(|| {
        let ok = config("10.78.0.2/24");
        let parsed = |address: &str| address.parse::<IpAddr>().ok();
        let named = |device: &str| TunConfig { device: device.into(), ..ok.clone() };
        for (refused, why) in [
            (named(""), "TUN \"\""),
            (named("a-name-too-long-"), "1 to 15 bytes"),
            (TunConfig { kernel: parsed("10.79.0.1"), ..ok.clone() }, "the kernel's address 10.79.0.1"),
            (TunConfig { kernel: parsed("10.78.0.2"), ..ok.clone() }, "the kernel's address 10.78.0.2"),
            (config("10.78.0.2/32"), "a network with a second address"),
            (TunConfig { only_peer: parsed("10.78.0.2"), ..ok.clone() }, "only peer 10.78.0.2"),
            (
                TunConfig { only_peer: parsed("10.78.0.1"), offload: true, ..ok.clone() },
                "only peer 10.78.0.1 of a TUN with offload",
            ),
        ] {
            let error = TunCarrier::open(&refused).err().expect(why).to_string();
            assert!(error.contains(why), "{error}: {why}");
        }
        assert!(TunCarrier::open(&named("a-name-of-15-by")).is_ok());
        let only_peer = parsed("10.78.0.1");
        let carrier = TunCarrier::open(&TunConfig { only_peer, ..ok.clone() }).expect("a TUN");
        assert!(carrier.properties().only_peer.is_some());
        let error = TunCarrier::open(&ok).err().expect("it is open").to_string();
        assert!(error.contains("a device that no other program has open"), "{error}");
    });
}
