//! Probes of port scanners, including nmap's OS detection, and the responses of RFC 9293.
//!
//! The probes are sent from an address that the kernel does not have, so that it does not answer itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::IpAddr;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use headway_test_fixture::packet;
use headway_wire::{
    Integrity, Segment, SeqNumber, TcpFlags, TcpHeader, TcpOptions, Timestamps, checksum, judge,
};

use crate::namespace::{Namespace, OURS, TUN, start};

const SCANNER: &str = "10.77.2.9";
const OPEN: u16 = 80;
const CLOSED: u16 = 81;

/// Sends each packet, read as a line of hexadecimal digits, and prints the stack's packets until the
/// answer to the second of two pings: by then all immediate responses were sent.
const PUMP: &str = r"
import socket, struct, sys
out = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0300)
tap.bind(('hw0', 0x0003))
tap.settimeout(0.1)
def total(data):
    data += bytes(len(data) % 2)
    n = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while n >> 16: n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
def ping(number):
    data = struct.pack('!BBHHH', 8, 0, 0, 99, number & 0xffff)
    data = data[:2] + struct.pack('!H', total(data)) + data[4:]
    ends = socket.inet_aton(sys.argv[1]) + socket.inet_aton(sys.argv[2])
    out.sendto(struct.pack('!BBHHHBBH', 0x45, 0, 28, 1, 0, 64, 1, 0) + ends + data, (sys.argv[2], 0))
number = 0
def answered():
    global number
    number = (number + 1) & 0xffff
    ping(number)
    try:
        while True:
            packet, (_, _, kind, _, _) = tap.recvfrom(65536)
            if kind == 4 or packet[0] >> 4 != 4: continue
            if packet[9] == 6: print(packet.hex(), flush=True)
            if packet[9] == 1 and packet[20] == 0 and packet[26:28] == struct.pack('!H', number): return True
    except TimeoutError: return False
for line in sys.stdin:
    out.sendto(bytes.fromhex(line), (sys.argv[2], 0))
    pings = 2
    while pings > 0:
        # Pings that come too fast are not answered.
        if answered(): pings -= 1
    print('.', flush=True)
";

struct Scanner {
    pump: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    port: u16,
}

/// An arbitrary TCP header, and its payload.
#[derive(Clone)]
struct Probe {
    port: u16,
    flags: u8,
    seq: u32,
    ack: u32,
    window: u16,
    urgent: u16,
    /// The four reserved bits.
    reserved: u8,
    /// The data offset, if different from the options' length.
    offset: Option<u8>,
    options: Vec<u8>,
    data: &'static [u8],
    /// A wrong checksum.
    damaged: bool,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
const URG: u8 = 32;
const ECE: u8 = 64;
const CWR: u8 = 128;

fn probe(port: u16, flags: u8) -> Probe {
    Probe {
        port,
        flags,
        seq: 1_000_000,
        ack: 2_000_000,
        window: 1024,
        urgent: 0,
        reserved: 0,
        offset: None,
        options: Vec::new(),
        data: b"",
        damaged: false,
    }
}

impl Scanner {
    fn new(namespace: &Namespace) -> Self {
        let mut pump = namespace
            .command("python3", &["-c", PUMP, SCANNER, OURS])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (pump.stdin.take().unwrap(), BufReader::new(pump.stdout.take().unwrap()));
        Self { pump, input, output, port: 20_000 }
    }

    /// Sends the packet, and returns the stack's responses to the port, without duplicates.
    fn exchange(&mut self, packet: &[u8], port: u16) -> Vec<(TcpHeader, TcpOptions)> {
        let line: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.input, "{line}").unwrap();
        let mut answers = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the pump ended");
            if line.trim() == "." {
                return answers;
            }
            let bytes: Vec<u8> = (0..line.trim().len() / 2)
                .map(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let segment = Segment::parse(&bytes).unwrap();
            assert_eq!(judge(&bytes), Ok(Integrity::Intact));
            // Responses to earlier probes may be retransmitted.
            let answer = (segment.tcp, segment.options);
            if segment.tcp.dst_port == port && !answers.contains(&answer) {
                answers.push(answer);
            }
        }
    }

    /// Sends the probe from its own port.
    fn send(&mut self, probe: &Probe) -> Vec<(TcpHeader, TcpOptions)> {
        self.port += 1;
        self.send_from(self.port, probe)
    }

