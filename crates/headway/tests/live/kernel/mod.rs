//! HACK for programs over the kernel's TCP, between namespaces.

mod forged;
mod hosts;
mod interoperation;
mod lifetime;
mod transfers;
