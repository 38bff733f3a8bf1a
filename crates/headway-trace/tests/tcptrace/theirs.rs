//! Runs tcptrace.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use headway_trace::reader::{Network, Reader};
use pcap_file::DataLink;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};

use crate::tcptrace::cases::Case;
use crate::tcptrace::ours::each_packet;

/// Whether tcptrace is installed.
pub(crate) fn is_installed() -> bool {
    Command::new("tcptrace").arg("-v").output().is_ok()
}

/// The output of tcptrace for the packets of a case, without what differs from run to run.
pub(crate) fn run(case: &Case) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("packets.pcap");
    write_plain(case, &path);
    let mut command = Command::new("tcptrace");
    command.args(["-lrn", "--nowarn_printbadcsum"]);
    if case.is_damaged {
        command.arg("--checksum");
    }
    let output = command.arg(&path).output().expect("tcptrace runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("plain text");
    // Times of day depend on the time zone.
    let varies = ["filename:", "first packet:", "last packet:"];
    let lines = text.lines().skip_while(|line| !line.starts_with("TCP connection info"));
    let kept = lines.filter(|line| !varies.iter().any(|start| line.trim_start().starts_with(start)));
    kept.flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// The packets of a case as a file that tcptrace reads: classic pcap of raw IP, of one interface, in
/// microseconds.
fn write_plain(case: &Case, path: &Path) {
    let header = PcapHeader { datalink: DataLink::RAW, ..PcapHeader::default() };
    let mut writer = PcapWriter::with_header(File::create(path).expect("a file"), header).expect("written");
    let interface = case.interface.map(|name| place(case, name));
    let mut parts = 0;
    each_packet(&case.path(), |packet| {
        let Network::Ip(ip) = packet.link.network(packet.bytes) else { return };
        parts += usize::from(opens(ip));
        let is_part = case.part.is_none_or(|part| parts == part + 1);
        if !is_part || interface.is_some_and(|interface| interface != packet.interface) {
            return;
        }
        let in_front = packet.bytes.len() - ip.len();
        writer
            .write_packet(&PcapPacket {
                // tcptrace treats the time 0, where simulations begin, as unset.
                timestamp: Duration::from_nanos(packet.at.as_nanos()) + Duration::from_secs(1),
                orig_len: packet.original_len - in_front as u32,
                data: Cow::Borrowed(ip),
            })
            .expect("written");
    });
}

/// The index of the interface with this name.
pub(crate) fn place(case: &Case, name: &str) -> usize {
    let mut reader = Reader::new(File::open(case.path()).expect("a capture")).expect("a capture");
    while reader.next_packet().expect("a sound capture").is_some() {}
    let known = reader.interfaces().iter().position(|interface| interface.name.as_deref() == Some(name));
    known.expect("an interface of this name")
}

/// Whether an IPv4 packet without options is a SYN without ACK.
fn opens(ip: &[u8]) -> bool {
    ip.first() == Some(&0x45) && ip.get(33).is_some_and(|flags| flags & 0x12 == 0x02)
}
