//! `headway.Host` and `headway.Link`: hosts and links for networks that are written in Python.

use std::sync::{Mutex, MutexGuard};

use headway_embed::records::{Fields, LINK_COUNTERS, PATH_COUNTS, STATISTICS};
use headway_embed::{EmbeddedHost, EmbeddedLink, Error, Keys, NEVER, names};
use headway_units::Duration;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBool, PyBytes, PyDict, PyString};

use crate::controller::{Raised, custom, is_inside};
use crate::error::{failure, input};

/// What a host or link is made with, as pairs of text.
type Pairs = Vec<(String, String)>;

/// A host; its connections and listeners are numbers. Calls of several threads take turns.
#[pyclass(frozen, module = "headway._native", name = "Host")]
pub(crate) struct NativeHost {
    entry: Mutex<Entry>,
    /// What a controller raised in a call.
    raised: Raised,
}

/// A host, with the buffer that it writes its packets into.
struct Entry {
    host: EmbeddedHost,
    packet: Vec<u8>,
}

impl NativeHost {
    fn entry(&self) -> PyResult<MutexGuard<'_, Entry>> {
        if is_inside() {
            return Err(failure("a controller cannot call a host: expected to be called by one"));
        }
        // A controller of another thread may need Python while this one waits.
        Python::attach(|py| self.entry.lock_py_attached(py)).map_err(|_| unusable())
    }

    /// A call on the host.
    fn call<T>(&self, work: impl FnOnce(&mut EmbeddedHost) -> Result<T, Error>) -> PyResult<T> {
        let result = work(&mut self.entry()?.host).map_err(of_embedded);
        self.raised.check()?;
        result
    }
}

#[pymethods]
impl NativeHost {
    #[new]
    #[pyo3(signature = (address, keys, name, seed, controller=None))]
    fn new(
        address: &str,
        keys: Pairs,
        name: &str,
        seed: u64,
        controller: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let keys = Keys::from_pairs(keys).map_err(of_embedded)?;
        let raised = Raised::default();
        let custom = controller.map(|maker| custom(maker, &raised)).transpose()?;
        let host = EmbeddedHost::with_controllers(address, &keys, name, seed, custom).map_err(of_embedded)?;
        let packet = vec![0; host.mtu()];
        Ok(Self { entry: Mutex::new(Entry { host, packet }), raised })
    }

    #[getter]
    fn mtu(&self) -> PyResult<usize> {
        self.call(|host| Ok(host.mtu()))
    }

    fn add_address(&self, address: &str) -> PyResult<()> {
        self.call(|host| host.add_address(address))
    }

    fn set_only_peer(&self, local: &str, remote: &str) -> PyResult<()> {
        self.call(|host| host.set_only_peer(local, remote))
    }

    // --- connections --------------------------------------------------------------------------------

    fn listen(&self, local: &str, backlog: usize) -> PyResult<u64> {
        self.call(|host| host.listen(local, backlog))
    }

    fn accept(&self, listener: u64) -> PyResult<Option<u64>> {
        self.call(|host| host.accept(listener))
    }

    fn close_listener(&self, now: &Bound<'_, PyAny>, listener: u64) -> PyResult<()> {
        let now = time(now)?;
        self.call(|host| host.close_listener(now, listener))
    }

    fn connect(&self, now: &Bound<'_, PyAny>, local: &str, remote: &str) -> PyResult<u64> {
        let now = time(now)?;
        self.call(|host| host.connect(now, local, remote))
    }

    fn write(&self, connection: u64, data: &[u8]) -> PyResult<usize> {
        self.call(|host| host.write(connection, data))
    }

    fn writable(&self, connection: u64) -> PyResult<usize> {
        self.call(|host| host.writable(connection))
    }

    fn readable(&self, connection: u64) -> PyResult<usize> {
        self.call(|host| host.readable(connection))
    }

