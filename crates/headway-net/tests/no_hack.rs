//! Carriers that coalesce segments refuse HACK.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use headway_net::{
    Arrival, Carrier, CarrierProperties, Clock, Housekeeping, NetError, Stack, StackConfig, UdpCarrier,
    UdpConfig,
};
use headway_tcp::{Profile, Transmit, Variant};

/// A UDP carrier that claims to coalesce segments.
struct Coupling(UdpCarrier);

impl Carrier for Coupling {
    fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    fn mtu(&self) -> u16 {
        self.0.mtu()
    }

    fn name(&self) -> String {
        "coalescing".into()
    }

    fn properties(&self) -> CarrierProperties {
        CarrierProperties { keeps_segments: false, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        None
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        self.0.fill(clock)
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        self.0.received(packets);
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.0.slot()
    }

    fn queue(&mut self, sent: Transmit) {
        self.0.queue(sent);
    }

    fn flush(&mut self) -> io::Result<bool> {
        self.0.flush()
    }
}

fn start(variant: Variant) -> Result<Stack, NetError> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let inner = any.ip();
    let config = UdpConfig { inner_local: Some(inner), ..UdpConfig::new(any, ([127, 0, 0, 1], 9).into()) };
    let carrier: Box<dyn Carrier> = Box::new(Coupling(UdpCarrier::open(&config).unwrap()));
    let profile = Some(variant.apply(Profile::modern()));
    Stack::start(carrier, StackConfig { addresses: vec![inner], profile, ..StackConfig::default() })
}

#[tokio::test]
async fn profiles_with_hack_are_refused() {
    for variant in Variant::ALL {
        let profile = variant.apply(Profile::modern());
        let has_hack = profile.hack != headway_tcp::HackMode::Off;
        match start(variant) {
            Ok(_) => assert!(!has_hack, "{variant}"),
            Err(NetError::NoHack(carrier)) => assert!(has_hack && carrier == "coalescing", "{variant}"),
            Err(error) => panic!("{variant}: {error}"),
        }
        if has_hack {
            let stack = start(Variant::Modern).unwrap();
            let profile = Profile { mtu: stack.profile().mtu, ..profile };
            let error =
                stack.connect_with(([127, 0, 0, 1], 80).into(), Arc::new(profile)).await.err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{variant}: {error}");
        }
    }
}
