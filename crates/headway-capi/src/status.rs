//! What calls return, and the text of the latest error.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use headway_embed::Error;

/// A code of the header: 0 is success.
pub type Status = i32;

/// The codes, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Ok,
    Null,
    Handle,
    Text,
    Key,
    Address,
    Connection,
    Time,
    Buffer,
    Length,
    Refused,
    Panic,
}

impl Code {
    pub(crate) const NAMES: [&str; 12] = [
        "OK",
        "ERROR_NULL",
        "ERROR_HANDLE",
        "ERROR_TEXT",
        "ERROR_KEY",
        "ERROR_ADDRESS",
        "ERROR_CONNECTION",
        "ERROR_TIME",
        "ERROR_BUFFER",
        "ERROR_LENGTH",
        "ERROR_REFUSED",
        "ERROR_PANIC",
    ];
}

/// Why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: Code,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    fn of_panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Self::new(Code::Panic, format!("a defect of headway, please report it: {text}"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Syntax { .. } | Error::Key { .. } => Code::Key,
            Error::Address { .. } => Code::Address,
            Error::UnknownConnection(_) | Error::UnknownListener(_) => Code::Connection,
            Error::Tcp(headway_embed::TcpError::UnknownConnection) => Code::Connection,
            Error::Time { .. } => Code::Time,
            Error::ShortBuffer { .. } => Code::Buffer,
            Error::PacketLength(_) => Code::Length,
            _ => Code::Refused,
        };
        Self::new(code, error.to_string())
    }
}

thread_local! {
    static LATEST: RefCell<CString> = RefCell::default();
}

/// Does the work of a call. No panic passes; what goes wrong leaves its text for [`latest`].
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Failure>) -> Status {
    // What a panic left half changed is locked up for good: see `Registry::with`.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return Code::Ok as Status,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::of_panic(&*payload),
    };
    let text = CString::new(failure.text.replace('\0', "\\0")).unwrap_or_default();
    // At the end of a thread there is no place for it any more.
    let _ = LATEST.try_with(|latest| latest.replace(text));
    failure.code as Status
}

/// The text of the latest error of this thread; valid until the next one.
pub(crate) fn latest() -> *const c_char {
    LATEST.try_with(|latest| latest.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    static NUMBERS: Registry<u64> = Registry::new("host");

    #[test]
    fn a_panic_ends_in_a_code_and_closes_what_it_was_in() {
        let handle = NUMBERS.insert(1);
        let status = guard(|| NUMBERS.with(handle, |_| -> Result<(), Failure> { panic!("at {}", 5) }));
        assert_eq!(status, Code::Panic as Status);
        let again = NUMBERS.with(handle, |number| Ok::<_, Failure>(*number)).expect_err("closed");
        assert_eq!(again.code, Code::Panic);
        assert!(NUMBERS.remove(handle).is_ok(), "it can be freed");
    }

    #[test]
    fn what_is_gone_and_what_never_was_are_told() {
        let handle = NUMBERS.insert(7);
        assert_eq!(NUMBERS.with(handle, |number| Ok::<_, Failure>(*number)).expect("there"), 7);
        NUMBERS.remove(handle).expect("there");
        for wrong in [handle, 0, usize::MAX] {
            let failure = NUMBERS.with(wrong, |number| Ok::<_, Failure>(*number)).expect_err("not there");
            assert!(matches!(failure.code, Code::Handle | Code::Null), "{failure:?}");
            assert!(NUMBERS.remove(wrong).is_err());
        }
    }
}
