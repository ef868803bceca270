//! [`Time`], [`Delta`], [`Bytes`], [`Rate`]: integer quantities and their text forms.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use std::str::FromStr;

/// A point in simulated time: picoseconds since the start of the simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Delta(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Rate(u64);

/// Picoseconds per second.
const PS_PER_S: u64 = 1_000_000_000_000;

impl Time {
    /// The start of the simulation.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds since the start; for display and plots, not for arithmetic.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The time since `earlier`, or zero where `earlier` is later than `self`.
    pub const fn since(self, earlier: Time) -> Delta {
        Delta(self.0.saturating_sub(earlier.0))
    }
    /// `self + delta`, saturating at [`Time::NEVER`].
    pub const fn saturating_add(self, delta: Delta) -> Time {
        Time(self.0.saturating_add(delta.0))
    }
}

impl Delta {
    /// No time at all.
    pub const ZERO: Delta = Delta(0);
    /// Longer than any simulation.
    pub const MAX: Delta = Delta(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Delta {
        Delta(ps)
    }
    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Delta {
        Delta(ns * 1_000)
    }
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Delta {
        Delta(us * 1_000_000)
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Delta {
        Delta(ms * 1_000_000_000)
    }
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Delta {
        Delta(s * PS_PER_S)
    }
    /// `s` seconds, rounded to the nearest picosecond; negative and NaN give zero.
    pub fn from_secs_f64(s: f64) -> Delta {
        Delta((s * PS_PER_S as f64 + 0.5) as u64)
    }
    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// `self + other`, saturating at [`Delta::MAX`].
    pub const fn saturating_add(self, other: Delta) -> Delta {
        Delta(self.0.saturating_add(other.0))
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Delta) -> Delta {
        Delta(self.0.saturating_sub(other.0))
    }
    /// `self * factor`, rounded to the nearest picosecond; negative and NaN factors give zero.
    pub fn mul_f64(self, factor: f64) -> Delta {
        Delta((self.0 as f64 * factor + 0.5) as u64)
    }
    /// Ratio of `self` to `other`, as a real number.
    pub fn ratio(self, other: Delta) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any buffer; as a window: unlimited.
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The number of bytes as a real number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// `self - other`, or zero.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// `n` bytes from a real number, rounded down; negative and NaN give zero, too large gives the maximum.
    pub fn from_f64(n: f64) -> Bytes {
        Bytes(n as u64)
    }
    /// The rate that sends `self` in `delta`, rounded down (saturating). Zero time gives [`Rate::MAX`].
    pub fn per(self, delta: Delta) -> Rate {
        if delta.0 == 0 {
            return Rate::MAX;
        }
        let bits = self.0 as u128 * 8 * PS_PER_S as u128 / delta.0 as u128;
        Rate(u64::try_from(bits).unwrap_or(u64::MAX))
    }
}

impl Rate {
    /// Nothing is sent.
    pub const ZERO: Rate = Rate(0);
    /// As a pacing rate: unlimited.
    pub const MAX: Rate = Rate(u64::MAX);

    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// `mbps` megabits (10^6 bits) per second.
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 1_000_000)
    }
    /// `gbps` gigabits (10^9 bits) per second.
    pub const fn from_gbps(gbps: u64) -> Rate {
        Rate(gbps * 1_000_000_000)
    }
    /// Bits per second from a real number; negative and NaN give zero, too large gives the maximum.
    pub fn from_f64(bps: f64) -> Rate {
        Rate(bps as u64)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bits per second as a real number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// The time that `bytes` take at this rate, rounded up to a picosecond so that no link ever exceeds its rate.
    /// [`Delta::MAX`] for a rate of zero.
    pub const fn time_to_send(self, bytes: Bytes) -> Delta {
        if self.0 == 0 {
            return Delta::MAX;
        }
        // 8e12 bits·ps/s per byte fits u64 up to 2.3 MB; the wide path serves whole flows.
        match bytes.0.checked_mul(8 * PS_PER_S) {
            Some(scaled) => Delta(scaled.div_ceil(self.0)),
            None => {
                let ps = (bytes.0 as u128 * 8 * PS_PER_S as u128).div_ceil(self.0 as u128);
                if ps > u64::MAX as u128 { Delta::MAX } else { Delta(ps as u64) }
            }
        }
    }
    /// The bytes that this rate sends in `delta`, rounded down (saturating): a bandwidth-delay product when `delta` is an RTT.
    pub const fn bytes_in(self, delta: Delta) -> Bytes {
        let bytes = self.0 as u128 * delta.0 as u128 / (8 * PS_PER_S as u128);
        if bytes > u64::MAX as u128 { Bytes::MAX } else { Bytes(bytes as u64) }
    }
}

impl Add<Delta> for Time {
    type Output = Time;
    fn add(self, d: Delta) -> Time {
        Time(self.0 + d.0)
    }
}
impl AddAssign<Delta> for Time {
    fn add_assign(&mut self, d: Delta) {
        self.0 += d.0;
    }
}
impl Sub<Delta> for Time {
    type Output = Time;
    fn sub(self, d: Delta) -> Time {
        Time(self.0 - d.0)
    }
}
/// Panics in checked builds when `earlier` is later; use [`Time::since`] where that can happen.
impl Sub<Time> for Time {
    type Output = Delta;
    fn sub(self, earlier: Time) -> Delta {
        Delta(self.0 - earlier.0)
    }
}

macro_rules! arithmetic {
    ($t:ident) => {
        impl Add for $t {
            type Output = $t;
            fn add(self, other: $t) -> $t {
                $t(self.0 + other.0)
            }
        }
        impl AddAssign for $t {
            fn add_assign(&mut self, other: $t) {
                self.0 += other.0;
            }
        }
        impl Sub for $t {
            type Output = $t;
            fn sub(self, other: $t) -> $t {
                $t(self.0 - other.0)
            }
        }
        impl SubAssign for $t {
            fn sub_assign(&mut self, other: $t) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $t {
            type Output = $t;
            fn mul(self, n: u64) -> $t {
                $t(self.0 * n)
            }
        }
        impl Div<u64> for $t {
            type Output = $t;
            fn div(self, n: u64) -> $t {
                $t(self.0 / n)
            }
        }
        impl std::iter::Sum for $t {
            fn sum<I: Iterator<Item = $t>>(iter: I) -> $t {
                $t(iter.map(|x| x.0).sum())
            }
        }
    };
}
arithmetic!(Delta);
arithmetic!(Bytes);
arithmetic!(Rate);

/// A text is not a quantity of the wanted kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseQuantityError {
    /// The problem with the text.
    pub problem: String,
    /// The accepted form, with examples.
    pub expected: &'static str,
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.problem, self.expected)
    }
}
impl std::error::Error for ParseQuantityError {}

