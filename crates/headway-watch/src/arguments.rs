//! The option of commands that have a live page.

use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;

/// Where the live page is served.
#[derive(Args)]
pub struct WatchArguments {
    /// Show a live page of what is measured, for browsers [default without ADDRESS: a free port of 127.0.0.1];
    /// ADDRESS is a port of 127.0.0.1, or an address with a port
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, value_parser = parse_address, help_heading = "Output")]
    watch: Option<Option<SocketAddr>>,
}

impl WatchArguments {
    /// The address to listen at, if there is to be a page.
    pub fn address(&self) -> Option<SocketAddr> {
        self.watch.map(|address| address.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))))
    }
}

fn parse_address(input: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = input.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    input.parse().map_err(|_| {
        "expected a port, or an address with a port such as 127.0.0.1:8080; or --watch alone, as the last word".into()
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        watch: WatchArguments,
    }

    fn address(words: &[&str]) -> Result<Option<SocketAddr>, String> {
        let words = std::iter::once("x").chain(words.iter().copied());
        Command::try_parse_from(words)
            .map(|command| command.watch.address())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_is_optional_and_local() {
        let place = |text: &str| Ok(Some(text.parse().expect("an address")));
        assert_eq!(address(&[]), Ok(None));
        assert_eq!(address(&["--watch"]), place("127.0.0.1:0"));
        assert_eq!(address(&["--watch", "8080"]), place("127.0.0.1:8080"));
        assert_eq!(address(&["--watch=0.0.0.0:8080"]), place("0.0.0.0:8080"));
        assert_eq!(address(&["--watch", "[::1]:1"]), place("[::1]:1"));
        for wrong in ["photo.raw", "127.0.0.1", "65536", "localhost:80", ""] {
            let complaint = address(&["--watch", wrong]).expect_err(wrong);
            assert!(complaint.contains("127.0.0.1:8080"), "{wrong}: {complaint}");
        }
    }
}
