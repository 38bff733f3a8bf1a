//! The tests of `headway-tcp` as one program, which is linked once: a module for each subject.

mod acknowledged;
mod addresses;
mod compact;
mod domains;
mod dscp;
mod host;
mod hostile;
mod icmp;
mod interception;
mod layers;
mod learnt;
mod liars;
mod moved_peer;
mod only_peer;
mod partial;
mod recovery_phases;
mod repair;
#[path = "two_hosts.rs"]
mod two_hosts;
mod unordered;
