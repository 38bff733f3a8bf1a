//! `headway doctor`: the capabilities of this machine and of a path.
#![forbid(unsafe_code)]

mod findings;
mod lines;
mod path;
mod peer;
mod survey;
mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use headway_command::{BadOption, Failure, notice, output, require_distinct};
use headway_ebpf::requirements;
use headway_net::{Interface, probe};
use headway_transport::{Listen, NetworkArguments, Transport, TransportError, resolve};
use headway_units::Duration as Span;

use findings::{Findings, Form, Mark};
use headway_transport::{GRACE_STOPPED, block_on, stop_signal};
use survey::carrier::{SurveyCarrier, Surveys};
use watch::{Records, Watch};

const EXAMPLES: &str = "\
Examples:
  headway doctor
      The capabilities of this machine; more as root.
  headway doctor --udp 192.0.2.2:4000 any --listen 7
      At one end of a path: report to the other end which of its packets arrived.
  headway doctor --udp 192.0.2.1:4000 192.0.2.2:4000 --connect 192.0.2.2:7
      At the other: whether the path strips options and delivers damaged payloads, in both directions. \
      Connected to another headway server: the negotiated options.
  headway doctor --frames unix:b unix:far --address 10.77.2.2 --peer-address 10.77.2.1 --connect 10.77.2.1:7 \
      --survey --trace link.trace
      What a modem does to frames, in both directions, with a doctor that listens at the other end; then \
      `headway race --damage trace:link.trace` races senders over it.";

/// Report the capabilities of this machine and of a path, and which carrier to use
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Connect to this peer too, over the carrier of the options, and report what was negotiated
    #[arg(long, value_name = "HOST:PORT", requires = "carrier")]
    connect: Option<String>,
    /// Serve such connections until stopped
    #[arg(long, value_name = "[ADDRESS:]PORT", requires = "carrier", conflicts_with = "connect")]
    listen: Option<Listen>,
    /// Send frames that the peer knows, with a doctor that listens there, and report which of them are lost and damaged, and where,
    /// in both directions
    #[arg(long, action = ArgAction::SetTrue, requires = "connect")]
    survey: bool,
    /// With --survey, how long to send, at most 1h; Ctrl-C ends it early
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "survey")]
    duration: Span,
    /// With --survey, write what became of the frames sent to this file, and of those received to FILE.back, as damage traces for
    /// `headway race --damage trace:FILE`
    #[arg(long, value_name = "FILE", requires = "survey")]
    trace: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, action = ArgAction::SetTrue)]
    json: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

/// The time limit after which a path is reported as broken.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Reports what this machine and a path can do, or serves those that ask about a path.
pub fn run(arguments: &Arguments) -> Result<(), impl Failure> {
    block_on(examine(arguments))
}

async fn examine(arguments: &Arguments) -> Result<(), TransportError> {
    if let Some(local) = arguments.listen {
        return listen(arguments, local).await;
    }
    if arguments.survey {
        return survey(arguments).await;
    }
    let mut findings = Findings::default();
    machine(&mut findings);
    let reached = match &arguments.connect {
        Some(peer) => connect(&mut findings, arguments, peer).await?,
        None => Ok(()),
    };
    let form = match arguments {
        Arguments { json: true, .. } => Form::Json,
        _ if arguments.network.is_verbose() => Form::Details,
        _ => Form::Verdict,
    };
    output::print(&findings.text(form))?;
    reached
}

/// The findings about the path, and whether the peer was reached.
async fn connect(
    findings: &mut Findings,
    arguments: &Arguments,
    peer: &str,
) -> Result<Result<(), TransportError>, TransportError> {
    let remote = remote(peer).await?;
    let (transport, observed) = open(arguments)?;
    let outcome = tokio::select! {
        reached = path::examine(findings, &transport, &observed.records, remote) => Ok(reached),
        signal = stop_signal() => Err(TransportError::Stopped(signal?)),
    };
    let closed = transport.close(GRACE_STOPPED).await;
    let reached = outcome?;
    closed?;
    Ok(reached)
}

