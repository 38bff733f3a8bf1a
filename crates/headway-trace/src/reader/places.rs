//! Which interface a packet passed.

use std::collections::BTreeMap;

use super::{Interface, LinkType};

/// The most interfaces that are told apart.
const MAX_INTERFACES: usize = 1 << 16;

/// The interfaces of a capture: those that it names, and those that its packets name, where it was
/// taken at all interfaces at once (`tcpdump -i any`). A host that forwards, or that has bridges, has
/// each packet there several times.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: Vec<Interface>,
    /// The names that the capture gives.
    declared: Vec<Option<String>>,
    /// The place of an interface by its place in the capture and the index in its packets.
    by_index: BTreeMap<(usize, Option<u32>), usize>,
}

impl Places {
    pub(super) fn known(&self) -> &[Interface] {
        &self.known
    }

    /// Takes over what the capture has named by now.
    pub(super) fn declare(&mut self, declared: &[Interface]) {
        for (place, interface) in declared.iter().enumerate().skip(self.declared.len()) {
            self.by_index.insert((place, None), self.known.len());
            self.known.push(interface.clone());
            self.declared.push(interface.name.clone());
        }
    }

    /// The place of the interface that a packet passed, which is the `declared` one of the capture.
    pub(super) fn place(&mut self, declared: usize, link: LinkType, bytes: &[u8]) -> usize {
        let own = self.by_index.get(&(declared, None)).copied().unwrap_or(declared);
        let Some(index) = link.interface_index(bytes) else { return own };
        if let Some(&place) = self.by_index.get(&(declared, Some(index))) {
            return place;
        }
        let is_first = self.by_index.range((declared, Some(0))..=(declared, Some(u32::MAX))).next().is_none();
        if !is_first && self.known.len() >= MAX_INTERFACES {
            return own;
        }
        let name = self.declared.get(declared).and_then(Option::as_deref);
        let name = name.map_or(format!("index {index}"), |name| format!("{name}, index {index}"));
        let interface = Interface { name: Some(name), link };
        let place = if is_first {
            // The first one takes the place of the whole.
            if let Some(whole) = self.known.get_mut(own) {
                *whole = interface;
            }
            own
        } else {
            self.known.push(interface);
            self.known.len() - 1
        };
        self.by_index.insert((declared, Some(index)), place);
        place
    }
}
