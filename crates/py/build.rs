//! What the module tells of its own build (`farloop --version`): compiler, target, profile.
//!
//! Neither commit nor time: the hash of the module is part of the address of every finished run, which must not change with them.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.toml");
    let profile = profile().unwrap_or_else(|| asked("PROFILE"));
    let mut features: Vec<String> = env::vars()
        .filter_map(|(name, _)| {
            name.strip_prefix("CARGO_FEATURE_").map(|feature| feature.to_lowercase().replace('_', "-"))
        })
        .filter(|feature| feature != "default")
        .collect();
    features.sort();
    for (name, value) in [
        ("LTO", lto(&profile)),
        ("PROFILE", profile),
        ("OPT_LEVEL", asked("OPT_LEVEL")),
        ("RUSTC", rustc().unwrap_or_default()),
        ("TARGET", asked("TARGET")),
        ("CPU", asked("CARGO_CFG_TARGET_FEATURE")),
        ("FEATURES", features.join(",")),
    ] {
        println!("cargo::rustc-env=FARLOOP_BUILD_{name}={value}");
    }
}

/// What cargo tells a build script; empty where it does not.
fn asked(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// The profile's own name, which cargo tells by the directory alone: `PROFILE` is that of the one from which it inherits.
fn profile() -> Option<String> {
    let out = env::var("OUT_DIR").ok()?;
    Some(Path::new(&out).ancestors().nth(3)?.file_name()?.to_str()?.to_string())
}

/// Cargo tells build scripts nothing about link-time optimisation: it is what the environment says, or the workspace's manifest.
fn lto(profile: &str) -> String {
    let variable = format!("CARGO_PROFILE_{}_LTO", profile.to_uppercase().replace('-', "_"));
    println!("cargo::rerun-if-env-changed={variable}");
    let manifest = fs::read_to_string("../../Cargo.toml").unwrap_or_default();
    let mut profile = profile.to_string();
    env::var(variable).ok().unwrap_or_else(|| {
        loop {
            if let Some(said) = setting(&manifest, &profile, "lto") {
                return said;
            }
            match setting(&manifest, &profile, "inherits") {
                Some(base) => profile = base,
                None => return "off".into(),
            }
        }
    })
}

/// The value of a key of `[profile.NAME]`, without quotes.
fn setting(manifest: &str, profile: &str, key: &str) -> Option<String> {
    let heading = format!("[profile.{profile}]");
    manifest
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .find_map(|line| {
            Some(line.strip_prefix(key)?.trim_start().strip_prefix('=')?.trim().trim_matches('"').to_string())
        })
}

/// What the compiler says of its version, such as "1.95.0 (59807616e 2026-04-14)".
fn rustc() -> Option<String> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?.stdout;
    Some(String::from_utf8(said).ok()?.trim().trim_start_matches("rustc ").to_string())
}
