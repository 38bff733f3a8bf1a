//! Links that carry longer packets than Ethernet.

use headway_trunk::Gateway;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::pair::{Pair, server, through, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn packets_are_as_long_as_the_mtu_allows() {
    const MTU: u16 = 9000;
    let mut pair = Pair::start("").await;
    for (slot, config) in [(&mut pair.near, &pair.near_config), (&mut pair.far, &pair.far_config)] {
        let mut config = config.clone();
        config.gateway.mtu = MTU;
        slot.take().expect("running").close().await.expect("an orderly end");
        *slot = Some(super::restart(&config).await);
    }
    let near: &Gateway = pair.near.as_ref().expect("running");
    pair.connected().await;
    let (listener, address) = server().await;
    let mut client = through(near.entries()[0], address).await.expect("a connection");
    let (mut served, _) = listener.accept().await.expect("a connection");
    client.write_all(b"x").await.expect("open");
    served.read_u8().await.expect("a byte");
    let bound = || near.status().peers[0].recent.and_then(|recent| recent.bound_bits_per_second);
    wait_until("a bound", || bound().is_some()).await;
    // Of 100 Mbit/s, what 81 bytes of headers leave.
    let expected = 1e8 * f64::from(MTU - 81) / f64::from(MTU);
    assert!((bound().expect("known") - expected).abs() < 1.0, "{:?}, not {expected}", bound());
}
