//! The host outside of WebAssembly: the system's clock, and no one who stops a run.

pub fn install() {}

pub fn goes_on(_: f64, _: f64, _: f64) -> bool {
    true
}
