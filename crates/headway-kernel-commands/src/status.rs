//! `headway kernel status` and `headway kernel detach`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headway_ebpf::requirements::cgroup_root;
use headway_ebpf::{Instance, instances};
use nix::unistd::{Uid, geteuid};

use super::error::KernelError;
use headway_command::output;

pub(super) fn print(json: bool) -> Result<(), KernelError> {
    check_root()?;
    let found = instances();
    if json {
        let value: Vec<_> = found.iter().map(as_json).collect();
        return Ok(output::print(&format!("{:#}\n", serde_json::json!({ "attached": value })))?);
    }
    if found.is_empty() {
        return Ok(output::print("nothing is attached\n")?);
    }
    let mut text = String::new();
    for instance in &found {
        text.push_str(&describe(instance));
    }
    Ok(output::print(&text)?)
}

pub(super) fn detach(cgroup: Option<&Path>, pin: Option<&Path>) -> Result<(), KernelError> {
    check_root()?;
    if let Some(folder) = pin {
        let fail = |error| KernelError::System { what: folder.display().to_string(), error };
        return unpin(folder).map_err(fail);
    }
    let wanted = cgroup.map(number).transpose()?;
    let found: Vec<Instance> =
        instances().into_iter().filter(|one| wanted.is_none() || one.cgroup == wanted).collect();
    for instance in &found {
        instance.detach()?;
    }
    match cgroup {
        Some(folder) if found.is_empty() => {
            let error = io::Error::other("nothing is attached; `headway kernel status` lists what is");
            Err(KernelError::System { what: folder.display().to_string(), error })
        }
        _ => Ok(()),
    }
}

/// Removes a folder that `attach --pin` has made, and no other.
fn unpin(folder: &Path) -> io::Result<()> {
    /// `BPF_FS_MAGIC` of `linux/magic.h`.
    const BPF_FILE_SYSTEM: i128 = 0xcafe_4a11;
    let kind = rustix::fs::statfs(folder)?.f_type;
    if i128::from(kind) & 0xffff_ffff != BPF_FILE_SYSTEM || !folder.join("sockops").exists() {
        return Err(io::Error::other("expected a folder that `headway kernel attach --pin` has made"));
    }
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)
}

/// The number of a cgroup is that of its folder.
fn number(folder: &Path) -> Result<u64, KernelError> {
    use std::os::unix::fs::MetadataExt as _;
    let fail = |error| KernelError::System { what: folder.display().to_string(), error };
    fs::metadata(folder).map(|data| data.ino()).map_err(fail)
}

/// The kernel shows programs to those who may load them.
fn check_root() -> Result<(), KernelError> {
    if geteuid() == Uid::from_raw(0) {
        return Ok(());
    }
    let error = io::Error::new(io::ErrorKind::PermissionDenied, "expected root");
    Err(KernelError::System { what: "the programs of the kernel".into(), error })
}

fn describe(instance: &Instance) -> String {
    let cgroup = match instance.cgroup {
        Some(id) => {
            format!("cgroup {}", cgroup_path(id).map_or(id.to_string(), |path| path.display().to_string()))
        }
        None => "detached; connections that began before still use its congestion control".into(),
    };
    let interfaces: Vec<String> =
        instance.interfaces.iter().map(|index| interface(instance, *index)).collect();
    let mut text = format!("{cgroup}\n");
    for (what, values) in [("interfaces", interfaces), ("congestion control", instance.controls.clone())] {
        if !values.is_empty() {
            text.push_str(&format!("  {what}: {}\n", values.join(", ")));
        }
    }
    text.push_str(&format!("  pairs of addresses with connections: {}\n", instance.paths));
    if instance.ended > 0 {
        text.push_str(&format!("  connections that ended in the last minute: {}\n", instance.ended));
    }
    for counter in instance.counters.iter().filter(|counter| counter.value > 0) {
        text.push_str(&format!("  {:>12} {}\n", counter.value, counter.meaning));
    }
    text
}

fn as_json(instance: &Instance) -> serde_json::Value {
    let counters: serde_json::Map<_, _> =
        instance.counters.iter().map(|counter| (counter.name.to_owned(), counter.value.into())).collect();
    serde_json::json!({
        "id": instance.id,
        "cgroup": instance.cgroup.map(|id| cgroup_path(id).map_or(id.to_string(), |path| path.display().to_string())),
        "interfaces": instance.interfaces.iter().map(|index| interface(instance, *index)).collect::<Vec<_>>(),
        "congestion": instance.controls,
        "paths": instance.paths,
        "ended": instance.ended,
        "programs": instance.programs.len(),
        "counters": counters,
    })
}

/// The name of an interface, or its number if it is in another namespace.
fn interface(instance: &Instance, index: u32) -> String {
    let here = instance.is_in_this_namespace();
    let name = nix::net::if_::if_indextoname(index).ok().filter(|_| here);
    name.map_or(index.to_string(), |name| name.to_string_lossy().into_owned())
}

/// Where a cgroup is.
fn cgroup_path(id: u64) -> Option<PathBuf> {
    let mut waiting = vec![cgroup_root()?];
    while let Some(folder) = waiting.pop() {
        if number(&folder).is_ok_and(|found| found == id) {
            return Some(folder);
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        waiting.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    None
}
