//! Links the program at a fixed address where that is possible: see `docs/decisions/0008-fixed-address.md`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, wanted: &str| std::env::var(name).is_ok_and(|found| found == wanted);
    let is_static = std::env::var("CARGO_CFG_TARGET_FEATURE").is_ok_and(|found| found.contains("crt-static"));
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