const TIME_UNITS: &[(&str, u64)] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", PS_PER_S)];
const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];
const RATE_UNITS: &[(&str, u64)] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];

const TIME_EXPECTED: &str = "a time with its unit (ps, ns, us, ms or s), such as \"25ms\" or \"1.5us\"";
const BYTES_EXPECTED: &str = "a size with its unit (B, kB, MB, GB, KiB, MiB or GiB), such as \"10MB\" or \"64KiB\"";
const RATE_EXPECTED: &str = "a rate with its unit (bps, kbps, Mbps, Gbps or Tbps), such as \"100Gbps\"";

/// Splits "12.5Gbps" into number and unit, and multiplies exactly. Refuses fractions of the smallest unit where that has
/// the name `whole_of`, and rounds them where it has none.
fn parse(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
    whole_of: Option<&str>,
) -> Result<u64, ParseQuantityError> {
    let fail = |problem: String| ParseQuantityError { problem, expected };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (digits, unit) = (&trimmed[..split], trimmed[split..].trim());
    if trimmed.starts_with('-') {
        return Err(fail(format!("\"{text}\" is negative")));
    }
    if digits.is_empty() {
        return Err(fail(format!("\"{text}\" has no number")));
    }
    if unit.is_empty() {
        return Err(fail(format!("\"{text}\" has no unit")));
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(fail(format!("\"{text}\" has the unknown unit \"{unit}\"")));
    };
    let bad = || fail(format!("\"{text}\" is not a number with a unit"));
    // As in TOML: an underscore stands between two digits. Elsewhere it is more likely a slip than a separator.
    let between_digits = |run: &str| run.split('_').all(|part| !part.is_empty());
    if digits.contains('_') && !digits.split('.').all(between_digits) {
        return Err(bad());
    }
    let number = digits.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(bad());
    }
    let too_large = || fail(format!("\"{text}\" is too large"));
    // Digits beyond 18 decimals are below any unit's resolution.
    let (fraction, beyond) = fraction.split_at(fraction.len().min(18));
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| bad())? };
    let divisor = 10u128.pow(fraction.len() as u32);
    if let Some(least) = whole_of
        && (!(part * scale as u128).is_multiple_of(divisor) || beyond.contains(|c| c != '0'))
    {
        return Err(fail(format!("\"{text}\" is not a whole number of {least}")));
    }
    let value = whole
        .checked_mul(scale as u128)
        .and_then(|w| w.checked_add((part * scale as u128 + divisor / 2) / divisor))
        .ok_or_else(too_large)?;
    // Half the range is kept free, so that sums of valid quantities do not wrap.
    u64::try_from(value).ok().filter(|v| *v <= u64::MAX / 2).ok_or_else(too_large)
}

