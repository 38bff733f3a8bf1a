//! Packets of ordinary connections between the kernel's TCP and the stack.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use headway_trace::Capture;
use headway_trace::reader::{Network, Reader};
use tokio::runtime::Handle;

use crate::{OURS, echo, start};

/// A file in memory that can be read after its writer is dropped.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The packets of a few connections, in both directions, in order.
pub(crate) fn record(handle: &Handle) -> Vec<Vec<u8>> {
    let file = Shared::default();
    let writer: Box<dyn Write + Send> = Box::new(file.clone());
    let stack = start(handle, Some(Capture::new(writer, &["hw0"]).unwrap()), &Arc::default());
    for len in [0, 1, 20_000] {
        assert_eq!(echo(&vec![7; len]).len(), len);
    }
    // One connection is reset, and one is refused.
    let mut reset = TcpStream::connect((OURS[0], 80)).unwrap();
    reset.write_all(&[7; 5000]).unwrap();
    drop(reset);
    TcpStream::connect((OURS[0], 81)).unwrap_err();
    handle.block_on(stack.close(Duration::from_secs(5))).unwrap();
    let file = file.0.lock().unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet().unwrap() {
        if let Network::Ip(bytes) = packet.link.network(packet.bytes) {
            packets.push(bytes.to_vec());
        }
    }
    assert!(packets.len() > 50, "{} packets were recorded", packets.len());
    packets
}
