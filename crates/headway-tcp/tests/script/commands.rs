//! What the application does, and what the script arranges.

use std::net::SocketAddr;
use std::sync::Arc;

use headway_units::Duration;
use headway_wire::TcpFlags;

use super::line;
use super::packet::Packet;
use super::peer::{HOST_WRITES, PEER_WRITES};
use super::runner::{CLIENT_PORT, Runner, SERVER_PORT};
use super::settings;
use super::words::Words;

impl Runner {
    /// Does what a line that is no packet says.
    pub(crate) fn command(&mut self, index: usize, text: &str) -> Result<(), String> {
        let mut words = Words::new(text);
        let verb = words.word("a command")?;
        match verb {
            "profile" => self.profile = settings::profile(words.word("a profile")?)?,
            "variant" => self.profile = settings::variant(self.profile.clone(), words.word("a variant")?)?,
            "set" => settings::set(&mut self.profile, &mut words)?,
            "ipv6" => self.use_ipv6(),
            "renumber" => self.peer(index).renumber(words.value("how far ahead the new numbers are")?),
            "listen" => self.listen(&mut words)?,
            "accept" => self.accept(index, words.take("none"))?,
            "connect" => self.connect(index)?,
            "open" => self.open(index, &mut words)?,
            "dial" => self.dial(index, &mut words)?,
            "write" => self.write(index, &mut words)?,
            "read" => self.read(index, words.value("bytes")?)?,
            "close" => {
                let id = self.connection(index)?;
                self.host.close(self.now, id).map_err(|error| error.to_string())?;
            }
            "abort" => {
                let id = self.connection(index)?;
                self.host.abort(self.now, id).map_err(|error| error.to_string())?;
            }
            "release" => {
                let id = self.connection(index)?;
                self.host.release(self.now, id);
            }
            "mtu" => {
                let mtu = words.value("bytes")?;
                let (local, remote) = (self.peer(index).host.ip(), self.peer(index).local.ip());
                self.host.set_path_mtu(self.now, local, remote, mtu);
            }
            "icmp" => self.icmp(index, &mut words)?,
            "expect" => return self.expectation(index, &mut words),
            other => return Err(format!("unknown command {other:?}")),
        }
        words.end()?;
        self.drain()
    }

    fn listen(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let backlog = if words.peek().is_some() { words.value("a backlog")? } else { 16 };
        let local = SocketAddr::new(self.peer(1).host.ip(), SERVER_PORT);
        let listener = self.host.listen(local, backlog, Arc::new(self.profile.clone()));
        self.listener = Some(listener.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn accept(&mut self, index: usize, none: bool) -> Result<(), String> {
        let listener = self.listener.ok_or("nothing listens")?;
        match (self.host.accept(listener), none) {
            (None, true) => Ok(()),
            (None, false) => Err("expected a connection to accept, found none".into()),
            (Some(_), true) => Err("expected no connection to accept, found one".into()),
            (Some(id), false) => {
                let remote = self.host.endpoints(id).ok_or("the accepted connection is unknown")?.remote;
                if self.peer_at(remote) != Some(index) {
                    return Err(format!("expected a connection of peer {index}, found one of {remote}"));
                }
                self.peer(index).connection = Some(id);
                Ok(())
            }
        }
    }

    fn connect(&mut self, index: usize) -> Result<(), String> {
        let peer = self.peer(index);
        peer.host.set_port(CLIENT_PORT);
        let (local, remote) = (peer.host, peer.local);
        let id = self
            .host
            .connect(self.now, local, remote, Arc::new(self.profile.clone()))
            .map_err(|error| error.to_string())?;
        self.peer(index).connection = Some(id);
        Ok(())
    }

    /// `open RTT [win N] [<options>]`: the peer connects and its ACK comes RTT after the SYN-ACK.
    fn open(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let rtt = line::seconds(words.word("a round-trip time")?)?;
        let syn = self.own_syn(index, "S 0:0(0)", words)?;
        if self.listener.is_none() {
            self.listen(&mut Words::new(""))?;
        }
        self.inject(index, &syn)?;
        let answer = self.next_sent(index, "S. 0:0(0) ack 1")?;
        if answer.flags != TcpFlags::SYN | TcpFlags::ACK {
            return Err(format!("expected S. 0:0(0) ack 1\n  found {}", answer.show()));
        }
        self.advance(rtt)?;
        self.own_ack(index, rtt, answer.options.v2.is_some())?;
        self.accept(index, false)
    }

    /// `dial RTT [win N] [<options>]`: the host connects and the peer's SYN-ACK comes RTT after the
    /// SYN.
    fn dial(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let rtt = line::seconds(words.word("a round-trip time")?)?;
        self.connect(index)?;
        self.drain()?;
        let syn = self.next_sent(index, "S 0:0(0)")?;
        if syn.flags != TcpFlags::SYN {
            return Err(format!("expected S 0:0(0)\n  found {}", syn.show()));
        }
        let mut answer = self.own_syn(index, "S. 0:0(0) ack 1", words)?;
        if let Some(stamps) = &mut answer.options.timestamps {
            stamps.tsecr = self.peer(index).heard_stamp;
        }
        self.advance(rtt)?;
        self.inject(index, &answer)?;
        self.next_sent(index, ". 1:1(0) ack 1").map(|_| ())
    }

    fn own_syn(&mut self, index: usize, start: &str, words: &mut Words<'_>) -> Result<Packet, String> {
        let packet = Packet::parse(&format!("{start} {}", words.remainder()))?;
        self.peer(index).syn_stamp = packet.options.timestamps.map(|stamps| stamps.tsval);
        Ok(packet)
    }

    fn own_ack(&mut self, index: usize, rtt: Duration, v2: bool) -> Result<(), String> {
        let mut ack = Packet::parse(if v2 { ". 1:1(0) ack 1 <v2 0>" } else { ". 1:1(0) ack 1" })?;
        ack.options.timestamps = self.peer(index).own_stamps(rtt.as_millis() as u32);
        self.inject(index, &ack)
    }

    /// `write N [takes M] [fails]`.
    fn write(&mut self, index: usize, words: &mut Words<'_>) -> Result<(), String> {
        let len: u32 = words.value("bytes")?;
        let takes = if words.take("takes") { words.value("bytes")? } else { len };
        let fails = words.take("fails");
        let id = self.connection(index)?;
        let data = HOST_WRITES.bytes(self.peer(index).written as usize, len as usize);
        match (self.host.write(id, &data), fails) {
            (Err(_), true) => Ok(()),
            (Err(error), false) => Err(format!("write failed: {error}")),
            (Ok(_), true) => Err("expected the write to fail".into()),
            (Ok(taken), false) => {
                self.peer(index).written += taken as u32;
                if taken == takes as usize { Ok(()) } else { Err(format!("write took {taken} bytes")) }
            }
        }
    }

    /// Reads that number of bytes, which must be there and be what the peer sent.
    fn read(&mut self, index: usize, len: usize) -> Result<(), String> {
        let id = self.connection(index)?;
        let mut data = vec![0; len];
        let got = self.host.read(id, &mut data).map_err(|error| format!("read failed: {error}"))?;
        let peer = self.peer(index);
        let from = peer.read;
        peer.read += got as u32;
        if let Some(at) = PEER_WRITES.difference(from as usize, &data[..got]) {
            return Err(format!("byte {at} of the stream is not what the peer sent"));
        }
        if got == len { Ok(()) } else { Err(format!("expected to read {len} bytes, got {got}")) }
    }
}
