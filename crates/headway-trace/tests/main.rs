//! The tests of `headway-trace` as one program, which is linked once: a module for each subject.

mod analysis;
mod capture;
mod checks;
mod connection_graphs;
mod corpus;
mod dissector;
mod events;
mod fates;
mod full_disk;
mod qlog;
mod reader;
mod tcptrace;
mod time_sequence;
mod tshark;
mod xplot;
