//! The programs in the kernel, whichever process attached them.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;

use libbpf_rs::query::{LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use crate::counters::{self, Counter};
use crate::error::EbpfError;
use crate::{settings, sys};

/// Programs that were attached together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The number of the map of its counters, which is unique.
    pub id: u32,
    /// The number of the cgroup whose connections use HACK; `None` if no new ones do.
    pub cgroup: Option<u64>,
    /// The network namespace of the interfaces (the number that `ls -L -i /proc/self/ns/net` prints).
    pub namespace: u64,
    /// The numbers of the interfaces.
    pub interfaces: Vec<u32>,
    /// The names of the congestion controls.
    pub controls: Vec<String>,
    /// The numbers of the programs.
    pub programs: Vec<u32>,
    /// The numbers of the links to the cgroup and the interfaces.
    pub links: Vec<u32>,
    /// What was counted.
    pub counters: Vec<Counter>,
    /// The number of paths (pairs of addresses) with connections.
    pub paths: usize,
    /// The number of connections of version 2 that ended in the last minute, and of which state is kept for TIME-WAIT.
    pub ended: usize,
}

impl Instance {
    /// Whether its interfaces are those of this thread's network namespace.
    pub fn is_in_this_namespace(&self) -> bool {
        self.namespace == namespace()
    }

    /// Detaches the programs from the cgroup and the interfaces, whichever process holds the links. The congestion
    /// controls stay until the process that attached them detaches them or ends.
    ///
    /// # Errors
    ///
    /// The system's; a link that is gone already is not an error.
    pub fn detach(&self) -> Result<(), EbpfError> {
        for id in &self.links {
            let detached = match sys::link_by_id(*id) {
                Ok(link) => sys::detach(link.as_fd()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            detached.map_err(|error| EbpfError::System { what: "a link", error })?;
        }
        Ok(())
    }
}

/// The number of this thread's network namespace.
pub(crate) fn namespace() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |data| data.ino())
}

/// All instances in the kernel.
pub fn instances() -> Vec<Instance> {
    // The kernel stores the first 15 bytes of a name.
    let maps: BTreeMap<u32, String> =
        MapInfoIter::default().map(|map| (map.id, map.name.to_string_lossy().into_owned())).collect();
    let is = |id: &u32, name: &str| maps.get(id).is_some_and(|found| found == &name[..name.len().min(15)]);
    let mut by_counters: BTreeMap<u32, Instance> = BTreeMap::new();
    let mut owner: BTreeMap<u32, u32> = BTreeMap::new();
    let query = ProgInfoQueryOptions::default().include_map_ids(true);
    for program in ProgInfoIter::with_query_opts(query) {
        if !program.name.to_string_lossy().starts_with("headway_") {
            continue;
        }
        let Some(&key) = program.map_ids.iter().find(|id| is(id, "headway_counters")) else { continue };
        owner.insert(program.id, key);
        let instance = by_counters.entry(key).or_insert_with(|| Instance {
            id: key,
            cgroup: None,
            namespace: 0,
            interfaces: Vec::new(),
            controls: Vec::new(),
            programs: Vec::new(),
            links: Vec::new(),
            counters: read_counters(key),
            paths: 0,
            ended: 0,
        });
        instance.programs.push(program.id);
        for id in &program.map_ids {
            if is(id, ".rodata.settings") {
                (instance.namespace, instance.controls) = read_settings(*id).unwrap_or_default();
            } else if is(id, "paths") {
                instance.paths = count_keys(*id);
            } else if is(id, "ended_connections") {
                instance.ended = count_keys(*id);
            }
        }
    }
    for link in LinkInfoIter::default() {
        // Links of struct_ops have no program.
        let key = owner.get(&link.prog_id);
        let Some(instance) = key.and_then(|key| by_counters.get_mut(key)) else { continue };
        instance.links.push(link.id);
        match link.info {
            LinkTypeInfo::Cgroup(cgroup) if cgroup.cgroup_id != 0 => instance.cgroup = Some(cgroup.cgroup_id),
            LinkTypeInfo::Tcx(tcx) if tcx.ifindex != 0 && !instance.interfaces.contains(&tcx.ifindex) => {
                instance.interfaces.push(tcx.ifindex);
            }
            _ => {}
        }
    }
    by_counters.into_values().collect()
}

fn count_keys(id: u32) -> usize {
    MapHandle::from_map_id(id).map_or(0, |map| map.keys().count())
}

/// The sum over the processors.
fn read_counters(id: u32) -> Vec<Counter> {
    let mut counters = counters::all();
    let Ok(map) = MapHandle::from_map_id(id) else { return counters };
    for (number, counter) in (0_u32..).zip(&mut counters) {
        let values =
            map.lookup_percpu(&number.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
        let words = values.iter().filter_map(|value| Some(u64::from_ne_bytes(*value.first_chunk()?)));
        counter.value = words.sum();
    }
    counters
}

fn read_settings(id: u32) -> Option<(u64, Vec<String>)> {
    let map = MapHandle::from_map_id(id).ok()?;
    settings::read(&map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??)
}
