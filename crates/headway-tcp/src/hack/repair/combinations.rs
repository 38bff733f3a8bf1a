//! All combinations of the values of several fields.

use alloc::vec::Vec;

use super::MAX_COMBINATIONS;
use super::fields::{Change, Field};

/// Calls `check` with each combination of one value of each field, but with [`MAX_COMBINATIONS`] at
/// most. Values are taken from the front first: the likeliest combinations come before the others.
pub(super) fn each(fields: &[Field], mut check: impl FnMut(&[Change])) {
    if fields.iter().any(|field| field.changes.is_empty()) {
        return;
    }
    let mut places = alloc::vec![0; fields.len()];
    let mut chosen: Vec<Change> = fields.iter().map(|field| field.changes[0]).collect();
    for _ in 0..MAX_COMBINATIONS {
        check(&chosen);
        // Counts up, the first field fastest.
        let mut carry = true;
        for ((field, place), choice) in fields.iter().zip(&mut places).zip(&mut chosen) {
            *place = if *place + 1 < field.changes.len() { *place + 1 } else { 0 };
            *choice = field.changes[*place];
            carry = *place == 0;
            if !carry {
                break;
            }
        }
        if carry {
            return;
        }
    }
}
