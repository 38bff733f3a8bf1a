//! The configuration of QUIC at both ends.

use std::error::Error;
use std::str::FromStr;
use std::sync::Arc;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::any_certificate::AnyCertificate;

/// The settings that can be chosen; all others are `quinn`'s defaults.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) congestion: Congestion,
    /// The maximum bytes in the network.
    pub(crate) window: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { congestion: Congestion::Bbr, window: 16 << 20 }
    }
}

/// The congestion controllers of `quinn`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Congestion {
    Bbr,
    Cubic,
    NewReno,
}

impl FromStr for Congestion {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "bbr" => Ok(Self::Bbr),
            "cubic" => Ok(Self::Cubic),
            "newreno" => Ok(Self::NewReno),
            _ => Err(()),
        }
    }
}

impl Settings {
    fn transport(&self) -> Arc<TransportConfig> {
        let mut transport = TransportConfig::default();
        let window = VarInt::from_u32(self.window);
        transport.send_window(self.window.into()).receive_window(window).stream_receive_window(window);
        // A path with much corruption is silent for long.
        transport.max_idle_timeout(None);
        match self.congestion {
            Congestion::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
            Congestion::Cubic => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
            Congestion::NewReno => {
                transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
            }
        };
        Arc::new(transport)
    }

    pub(crate) fn client(&self) -> Result<ClientConfig, Box<dyn Error>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let crypto = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(crypto)?));
        config.transport_config(self.transport());
        Ok(config)
    }

    pub(crate) fn server(&self) -> Result<ServerConfig, Box<dyn Error>> {
        let own = rcgen::generate_simple_self_signed(["headway".to_owned()])?;
        let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
        let mut config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key.into())?;
        config.transport_config(self.transport());
        Ok(config)
    }
}
