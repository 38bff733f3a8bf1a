//! Two gateways on the loopback, one with a live page, and streams through them.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::{JoinHandle, spawn};

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::process::{free_addresses, wait_until};

use crate::HEADWAY;

/// Both are ended when this is dropped.
pub(crate) struct Gateways {
    /// The near gateway, with its page.
    pub(crate) page: LivePage,
    far: Child,
    /// What connects here reaches `sink` through both.
    entry: SocketAddr,
    sink: TcpListener,
}

impl Gateways {
    /// `None`, with a message, where there can be no page.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        let [near_at, far_at, entry] = free_addresses();
        let sink = TcpListener::bind("127.0.0.1:0").expect("a port");
        let target = sink.local_addr().expect("an address");
        let key = |name: &str| HEADWAY.succeed(folder, &["trunk", "keygen", name]).trim().to_owned();
        let (near, far) = (key("near.key"), key("far.key"));
        let config = |name: &str, own: SocketAddr, peer: &str| {
            let text = format!("[gateway]\nkey-file = '{name}.key'\nlisten = '{own}'\n{peer}");
            std::fs::write(folder.join(format!("{name}.toml")), text).expect("written");
        };
        config(
            "near",
            near_at,
            &format!(
                "[[peer]]\nname = 'shore'\npublic-key = '{far}'\nendpoint = '{far_at}'\n\
                 [[forward]]\nlisten = '{entry}'\nto = '{target}'\n"
            ),
        );
        config(
            "far",
            far_at,
            &format!("[[peer]]\nname = 'ship'\npublic-key = '{near}'\ndestinations = ['127.0.0.0/8']\n"),
        );
        let command = HEADWAY.command(folder, &["trunk", "run", "near.toml", "--watch", "127.0.0.1:0"]);
        let page = LivePage::start(command)?;
        let far = HEADWAY
            .command(folder, &["trunk", "run", "far.toml"])
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let gateways = Self { page, far, entry, sink };
        wait_until("the tunnel", || gateways.page.has_said("connected peer=\"shore\""));
        Some(gateways)
    }

    /// Sends this many bytes through, and waits until they have arrived.
    pub(crate) fn send(&self, bytes: usize) {
        let entry = self.entry;
        let sending: JoinHandle<()> = spawn(move || {
            let mut stream = TcpStream::connect(entry).expect("a connection");
            stream.write_all(&vec![7; bytes]).expect("it is taken");
        });
        let (mut stream, _) = self.sink.accept().expect("a connection");
        let mut arrived = Vec::new();
        stream.read_to_end(&mut arrived).expect("the bytes");
        assert!(arrived.len() == bytes && arrived.iter().all(|byte| *byte == 7), "{} bytes", arrived.len());
        sending.join().expect("it was sent");
    }
}

impl Drop for Gateways {
    fn drop(&mut self) {
        let _ = self.far.kill();
        let _ = self.far.wait();
    }
}
