//! Congestion controllers that are written in Python: classes of `headway.Controller`.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_tcp::congestion::{Ack, CongestionControl, Custom, Loss, LostSegment};
use headway_units::{Duration, Instant, Rate};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::error::input;
use crate::interrupt::Stop;

thread_local! {
    /// This thread runs the code of a controller.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs the code of a controller, which a host has called.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// The first exception of a controller. What it was raised in is to stop.
#[derive(Clone, Default)]
pub(crate) struct Raised {
    error: Arc<Mutex<Option<PyErr>>>,
    stop: Arc<Mutex<Stop>>,
}

impl Raised {
    /// An exception stops this.
    pub(crate) fn stops(&self, stop: Stop) {
        *held(&self.stop) = stop;
    }

    /// The exception is raised where `Ok` would be returned.
    pub(crate) fn check(&self) -> PyResult<()> {
        held(&self.error).take().map_or(Ok(()), Err)
    }

    fn set(&self, error: PyErr) {
        held(&self.error).get_or_insert(error);
        held(&self.stop).set();
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes controllers by calling `maker` with the segment size.
pub(crate) fn custom(maker: &Bound<'_, PyAny>, raised: &Raised) -> PyResult<Custom> {
    if !maker.is_callable() {
        return Err(input(format!(
            "controller: {}: expected a class of headway.Controller, or a function that makes one of a segment size",
            maker.repr()?
        )));
    }
    let (maker, raised) = (Arc::new(maker.clone().unbind()), raised.clone());
    Ok(Custom::new(move |setup| {
        Box::new(Controller {
            maker: maker.clone(),
            raised: raised.clone(),
            object: None,
            mss: 0,
            window: setup.initial_window.saturating_mul(536),
            pacing_rate: None,
        })
    }))
}

/// A controller of one connection. After an exception nothing is called any more.
struct Controller {
    maker: Arc<Py<PyAny>>,
    raised: Raised,
    /// `None` before the segment size is known, and after an exception.
    object: Option<Object>,
    mss: u32,
    window: u32,
    pacing_rate: Option<Rate>,
}

struct Object {
    object: Py<PyAny>,
    /// Which of [`EVENTS`] its class has methods of its own for.
    own: [bool; EVENTS.len()],
}

const EVENTS: [&str; 12] = [
    "on_established",
    "on_mss",
    "on_sent",
    "on_ack",
    "on_segment_lost",
    "on_loss",
    "on_timeout",
    "on_recovery_end",
    "on_damage",
    "on_ecn",
    "on_spurious",
    "on_idle",
];

impl Controller {
    /// Calls the method, if the class has one of its own, and takes what the controller answers.
    fn call<A>(&mut self, event: &str, arguments: impl FnOnce(Python<'_>) -> PyResult<A>)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        let Some(object) = &self.object else { return };
        if !EVENTS.iter().zip(object.own).any(|(name, own)| own && *name == event) {
            return;
        }
        let answer = Python::attach(|py| {
            let object = object.object.bind(py);
            inside(|| object.call_method1(event, arguments(py)?))?;
            answer(object)
        });
        self.take(answer);
    }

    fn take(&mut self, answer: PyResult<(u32, Option<Rate>)>) {
        match answer {
            Ok((window, pacing_rate)) => {
                self.window = window.max(self.mss);
                self.pacing_rate = pacing_rate;
            }
            Err(error) => {
                self.object = None;
                self.raised.set(error);
            }
        }
    }

    fn make(&mut self) {
        let made = Python::attach(|py| {
            let object = inside(|| self.maker.bind(py).call1((self.mss,)))?;
            let base = class(py, "Controller")?;
            if !object.is_instance(&base)? {
                let given = object.repr()?;
                return Err(input(format!("controller: made {given}: expected a headway.Controller")));
            }
            let mut own = [false; EVENTS.len()];
            for (own, event) in own.iter_mut().zip(EVENTS) {
                *own = !object.get_type().getattr(event)?.is(&base.getattr(event)?);
            }
            let answer = answer(&object)?;
            Ok((Object { object: object.unbind(), own }, answer))
        });
        let answer = made.map(|(object, answer)| {
            self.object = Some(object);
            answer
        });
        self.take(answer);
    }
}

/// Runs Python code of a controller.
fn inside<T>(call: impl FnOnce() -> T) -> T {
    let before = INSIDE.replace(true);
    let result = call();
    INSIDE.set(before);
    result
}

/// A class of `headway.controllers`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("headway.controllers")?.getattr(name)
}

/// The window in bytes, and the pacing rate.
fn answer(object: &Bound<'_, PyAny>) -> PyResult<(u32, Option<Rate>)> {
    let number = |name: &str, least: f64, unit: &str| -> PyResult<Option<f64>> {
        let value = object.getattr(name)?;
        if value.is_none() {
            return Ok(None);
        }
        let number = value.extract::<f64>().ok().filter(|number| *number >= least && number.is_finite());
        let refusal = || -> PyResult<PyErr> {
            let class = object.get_type().name()?;
            Ok(input(format!("controller {class}: {name}: {}: expected {unit}", value.repr()?)))
        };
        number.map_or_else(|| Err(refusal()?), |number| Ok(Some(number)))
    };
    let window = number("window", 0.0, "a number of bytes")?;
    let Some(window) = window else {
        return Err(input(format!(
            "controller {}: window: expected a number of bytes",
            object.get_type().name()?
        )));
    };
    let rate = number("pacing_rate", 1.0, "bits per second, at least 1, or None")?;
    // A number that is too large becomes the largest.
    Ok((window as u32, rate.map(|rate| Rate::from_bits_per_second(rate as u64))))
}

fn seconds(at: Instant) -> f64 {
    at.saturating_since(Instant::ZERO).as_secs_f64()
}

fn loss(py: Python<'_>, loss: &Loss) -> PyResult<Py<PyAny>> {
    Ok(class(py, "Loss")?.call1((seconds(loss.now), loss.flight))?.unbind())
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("window", &self.window).finish_non_exhaustive()
    }
}

impl CongestionControl for Controller {
    fn window(&self) -> u32 {
        self.window
    }

    fn ssthresh(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    /// So that it may double.
    fn doubles(&self) -> bool {
        true
    }

    /// The window is what the controller says.
    fn recovers_by_itself(&self) -> bool {
        true
    }

    fn set_mss(&mut self, mss: u32, initial: bool) {
        self.mss = mss;
        self.window = self.window.max(mss);
        if initial {
            self.make();
        } else {
            self.call("on_mss", |_| Ok((mss,)));
        }
    }

    fn on_established(&mut self, now: Instant, smoothed: Option<Duration>) {
        self.call("on_established", |_| Ok((seconds(now), smoothed.map(Duration::as_secs_f64))));
    }

    fn on_sent(&mut self, now: Instant, pipe: u32, app_limited: bool) {
        self.call("on_sent", |_| Ok((seconds(now), pipe, app_limited)));
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.call("on_ack", |py| {
            let arguments = (
                seconds(ack.now),
                ack.acked,
                ack.delivered,
                ack.pipe,
                ack.rtt.map(Duration::as_secs_f64),
                ack.in_recovery,
                ack.rate.map(|rate| rate.rate().bits_per_second()),
                ack.rate.is_some_and(|rate| rate.app_limited),
            );
            Ok((class(py, "Ack")?.call1(arguments)?.unbind(),))
        });
    }

    fn on_segment_lost(&mut self, lost: &LostSegment) {
        self.call("on_segment_lost", |py| {
            let arguments = (seconds(lost.now), seconds(lost.sent_at), lost.bytes, lost.in_flight);
            Ok((class(py, "LostSegment")?.call1(arguments)?.unbind(),))
        });
    }

    fn on_loss(&mut self, lost: &Loss) {
        self.call("on_loss", |py| Ok((loss(py, lost)?,)));
    }

    fn on_timeout(&mut self, lost: &Loss, first: bool) {
        self.call("on_timeout", |py| Ok((loss(py, lost)?, first)));
    }

    fn on_recovery_end(&mut self, lost: &Loss) {
        self.call("on_recovery_end", |py| Ok((loss(py, lost)?,)));
    }

    fn on_damage(&mut self, now: Instant, bytes: u32) {
        self.call("on_damage", |_| Ok((seconds(now), bytes)));
    }

    fn on_ecn(&mut self, lost: &Loss) {
        // A mark is a loss to a class that says nothing of marks.
        let own = self.object.as_ref().is_some_and(|object| object.own[9]);
        self.call(if own { "on_ecn" } else { "on_loss" }, |py| Ok((loss(py, lost)?,)));
    }

    fn on_spurious(&mut self) {
        self.call("on_spurious", |_| Ok(()));
    }

    fn on_idle(&mut self) {
        self.call("on_idle", |_| Ok(()));
    }
}
