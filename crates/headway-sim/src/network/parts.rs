//! The numbers by which the parts of a network are known.

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) usize);

/// One of a node's ways out, numbered in the order in which [`Network::connect`](crate::Network::connect)
/// made them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Port(pub usize);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkId {
    pub(super) node: NodeId,
    /// Where it leaves the node that it comes from.
    pub(super) port: Port,
}

/// Where a link begins and ends.
#[derive(Clone, Copy, Debug)]
pub struct LinkPorts {
    /// Packets from this node enter it.
    pub from: NodeId,
    /// And reach this one.
    pub to: NodeId,
}