    #[pyo3(signature = (connection, room=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        connection: u64,
        room: Option<usize>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut entry = self.entry()?;
        let host = &mut entry.host;
        let len = host.readable(connection).map_err(of_embedded)?.min(room.unwrap_or(usize::MAX));
        PyBytes::new_with(py, len, |bytes| {
            let mut at = 0;
            let take = |piece: &[u8]| {
                bytes[at..at + piece.len()].copy_from_slice(piece);
                at += piece.len();
            };
            host.read(connection, len, take).map(drop).map_err(of_embedded)
        })
    }

    fn is_finished(&self, connection: u64) -> PyResult<bool> {
        self.call(|host| host.is_finished(connection))
    }

    fn shutdown(&self, now: &Bound<'_, PyAny>, connection: u64) -> PyResult<()> {
        let now = time(now)?;
        self.call(|host| host.shutdown(now, connection))
    }

    fn abort(&self, now: &Bound<'_, PyAny>, connection: u64) -> PyResult<()> {
        let now = time(now)?;
        self.call(|host| host.abort(now, connection))
    }

    fn release(&self, now: &Bound<'_, PyAny>, connection: u64) -> PyResult<()> {
        let now = time(now)?;
        self.call(|host| host.release(now, connection))
    }

    fn state(&self, connection: u64) -> PyResult<String> {
        let state = self.call(|host| host.state(connection))?;
        Ok(lower(&names::STATES, names::of_state(state)))
    }

    fn failure(&self, connection: u64) -> PyResult<Option<String>> {
        let failure = self.call(|host| host.failure(connection))?;
        Ok(failure.map(|failure| lower(&names::FAILURES, names::of_failure(Some(failure)))))
    }

    fn endpoints(&self, connection: u64) -> PyResult<(String, String)> {
        let ends = self.call(|host| host.endpoints(connection))?;
        Ok((ends.local.to_string(), ends.remote.to_string()))
    }

    fn statistics<'py>(&self, py: Python<'py>, connection: u64) -> PyResult<Bound<'py, PyDict>> {
        record(py, STATISTICS, &self.call(|host| host.statistics(connection))?)
    }

    fn path_counts<'py>(&self, py: Python<'py>, connection: u64) -> PyResult<Bound<'py, PyDict>> {
        record(py, PATH_COUNTS, &self.call(|host| host.path_counts(connection))?)
    }

    /// What programs should know since the last call: the connection and what happened to it.
    fn notifications(&self) -> PyResult<Vec<(u64, String)>> {
        let mut notifications = Vec::new();
        let mut entry = self.entry()?;
        while let Some((connection, what)) = entry.host.poll_notification() {
            notifications
                .push((connection, lower(&names::NOTIFICATIONS, names::of_notification(Some(what)))));
        }
        Ok(notifications)
    }

    // --- the network --------------------------------------------------------------------------------

    fn receive(&self, now: &Bound<'_, PyAny>, packet: &[u8]) -> PyResult<String> {
        let now = time(now)?;
        let verdict = self.call(|host| host.receive(now, packet))?;
        Ok(lower(&names::VERDICTS, names::of_verdict(verdict)))
    }

    /// Every packet that the host sends now.
    fn transmit<'py>(&self, py: Python<'py>, now: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let now = time(now)?;
        let mut entry = self.entry()?;
        let Entry { host, packet } = &mut *entry;
        let mut packets = Vec::new();
        while let Some(len) = host.poll_transmit(now, packet).map_err(of_embedded)? {
            packets.push(PyBytes::new(py, &packet[..len]));
        }
        self.raised.check()?;
        Ok(packets)
    }

    fn next_deadline(&self) -> PyResult<Option<u64>> {
        self.call(|host| Ok(host.next_deadline()))
    }

    fn handle_timeout(&self, now: &Bound<'_, PyAny>) -> PyResult<()> {
        let now = time(now)?;
        self.call(|host| host.handle_timeout(now))
    }
}

/// One direction of a link. Calls of several threads take turns.
#[pyclass(frozen, module = "headway._native", name = "Link")]
pub(crate) struct NativeLink(Mutex<EmbeddedLink>);

