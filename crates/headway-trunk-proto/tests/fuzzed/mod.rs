//! The tunnel and the stream of records under any string of bytes: random ones, and the corpora of the fuzz targets
//! `trunk_datagrams`, `trunk_packets` and `trunk_records`.

mod datagrams;
mod packets;
mod records;

use proptest::prelude::*;

#[test]
fn the_corpora_hold() {
    headway_test_fixture::corpus::replay("trunk_datagrams", datagrams::check_datagrams);
    headway_test_fixture::corpus::replay("trunk_packets", packets::check_packets);
    headway_test_fixture::corpus::replay("trunk_records", records::check_records);
}

proptest! {
    #[test]
    fn random_strings_hold(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        datagrams::check_datagrams(&bytes);
        packets::check_packets(&bytes);
        records::check_records(&bytes);
    }
}
