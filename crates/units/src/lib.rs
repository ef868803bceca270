//! Quantities with units, and typed parameters.
//!
//! Every quantity that crosses a crate boundary in farloop is one of the types here, never a bare integer:
//! [`Time`] and [`Delta`] count picoseconds, [`Bytes`] counts bytes, [`Rate`] counts bits per second. All are
//! integers, so arithmetic is exact and the same on every machine. Each has a text form ("25ms", "10MB", "100Gbps")
//! that scenarios, reports and error messages share; see [`quantity`].
//!
//! [`params`] turns a list of typed fields with defaults, ranges and one-line documentation into a struct that can be set by
//! name from text. Algorithm parameters and every section of a scenario file are declared with it, so that checking, help
//! texts and the editor schema come from one place.

pub mod params;
pub mod quantity;

pub use params::{Kind, ParamError, ParamSpec, ParamType, Params, Value, Words};
pub use quantity::{Bytes, Delta, ParseQuantityError, Rate, Time};
