//! `headway lab` and `headway paper` as their users meet them.

mod aims;
mod documents;
mod explore;
mod interruptions;
mod papers;
mod program;
mod readings;
mod refusals;
mod report;
mod start;

use headway_test_fixture::program::Program;

const HEADWAY: Program = Program(env!("CARGO_BIN_EXE_headway"));
