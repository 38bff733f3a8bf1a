//! `headway nc`: standard input and output over one connection.

use std::fs::File;

use clap::Args;
use headway_command::{BadOption, Failure, OutputError, USAGE};
use headway_transport::{Listen, NetworkArguments, Stream, Transport, TransportError, resolve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, stdin, stdout};

use headway_transport::{GRACE, GRACE_STOPPED, block_on, stop_signal};

const EXAMPLES: &str = "\
Examples:
  headway nc --tun hw0 --address 10.77.2.2/24 10.77.2.1 22
      Talk to port 22 of this machine's kernel, over our TCP.
  ssh -o ProxyCommand='headway nc --udp 192.0.2.1:4000 192.0.2.2:4000 %h %p' user@192.0.2.2
      ssh over our TCP in UDP; at 192.0.2.2 something must listen there, such as the next line.
  headway nc --udp 192.0.2.2:4000 192.0.2.1:4000 --listen 22 < answer > question
      Wait for one connection.";

/// Pipe standard input and output through a connection, as for ssh's ProxyCommand
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The host to connect to
    #[arg(required_unless_present = "listen", conflicts_with = "listen", requires = "port")]
    host: Option<String>,
    /// Its port
    #[arg(conflicts_with = "listen")]
    port: Option<u16>,
    /// Wait for one connection to this port (or address and port) instead
    #[arg(long, short, value_name = "PORT")]
    listen: Option<Listen>,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Why it failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum NcError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("standard input cannot be read: {0}")]
    StandardInput(std::io::Error),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Failure for NcError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Transport(error) if error.is_usage())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Transport(error) => error.code(),
            _ if self.is_usage() => USAGE,
            _ => 1,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), NcError> {
    block_on(connect(arguments))
}

async fn connect(arguments: &Arguments) -> Result<(), NcError> {
    let transport = arguments.network.open()?;
    let outcome = tokio::select! {
        outcome = talk(arguments, &transport) => outcome,
        signal = stop_signal() => Err(TransportError::Stopped(signal?).into()),
    };
    let grace = if outcome.is_ok() { GRACE } else { GRACE_STOPPED };
    let closed = transport.close(grace).await;
    outcome?;
    Ok(closed?)
}

async fn talk(arguments: &Arguments, transport: &Transport) -> Result<(), NcError> {
    let stream = match (&arguments.listen, &arguments.host, arguments.port) {
        (Some(local), _, _) => {
            let listener = transport.listen(*local).await?;
            listener.accept().await.map_err(TransportError::Connection)?.0
        }
        (None, Some(host), Some(port)) => transport.connect(resolve(host, port).await?).await?,
        _ => {
            return Err(
                TransportError::from(BadOption::new("HOST PORT", "", "expected both, or --listen")).into()
            );
        }
    };
    // Interactive input must not wait for more data.
    stream.set_nodelay().map_err(TransportError::Connection)?;
    pipe(stream).await
}

/// Copies in both directions, until both have ended. The end of standard input sends a FIN, and the
/// peer's FIN closes standard output: ssh ends its proxy then.
async fn pipe(stream: Stream) -> Result<(), NcError> {
    let (mut from_peer, mut to_peer) = tokio::io::split(stream);
    let sending = async {
        let (mut input, mut buffer) = (stdin(), vec![0; 1 << 16]);
        loop {
            match input.read(&mut buffer).await.map_err(NcError::StandardInput)? {
                0 => break,
                n => to_peer.write_all(&buffer[..n]).await.map_err(TransportError::Connection)?,
            }
        }
        Ok(to_peer.shutdown().await.map_err(TransportError::Connection)?)
    };
    let receiving = async {
        let (mut output, mut buffer) = (stdout(), vec![0; 1 << 16]);
        loop {
            match from_peer.read(&mut buffer).await.map_err(TransportError::Connection)? {
                0 => break,
                n => output.write_all(&buffer[..n]).await.map_err(OutputError::standard)?,
            }
            output.flush().await.map_err(OutputError::standard)?;
        }
        let nothing = File::options().write(true).open("/dev/null").map_err(OutputError::Standard)?;
        Ok(rustix::stdio::dup2_stdout(nothing).map_err(|error| OutputError::Standard(error.into()))?)
    };
    tokio::try_join!(sending, receiving).map(|((), ())| ())
}
