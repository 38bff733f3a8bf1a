//! What the tests of the other crates share, and `headway-swarm`. Elsewhere a dev-dependency only, and for integration tests only:
//! the unit tests of `headway-tcp` and of what it depends on would see two copies of the types.
//!
//! | module | has |
//! |---|---|
//! | [`two_hosts`] | two hosts in virtual time, and a network between them that loses, corrupts, delays and records |
//! | [`packet`] | packets made by hand: TCP segments and ICMP messages |
//! | [`pattern`] | the bytes that streams carry, and the comparison of what was delivered |
//! | [`streams`] | streams of a host's connections, written and compared |
//! | [`rng`], [`seeds`] | random numbers, and how a failure is replayed |
//! | [`corpus`] | the fuzz corpus, and stored files that a test compares with |
//! | [`namespace`], [`relay`], [`tnc`], [`air`], [`translator`], [`silent`], [`process`] | network namespaces, a UDP relay, TNCs that speak KISS, Wi-Fi cards in monitor mode, an address translator, a destination that does not answer, free addresses, what a test says when it is skipped |
//! | [`log`] | what is logged |
//! | [`program`], [`experiment`] | a program run as its users do, an experiment file |

pub mod air;
pub mod corpus;
pub mod experiment;
pub mod live_page;
pub mod log;
pub mod namespace;
pub mod packet;
pub mod pattern;
pub mod process;
pub mod program;
pub mod relay;
pub mod rng;
pub mod seeds;
pub mod silent;
pub mod streams;
pub mod tnc;
pub mod translator;
pub mod two_hosts;
