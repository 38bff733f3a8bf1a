//! Seeds for every purpose from one.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// A seed for `purpose` in run `run` of an experiment seeded with `seed`.
///
/// Different purposes and runs give unrelated seeds, so that adding one changes no other.
pub fn derive_seed(seed: u64, purpose: &str, run: u64) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(seed, run);
    hasher.write(purpose.as_bytes());
    hasher.finish()
}
