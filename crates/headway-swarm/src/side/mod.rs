//! One end of a connection: what its program does, and what the wire shows of it.

pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod program;
pub(crate) mod recorder;

use program::Side;

/// A side that reports no failure has everything that its peer wrote.
pub(crate) fn complete(side: &Side, peer: &Side) -> Result<(), String> {
    if side.read > peer.program.written {
        return Err(format!("read {} bytes of {}", side.read, peer.program.written));
    }
    if side.has_failed() {
        return Ok(());
    }
    if side.id.is_none() {
        // Nothing was accepted here: then the other side must have failed.
        return if peer.has_failed() { Ok(()) } else { Err("never opened, and no error says why".into()) };
    }
    if !side.finished {
        return Err("over, without an error and without the end of the stream".into());
    }
    if side.read != peer.program.written {
        let (read, written) = (side.read, peer.program.written);
        return Err(format!("says that all is well with {read} bytes of {written}"));
    }
    Ok(())
}
