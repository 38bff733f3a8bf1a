//! Standard input to standard output over QUIC, with the crate `quinn`.
//!
//! `headway-quic-pipe receive ADDRESS:PORT` writes what arrives on the first stream of the first
//! connection; `headway-quic-pipe send ADDRESS:PORT` reads the data to send, and connects when the first
//! bytes are available. Both print `ready` on standard error. Peers are not authenticated: the hosts are
//! alone in their namespaces.
#![forbid(unsafe_code)]

mod any_certificate;
mod settings;

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use quinn::{Endpoint, VarInt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, stdin, stdout};

use settings::Settings;

const USAGE: &str = "\
expected headway-quic-pipe send|receive ADDRESS:PORT [--congestion bbr|cubic|newreno] [--window BYTES]";

/// The maximum bytes of a read or write.
const PIECE: usize = 64 << 10;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (role, address, settings) = match parse(&words) {
        Some(parsed) => parsed,
        None => {
            eprintln!("headway-quic-pipe: {}: {USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    let outcome = match role {
        Role::Send => send(address, &settings).await,
        Role::Receive => receive(address, &settings).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("headway-quic-pipe: {address}: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

enum Role {
    Send,
    Receive,
}

fn parse(words: &[String]) -> Option<(Role, SocketAddr, Settings)> {
    let [role, address, options @ ..] = words else { return None };
    let role = match role.as_str() {
        "send" => Role::Send,
        "receive" => Role::Receive,
        _ => return None,
    };
    let mut settings = Settings::default();
    for pair in options.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--congestion" => settings.congestion = value.parse().ok()?,
            "--window" => settings.window = value.parse().ok()?,
            _ => return None,
        }
    }
    Some((role, address.parse().ok()?, settings))
}

async fn send(to: SocketAddr, settings: &Settings) -> Result<(), Box<dyn Error>> {
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(settings.client()?);
    let mut input = stdin();
    let mut piece = vec![0; PIECE];
    eprintln!("ready");
    let mut len = input.read(&mut piece).await?;
    let connection = endpoint.connect(to, "headway")?.await?;
    let mut stream = connection.open_uni().await?;
    while len > 0 {
        stream.write_all(&piece[..len]).await?;
        len = input.read(&mut piece).await?;
    }
    stream.finish()?;
    // The receiver closes when it has all data.
    connection.closed().await;
    Ok(())
}

async fn receive(local: SocketAddr, settings: &Settings) -> Result<(), Box<dyn Error>> {
    let endpoint = Endpoint::server(settings.server()?, local)?;
    eprintln!("ready");
    let connection = endpoint.accept().await.ok_or("the endpoint is closed")?.await?;
    let mut stream = connection.accept_uni().await?;
    let mut output = stdout();
    while let Some(chunk) = stream.read_chunk(PIECE, true).await? {
        output.write_all(&chunk.bytes).await?;
        output.flush().await?;
    }
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    Ok(())
}
