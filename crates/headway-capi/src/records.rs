//! The structures of the header: 64-bit numbers.

use headway_embed::records::{Fields, LINK_COUNTERS, PATH_COUNTS, STATISTICS};

/// The structures of the header with the names of their fields.
pub fn all() -> [(&'static str, Vec<&'static str>); 3] {
    fn names<T>(fields: &Fields<T>) -> Vec<&'static str> {
        fields.iter().map(|(name, _)| *name).collect()
    }
    [
        ("headway_statistics", names(STATISTICS)),
        ("headway_path_counts", names(PATH_COUNTS)),
        ("headway_link_counters", names(LINK_COUNTERS)),
    ]
}

/// The bytes of a structure.
pub(crate) fn bytes<T>(fields: &Fields<T>, source: &T) -> Vec<u8> {
    fields.iter().flat_map(|(_, value)| value(source).to_ne_bytes()).collect()
}
