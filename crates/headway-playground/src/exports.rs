//! How a page calls [`answer`](crate::answer): it makes room, writes the request there, and reads the answer. All in
//! one thread.

use std::sync::{Mutex, PoisonError};

/// No request is longer.
const MOST: usize = 1 << 16;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<String> = Mutex::new(String::new());

/// The place for a request of `len` bytes; null if that is too long.
#[unsafe(no_mangle)]
pub extern "C" fn request(len: usize) -> *mut u8 {
    if len > MOST {
        return std::ptr::null_mut();
    }
    let mut request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    request.clear();
    request.resize(len, 0);
    request.as_mut_ptr()
}

/// Makes the answer to the request; gives its length.
#[unsafe(no_mangle)]
pub extern "C" fn race() -> usize {
    let request = REQUEST.lock().unwrap_or_else(PoisonError::into_inner);
    let text = crate::answer(&String::from_utf8_lossy(&request));
    let mut answer = ANSWER.lock().unwrap_or_else(PoisonError::into_inner);
    *answer = text;
    answer.len()
}

/// Where the answer is, in UTF-8, until the next one is made.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

#[cfg(target_arch = "wasm32")]
getrandom::register_custom_getrandom!(no_randomness);

#[cfg(target_arch = "wasm32")]
fn no_randomness(_: &mut [u8]) -> Result<(), getrandom::Error> {
    Err(getrandom::Error::UNSUPPORTED)
}
