//! Compiles the programs, if the feature `programs` is on and there is a clang.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(compiled_programs)");
    println!("cargo::rerun-if-changed=programs");
    println!("cargo::rerun-if-env-changed=CLANG");
    // Set by `libbpf-sys`, which is there with the feature alone: the headers that belong to its libbpf.
    let Ok(headers) = env::var("DEP_BPF_INCLUDE") else { return };
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let object = Path::new(&env::var("OUT_DIR").expect("cargo sets it")).join("headway.bpf.o");
    let compiled = Command::new(&clang)
        // The third version of the instruction set has atomic operations that return the old value. Headers are read in words
        // of all sizes, as in the kernel.
        .args([
            "-g",
            "-O2",
            "-fno-strict-aliasing",
            "-Wall",
            "-Werror",
            "-target",
            "bpf",
            "-mcpu=v3",
            "-I",
            &headers,
        ])
        .args(["-c", "programs/headway.bpf.c", "-o"])
        .arg(&object)
        .status();
    match compiled {
        Ok(status) if status.success() => println!("cargo::rustc-cfg=compiled_programs"),
        Ok(status) => panic!("{clang} programs/headway.bpf.c: {status}"),
        Err(error) => {
            println!("cargo::warning=no eBPF programs: {clang}: {error}; expected the package clang");
        }
    }
}
