//! hysteria, version 2: TCP through a tunnel of QUIC.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use headway_lab::LabError;
use headway_sim::race::Scenario;

use super::{Launcher, Program, find};
use crate::error::real_time_error;
use crate::network::{PORT, Side, at};

pub(crate) const HYSTERIA: &str = "hysteria";
/// Where its client takes connections, and its server packets.
const PORTS: [u16; 2] = [12_949, 4433];
const AUTH: &str = "headway";

impl Program {
    /// Also says where to connect to: the first connection opens the tunnel, so that a run contains its handshake.
    pub(crate) async fn hysteria_client(
        congestion: &str,
        scenario: &Scenario,
        launcher: Launcher,
    ) -> Result<(Self, SocketAddr), LabError> {
        let local = at(Ipv4Addr::LOCALHOST, PORTS[0]);
        let config = client_config(congestion, scenario, local)?;
        let folder = folder_with(&config)?;
        let mut program = Self::hysteria("client", folder.path(), launcher)?;
        program.wait_for_port("tcp", PORTS[0]).await?;
        Ok((program, local))
    }

    /// Carries on to a listener on the loopback.
    pub(crate) async fn hysteria_server(launcher: Launcher) -> Result<Self, LabError> {
        let listen = at(Side::Receiver.address(), PORTS[1]);
        let folder = folder_with(&format!(
            "listen: {listen}\ntls: {{cert: server.crt, key: server.key, sniGuard: disable}}\nauth: {{type: password, password: {AUTH}}}\n"
        ))?;
        let made = Self::hysteria("cert", folder.path(), launcher)?.child.wait().await;
        made.map_err(real_time_error("a certificate of hysteria"))?;
        let mut program = Self::hysteria("server", folder.path(), launcher)?;
        program.wait_for_port("udp", PORTS[1]).await?;
        Ok(program)
    }

    fn hysteria(what: &str, folder: &Path, launcher: Launcher) -> Result<Self, LabError> {
        let path = find(HYSTERIA).ok_or_else(no_hysteria)?;
        let command = launcher(path.as_os_str()).map(|mut command| {
            command.current_dir(folder);
            command
        });
        let words = [what, "--config", "config.yaml", "--disable-update-check"];
        let (program, lines) = Self::start(HYSTERIA, command, &words)?;
        program.drain(lines);
        Ok(program)
    }
}

/// It is read when a program starts, and goes when it listens.
fn folder_with(config: &str) -> Result<tempfile::TempDir, LabError> {
    let folder = tempfile::tempdir().map_err(real_time_error("a folder for hysteria"))?;
    std::fs::write(folder.path().join("config.yaml"), config)
        .map_err(real_time_error("a file for hysteria"))?;
    Ok(folder)
}

fn client_config(congestion: &str, scenario: &Scenario, local: SocketAddr) -> Result<String, LabError> {
    let server = at(Side::Receiver.address(), PORTS[1]);
    let remote = at(Ipv4Addr::LOCALHOST, PORT);
    // Told no rate it takes BBR.
    let told = match (congestion, scenario.forward.rate) {
        ("brutal", Some(rate)) => format!("bandwidth: {{up: {} bps}}\n", rate.bits_per_second()),
        ("brutal", None) => {
            return Err(LabError::RealTime(
                "hysteria:brutal is told the rate of the link: expected a rate".into(),
            ));
        }
        _ => String::new(),
    };
    Ok(format!(
        "server: {server}\nauth: {AUTH}\ntls: {{insecure: true}}\nlazy: true\n{told}tcpForwarding:\n- {{listen: {local}, remote: {remote}}}\n"
    ))
}

pub(crate) fn no_hysteria() -> LabError {
    LabError::RealTime(format!(
        "the program {HYSTERIA} is neither beside this one nor in PATH; expected what `reference/trunk/rivals` builds"
    ))
}
