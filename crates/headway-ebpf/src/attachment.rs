//! Programs attached to a cgroup and to interfaces.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use libbpf_rs::query::{LinkInfo, LinkTypeInfo};
use libbpf_rs::{ErrorKind, Iter, Link, MapCore as _, MapFlags, Object, ProgramAttachType, ProgramMut};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;

use crate::error::EbpfError;
use crate::load::{LISTENERS, Loaded, load};
use crate::settings::{Control, Scope, Settings};
use crate::status::{instances, namespace};
use crate::sys;

/// What programs are attached to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The folder of a cgroup (version 2): the connections of its processes use HACK.
    pub cgroup: PathBuf,
    /// The interfaces that these connections pass.
    pub interfaces: Vec<String>,
}

/// The programs, attached as long as this value lives. They also vanish with the process, however it ends.
pub struct Attachment {
    // Fields are dropped in this order: new connections stop first.
    connections: Link,
    options: Link,
    interfaces: Vec<(String, OwnedFd)>,
    controls: Vec<(Control, Link)>,
    _object: Object,
    names: Vec<(Control, String)>,
    missing: Vec<(Control, String)>,
    listeners: Option<String>,
}

impl Attachment {
    /// Loads the programs and attaches them.
    ///
    /// # Errors
    ///
    /// The kernel refuses a program, the target does not exist, or programs of headway are attached to it already. Nothing
    /// stays attached then.
    pub fn new(target: &Target, settings: &Settings) -> Result<Self, EbpfError> {
        let (cgroup, id) = open_cgroup(&target.cgroup)?;
        let indices = target.interfaces.iter().map(|name| index(name)).collect::<Result<Vec<_>, _>>()?;
        check_free(target, id, &indices)?;
        let place = Scope { namespace: namespace(), cgroup: id };
        let (Loaded { object, names, missing, listeners }, controls) = load_controls(settings, place)?;

        let table = object.maps().find(|map| map.name() == "interfaces");
        let table = table.ok_or_else(|| refused("the programs", "they have no map of interfaces"))?;
        for (name, index) in target.interfaces.iter().zip(&indices) {
            let header = link_header(name)?;
            table
                .update(&index.to_ne_bytes(), &header.to_ne_bytes(), MapFlags::ANY)
                .map_err(EbpfError::system("the map of interfaces"))?;
        }

        // Sums before the options that need them.
        let program = |name: &str| {
            let found = object.progs_mut().find(|program| program.name() == name);
            found.ok_or_else(|| refused(name, "it is not there"))
        };
        let mut interfaces = Vec::new();
        for (name, hook) in [
            ("headway_egress", ProgramAttachType::TcxEgress),
            ("headway_ingress", ProgramAttachType::TcxIngress),
        ] {
            let program = program(name)?;
            for (interface, index) in target.interfaces.iter().zip(&indices) {
                let link =
                    sys::attach_tcx(program.as_fd(), *index, hook.clone() as u32).map_err(|error| {
                        EbpfError::Interface { name: interface.clone(), problem: format!("{name}: {error}") }
                    })?;
                interfaces.push((format!("{}-{interface}", name.trim_start_matches("headway_")), link));
            }
        }
        let to_cgroup = |name: &str| {
            program(name)?.attach_cgroup(cgroup.as_raw_fd()).map_err(|error| EbpfError::Cgroup {
                path: target.cgroup.clone(),
                problem: error.to_string(),
            })
        };
        let options = to_cgroup("headway_setsockopt")?;
        let connections = to_cgroup("headway_sockops")?;
        let listeners = match listeners {
            Some(reason) => Some(reason),
            None => object
                .progs_mut()
                .find(|program| program.name() == LISTENERS)
                .map_or(Err("it is not there".into()), |program| run_once(&program))
                .err(),
        };
        Ok(Self { connections, options, interfaces, controls, _object: object, names, missing, listeners })
    }

    /// The kernel's congestion controls that are wrapped, with the names of ours.
    pub fn controls(&self) -> &[(Control, String)] {
        &self.names
    }

    /// Those that the kernel refuses to have wrapped, and why.
    pub fn missing(&self) -> &[(Control, String)] {
        &self.missing
    }

    /// Why listeners that were there before do not use HACK; `None` if they do.
    pub fn listeners_left_out(&self) -> Option<&str> {
        self.listeners.as_deref()
    }

    /// Whether the programs are still attached. Others can detach them.
    pub fn is_attached(&self) -> bool {
        is_attached(self.connections.as_fd())
    }

