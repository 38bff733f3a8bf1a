//! A stream of records that arrives as a string of bytes decides.

use headway_trunk_proto::records::{self, RecordReader};

/// The first bytes are messages, whose records are a stream; the rest says which part of it arrives next. Each message
/// is given once, unchanged. Then the bytes themselves are taken for a stream, which may be refused.
pub(crate) fn check_records(bytes: &[u8]) {
    let (written, order) = bytes.split_at(bytes.len() / 2);
    let messages: Vec<&[u8]> = written.split_inclusive(|&byte| byte == 7).collect();
    let mut stream = Vec::new();
    for message in &messages {
        assert!(records::append(&mut stream, message));
    }
    let mut held = vec![false; stream.len()];
    let (mut reader, mut front, mut given) = (RecordReader::new(), 0, Vec::new());
    for part in order.chunks_exact(3).map(|part| [part[0], part[1], part[2]]).chain([[0, 0, u8::MAX]]) {
        if stream.is_empty() {
            break;
        }
        let at = usize::from(u16::from_be_bytes([part[0], part[1]])) % stream.len();
        let end =
            if part[2] == u8::MAX { stream.len() } else { (at + usize::from(part[2])).min(stream.len()) };
        let at = if part[2] == u8::MAX { 0 } else { at };
        held[at..end].fill(true);
        let runs = runs(&stream, &held, front);
        let read = reader.read(runs.into_iter(), |message| given.push(message.to_vec()));
        front += read.expect("a stream of records");
    }
    given.sort_unstable();
    let mut expected = messages.iter().map(|message| message.to_vec()).collect::<Vec<_>>();
    expected.sort_unstable();
    assert_eq!(given, expected);

    let (near, far) = bytes.split_at(bytes.len() / 3);
    let runs = [(0, (near, &[][..])), (near.len() + 5, (&[][..], far))];
    let mut len = 0;
    // Both answers are right: it need not be a stream of records.
    let _ = RecordReader::new().read(runs.into_iter(), |message| len += message.len());
    assert!(len <= bytes.len());
}

/// A distance, and a run in two pieces.
type Run<'a> = (usize, (&'a [u8], &'a [u8]));

/// The runs of what is held from `front` on.
fn runs<'a>(stream: &'a [u8], held: &[bool], front: usize) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    let mut at = front;
    while at < stream.len() {
        let len = held[at..].iter().take_while(|&&held| held).count();
        if len > 0 {
            runs.push((at - front, stream[at..at + len].split_at(len / 2)));
        }
        at += len.max(1);
    }
    runs
}
