//! A node that takes every packet and answers none.

use crate::network::node::{Next, Node, NodeContext};
use crate::network::packet::Packet;
use crate::network::tap::Tap;

pub(in crate::network) struct Sink;

impl<T: Tap> Node<T> for Sink {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn poll(&mut self, _cx: &mut NodeContext<'_, T>) -> Next {
        Next::Wait(None)
    }
}