async fn remote(peer: &str) -> Result<SocketAddr, TransportError> {
    let expected = || BadOption::new("--connect", peer, "expected HOST:PORT, such as 192.0.2.2:80");
    let (host, port) = peer.rsplit_once(':').filter(|(host, _)| !host.is_empty()).ok_or_else(expected)?;
    resolve(host, port.parse().map_err(|_| expected())?).await
}

async fn survey(arguments: &Arguments) -> Result<(), TransportError> {
    let Arguments { connect, duration, trace, json, network, .. } = arguments;
    if duration.is_zero() || *duration > survey::MOST {
        const EXPECTED: &str = "expected more than 0s and at most 1h";
        return Err(BadOption::new("--duration", duration.to_string(), EXPECTED).into());
    }
    let behind = trace.as_deref().map(survey::back);
    let traces = [("--trace", trace.as_deref()), ("the other trace of --trace", behind.as_deref())];
    require_distinct([], traces.into_iter().chain(network.written()))?;
    let remote = remote(connect.as_deref().unwrap_or_default()).await?;
    let (transport, observed) = open(arguments)?;
    if transport.is_kernel() {
        const EXPECTED: &str = "expected --tun, --udp, --packet, --frames, --kiss, --serial or --monitor with it: the kernel \
                                does not hand up damaged frames";
        return Err(BadOption::new("--survey", "", EXPECTED).into());
    }
    let outcome = survey::run(&transport, &observed, remote, *duration, trace.as_deref()).await;
    let closed = transport.close(GRACE_STOPPED).await;
    let report = outcome?;
    output::print(&if *json { report.json() } else { report.text() })?;
    closed
}

async fn listen(arguments: &Arguments, local: Listen) -> Result<(), TransportError> {
    let (transport, observed) = open(arguments)?;
    if transport.is_kernel() {
        const EXPECTED: &str =
            "expected --tun, --udp or --packet with it: the kernel does not report what arrives";
        return Err(BadOption::new("--listen", local.to_string(), EXPECTED).into());
    }
    let listener = transport.listen(local).await?;
    notice!(
        "headway: reporting what arrives at {}",
        listener.local_addr().map_err(TransportError::Connection)?
    );
    let outcome = tokio::select! {
        outcome = peer::answer(&listener, &observed, TIME_LIMIT) => outcome.map_err(TransportError::Connection),
        signal = stop_signal() => signal.map(|_| ()),
    };
    drop(listener);
    outcome.and(transport.close(GRACE_STOPPED).await)
}

/// What is known of a carrier.
#[derive(Clone)]
struct Observed {
    records: Records,
    surveys: Surveys,
    /// Its longest packet, in bytes.
    mtu: u16,
}

/// headway's TCP on an observed carrier.
fn open(arguments: &Arguments) -> Result<(Transport, Observed), TransportError> {
    let mut observed = Observed { records: Records::default(), surveys: Surveys::default(), mtu: 0 };
    let transport = arguments.network.open_through(|carrier| {
        observed.mtu = carrier.mtu();
        // Inside, so that no frame of a survey is taken for the TCP's.
        let inner = Box::new(SurveyCarrier::new(carrier, observed.surveys.clone()));
        Box::new(Watch { inner, records: observed.records.clone() })
    })?;
    Ok((transport, observed))
}

