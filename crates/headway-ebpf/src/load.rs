//! The programs, loaded: with both congestion controls, or with those that the kernel accepts.

use std::sync::Mutex;

use libbpf_rs::{Object, ObjectBuilder, OpenObject, PrintLevel, ProgramType, set_print};

use crate::crc;
use crate::error::EbpfError;
use crate::settings::{Control, Scope, Settings, terminated};

/// The programs in the kernel, attached to nothing yet.
pub(crate) struct Loaded {
    pub(crate) object: Object,
    /// The congestion controls that are wrapped, and their names.
    pub(crate) names: Vec<(Control, String)>,
    /// Those that are not, and why.
    pub(crate) missing: Vec<(Control, String)>,
    /// Why listeners that are there already cannot take part.
    pub(crate) listeners: Option<String>,
}

/// The program for listeners that are there already.
pub(crate) const LISTENERS: &str = "headway_listeners";

/// What is to be loaded.
struct Wanted<'a> {
    settings: &'a Settings,
    place: Scope,
    names: &'a [(Control, String)],
    listeners: bool,
}

#[cfg(compiled_programs)]
static OBJECT: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/headway.bpf.o")));
#[cfg(not(compiled_programs))]
static OBJECT: Option<&[u8]> = None;

/// What libbpf and the verifier say. libbpf has one output for the whole process.
static LOG: Mutex<String> = Mutex::new(String::new());

/// Loads the programs under names that no congestion control has.
pub(crate) fn load(settings: &Settings, place: Scope) -> Result<Loaded, EbpfError> {
    let mut listeners = None;
    let mut missing: Vec<(Control, String)> = Vec::new();
    loop {
        let names: Vec<(Control, String)> = settings
            .controls
            .iter()
            .filter(|control| missing.iter().all(|(one, _)| one != *control))
            .map(|&control| (control, free_name(control)))
            .collect();
        let refused =
            match load_with(&Wanted { settings, place, names: &names, listeners: listeners.is_none() }) {
                Ok(object) => return Ok(Loaded { object, names, missing, listeners }),
                Err(refused) => refused,
            };
        let EbpfError::Refused { program, reason } = &refused else { return Err(refused) };
        if program == LISTENERS && listeners.is_none() {
            listeners = Some(reason.clone());
            continue;
        }
        // The rest works without them. Which of them it was is in the name of the program, unless one function of the
        // kernel is missing for all: then the last is left out first.
        let named = names.iter().find(|(control, _)| program.contains(control.name()));
        let Some((control, _)) = named.or(names.last()) else { return Err(refused) };
        missing.push((*control, format!("{program}: {reason}")));
    }
}

fn load_with(wanted: &Wanted<'_>) -> Result<Object, EbpfError> {
    let bytes = OBJECT.ok_or(EbpfError::NotCompiled)?;
    let mut held = LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    held.clear();
    drop(held);
    let before = set_print(Some((PrintLevel::Warn, |_, text| {
        LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&text);
    })));
    let loaded = open(bytes, wanted).and_then(OpenObject::load);
    set_print(before);
    loaded.map_err(|error| {
        let log = LOG.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (program, reason) = in_short(&log).unwrap_or_else(|| ("the programs".into(), error.to_string()));
        EbpfError::Refused { program, reason }
    })
}

