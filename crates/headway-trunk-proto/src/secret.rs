//! Secret bytes, and the stack on which they were computed: both are overwritten after use.

use std::hint::black_box;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

/// Bytes of a key.
pub(crate) const LEN: usize = 32;

/// A key or what keys are derived from. It stays at one place of the heap, so what is moved leaves no copy behind, and is
/// overwritten when it is dropped.
#[derive(Clone)]
pub(crate) struct Secret(Box<[u8; LEN]>);

impl Secret {
    /// Of these bytes, whose other copies are the caller's.
    pub(crate) fn new(bytes: &[u8; LEN]) -> Self {
        Self::fill(|secret| *secret = *bytes)
    }

    /// Of bytes that are written where they stay.
    pub(crate) fn fill(write: impl FnOnce(&mut [u8; LEN])) -> Self {
        let mut secret = Self(Box::new([0; LEN]));
        write(&mut secret.0);
        secret
    }

    pub(crate) fn bytes(&self) -> &[u8; LEN] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// In constant time.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl Eq for Secret {}

/// How much of the stack is overwritten: more than a handshake uses, without optimisation too.
const STACK: usize = 32 << 10;

/// Computes with secrets, and overwrites the stack that was used: the libraries leave copies there. What is returned must
/// not contain a secret itself, only what owns one.
pub(crate) fn with_wiped_stack<T>(compute: impl FnOnce() -> T) -> T {
    // Neither is inlined: both have their frames at the same place.
    #[inline(never)]
    fn run<T>(compute: impl FnOnce() -> T) -> T {
        compute()
    }
    #[inline(never)]
    fn wipe() {
        let mut stack = [0_u64; STACK / 8];
        stack.zeroize();
        black_box(&stack);
    }
    let result = run(compute);
    wipe();
    result
}
