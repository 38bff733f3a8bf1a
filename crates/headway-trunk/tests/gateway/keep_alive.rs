//! Hosts that are gone without a word.

use std::process::Command;

use headway_test_fixture::process::say_skipped;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::pair::{Pair, server};

/// The kernel looks whether they are there.
#[tokio::test(flavor = "multi_thread")]
async fn the_connections_of_hosts_are_probed() {
    let (listener, address) = server().await;
    let pair = Pair::start(&format!("[[forward]]\nlisten = '127.0.0.1:0'\nto = '{address}'\n")).await;
    let forward = pair.near.as_ref().expect("running").entries()[0];
    let mut client = TcpStream::connect(forward).await.expect("the forward");
    let (mut served, from) = listener.accept().await.expect("a connection");
    client.write_all(b"x").await.expect("open");
    served.read_u8().await.expect("a byte");
    let Ok(listed) = Command::new("ss").args(["-tnoH", "state", "established"]).output() else {
        return say_skipped("ss", "");
    };
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let client = client.local_addr().expect("an address");
    for (local, remote) in [(forward, client), (from, address)] {
        let (local, remote) = (local.to_string(), remote.to_string());
        let is_it = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.windows(2).any(|pair| pair == [local.as_str(), remote.as_str()])
        };
        let line = listed.lines().find(is_it).unwrap_or_else(|| panic!("{local} {remote} in {listed}"));
        assert!(line.contains("timer:(keepalive,"), "{line}");
    }
}