fn open(bytes: &[u8], wanted: &Wanted<'_>) -> libbpf_rs::Result<OpenObject> {
    let names = wanted.names;
    let mut object = ObjectBuilder::default().name("headway")?.open_memory(bytes)?;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name.ends_with(".settings") {
            map.set_initial_value(&wanted.settings.bytes(names, wanted.place))?;
        } else if name.ends_with(".crc") {
            map.set_initial_value(&crc::tables())?;
        } else if let Some(control) = Control::ALL.into_iter().find(|control| control.name() == name) {
            match names.iter().find(|(one, _)| *one == control) {
                Some((_, ours)) => rename(map.initial_value_mut().unwrap_or_default(), control, ours),
                None => map.set_autocreate(false)?,
            }
        }
    }
    for mut program in object.progs_mut() {
        match program.name().to_str().unwrap_or_default() {
            "headway_ingress" | "headway_egress" => program.set_prog_type(ProgramType::SchedCls),
            "headway_sockops" | "headway_setsockopt" => {}
            LISTENERS => program.set_autoload(wanted.listeners),
            // Those of a congestion control, or of each of them.
            name => {
                let its = Control::ALL.into_iter().find(|control| name.contains(control.name()));
                let wanted = its.map_or(!names.is_empty(), |its| names.iter().any(|(one, _)| *one == its));
                // `headway_one_segment` belongs to one of them alone.
                let one =
                    name == "headway_one_segment" && names.iter().all(|(one, _)| *one != Control::Cubic);
                program.set_autoload(wanted && !one);
            }
        }
    }
    Ok(object)
}

/// Writes a name in the place of the one that the programs have.
fn rename(value: &mut [u8], control: Control, name: &str) {
    let before = terminated(&control.our_name(0));
    if let Some(at) = value.windows(before.len()).position(|window| window == before) {
        value[at..at + before.len()].copy_from_slice(&terminated(name));
    }
}

/// The first of our names that no congestion control has.
fn free_name(control: Control) -> String {
    let taken =
        std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let is_free = |name: &String| taken.split_whitespace().all(|one| one != name);
    (0..100).map(|number| control.our_name(number)).find(is_free).unwrap_or_else(|| control.our_name(0))
}

/// The program that was refused, and the line of the verifier that says why.
fn in_short(log: &str) -> Option<(String, String)> {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let program = |line: &&str| {
        line.strip_prefix("libbpf: prog '").and_then(|rest| rest.split('\'').next().map(str::to_owned))
    };
    // The reason is the last line of the verifier's log, before what it has counted.
    if let Some(end) = lines.iter().position(|line| line.starts_with("processed ")) {
        return Some((lines.iter().find_map(program)?, lines[..end].last()?.to_string()));
    }
    let said = lines.iter().find(|line| line.starts_with("libbpf: "))?;
    let name = lines.iter().find_map(program).unwrap_or_else(|| "the programs".into());
    Some((name, said.trim_start_matches("libbpf: ").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_last_line_of_the_verifier() {
        let log = "libbpf: prog 'headway_ingress': BPF program load failed: -EACCES\n\
                   libbpf: prog 'headway_ingress': -- BEGIN PROG LOAD LOG --\n\
                   0: R1=ctx()\n; x = y; @ ingress.h:10\n2: (71) r7 = *(u8 *)(r8 +92)\n\
                   invalid access to map value, value_size=64 off=92 size=1\n\
                   processed 3 insns (limit 1000000)\n-- END PROG LOAD LOG --\n";
        let (program, reason) = in_short(log).unwrap();
        assert_eq!(program, "headway_ingress");
        assert_eq!(reason, "invalid access to map value, value_size=64 off=92 size=1");
    }

    #[test]
    fn without_a_verifier_libbpf_says_why() {
        let (program, reason) =
            in_short("libbpf: extern (func ksym) 'bbr_main': not found in kernel or module BTFs\n").unwrap();
        assert_eq!(program, "the programs");
        assert!(reason.contains("bbr_main"), "{reason}");
        assert!(in_short("").is_none());
    }

    #[test]
    fn a_name_is_written_over_the_one_before() {
        let mut value = [&[1; 80][..], &terminated("headway_bbr"), &[2; 8]].concat();
        rename(&mut value, Control::Bbr, "headway_bbr7");
        assert_eq!(value[80..96], terminated("headway_bbr7"));
        assert!(value[..80].iter().all(|byte| *byte == 1) && value[96..].iter().all(|byte| *byte == 2));
    }
}