fn machine(findings: &mut Findings) {
    let tun = probe::tun();
    findings.add("tun", Mark::of(&tun), describe(&tun, "a TUN device can be created (--tun)"));
    let interfaces = Interface::all().unwrap_or_default();
    let seen = interfaces.iter().find(|interface| interface.up);
    let packet = seen.map(|interface| probe::packet(&interface.name));
    match &packet {
        Some(packet) => {
            findings.add("packet", Mark::of(packet), describe(packet, "frames can be received (--packet)"));
        }
        None => findings.add("packet", Mark::Bad, "no interface is up".into()),
    }
    for (name, v6) in [("udp4", false), ("udp6", true)] {
        let udp = probe::udp_without_checksum(v6);
        findings.add(
            name,
            Mark::of(&udp),
            describe(&udp, "damaged payloads pass in UDP without checksum (--udp)"),
        );
    }
    describe_kernel(findings);
    for interface in interfaces.iter().filter(|interface| !interface.loopback) {
        describe_interface(findings, interface);
    }
    let advice = match (&tun, &packet) {
        (Ok(()), _) => {
            "--tun for programs of this machine and what it routes, because a TUN device can be created here; \
             --udp to a peer that also runs headway, because damaged packets pass the system in UDP"
        }
        (Err(_), Some(Ok(()))) => {
            "--packet, because frames can be received here but no TUN device can be created; or --udp to a peer \
             that also runs headway"
        }
        _ => "--udp to a peer that also runs headway, because everything else needs root",
    };
    findings.advise(advice);
    findings.begin_path();
}

/// What HACK for programs over the kernel's TCP needs.
fn describe_kernel(findings: &mut Findings) {
    for requirement in requirements::all() {
        let (mark, there) = if requirement.met { (Mark::Good, "there") } else { (Mark::Bad, "missing") };
        let text = format!("{there}; with it {} (`headway kernel`)", requirement.purpose);
        findings.add(&format!("kernel {}", requirement.name), mark, text);
    }
}

/// The features of an interface that affect damaged packets.
fn describe_interface(findings: &mut Findings, interface: &Interface) {
    let name = format!("interface {}", interface.name);
    let features = match probe::features(&interface.name) {
        Ok(features) => features,
        Err(error) => {
            return findings.add(
                &name,
                Mark::Unknown,
                format!("its driver does not report features: {error}"),
            );
        }
    };
    let find = |wanted: &str| features.iter().find(|feature| feature.name == wanted);
    let is_on = |wanted: &str| find(wanted).is_some_and(|feature| feature.active);
    let mut words = vec![if interface.up { "up".to_owned() } else { "down".to_owned() }];
    for (wanted, meaning) in [("rx-all", "damaged frames"), ("rx-fcs", "frame check sequences")] {
        words.push(match find(wanted) {
            Some(feature) if feature.active => format!("delivers {meaning} ({wanted} on)"),
            Some(feature) if feature.available => {
                format!("can deliver {meaning} (`ethtool -K {} {wanted} on`)", interface.name)
            }
            _ => format!("does not deliver {meaning} (no {wanted})"),
        });
    }
    let hiding: Vec<&str> =
        ["rx-checksum", "rx-gro", "rx-gro-hw", "rx-lro"].into_iter().filter(|wanted| is_on(wanted)).collect();
    let missing: Vec<&str> = [
        "tx-checksum-ipv4",
        "tx-checksum-ipv6",
        "tx-checksum-ip-generic",
        "tx-tcp-segmentation",
        "tx-tcp6-segmentation",
        "tx-generic-segmentation",
    ]
    .into_iter()
    .filter(|wanted| is_on(wanted))
    .collect();
    if !missing.is_empty() {
        words.push(format!("sends with checksum or segmentation offload ({})", missing.join(", ")));
    }
    if !hiding.is_empty() {
        let switches: Vec<String> = hiding.iter().map(|feature| format!("{feature} off")).collect();
        words.push(format!(
            "may hide received damage ({}; `ethtool -K {} {}`)",
            hiding.join(", "),
            interface.name,
            switches.join(" ")
        ));
    }
    findings.add(&name, Mark::Noted, words.join("; "));
}

fn describe<T, E: std::fmt::Display>(outcome: &Result<T, E>, good: &str) -> String {
    match outcome {
        Ok(_) => good.into(),
        Err(error) => error.to_string(),
    }
}