/// The shortest exact text: the largest unit that needs at most three decimals, "1.5us" and not "1500ns".
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    for &(unit, scale) in units {
        if value >= scale && (value % scale * 1000).is_multiple_of(scale) {
            let (whole, thousandths) = (value / scale, value % scale * 1000 / scale);
            let text = if thousandths == 0 {
                format!("{whole}{unit}")
            } else {
                format!("{}{unit}", format!("{whole}.{thousandths:03}").trim_end_matches('0'))
            };
            return f.pad(&text);
        }
    }
    let (unit, scale) = units[units.len() - 1];
    f.pad(&format!("{}{unit}", value / scale))
}

macro_rules! text {
    ($t:ident, $units:ident, $expected:ident, $show:expr, $unlimited:expr, $whole_of:expr) => {
        impl FromStr for $t {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<$t, ParseQuantityError> {
                parse(text, $units, $expected, $whole_of).map($t)
            }
        }
        impl fmt::Display for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if self.0 == u64::MAX { f.pad($unlimited) } else { show(f, self.0, $show) }
            }
        }
    };
}
const TIME_SHOW: &[(&str, u64)] =
    &[("s", PS_PER_S), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
const BYTE_SHOW: &[(&str, u64)] = &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
const RATE_SHOW: &[(&str, u64)] = &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)];
text!(Time, TIME_UNITS, TIME_EXPECTED, TIME_SHOW, "never", None);
text!(Delta, TIME_UNITS, TIME_EXPECTED, TIME_SHOW, "unlimited", None);
text!(Bytes, BYTE_UNITS, BYTES_EXPECTED, BYTE_SHOW, "unlimited", Some("bytes"));
text!(Rate, RATE_UNITS, RATE_EXPECTED, RATE_SHOW, "unlimited", None);

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    #[test]
    fn text_forms_are_exact() {
        assert_eq!("25ms".parse::<Delta>(), Ok(Delta::from_ms(25)));
        assert_eq!("1.5us".parse::<Delta>(), Ok(Delta::from_ns(1500)));
        assert_eq!("0.001 ns".parse::<Delta>(), Ok(Delta::from_ps(1)));
        assert_eq!("100Gbps".parse::<Rate>(), Ok(Rate::from_gbps(100)));
        assert_eq!("12.5Gbps".parse::<Rate>(), Ok(Rate::from_mbps(12_500)));
        assert_eq!("10MB".parse::<Bytes>(), Ok(Bytes::new(10_000_000)));
        assert_eq!("1_000_000.000_5us".parse::<Delta>(), Ok(Delta::from_ps(1_000_000_000_500)));
        assert_eq!("64KiB".parse::<Bytes>(), Ok(Bytes::new(65_536)));
        assert_eq!(Delta::from_ns(1500).to_string(), "1.5us");
        assert_eq!(Rate::from_mbps(12_500).to_string(), "12.5Gbps");
        assert_eq!(Bytes::new(1538).to_string(), "1.538kB");
        assert_eq!(Bytes::MAX.to_string(), "unlimited");
    }

    #[test]
    fn bad_text_says_what_is_wrong_and_what_is_accepted() {
        let problem = |t: &str| t.parse::<Rate>().expect_err("must fail").problem;
        assert!(problem("100").contains("no unit"));
        assert!(problem("-3Gbps").contains("negative"));
        assert!(problem("100 furlongs").contains("unknown unit \"furlongs\""));
        assert!(problem("99999999999999Tbps").contains("too large"));
        assert!(problem("Gbps").contains("no number"));
        assert!(problem("1.2.3Gbps").contains("not a number"));
        for slip in ["1__0Gbps", "_1Gbps", "1_Gbps", "1_.5Gbps", "1._5Gbps", "_Gbps"] {
            assert!(problem(slip).contains("not a number"), "{slip}");
        }
        assert!("5".parse::<Delta>().expect_err("must fail").to_string().contains("\"25ms\""));
    }

    #[test]
    fn bytes_are_not_divided() {
        for (text, bytes) in [("1.5kB", 1500), ("1.5KiB", 1536), ("0.0010kB", 1), ("2.0B", 2), (".5kB", 500)] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes::new(bytes)), "{text}");
        }
        for text in ["1.5B", "0.1KiB", "1.0001kB", "0.4B", "1.0000000000000000001B"] {
            let error = text.parse::<Bytes>().expect_err("must fail").to_string();
            assert!(error.contains(&format!("\"{text}\" is not a whole number of bytes; expected a size")), "{error}");
        }
        // Times and rates are rounded to the simulator's units.
        assert_eq!("0.6ps".parse::<Delta>(), Ok(Delta::from_ps(1)));
        assert_eq!("1.5bps".parse::<Rate>(), Ok(Rate::from_bps(2)));
    }

    #[test]
    fn sending_time_rounds_up_and_bytes_round_down() {
        assert_eq!(Rate::from_gbps(100).time_to_send(Bytes::new(1500)), Delta::from_ps(120_000));
        assert_eq!(Rate::from_gbps(3).time_to_send(Bytes::new(1)), Delta::from_ps(2667));
        assert_eq!(Rate::from_gbps(100).bytes_in(Delta::from_ms(50)), Bytes::new(625_000_000));
        assert_eq!(Rate::ZERO.time_to_send(Bytes::new(1)), Delta::MAX);
        assert_eq!(Bytes::new(625_000_000).per(Delta::from_ms(50)), Rate::from_gbps(100));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn what_is_shown_reads_back(v in 0u64..u64::MAX / 2) {
            prop_assert_eq!(Delta(v).to_string().parse::<Delta>(), Ok(Delta(v)));
            prop_assert_eq!(Bytes(v).to_string().parse::<Bytes>(), Ok(Bytes(v)));
            prop_assert_eq!(Rate(v).to_string().parse::<Rate>(), Ok(Rate(v)));
        }

        #[test]
        fn no_link_exceeds_its_rate(bps in 1u64..1_000_000_000_000, n in 0u64..1_000_000_000) {
            let time = Rate(bps).time_to_send(Bytes(n));
            prop_assert!(Rate(bps).bytes_in(time) >= Bytes(n));
            if time.as_ps() > 0 {
                prop_assert!((n as u128 * 8 * PS_PER_S as u128) <= bps as u128 * time.as_ps() as u128);
            }
        }
    }
}
