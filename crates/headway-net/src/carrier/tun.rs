//! A TUN device: IP packets to and from this machine's kernel.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, BorrowedFd};

use headway_tcp::{OnlyPeer, Transmit};
use headway_wire::ChecksumTrust;
use tun_rs::{DeviceBuilder, SyncDevice};

use super::batch::{Inbox, Outbox};
use super::{Arrival, Carrier, CarrierProperties, Housekeeping, declared_peer, virtio};
use crate::sys::Name;
use crate::{Clock, Interface, NetError, Prefix};

/// How a [`TunCarrier`] is set up.
#[derive(Clone, Debug)]
pub struct TunConfig {
    /// The device: an existing one, or one that is created and removed with the carrier.
    pub device: String,
    /// The stack's address in the network of both ends.
    pub address: Prefix,
    /// The kernel's address, for a device without one; `None`: the first other address of the network.
    pub kernel: Option<IpAddr>,
    /// The device's MTU; `None`: unchanged.
    pub mtu: Option<u16>,
    /// Whether segments may be coalesced between the kernel and the stack, up to 64 KiB, without
    /// checksums. It is faster but hides damage, so HACK is refused on such a carrier.
    pub offload: bool,
    /// The only host that packets come from, which gets those whose IP header is corrupted counted; `None`:
    /// such packets are dropped unseen. The kernel drops them itself, so it is for a device whose frames come
    /// from a program, such as the error/delay box. Not with [`offload`](Self::offload).
    pub only_peer: Option<IpAddr>,
}

/// IP packets to and from this machine's kernel, through a TUN device. Without
/// [`TunConfig::offload`] it has no virtio header: every segment is its own packet, its checksum is computed
/// by the kernel before it comes here and checked by the kernel after it leaves.
pub struct TunCarrier {
    device: SyncDevice,
    name: String,
    mtu: u16,
    offload: bool,
    only_peer: Option<OnlyPeer>,
    inbox: Inbox,
    outbox: Outbox,
}

impl TunCarrier {
    /// Opens or creates the device, sets the kernel's address and sets the device up.
    ///
    /// # Errors
    ///
    /// The device cannot be opened, created or set up.
    pub fn open(config: &TunConfig) -> Result<Self, NetError> {
        let fail =
            |what, source, expected| NetError::Tun { name: config.device.clone(), what, source, expected };
        if config.device.is_empty() || config.device.len() >= libc::IFNAMSIZ {
            return Err(NetError::BadAddress {
                got: format!("TUN {:?}", config.device),
                expected: "a name of 1 to 15 bytes, such as hw0",
            });
        }
        if let Some(peer) = config.only_peer.filter(|_| config.offload) {
            return Err(NetError::BadAddress {
                got: format!("only peer {peer} of a TUN with offload"),
                expected: "no offload, which hides damage, or no only peer",
            });
        }
        let only_peer = declared_peer(config.address.address(), config.only_peer)?;
        let has = Interface::named(&config.device).map(|device| device.addresses).unwrap_or_default();
        let kernel = kernel_address(config, &has)?;
        let mut builder =
            DeviceBuilder::new().name(&config.device).offload(config.offload).inherit_enable_state();
        if let Some(IpAddr::V4(kernel)) = kernel {
            builder = builder.ipv4(kernel, config.address.len(), None);
        }
        let device = builder.build_sync().map_err(|source| {
            let expected = match source.raw_os_error() {
                Some(libc::ENOENT | libc::ENXIO) => "/dev/net/tun: load the kernel's module tun",
                Some(libc::EBUSY) => "a device that no other program has open",
                Some(libc::EINVAL) if config.offload => "a TUN of one queue; another kind has this name",
                Some(libc::EINVAL) => "a TUN of one queue without virtio header; another kind has this name",
                _ => RIGHTS,
            };
            fail("cannot be opened", source, expected)
        })?;
        if let Some(IpAddr::V6(kernel)) = kernel {
            device
                .add_address_v6(kernel, config.address.len())
                .map_err(|source| fail("the kernel cannot get its address", source, RIGHTS))?;
        }
        if let Some(mtu) = config.mtu
            && device.mtu().ok() != Some(mtu)
        {
            device.set_mtu(mtu).map_err(|source| fail("its MTU cannot be set", source, RIGHTS))?;
        }
        if !device.is_running().unwrap_or(false) {
            device.enabled(true).map_err(|source| fail("cannot be set up", source, RIGHTS))?;
        }
        device.set_nonblocking(true).map_err(|source| fail("cannot be opened", source, RIGHTS))?;
        let mtu = device.mtu().map_err(|source| fail("its MTU cannot be read", source, "a TUN device"))?;
        Ok(Self {
            device,
            name: config.device.clone(),
            mtu,
            offload: config.offload,
            only_peer,
            inbox: if config.offload {
                Inbox::of(AGGREGATES, 0, virtio::LEN + LONGEST)
            } else {
                Inbox::new(0, usize::from(mtu))
            },
            outbox: Outbox::new(0, usize::from(mtu)),
        })
    }
}

