//! Quantities with units, and typed parameters.
//!
//! Every quantity that crosses a crate boundary in farloop is one of the types here, never a bare integer:
//! [`Time`] and [`Delta`] count picoseconds, [`Bytes`] counts bytes, [`Rate`] counts bits per second. All are
//! integers, so arithmetic is exact and the same on every machine. Each has a text form ("25ms", "10MB", "100Gbps")
//! that scenarios, reports and error messages share; see [`quantity`].
//!
//! [`params!`] turns a list of typed fields with defaults, ranges and one-line documentation into a struct that can be set by
//! name from text. Algorithm parameters and every section of a scenario file are declared with it, so that checking, help
//! texts and the editor schema come from one place.
//!
//! ```
//! use farloop_units::{Bytes, Delta, Params, Rate, Value};
//!
//! // The bytes that 100 Gbps carry in 32 µs, as text.
//! let in_flight = Rate::from_gbps(100).bytes_in(Delta::from_us(32));
//! assert_eq!((in_flight, in_flight.to_string()), (Bytes::new(400_000), "400kB".to_string()));
//! assert_eq!("12.5Gbps".parse(), Ok(Rate::from_mbps(12_500)));
//!
//! farloop_units::params! {
//!     /// A sender that waits.
//!     pub struct Patience {
//!         /// How long to wait for an answer.
//!         wait: Delta = Delta::from_ms(5), in Delta::from_us(1) => Delta::from_secs(1);
//!     }
//! }
//! let mut patience = Patience::default();
//! patience.set("wait", &Value::Text("25us".into())).unwrap();
//! assert_eq!(patience.wait, Delta::from_us(25));
//! assert!(patience.set("wait", &Value::Text("2s".into())).is_err());
//! assert_eq!(Patience::specs()[0].range, "1us to 1s");
//! ```

pub mod numbers;
pub mod params;
pub mod quantity;
mod shown;

pub use numbers::Numbers;
pub use params::{Kind, ParamError, ParamSpec, ParamType, Params, Value, Words};
pub use quantity::{Bytes, Delta, ParseQuantityError, Rate, Time};
pub use shown::display_clipped;
