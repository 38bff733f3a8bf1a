//! Two connected hosts under any string of bytes: random ones, and the corpus of the fuzz target
//! `two_hosts`, so that what the fuzzer once reached stays reached without it.

#[path = "two_hosts/mod.rs"]
mod checks;

use std::fs;
use std::path::PathBuf;

use checks::check_two_hosts;
use proptest::prelude::*;

#[test]
fn the_corpus_holds() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/two_hosts");
    let mut replayed = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        check_two_hosts(&fs::read(path).unwrap());
        replayed += 1;
    }
    assert!(replayed >= 20, "the corpus is there: {replayed} files");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn random_strings_hold(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        check_two_hosts(&bytes);
    }
}
