//! The calls of the stack under test, as Linux answers them.

mod epoll;
mod options;
mod pipes;
mod readiness;
mod sockets;

pub(crate) use readiness::Polled;
