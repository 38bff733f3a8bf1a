//! `headway trunk invite`: another near gateway for this far one.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::Args;
use headway_command::{notice, output};
use headway_trunk::{Config, Endpoint, TrunkError};
use headway_trunk_proto::{PublicKey, SecretKey};
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde_json::json;
use zeroize::Zeroizing;

use super::error::PairingError;
use super::files::{Folder, PRIVATE, PUBLIC};
use super::invitation::Invitation;
use super::service::Service;
use super::{CONFIG, config_text, key_file, key_text};
use crate::keys;

/// What is invited.
#[derive(Args)]
pub(crate) struct InviteArguments {
    /// What the near gateway offers its hosts: `socks`, `socks=ADDRESS:PORT`, `forward=ADDRESS:PORT=HOST:PORT` or
    /// `tun=PREFIX=PREFIX` (behind the near gateway, and behind this one)
    #[arg(value_name = "SERVICE", default_value = "socks")]
    services: Vec<Service>,
    /// Where the near gateway reaches this one: an address or a name, and a port. May be left out if --listen or the
    /// configuration has an address of this machine
    #[arg(long, value_name = "HOST:PORT")]
    endpoint: Option<Endpoint>,
    /// What this gateway calls the near one
    #[arg(long, default_value = "near")]
    name: String,
    /// The UDP address of this gateway, if its configuration is new. Without it, all addresses and the port of --endpoint
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_listen)]
    listen: Option<SocketAddr>,
    /// Where connections may go from here: a prefix, or `any` for all but this machine's own addresses. May be given several
    /// times
    #[arg(long, value_name = "PREFIX", default_value = "any")]
    destinations: Vec<String>,
    /// The configuration of this gateway, which is made if there is none
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Print a QR code too; done without it where standard output is a terminal
    #[arg(long)]
    qr: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "qr")]
    json: bool,
}

fn parse_listen(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "expected an address and a port, such as 0.0.0.0:4433")
}

/// What is to be written.
struct Change {
    text: String,
    /// The public key of this gateway.
    far: PublicKey,
    endpoint: Endpoint,
    /// Where it listens.
    listen: SocketAddr,
    /// Its key, if its configuration is new.
    secret: Option<SecretKey>,
    /// A running gateway has to be restarted: its TUN is shared out to the peers at the start.
    has_tun: bool,
}

/// Invites, and prints the invitation.
pub(crate) fn run(arguments: &InviteArguments) -> Result<(), PairingError> {
    let InviteArguments { name, services, config, .. } = arguments;
    if name.trim().is_empty() || name.contains(char::is_control) {
        return Err(PairingError::BadName { name: name.clone() });
    }
    let key = keys::random()?;
    let near = SecretKey::from_bytes(*key);
    let folder = Folder::of(config)?;
    let change = arguments.change(near.public())?;
    let Change { text, far, endpoint, listen, secret, .. } = &change;
    if matches!(endpoint, Endpoint::Address(address) if address.is_ipv4() != listen.is_ipv4()) {
        return Err(PairingError::OtherFamily { endpoint: endpoint.clone(), listen: *listen });
    }
    let place = (endpoint.clone(), listen.is_ipv6());
    let invitation = Invitation::new(*far, Zeroizing::new(*key), name.clone(), place, services.clone());
    invitation.check().map_err(PairingError::Services)?;
    let line = invitation.to_text()?;
    match secret {
        Some(secret) => {
            let key_file = key_file(config);
            folder.create(&key_file, &key_text(secret), PRIVATE)?;
            if let Err(error) = folder.create(config, text, PUBLIC) {
                // Nothing is left of what was not done.
                let _ = fs::remove_file(&key_file);
                return Err(error);
            }
        }
        None => folder.replace(config, text)?,
    }
    arguments.print(&change, near.public(), &line)
}

impl InviteArguments {
    /// Makes and checks the text of the configuration with another peer.
    fn change(&self, near: PublicKey) -> Result<Change, PairingError> {
        let peer = config_text::near_peer(&self.name, near, &self.destinations, &self.services);
        match fs::read_to_string(&self.config) {
            Ok(text) => self.added(text, &peer),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.begun(&peer),
            Err(source) => Err(TrunkError::File { path: self.config.clone(), source }.into()),
        }
    }

    fn begun(&self, peer: &str) -> Result<Change, PairingError> {
        let own = self.listen.and_then(|listen| own_address(listen).map(|address| (listen, address)));
        let (listen, endpoint) = match (&self.endpoint, own) {
            (Some(endpoint), _) => (self.listen.unwrap_or(any_address(endpoint)), endpoint.clone()),
            (None, Some((listen, endpoint))) => (listen, endpoint),
            (None, None) => return Err(PairingError::NoEndpoint),
        };
        let secret = SecretKey::from_bytes(*keys::random()?);
        let gateway = config_text::gateway("invite", &self.config, &key_file(&self.config), Some(listen));
        let text = gateway + peer + &config_text::far_tun(&self.services);
        let parsed = Config::parse(&text, &self.config)?;
        parsed.check_with(secret.clone()).map_err(|error| error.at(&self.config))?;
        self.check_remarks(&[], &parsed)?;
        Ok(Change {
            text,
            far: secret.public(),
            endpoint,
            listen,
            secret: Some(secret),
            has_tun: parsed.tun.is_some(),
        })
    }

