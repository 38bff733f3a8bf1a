//! Telling a box what to do while it runs.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use rustix::event::{EventfdFlags, eventfd};

use super::{BoxReport, LaneConfig};

/// What is wanted of a box.
pub(super) enum Order {
    Report(SyncSender<BoxReport>),
    Change(Box<[LaneConfig; 2]>, SyncSender<()>),
    Stop,
}

/// Tells a box what to do, from any thread, while another runs it.
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
    /// What the box has done so far; `None` if it has ended. Waits for the answer, which a box that runs
    /// gives at once.
    pub fn report(&self) -> Option<BoxReport> {
        let (answer, answers) = sync_channel(1);
        self.order(Order::Report(answer));
        answers.recv().ok()
    }

    /// Packets that come in from now on pass links of these configurations. Those that the box has keep
    /// the times at which they are due, and what was done to them; no packet overtakes one that came
    /// before the change, unless it is the link that holds that one back. What waits in a queue takes no
    /// room in the new one. False if the box has ended.
    pub fn change(&self, lanes: [LaneConfig; 2]) -> bool {
        let (answer, answers) = sync_channel(1);
        self.order(Order::Change(Box::new(lanes), answer));
        answers.recv().is_ok()
    }

    /// The box is to end. Packets that it still has are lost.
    pub fn stop(&self) {
        self.order(Order::Stop);
    }

    fn order(&self, order: Order) {
        // A box that has ended hears nothing, and its answers fail.
        let _ = self.orders.send(order);
        // A full counter wakes as well.
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

    /// Call before the orders are taken: what comes later wakes again.
    pub(super) fn clear(&self) {
        // The counter goes back to zero.
        let _ = rustix::io::read(&*self.kicks, &mut [0; 8]);
    }
}
