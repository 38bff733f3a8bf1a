//! Two connected hosts under any string of bytes: random ones, and the corpus of the fuzz target
//! `two_hosts`, so that what the fuzzer once reached stays reached without it.

#[path = "two_hosts/mod.rs"]
mod checks;

use proptest::prelude::*;

use checks::check_two_hosts;

#[test]
fn the_corpus_holds() {
    headway_test_fixture::corpus::replay("two_hosts", check_two_hosts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn random_strings_hold(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check_two_hosts(&bytes);
    }
}
