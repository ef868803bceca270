//! Wall time, also where the platform has no clock of its own.
//!
//! Everywhere but in WebAssembly without a system (`wasm32-unknown-unknown`, in a browser), [`Instant`] is the standard library's. There
//! the standard one panics, so the program says with `install` where time comes from. Wall time paces progress reports and measures speed;
//! no result depends on it.

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
pub use std::time::Instant;

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub use browser::{Instant, install};

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod browser;