    /// Gives each link a file in a new folder of a BPF file system. The programs then stay until these are removed, and
    /// this value may be dropped.
    ///
    /// # Errors
    ///
    /// The folder exists, or is in no BPF file system. Nothing is pinned then.
    pub fn pin(&self, folder: &Path) -> Result<(), EbpfError> {
        let fail =
            |path: &Path, error: &io::Error| EbpfError::Pin { path: path.into(), problem: error.to_string() };
        std::fs::create_dir(folder).map_err(|error| fail(folder, &error))?;
        let links = self
            .controls
            .iter()
            .map(|(control, link)| (control.name().to_owned(), link.as_fd()))
            .chain(self.interfaces.iter().map(|(name, link)| (name.clone(), link.as_fd())))
            .chain(
                [("setsockopt", &self.options), ("sockops", &self.connections)]
                    .map(|(name, link)| (name.to_owned(), link.as_fd())),
            );
        for (name, link) in links {
            let path = folder.join(OsStr::new(&name));
            let pinned = CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
            if let Err(error) = pinned.and_then(|text| sys::pin(link, &text)) {
                // The kernel's text for a folder elsewhere is "Operation not permitted".
                let _ = std::fs::remove_dir_all(folder);
                return Err(fail(
                    &path,
                    &io::Error::other(format!("{error}; expected a folder of a BPF file system")),
                ));
            }
        }
        Ok(())
    }
}

/// Loads the programs, and attaches the congestion controls: before connections ask for them.
fn load_controls(settings: &Settings, place: Scope) -> Result<(Loaded, Vec<(Control, Link)>), EbpfError> {
    loop {
        let mut loaded = load(settings, place)?;
        let mut controls = Vec::new();
        let mut taken = false;
        for mut map in loaded.object.maps_mut() {
            let control =
                loaded.names.iter().map(|(control, _)| *control).find(|one| map.name() == one.name());
            let Some(control) = control else { continue };
            match map.attach_struct_ops() {
                Ok(link) => controls.push((control, link)),
                // Another loader has taken the name meanwhile.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = true,
                Err(error) => return Err(refused(control.name(), &error.to_string())),
            }
        }
        if !taken {
            return Ok((loaded, controls));
        }
    }
}

/// Whether a link is attached to something.
pub(crate) fn is_attached(link: BorrowedFd<'_>) -> bool {
    match LinkInfo::from_fd(link).map(|info| info.info) {
        Ok(LinkTypeInfo::Cgroup(cgroup)) => cgroup.cgroup_id != 0,
        Ok(LinkTypeInfo::Tcx(tcx)) => tcx.ifindex != 0,
        Ok(_) => true,
        Err(_) => false,
    }
}

fn refused(program: &str, reason: &str) -> EbpfError {
    EbpfError::Refused { program: program.into(), reason: reason.into() }
}

/// Runs a program over all sockets of this namespace.
fn run_once(program: &ProgramMut<'_>) -> Result<(), String> {
    let link = program.attach().map_err(|error| error.to_string())?;
    let mut sockets = Iter::new(&link).map_err(|error| error.to_string())?;
    io::copy(&mut sockets, &mut io::sink()).map(|_| ()).map_err(|error| error.to_string())
}

/// A cgroup, and its number.
fn open_cgroup(path: &Path) -> Result<(File, u64), EbpfError> {
    let fail = |problem: String| EbpfError::Cgroup { path: path.into(), problem };
    if !path.join("cgroup.procs").exists() {
        return Err(fail("expected the folder of a cgroup, version 2".into()));
    }
    let file = File::open(path).map_err(|error| fail(error.to_string()))?;
    let id = file.metadata().map_err(|error| fail(error.to_string()))?.ino();
    Ok((file, id))
}

fn index(name: &str) -> Result<u32, EbpfError> {
    if_nametoindex(name).map_err(|_| EbpfError::Interface {
        name: name.into(),
        problem: "there is none; `ip link` lists them".into(),
    })
}

/// How long the link-layer header is that programs see on an interface.
fn link_header(name: &str) -> Result<u32, EbpfError> {
    let fail = |problem: String| EbpfError::Interface { name: name.into(), problem };
    let kind = getifaddrs()
        .map_err(|error| fail(error.to_string()))?
        .filter(|entry| entry.interface_name == name)
        .find_map(|entry| Some(entry.address?.as_link_addr()?.hatype()));
    match kind.map(i32::from) {
        Some(ETHERNET | LOOPBACK) => Ok(14),
        Some(NONE) => Ok(0),
        _ => Err(fail("its link layer is not known; expected Ethernet or a TUN device".into())),
    }
}

/// Link layers (`ARPHRD_...` of `linux/if_arp.h`).
const ETHERNET: i32 = 1;
const LOOPBACK: i32 = 772;
const NONE: i32 = 65534;

/// Two sets of programs on one target would each write options.
fn check_free(target: &Target, cgroup: u64, indices: &[u32]) -> Result<(), EbpfError> {
    const TAKEN: &str = "programs of headway are attached already; expected `headway kernel detach` first";
    for instance in instances() {
        if instance.cgroup == Some(cgroup) {
            return Err(EbpfError::Cgroup { path: target.cgroup.clone(), problem: TAKEN.into() });
        }
        // Interfaces of other namespaces have the same numbers.
        if instance.is_in_this_namespace()
            && let Some(at) = indices.iter().position(|index| instance.interfaces.contains(index))
        {
            return Err(EbpfError::Interface { name: target.interfaces[at].clone(), problem: TAKEN.into() });
        }
    }
    Ok(())
}
