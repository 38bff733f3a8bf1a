//! The live commands against this machine's kernel, in network namespaces of their own. They need
//! root; without, each says that it is skipped. UDP on the loopback needs nothing.

mod doctor;
mod ends;
mod error_delay_box;
mod ethernet;
mod lab;
mod namespace;
mod offload;
mod ping;
mod probes;
mod programs;
mod refusals;
mod relay;
mod routes;
mod ssh;
mod transfers;
mod udp;
