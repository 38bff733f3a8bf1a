//! Compiles the two functions of packetdrill's interface that are variadic: stable Rust cannot
//! define those.

fn main() {
    println!("cargo::rerun-if-changed=src/ffi/variadic.c");
    let target =
        ["CARGO_CFG_TARGET_OS", "CARGO_CFG_TARGET_ENV"].map(|name| std::env::var(name).unwrap_or_default());
    if target == ["linux", "gnu"] {
        cc::Build::new()
            .file("src/ffi/variadic.c")
            .std("c11")
            .warnings(true)
            .extra_warnings(true)
            .warnings_into_errors(false)
            .compile("headway_packetdrill_variadic");
    }
}
