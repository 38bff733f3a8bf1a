//! What always holds of the receive side.

use alloc::format;
use alloc::string::String;

use super::ReceiveSide;
use super::assembler::Assembler;

impl ReceiveSide {
    pub(crate) fn check(&self) -> Result<(), String> {
        // What was offered is accepted.
        if self.wnd() as usize > self.assembler.room() {
            return Err(format!(
                "a window of {} is offered, and there is room for {}",
                self.wnd(),
                self.assembler.room()
            ));
        }
        self.assembler.check()
    }
}

impl Assembler {
    fn check(&self) -> Result<(), String> {
        let (mut held, mut end) = (0, self.nxt());
        for (start, next) in self.islands() {
            // What is adjacent is one.
            if !end.lt(start) || !start.lt(next) {
                return Err(format!("an island from {} to {} behind {}", start.0, next.0, end.0));
            }
            held += (next - start) as u32;
            end = next;
        }
        if held != self.held() {
            return Err(format!("{} bytes counted behind holes, {held} there", self.held()));
        }
        if self.span() as usize > self.room() {
            return Err(format!("{} bytes beyond RCV.NXT, and room for {}", self.span(), self.room()));
        }
        Ok(())
    }
}
