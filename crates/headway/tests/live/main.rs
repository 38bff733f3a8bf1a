//! The live commands against this machine's kernel, in their own network namespaces. Without root these
//! tests are skipped with a message. UDP on the loopback needs no privilege.

mod demo;
mod doctor;
mod documents;
mod ends;
mod error_delay_box;
mod ethernet;
mod http;
#[cfg(feature = "kernel")]
mod kernel;
mod kiss;
mod lab;
mod mininet;
mod modem;
mod monitor;
mod namespace;
mod offload;
mod perf;
mod perf_formats;
mod ping;
mod probes;
mod programs;
mod refusals;
mod relay;
mod resume;
mod routes;
mod shell;
mod silence;
mod ssh;
mod survey;
mod transfers;
mod trunk;
mod trunk_end;
mod trunk_link_local;
mod trunk_operation;
mod trunk_pairing;
mod trunk_reload;
mod trunk_routes;
mod trunk_scan;
mod trunk_watch;
mod udp;
