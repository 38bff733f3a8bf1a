//! The tests of `headway-wire` as one program, which is linked once: a module for each subject.

mod addresses;
mod checks;
mod checksum;
mod common;
mod compact;
mod corpus;
mod icmp;
mod integrity;
mod ip;
mod options;
mod oracle;
mod received;
mod repair;
mod round_trip;
mod v2;
