//! What the kernel and the user need to have.

use std::fs;
use std::path::PathBuf;

/// One of the things that HACK for the kernel's TCP needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// What.
    pub name: &'static str,
    /// Whether it is there.
    pub met: bool,
    /// What it is for, and where it comes from.
    pub purpose: &'static str,
    /// Whether everything else works without it.
    pub optional: bool,
}

/// Names in the kernel's BTF, what they are for, and whether the rest works without them.
const FUNCTIONS: [(&str, &str, &str, bool); 5] = [
    ("bpf_sock_ops_store_hdr_opt", "TCP options of programs", "options are written (Linux 5.10)", false),
    ("tcx_link_attach", "tcx links", "packets are examined (Linux 6.6)", false),
    (
        "bpf_struct_ops_link_create",
        "struct_ops links",
        "damage is not taken for congestion (Linux 6.10)",
        true,
    ),
    ("cubictcp_cong_avoid", "cubic", "connections with cubic gain", true),
    ("bbr_main", "bbr", "connections with bbr gain", true),
];

/// Capabilities, by number.
const CAPABILITIES: [(u32, &str, &str, bool); 3] = [
    (39, "CAP_BPF", "programs are loaded", false),
    (12, "CAP_NET_ADMIN", "programs are attached", false),
    (38, "CAP_PERFMON", "congestion controls are loaded", false),
];

/// All of them, examined.
pub fn all() -> Vec<Requirement> {
    // Congestion controls may be modules.
    let [mut btf, cubic, bbr] = ["vmlinux", "tcp_cubic", "tcp_bbr"]
        .map(|name| fs::read(format!("/sys/kernel/btf/{name}")).unwrap_or_default());
    btf.extend(cubic);
    btf.extend(bbr);
    let mut found = vec![
        Requirement {
            name: "BTF",
            met: !btf.is_empty(),
            purpose: "programs fit the kernel (CONFIG_DEBUG_INFO_BTF)",
            optional: false,
        },
        Requirement {
            name: "cgroup2",
            met: cgroup_root().is_some(),
            purpose: "connections are chosen by cgroup",
            optional: false,
        },
    ];
    for (symbol, name, purpose, optional) in FUNCTIONS {
        found.push(Requirement { name, met: has_name(&btf, symbol), purpose, optional });
    }
    let effective = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mask = capabilities(&effective);
    // CAP_SYS_ADMIN includes the two that were split from it.
    let has = |bit: u32| mask >> bit & 1 == 1 || (bit >= 38 && mask >> 21 & 1 == 1);
    for (bit, name, purpose, optional) in CAPABILITIES {
        found.push(Requirement { name, met: has(bit), purpose, optional });
    }
    found
}

/// Where the cgroups of version 2 are.
pub fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .find(|fields| fields.get(2) == Some(&"cgroup2"))
        .and_then(|fields| Some(PathBuf::from(fields.get(1)?)))
}

/// Whether the kernel's BTF has a name. Names end with zero. Before one is another's, or, before the first of a module,
/// something else.
fn has_name(btf: &[u8], name: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let wanted = [name.as_bytes(), b"\0"].concat();
    let mut places = btf.windows(wanted.len()).enumerate().filter(|(_, window)| *window == wanted);
    places.any(|(at, _)| at == 0 || !is_letter(&btf[at - 1]))
}

fn capabilities(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whole() {
        let btf = b"\0int\0bbr_main\0bbr_main_loop\0";
        assert!(has_name(btf, "bbr_main"));
        assert!(!has_name(btf, "bbr"));
        assert!(!has_name(b"", "bbr_main"));
    }

    #[test]
    fn capabilities_are_read() {
        assert_eq!(capabilities("Name:\tx\nCapEff:\t0000008000001000\n"), 1 << 39 | 1 << 12);
        assert_eq!(capabilities(""), 0);
    }

    #[test]
    fn every_requirement_is_examined() {
        assert_eq!(all().len(), 2 + FUNCTIONS.len() + CAPABILITIES.len());
    }
}
