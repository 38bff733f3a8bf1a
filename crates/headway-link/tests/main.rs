//! The tests of `headway-link` as one program, which is linked once: a module for each subject.

mod arq;
mod changes;
mod common;
mod conservation;
mod disciplines;
mod disorder;
mod golden;
mod jitter;
mod lengths;
mod placement;
mod statistics;
mod streams;
mod succession;
mod timing;
mod trace;
