//! The tests of `headway-swarm` as one program, which is linked once: a module for each subject.

mod schedules;
mod worlds;
