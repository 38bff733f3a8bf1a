//! The network of `headway shell`: the namespace of this process, that of the box, that of a server.

use std::fs;
use std::net::Ipv4Addr;

use headway_lab::LabError;
use headway_net::error_delay_box::{BoxConfig, BoxControl, LaneConfig, LiveBox};
use headway_net::{CaptureFile, Namespace};

use crate::error::{no_namespace, real_time_error};
use crate::interfaces::{hardware_text, inside, ip, silence_ipv6, wait_for_carrier};

/// The interface of each host.
const INTERFACE: &str = "hw0";
/// The interfaces of the box: towards the server, towards this process. The first is where the forward path begins.
const BOXES: [&str; 2] = ["server", "shell"];
/// Locally administered (IEEE 802).
const HARDWARE: [[u8; 6]; 2] = [[2, 0x68, 0x77, 0, 0, 1], [2, 0x68, 0x77, 0, 0, 2]];

/// The hosts of an emulated link: this process and what it starts, and a server. Both have the kernel's TCP. The
/// namespaces have no names, so nothing of them remains when the last process in them ends.
#[derive(Debug)]
pub struct ShellNetwork {
    between: Namespace,
    server: Namespace,
}

impl ShellNetwork {
    /// The server's address.
    pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    /// The address of this process.
    pub const SHELL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

    /// Sets up the namespace of this process, which [`headway_net::isolate`] made, and the others.
    ///
    /// # Errors
    ///
    /// `ip` is missing, or the system refuses an interface.
    pub fn new(mtu: u16) -> Result<Self, LabError> {
        let namespace = || Namespace::new().map_err(no_namespace);
        let network = Self { between: namespace()?, server: namespace()? };
        silence_ipv6().map_err(real_time_error("the shell's namespace"))?;
        permit_ping().map_err(real_time_error("the shell's namespace"))?;
        let cable = |boxes: &str, hardware, namespace: &str| {
            let hardware = hardware_text(hardware);
            format!(
                "link add {INTERFACE} address {hardware} mtu {mtu} type veth peer name {boxes} mtu {mtu} netns {namespace}\n"
            )
        };
        let between = network.between.path();
        ip(&cable(BOXES[1], HARDWARE[1], &between))?;
        inside(&network.server, || {
            silence_ipv6().map_err(real_time_error("the server's namespace"))?;
            ip(&cable(BOXES[0], HARDWARE[0], &between))
        })?;
        inside(&network.between, || {
            silence_ipv6().map_err(real_time_error("the box's namespace"))?;
            ip(&BOXES.map(|name| format!("link set {name} up\n")).concat())
        })?;
        ip(&host(Self::SHELL, (Self::SERVER, HARDWARE[0])))?;
        inside(&network.server, || ip(&host(Self::SERVER, (Self::SHELL, HARDWARE[1]))))?;
        inside(&network.between, || BOXES.into_iter().try_for_each(wait_for_carrier))?;
        Ok(network)
    }

    /// Opens the box: packets that come are kept until it runs. The forward path is that from the server. A capture has
    /// the two interfaces of [`interfaces`](Self::interfaces).
    ///
    /// # Errors
    ///
    /// The box cannot be opened.
    pub fn open_box(
        &self,
        lanes: [LaneConfig; 2],
        capture: Option<CaptureFile>,
    ) -> Result<(LiveBox, BoxControl), LabError> {
        let config =
            BoxConfig { interfaces: Self::interfaces().map(str::to_owned), lanes, real_time: true, capture };
        inside(&self.between, || LiveBox::open(config).map_err(|error| LabError::RealTime(error.to_string())))
    }

    /// The interfaces of the box: that towards the server, that towards this process.
    pub const fn interfaces() -> [&'static str; 2] {
        BOXES
    }

    /// Does something at the server's host, such as opening sockets and starting programs, in a thread that then ends.
    ///
    /// # Errors
    ///
    /// The namespace cannot be entered.
    pub fn at_server<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        inside(&self.server, || Ok(work()))
    }
}

/// The words for `ip` that set up a host. No ARP is needed: a program's first packet would wait for it.
fn host(address: Ipv4Addr, (peer, hardware): (Ipv4Addr, [u8; 6])) -> String {
    let hardware = hardware_text(hardware);
    format!(
        "link set lo up\n\
         addr add {address}/24 dev {INTERFACE}\n\
         link set {INTERFACE} up\n\
         neigh add {peer} lladdr {hardware} dev {INTERFACE} nud permanent\n"
    )
}

/// A new namespace permits no group to ping, where the machine may permit all.
fn permit_ping() -> std::io::Result<()> {
    let group = rustix::process::getegid().as_raw();
    fs::write("/proc/sys/net/ipv4/ping_group_range", format!("{group} {group}"))
}
