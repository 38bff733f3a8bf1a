//! A node that takes every packet and answers none.

use super::node::{Node, NodeContext, Packet, Port};
use crate::tap::Tap;

pub(super) struct Sink;

impl<T: Tap> Node<T> for Sink {
    fn receive(&mut self, cx: &mut NodeContext<'_, T>, packet: Packet) {
        cx.discard(packet);
    }

    fn poll_transmit(&mut self, _cx: &mut NodeContext<'_, T>) -> Option<(Port, Packet)> {
        None
    }
}
