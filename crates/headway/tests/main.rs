//! The commands as their users meet them; in real time they have a program of their own, `live`.

mod inputs;
mod lab;
mod manuals;
mod pages;
mod race;
mod trace;

use headway_test_fixture::program::Program;

const HEADWAY: Program = Program(env!("CARGO_BIN_EXE_headway"));