impl NativeLink {
    fn link(&self) -> PyResult<MutexGuard<'_, EmbeddedLink>> {
        self.0.lock().map_err(|_| unusable())
    }
}

/// What arrives: the packet, when, how many of its bits were flipped, and whether it is a copy.
type Arrived<'py> = (Bound<'py, PyBytes>, u64, u32, bool);

#[pymethods]
impl NativeLink {
    #[new]
    fn new(keys: Pairs, name: &str, seed: u64) -> PyResult<Self> {
        let keys = Keys::from_pairs(keys).map_err(of_embedded)?;
        Ok(Self(Mutex::new(EmbeddedLink::new(&keys, name, seed).map_err(of_embedded)?)))
    }

    fn push(&self, now: &Bound<'_, PyAny>, packet: &[u8]) -> PyResult<bool> {
        let now = time(now)?;
        self.link()?.push(now, packet).map_err(of_embedded)
    }

    fn next_event(&self) -> PyResult<Option<u64>> {
        Ok(self.link()?.next_event())
    }

    /// Every packet that has arrived by now.
    fn arrivals<'py>(&self, py: Python<'py>, now: &Bound<'py, PyAny>) -> PyResult<Vec<Arrived<'py>>> {
        let now = time(now)?;
        let mut link = self.link()?;
        let mut arrivals = Vec::new();
        while let Some(arrival) = link.pop(now).map_err(of_embedded)? {
            let packet = PyBytes::new(py, &arrival.packet);
            arrivals.push((packet, arrival.at, arrival.flipped_bits, arrival.is_duplicate));
        }
        Ok(arrivals)
    }

    #[getter]
    fn queue_len(&self) -> PyResult<usize> {
        Ok(self.link()?.queue_len())
    }

    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        record(py, LINK_COUNTERS, &self.link()?.counters())
    }
}

/// A time as whole nanoseconds: of a number, or of a text such as `300ms`.
#[pyfunction]
pub(crate) fn nanoseconds(time: &Bound<'_, PyAny>) -> PyResult<u64> {
    self::time(time)
}

/// The names of states, failures, notifications and verdicts.
#[pyfunction]
pub(crate) fn network_names() -> [Vec<String>; 4] {
    let all = |names: &[&str]| names.iter().map(|name| name.to_lowercase()).collect();
    [all(&names::STATES), all(&names::FAILURES), all(&names::NOTIFICATIONS), all(&names::VERDICTS)]
}

fn time(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    if let Ok(text) = given.cast::<PyString>() {
        let time: Duration = text.to_cow()?.parse().map_err(|error| input(format!("time {error}")))?;
        return Ok(time.as_nanos());
    }
    // A number with a fraction would be seconds elsewhere.
    let number = if given.is_instance_of::<PyBool>() { None } else { given.extract::<u64>().ok() };
    number.filter(|number| *number != NEVER).ok_or_else(|| {
        let expected = "expected nanoseconds as a whole number from 0 to 18446744073709551614, or a text such as \"300ms\"";
        input(format!("time {}: {expected}", given.repr().map_or_else(|_| "?".into(), |text| text.to_string())))
    })
}

fn record<'py, T>(py: Python<'py>, fields: &Fields<T>, of: &T) -> PyResult<Bound<'py, PyDict>> {
    let record = PyDict::new(py);
    for (name, value) in fields {
        record.set_item(name, value(of))?;
    }
    Ok(record)
}

fn lower(names: &[&str], place: usize) -> String {
    names[place].to_lowercase()
}

/// What a panic left half changed is not used again.
fn unusable() -> PyErr {
    failure("a defect of headway was found in an earlier call of this object, please report it")
}

/// What the caller gave makes no sense, or the host refuses.
fn of_embedded(error: Error) -> PyErr {
    match &error {
        Error::UnknownConnection(_) | Error::UnknownListener(_) | Error::Tcp(_) => failure(error),
        _ => input(error),
    }
}
