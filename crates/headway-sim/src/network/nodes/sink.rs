//! A node that takes every packet and answers none.

use super::node::{Next, Node, NodeContext, Packet};
use crate::tap::Tap;

pub(super) struct Sink;

impl<T: Tap> Node<T> for Sink {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        Next::Wait(None)
    }
}
