//! Two stacks over UDP on the loopback: needs no privilege.

mod abortive;
mod compact;
mod damage;
mod ecn;
mod ends;
mod many;
mod pair;
mod peers;
mod refusals;
mod transfers;
