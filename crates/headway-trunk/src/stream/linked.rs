//! Links over a stack each, on the loopback and without a tunnel, for tests.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use headway_net::{CaptureFile, Stack, StackConfig, TcpListener, TcpStream, UdpCarrier, UdpConfig};
use headway_trunk_proto::{PeerId, PublicKey};
use headway_units::Rate;

use super::places::Places;
use super::{Budget, NewLink, PORT, PeerLink};
use crate::config::{Destinations, Rules};

/// Streams are opened from the near link to the far gateway.
pub(crate) struct Linked {
    pub(crate) near: Arc<PeerLink>,
    pub(crate) far: Arc<PeerLink>,
    /// Accepts at the far end.
    pub(crate) listener: TcpListener,
    pub(crate) stacks: [Stack; 2],
}

impl Linked {
    pub(crate) fn new() -> Self {
        Self::captured(None)
    }

    /// With a capture of the near stack.
    pub(crate) fn captured(capture: Option<CaptureFile>) -> Self {
        let any = ([127, 0, 0, 1], 0).into();
        let far = UdpCarrier::open(&UdpConfig { peer: None, ..UdpConfig::new(any, any) }).expect("a socket");
        let near = UdpCarrier::open(&UdpConfig::new(any, far.local())).expect("a socket");
        let [near, far] = [(near, capture), (far, None)].map(|(carrier, capture)| {
            let addresses = vec![carrier.inner_address()];
            let address = addresses[0];
            let config = StackConfig { addresses, capture, ..StackConfig::default() };
            (Stack::start(carrier, config).expect("a stack"), address)
        });
        let listener = far.0.listen((far.1, PORT).into(), 16).expect("a free port");
        let link = |(own, address): &(Stack, _), remote| {
            let rules = Rules {
                destinations: Destinations::parse(&["10.2.0.0/16".into()]).expect("a prefix"),
                link_rate: Some(Rate::from_bits_per_second(10_000_000)),
                proxy_protocol: Vec::new(),
            };
            let networks = vec!["10.1.0.0/16".parse().expect("a prefix")];
            let places = Places::of_peers(1, 16).next().expect("a peer");
            let domain = own.open_domain(None).expect("a domain");
            let stack = (own.clone(), Arc::new(Budget::default()));
            PeerLink::new(NewLink {
                place: PeerId(0),
                name: "peer".into(),
                key: PublicKey::from_bytes([7; 32]),
                endpoint: None,
                rules,
                networks,
                stack,
                places,
                domain,
                has_trains: false,
                ends: (*address, remote),
            })
        };
        Self { near: link(&near, far.1), far: link(&far, near.1), listener, stacks: [near.0, far.0] }
    }

    /// A connection: its near and its far end.
    pub(crate) async fn connect(&self) -> (TcpStream, TcpStream) {
        let connect = self.stacks[0].connect(self.listener.local_addr());
        let (near, far) = soon(async { tokio::join!(connect, self.listener.accept()) }).await;
        (near.expect("connected"), far.expect("accepted").0)
    }
}

/// No step of a test takes longer on any machine.
pub(crate) async fn soon<T>(step: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), step).await.expect("in time")
}
