//! The interfaces that packets passed.

use std::collections::BTreeMap;

use super::{Interface, LinkType};

/// The maximum number of interfaces.
const MAX_INTERFACES: usize = 1 << 16;

/// The interfaces of a capture: those that it declares, and those in the link headers of its packets if
/// all interfaces were captured at once (`tcpdump -i any`). A host that forwards or bridges then captures
/// each packet several times.
#[derive(Debug, Default)]
pub(super) struct Places {
    known: Vec<Interface>,
    /// The names of the declared interfaces.
    declared: Vec<Option<String>>,
    /// The index of an interface, by declared index and by the index in its packets.
    by_index: BTreeMap<(usize, Option<u32>), usize>,
}

impl Places {
    pub(super) fn known(&self) -> &[Interface] {
        &self.known
    }

    /// Adds newly declared interfaces.
    pub(super) fn declare(&mut self, declared: &[Interface]) {
        for (place, interface) in declared.iter().enumerate().skip(self.declared.len()) {
            self.by_index.insert((place, None), self.known.len());
            self.known.push(interface.clone());
            self.declared.push(interface.name.clone());
        }
    }

    /// The index of the interface of a packet, whose declared interface is `declared`.
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
            // The first index replaces the declared interface.
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
