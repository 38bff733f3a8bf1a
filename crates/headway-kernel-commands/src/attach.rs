//! `headway kernel attach`.

use std::io;
use std::process::Command;
use std::time::Duration;

use headway_ebpf::requirements::{self, Requirement};
use headway_ebpf::{Attachment, Control, Settings, Target};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

use super::error::KernelError;
use super::{AttachArguments, Congestion, Encoding};
use headway_command::BadOption;
use headway_command::notice;

/// The interval at which is checked whether the programs are still attached.
const INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn run(arguments: &AttachArguments) -> Result<(), KernelError> {
    let settings = settings(arguments)?;
    let target = Target { cgroup: arguments.cgroup.clone(), interfaces: arguments.interfaces.clone() };
    for Requirement { name, purpose, optional, .. } in requirements::all().into_iter().filter(|one| !one.met)
    {
        if !optional {
            return Err(KernelError::Missing { name, purpose });
        }
        notice!("headway: {name} is missing; with it {purpose}; the rest works without");
    }
    let attachment = Attachment::new(&target, &settings)?;
    for (control, reason) in attachment.missing() {
        notice!("headway: {} takes damage for congestion: {reason}", control.name());
    }
    if let Some(reason) = attachment.listeners_left_out() {
        notice!("headway: servers that listen already do not use HACK: {reason}");
    }
    if let Some(folder) = &arguments.pin {
        attachment.pin(folder)?;
    }
    notice!("headway: attached to {} and {}", target.cgroup.display(), target.interfaces.join(", "));
    if let Some(path) = &arguments.ready_file {
        let fail = |error| KernelError::System { what: path.display().to_string(), error };
        std::fs::File::create(path).map_err(fail)?;
    }
    if arguments.pin.is_some() { Ok(()) } else { wait(&attachment) }
}

fn settings(arguments: &AttachArguments) -> Result<Settings, KernelError> {
    let version_2 = arguments.encoding != Encoding::Classic;
    for (place, name) in arguments.interfaces.iter().enumerate() {
        if arguments.interfaces[..place].contains(name) {
            return Err(BadOption::new("--interface", name, "expected each interface once").into());
        }
        if version_2 {
            check_segments(name)?;
        }
    }
    let wraps = |control: &Control| {
        arguments.congestion.iter().any(|wanted| match wanted {
            Congestion::Cubic => *control == Control::Cubic,
            Congestion::Bbr => *control == Control::Bbr,
            Congestion::None => false,
        })
    };
    if arguments.congestion.len() > 1 && arguments.congestion.contains(&Congestion::None) {
        return Err(BadOption::new("--congestion", "none", "expected it alone").into());
    }
    Ok(Settings {
        classic: arguments.encoding != Encoding::V2,
        version_2,
        copies: !arguments.no_copies,
        controls: Control::ALL.into_iter().filter(wraps).collect(),
    })
}

/// Checks that the device does not segment packets: it would copy the CRCs of the whole packet into each part. Only the
/// operator turns segmentation off, since the setting remains when the programs are detached.
fn check_segments(name: &str) -> Result<(), KernelError> {
    let system = |error| KernelError::System { what: "ip".into(), error };
    let output = Command::new("ip").args(["-json", "-details", "link", "show", "dev", name]).output();
    let output = output.map_err(system)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(BadOption::new("--interface", name, said).into());
    }
    let links: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| system(io::Error::other(error)))?;
    match links[0]["gso_max_segs"].as_u64() {
        Some(1) => Ok(()),
        _ => {
            let expected =
                format!("version 2 needs whole packets; expected `ip link set {name} gso_max_segs 1` before");
            Err(BadOption::new("--interface", name, expected).into())
        }
    }
}

/// Waits until SIGINT or SIGTERM arrives, or another process has detached the programs.
fn wait(attachment: &Attachment) -> Result<(), KernelError> {
    let system = |error| KernelError::System { what: "the runtime".into(), error };
    let runtime = Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(system)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(system)?;
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            tokio::select! {
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                _ = ticks.tick() => if !attachment.is_attached() { return Err(KernelError::Detached) },
            }
        }
    })
}