    fn send_from(&mut self, from: u16, probe: &Probe) -> Vec<(TcpHeader, TcpOptions)> {
        let answers = self.exchange(&probe.packet(from), from);
        // No connection may remain that sends later.
        for (tcp, _) in answers.iter().filter(|(tcp, _)| tcp.flags.contains(TcpFlags::SYN)) {
            let reset = Probe { seq: tcp.ack.0, ..self::probe(probe.port, RST) };
            self.exchange(&reset.packet(from), from);
        }
        answers
    }
}

impl Probe {
    fn packet(&self, from: u16) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let offset = self.offset.unwrap_or(5 + (options.len() / 4) as u8);
        let mut tcp = Vec::new();
        tcp.extend(from.to_be_bytes());
        tcp.extend(self.port.to_be_bytes());
        tcp.extend(self.seq.to_be_bytes());
        tcp.extend(self.ack.to_be_bytes());
        tcp.extend([offset << 4 | self.reserved, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(options);
        tcp.extend(self.data);
        let [src, dst]: [IpAddr; 2] = [SCANNER, OURS].map(|address| address.parse().unwrap());
        let ip = packet::ip(src, dst);
        let mut sum = ip.pseudo_header_sum(6, tcp.len());
        sum.add(checksum::sum(&tcp));
        let check = sum.complement() ^ u16::from(self.damaged);
        tcp[16..18].copy_from_slice(&check.to_be_bytes());
        let mut packet = vec![0; 20 + tcp.len()];
        ip.emit(&mut packet, 6, tcp.len()).unwrap();
        packet[20..].copy_from_slice(&tcp);
        packet
    }

    /// The sequence space that it occupies.
    fn len(&self) -> u32 {
        let bit = |flag: u8| u32::from(self.flags & flag != 0);
        self.data.len() as u32 + bit(SYN) + bit(FIN)
    }
}

/// A stack with a server at [`OPEN`].
fn scanner() -> Option<(Scanner, Namespace, tempfile::TempDir, crate::namespace::Running)> {
    let namespace = Namespace::new()?;
    let folder = tempfile::tempdir().unwrap();
    let server = start(&namespace, &[&["serve", folder.path().to_str().unwrap()], &TUN[..]].concat());
    namespace.wait_for_http(OURS);
    Some((Scanner::new(&namespace), namespace, folder, server))
}

/// RFC 9293, 3.10.7.1: "If the ACK bit is off, sequence number zero is used,
/// <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>. If the ACK bit is on, <SEQ=SEG.ACK><CTL=RST>."
#[track_caller]
fn assert_reset(scanner: &mut Scanner, probe: &Probe) {
    let answers = scanner.send(probe);
    let [(tcp, options)] = answers[..] else { panic!("{:#04x}: {answers:?}", probe.flags) };
    let (seq, ack, flags) = if probe.flags & ACK != 0 {
        (probe.ack, 0, TcpFlags::RST)
    } else {
        (0, probe.seq + probe.len(), TcpFlags::RST | TcpFlags::ACK)
    };
    assert_eq!((tcp.seq.0, tcp.ack.0, tcp.flags), (seq, ack, flags), "{:#04x}", probe.flags);
    assert_eq!((tcp.window, options), (0, TcpOptions::default()));
}

#[track_caller]
fn assert_silence(scanner: &mut Scanner, probe: &Probe) {
    assert_eq!(scanner.send(probe), [], "{:#04x}", probe.flags);
}

#[track_caller]
fn assert_opens(scanner: &mut Scanner, probe: &Probe) -> (TcpHeader, TcpOptions) {
    let answers = scanner.send(probe);
    let [(tcp, options)] = answers[..] else { panic!("{:#04x}: {answers:?}", probe.flags) };
    assert!(tcp.flags.contains(TcpFlags::SYN | TcpFlags::ACK), "{:?}", tcp.flags);
    assert!(!tcp.flags.intersects(TcpFlags::RST | TcpFlags::FIN | TcpFlags::PSH | TcpFlags::URG));
    // Data on the SYN may be kept or not.
    let most = SeqNumber(probe.seq) + probe.len();
    assert!(tcp.ack == SeqNumber(probe.seq) + 1 || tcp.ack == most, "{:?}", tcp.ack);
    assert!(options.mss.is_some());
    (tcp, options)
}

#[test]
fn a_closed_port_resets() {
    let Some((mut scanner, _namespace, _folder, _server)) = scanner() else { return };
    for flags in [
        SYN,
        ACK,
        FIN,
        FIN | PSH | URG,
        0,
        PSH,
        URG,
        SYN | FIN | PSH | URG,
        SYN | ACK,
        FIN | ACK,
        SYN | ECE | CWR,
    ] {
        for data in [&b""[..], b"data"] {
            assert_reset(&mut scanner, &Probe { data, ..probe(CLOSED, flags) });
        }
        assert_reset(
            &mut scanner,
            &Probe { window: 0, urgent: 0xffff, reserved: 0xf, ..probe(CLOSED, flags) },
        );
    }
    // "An incoming segment containing a RST is discarded", and so is an unreadable one.
    for flags in [RST, RST | ACK, 0xff, SYN | RST] {
        assert_silence(&mut scanner, &probe(CLOSED, flags));
    }
    assert_silence(&mut scanner, &Probe { damaged: true, ..probe(CLOSED, SYN) });
    for offset in [0, 4, 15] {
        assert_silence(&mut scanner, &Probe { offset: Some(offset), ..probe(CLOSED, SYN) });
    }
}

/// RFC 9293, 3.10.7.2, in its order.
#[test]
fn an_open_port_answers_syns() {
    let Some((mut scanner, namespace, _folder, _server)) = scanner() else { return };
    // First: "An incoming RST segment could not be valid [...] and should be ignored".
    for flags in [RST, RST | ACK, RST | SYN, RST | SYN | ACK, 0xff] {
        assert_silence(&mut scanner, &probe(OPEN, flags));
    }
    // Second: "Any acknowledgment is bad if it arrives on a connection still in the LISTEN state."
    for flags in [ACK, SYN | ACK, FIN | ACK, FIN | PSH | URG | ACK, ACK | PSH] {
        assert_reset(&mut scanner, &Probe { data: b"data", ..probe(OPEN, flags) });
    }
    // Third: a SYN. Fourth: "Any other control or data-bearing segment (not containing SYN) must have an
    // ACK and thus would have been discarded".
    for flags in [0, FIN, PSH, URG, FIN | PSH | URG, FIN | URG, PSH | URG, ECE | CWR] {
        assert_silence(&mut scanner, &Probe { data: b"data", ..probe(OPEN, flags) });
    }
    // With other flags too: "Any other incoming control or data (combined with SYN) will be processed in the
    // SYN-RECEIVED state".
    assert_opens(&mut scanner, &probe(OPEN, SYN | FIN | PSH | URG));
    for window in [0, 1, 63, 4, 16, 512, 3, 128, 256, 1024, 31337, 32768, 65535] {
        assert_opens(&mut scanner, &Probe { window, ..probe(OPEN, SYN) });
    }
    // "Reserved [...] must be ignored in received segments", and the urgent pointer without URG has no
    // meaning.
    assert_opens(&mut scanner, &Probe { reserved: 0xe, urgent: 0xf7f5, ..probe(OPEN, SYN) });
    assert_opens(&mut scanner, &Probe { data: b"data with a SYN", ..probe(OPEN, SYN | PSH | URG) });
    // RFC 3168, 6.1.1: ECN is negotiated with ECE alone.
    let (tcp, _) = assert_opens(&mut scanner, &probe(OPEN, SYN | ECE | CWR));
    assert!(tcp.flags.contains(TcpFlags::ECE) && !tcp.flags.contains(TcpFlags::CWR), "{:?}", tcp.flags);
    namespace.wait_for_http(OURS);
}

#[test]
fn any_options_are_processed() {
    let Some((mut scanner, namespace, _folder, _server)) = scanner() else { return };
    // The six SYNs of nmap's sequence test, and its ECN probe.
    let stamps = [8, 10, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let [mss, scale, sack] = [[2, 4, 5, 180], [3, 3, 10, 1], [4, 2, 1, 1]];
    let with = |parts: &[&[u8]]| Probe { options: parts.concat(), ..probe(OPEN, SYN) };
    for (probe, has_stamps, has_scale, has_sack) in [
        (with(&[&scale, &mss, &stamps, &sack]), true, true, true),
        (with(&[&[2, 4, 5, 120], &scale, &sack, &stamps]), true, true, true),
        (with(&[&stamps, &[1, 1], &scale, &[1], &[2, 4, 2, 128]]), true, true, false),
        (with(&[&sack, &stamps, &scale]), true, true, true),
        (with(&[&[2, 4, 2, 24], &sack, &stamps, &scale]), true, true, true),
        (with(&[&[2, 4, 1, 9], &sack, &stamps]), true, false, true),
        (with(&[&scale, &mss, &sack]), false, true, true),
    ] {
        let (_, options) = assert_opens(&mut scanner, &probe);
        let echo = options.timestamps.map(|Timestamps { tsecr, .. }| tsecr);
        assert_eq!(echo, has_stamps.then_some(u32::MAX));
        assert_eq!((options.window_scale.is_some(), options.sack_permitted), (has_scale, has_sack));
    }
    // MUST-6: "A TCP implementation MUST be able to receive a TCP option in any segment", and "MUST
    // (without error) ignore any TCP option it does not implement".
    assert_opens(&mut scanner, &with(&[&[77, 6, 1, 2, 3, 4], &[0, 9, 9, 9]]));
    assert_opens(&mut scanner, &with(&[&[1; 40]]));
    assert_opens(&mut scanner, &with(&[&[30, 40], &[7; 38]]));
    assert_opens(&mut scanner, &with(&[&[2, 4, 0, 0]]));
    assert_opens(&mut scanner, &with(&[&[3, 3, 255]]));
    // A wrong length makes the option an unknown one.
    assert_opens(&mut scanner, &with(&[&[2, 2], &[8, 3, 1]]));
    // MUST-7: "TCP implementations MUST be prepared to handle an illegal option length (e.g., zero)".
    for garbage in [&[8, 0][..], &[2, 1, 0, 0], &[5, 200, 1, 1], &[1, 1, 1, 2], &[0xff; 40]] {
        assert_silence(&mut scanner, &with(&[garbage]));
    }
    namespace.wait_for_http(OURS);
}

/// RFC 6528: initial sequence numbers of a four-tuple increase with a clock, and are independent of those
/// of others.
#[test]
fn initial_sequence_numbers_cannot_be_guessed() {
    let Some((mut scanner, _namespace, _folder, _server)) = scanner() else { return };
    let mut same = Vec::new();
    for _ in 0..20 {
        let answers = scanner.send_from(40_000, &probe(OPEN, SYN));
        same.push(answers.first().expect("a SYN-ACK").0.seq);
    }
    assert!(same.is_sorted_by(|a, b| a.lt(*b)), "{same:?}");
    // Of 256 numbers drawn at random, at least a third of the highest bytes are different, and no two
    // consecutive differences are equal.
    let others: Vec<u32> = (0..256).map(|_| assert_opens(&mut scanner, &probe(OPEN, SYN)).0.seq.0).collect();
    let distinct = |numbers: Vec<u32>| std::collections::BTreeSet::from_iter(numbers).len();
    assert!(distinct(others.iter().map(|number| number >> 24).collect()) > 85, "{others:?}");
    let steps: Vec<u32> = others.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
    assert!(distinct(steps.clone()) == steps.len(), "{steps:?}");
    let up = steps.iter().filter(|&&step| step < 1 << 31).count();
    assert!((64..192).contains(&up), "{up} of 255 go up");
    scanner.pump.kill().unwrap();
    scanner.pump.wait().unwrap();
}

#[test]
fn udp_is_left_alone() {
    let Some((mut scanner, namespace, _folder, _server)) = scanner() else { return };
    let mut datagram = [0x43; 308];
    datagram[..8].copy_from_slice(&[0x4e, 0x20, 0x9c, 0x40, 1, 52, 0, 0]);
    let [src, dst]: [IpAddr; 2] = [SCANNER, OURS].map(|address| address.parse().unwrap());
    let ip = packet::ip(src, dst);
    let mut packet = vec![0; 20 + 308];
    ip.emit(&mut packet, 17, 308).unwrap();
    packet[20..].copy_from_slice(&datagram);
    assert_eq!(scanner.exchange(&packet, 20_000), []);
    namespace.wait_for_http(OURS);
}

impl Drop for Scanner {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.pump.kill();
        let _ = self.pump.wait();
    }
}
