//! Functions of the page that loads the module: a clock, progress, and a receiver of panics.

use farloop_engine::clock;
use std::sync::Once;
use std::time::Duration;

#[link(wasm_import_module = "farloop")]
unsafe extern "C" {
    safe fn now() -> f64;
    safe fn progress(now: f64, end: f64, hops: f64) -> u32;
    safe fn failed(message: *const u8, bytes: usize);
}

pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        clock::install(|| Duration::from_secs_f64((now() / 1000.0).max(0.0)));
        std::panic::set_hook(Box::new(|panic| {
            let message = panic.to_string();
            failed(message.as_ptr(), message.len());
        }));
    });
}

pub fn goes_on(now: f64, end: f64, hops: f64) -> bool {
    progress(now, end, hops) != 0
}
