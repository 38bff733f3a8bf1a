//! Control of a running box.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use rustix::event::{EventfdFlags, eventfd};

use super::{BoxReport, LaneConfig};

/// A command to a box.
pub(super) enum Order {
    Report(SyncSender<BoxReport>),
    Change(Box<[LaneConfig; 2]>, SyncSender<()>),
    Stop,
}

/// Controls a box from any thread, while another thread runs it.
#[derive(Clone)]
pub struct BoxControl {
    orders: Sender<Order>,
    kick: Arc<OwnedFd>,
}

/// The box's end.
pub(super) struct Orders {
    orders: Receiver<Order>,
    kicks: Arc<OwnedFd>,
}

pub(super) fn control() -> io::Result<(BoxControl, Orders)> {
    let kick = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, receiver) = channel();
    Ok((BoxControl { orders: sender, kick: kick.clone() }, Orders { orders: receiver, kicks: kick }))
}

impl BoxControl {
    /// What the box has done so far; `None` if it has ended. Waits for the answer, which a running box
    /// gives at once.
    pub fn report(&self) -> Option<BoxReport> {
        let (answer, answers) = sync_channel(1);
        self.order(Order::Report(answer));
        answers.recv().ok()
    }

    /// Packets that arrive from now on pass links with these configurations. Packets in the box keep
    /// their due times and their fates; a packet overtakes one that arrived before the change only if the
    /// link delays that one for reordering. Packets in the old queue do not count in the new one. False
    /// if the box has ended.
    pub fn change(&self, lanes: [LaneConfig; 2]) -> bool {
        let (answer, answers) = sync_channel(1);
        self.order(Order::Change(Box::new(lanes), answer));
        answers.recv().is_ok()
    }

    /// Stops the box. Packets in it are lost.
    pub fn stop(&self) {
        self.order(Order::Stop);
    }

    fn order(&self, order: Order) {
        // A box that has ended does not receive the order; waiting for its answer fails.
        let _ = self.orders.send(order);
        // A full counter wakes it too.
        let _ = rustix::io::write(&*self.kick, &1_u64.to_ne_bytes());
    }
}

impl Orders {
    /// Readable when there may be orders.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.kicks.as_fd()
    }

    /// The next order.
    pub(super) fn next(&self) -> Option<Order> {
        self.orders.try_recv().ok()
    }

    /// To be called before the orders are taken: later orders wake the box again.
    pub(super) fn clear(&self) {
        // Resets the counter to zero.
        let _ = rustix::io::read(&*self.kicks, &mut [0; 8]);
    }
}
