//! The settings of the programs.

/// One of the kernel's congestion controls that can be wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Control {
    /// `cubic`.
    Cubic,
    /// `bbr`.
    Bbr,
}

impl Control {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Cubic, Self::Bbr];

    /// The name of the kernel's, which is also that of the `struct_ops` map.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// The name of ours: names are global, so that a second loader on one machine has another.
    pub(crate) fn our_name(self, number: usize) -> String {
        match number {
            0 => format!("headway_{}", self.name()),
            _ => format!("headway_{}{number}", self.name()),
        }
    }
}

/// What is offered to peers, and what is done for a connection that agrees on HACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Offer the classic encoding (kinds 14 to 16).
    pub classic: bool,
    /// Offer version 2. No device may segment packets then: `gso_max_segs` has to be 1 on each interface.
    pub version_2: bool,
    /// Send copies of tails that are reported as damaged.
    pub copies: bool,
    /// The congestion controls that are wrapped.
    pub controls: Vec<Control>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { classic: true, version_2: false, copies: true, controls: Control::ALL.to_vec() }
    }
}

/// Where the programs work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    /// The number of the interfaces' network namespace.
    pub(crate) namespace: u64,
    /// The number of the cgroup.
    pub(crate) cgroup: u64,
}

/// Room for the name of a congestion control, with its end.
pub(crate) const NAME_LENGTH: usize = 16;

/// Where the names begin in the bytes of the settings.
const NAMES_AT: usize = 2 * 8 + 3;

/// The network namespace in the bytes of settings, and the names of the congestion controls.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, Vec<String>)> {
    let namespace = u64::from_ne_bytes(*bytes.first_chunk()?);
    let names = bytes.get(NAMES_AT..NAMES_AT + Control::ALL.len() * NAME_LENGTH)?.chunks(NAME_LENGTH);
    let text = |room: &[u8]| {
        let name = room.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(name).into_owned()
    };
    Some((namespace, names.map(text).filter(|name| !name.is_empty()).collect()))
}

impl Settings {
    /// As `struct settings` of `programs/state.h`.
    pub(crate) fn bytes(&self, names: &[(Control, String)], place: Scope) -> Vec<u8> {
        let mut bytes = place.namespace.to_ne_bytes().to_vec();
        bytes.extend(place.cgroup.to_ne_bytes());
        bytes.extend([self.classic, self.version_2, self.copies].map(u8::from));
        for control in Control::ALL {
            let name = names.iter().find(|(one, _)| *one == control).map_or("", |(_, name)| name.as_str());
            bytes.extend(terminated(name));
        }
        bytes
    }
}

/// A name in its room.
pub(crate) fn terminated(name: &str) -> [u8; NAME_LENGTH] {
    let mut room = [0; NAME_LENGTH];
    let len = name.len().min(NAME_LENGTH - 1);
    room[..len].copy_from_slice(&name.as_bytes()[..len]);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_are_found_in_the_bytes() {
        let longest = Control::Cubic.our_name(99);
        assert!(longest.len() < NAME_LENGTH, "{longest}");
        let bytes = Settings::default()
            .bytes(&[(Control::Bbr, Control::Bbr.our_name(0))], Scope { namespace: 77, cgroup: 5 });
        assert_eq!(bytes.len(), NAMES_AT + 2 * NAME_LENGTH);
        assert_eq!(bytes[16..NAMES_AT], [1, 0, 1]);
        assert_eq!(read(&bytes), Some((77, vec!["headway_bbr".to_owned()])));
        assert_eq!(read(&bytes[..bytes.len() - 1]), None);
    }
}
