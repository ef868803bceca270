//! Natively there is a clock, and nobody who stops.

pub fn install() {}

pub fn goes_on(_: f64, _: f64, _: f64) -> bool {
    true
}