    fn added(&self, before: String, peer: &str) -> Result<Change, PairingError> {
        let parsed = Config::load(&self.config)?;
        let config = || self.config.clone();
        if parsed.modem.is_some() {
            return Err(PairingError::Modem { config: config() });
        }
        if parsed.peers.iter().any(|peer| peer.name == self.name) {
            return Err(PairingError::NameExists { name: self.name.clone(), config: config() });
        }
        let listen = parsed.gateway.listen;
        if let Some(got) = self.listen.filter(|got| *got != listen) {
            return Err(PairingError::OtherListen { got, listen, config: config() });
        }
        let endpoint =
            self.endpoint.clone().or_else(|| own_address(listen)).ok_or(PairingError::NoEndpoint)?;
        let mut text = before;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text += peer;
        if parsed.tun.is_none() {
            text += &config_text::far_tun(&self.services);
        }
        // Another text follows the tables before it, whatever they are; but not a list of peers in brackets.
        let changed = Config::parse(&text, &self.config).map_err(|error| match parsed.peers.is_empty() {
            true => error.into(),
            false => PairingError::InlinePeers { config: config() },
        })?;
        changed.check().map_err(|error| error.at(&self.config))?;
        self.check_remarks(&parsed.remarks(), &changed)?;
        Ok(Change {
            text,
            far: parsed.public_key()?,
            endpoint,
            listen,
            secret: None,
            has_tun: changed.tun.is_some(),
        })
    }

    /// Refuses what would not work as it is meant, beside what was so before.
    fn check_remarks(&self, before: &[TrunkError], changed: &Config) -> Result<(), PairingError> {
        let is_new = |remark: &TrunkError| before.iter().all(|other| other.to_string() != remark.to_string());
        let remark = changed.remarks().into_iter().find(is_new);
        remark.map_or(Ok(()), |remark| Err(remark.at(&self.config).into()))
    }

    fn print(&self, change: &Change, near: PublicKey, line: &str) -> Result<(), PairingError> {
        let (name, config) = (&self.name, self.config.display());
        if self.json {
            let object = json!({
                "invitation": line,
                "name": name,
                "endpoint": change.endpoint.to_string(),
                "public-key": near.to_string(),
                "config": self.config,
                "is-new": change.secret.is_some(),
            });
            return Ok(output::print(&format!("{object}\n"))?);
        }
        let next = if change.secret.is_some() {
            notice!("headway: {config} and {} were written", key_file(&self.config).display());
            "run"
        } else {
            let restart = if change.has_tun { "; end the gateway first if it runs" } else { "" };
            notice!("headway: peer {name} was added to {config}{restart}");
            if change.has_tun { "run" } else { "reload" }
        };
        output::print(&format!("{line}\n"))?;
        if self.qr || io::stdout().is_terminal() {
            let code = QrCode::new(line).map_err(PairingError::Code)?;
            // Terminals are dark.
            let code = code.render().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
            output::print(&format!("\n{code}\n"))?;
        }
        notice!("headway: the invitation is a secret: who has it can use this gateway as {name}");
        notice!("headway: here:             headway trunk {next} {config}");
        notice!(
            "headway: at the other end: headway trunk join INVITATION, and then headway trunk run {CONFIG}"
        );
        Ok(())
    }
}

/// What others reach a gateway at that listens at `listen`, if that says it.
fn own_address(listen: SocketAddr) -> Option<Endpoint> {
    (!listen.ip().is_unspecified() && listen.port() != 0).then_some(Endpoint::Address(listen))
}

/// All addresses of the family of an endpoint, and its port. That of a name is IPv4 unless --listen says something else.
fn any_address(endpoint: &Endpoint) -> SocketAddr {
    match endpoint {
        Endpoint::Address(SocketAddr::V6(address)) => (Ipv6Addr::UNSPECIFIED, address.port()).into(),
        Endpoint::Address(SocketAddr::V4(address)) => (Ipv4Addr::UNSPECIFIED, address.port()).into(),
        Endpoint::Name(_, port) => (Ipv4Addr::UNSPECIFIED, *port).into(),
    }
}

impl Invitation {
    /// Checks what the near gateway will make of it.
    fn check(&self) -> Result<(), TrunkError> {
        let path = Path::new(CONFIG);
        Config::parse(&config_text::near(self, path, &key_file(path)), path)?.check_with(self.key())
    }
}
