//! The tests of `headway-lab` as one program, which is linked once: a module for each subject.

mod beyond;
mod clocks;
mod common;
mod draw;
mod experiments;
mod fuzzed;
mod hops;
mod keys;
mod links;
mod readings;
mod reference;
mod remote;
mod results_lock;
mod traces;
