//! HTTP functions of client and server.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::fs::File;
use tokio::io::{AsyncRead as _, ReadBuf};

/// Bytes read from a file at a time.
const PIECE: usize = 1 << 16;

/// A part of a file as the body of a message. A file that becomes shorter is an error, so that the body
/// is not taken for complete.
pub(super) struct FileBody {
    file: File,
    left: u64,
    buffer: Box<[u8]>,
}

impl FileBody {
    /// The next `len` bytes of `file`.
    pub(super) fn new(file: File, len: u64) -> Self {
        Self { file, left: len, buffer: vec![0; PIECE].into() }
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let room = usize::try_from(this.left).unwrap_or(PIECE).min(PIECE);
        let mut buffer = ReadBuf::new(&mut this.buffer[..room]);
        if let Err(error) = ready!(Pin::new(&mut this.file).poll_read(cx, &mut buffer)) {
            return Poll::Ready(Some(Err(error)));
        }
        let read = buffer.filled();
        if read.is_empty() {
            let short =
                io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was sent");
            return Poll::Ready(Some(Err(short)));
        }
        this.left -= read.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(Bytes::copy_from_slice(read)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// RFC 3986, 2.1: `%41` as `A`. `None` if the text is not a UTF-8 path.
pub(super) fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, tail) = tail.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

/// Encodes one segment of a path.
pub(super) fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_read() {
        assert_eq!(percent_decode("a%20b%2Fc").as_deref(), Some("a b/c"));
        for bad in ["%", "%4", "%+4", "%zz", "%ff"] {
            assert_eq!(percent_decode(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_name_survives(name in "\\PC*") {
            prop_assert_eq!(percent_decode(&percent_encode(&name)), Some(name));
        }
    }
}