/// With offload, the longest packet: IPv6, whose length field does not count its header.
const LONGEST: usize = 40 + 65_535;
/// The number of packets read at a time: one megabyte fits the processor's cache.
const AGGREGATES: usize = 16;

const RIGHTS: &str = "root or CAP_NET_ADMIN, or a device that `ip tuntap add NAME mode tun user YOU` made, \
                      that is up and has an address of this network";

/// The address to set for the kernel; `None` if it already `has` one of the network.
fn kernel_address(config: &TunConfig, has: &[IpAddr]) -> Result<Option<IpAddr>, NetError> {
    let ours = config.address.address();
    if has.contains(&ours) {
        return Err(NetError::KernelsAddress(ours));
    }
    if has.iter().any(|&address| config.address.contains(address)) {
        return Ok(None);
    }
    let kernel = config.kernel.or_else(|| config.address.first_other()).ok_or(NetError::BadAddress {
        got: config.address.to_string(),
        expected: "a network with a second address for the kernel, such as 10.77.2.2/24",
    })?;
    if !config.address.contains(kernel) || kernel == ours {
        return Err(NetError::BadAddress {
            got: format!("the kernel's address {kernel}"),
            expected: "another address of the stack's network",
        });
    }
    Ok(Some(kernel))
}

impl Carrier for TunCarrier {
    fn fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn mtu(&self) -> u16 {
        self.mtu
    }

    fn name(&self) -> String {
        format!("TUN {}", self.name)
    }

    fn properties(&self) -> CarrierProperties {
        let (keeps_segments, only_peer) = (!self.offload, self.only_peer);
        CarrierProperties { keeps_segments, only_peer, ..CarrierProperties::default() }
    }

    fn housekeeping(&mut self) -> Option<&mut dyn Housekeeping> {
        None
    }

    fn fill(&mut self, clock: &Clock) -> io::Result<usize> {
        match self.inbox.read(clock, |buffer| Ok(rustix::io::read(&self.device, buffer)?)) {
            Ok(count) => Ok(count),
            Err(error) => {
                // One packet that cannot be given, such as one with an offload that the header cannot describe.
                let error = super::unless_fatal(error)?;
                tracing::debug!(%error, "reading from the TUN");
                Ok(self.inbox.len())
            }
        }
    }

    fn received<'a>(&'a self, packets: &mut Vec<Arrival<'a>>) {
        packets.reserve(self.inbox.len());
        for index in 0..self.inbox.len() {
            let (bytes, at, _) = self.inbox.packet(index);
            let (packet, trust) = match self.offload.then(|| virtio::split(bytes)) {
                None => (bytes, ChecksumTrust::None),
                Some(Some((true, packet))) => (packet, ChecksumTrust::Tcp),
                Some(Some((false, packet))) => (packet, ChecksumTrust::None),
                Some(None) => continue,
            };
            packets.push(Arrival::new(packet, at, trust));
        }
    }

    fn slot(&mut self) -> Option<&mut [u8]> {
        self.outbox.slot()
    }

    fn queue(&mut self, Transmit { len, .. }: Transmit) {
        self.outbox.queue((0, len), Name::NONE);
    }

    fn flush(&mut self) -> io::Result<bool> {
        if self.offload {
            self.outbox.write_trains(|pieces| Ok(rustix::io::writev(&self.device, pieces)?))
        } else {
            self.outbox.write(|packet| Ok(rustix::io::write(&self.device, packet)?))
        }
    }
}
