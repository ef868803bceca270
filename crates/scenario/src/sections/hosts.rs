//! The keys of `[hosts]`: what hosts have that no protocol decides.

use farloop_net::spec::ClockOffset;
use farloop_units::{Delta, Kind, ParamType, Value, choice, params};

choice! {
    /// The distribution of the duration of stalls.
    pub enum StallLawChoice {
        /// Always as long.
        Fixed = "fixed",
        /// An exponential time.
        Exponential = "exponential",
        /// A time with a long tail.
        Pareto = "pareto",
    }
}

choice! {
    /// The order in which a host's flows send.
    pub enum NicOrderChoice {
        /// The one that has waited longest.
        Ready = "ready",
        /// The next one in a fixed cycle.
        Cycle = "cycle",
        /// The one that was handed its message first.
        InOrder = "in-order",
    }
}

choice! {
    /// The choice among the NIC ports of a host.
    pub enum BondChoice {
        /// By a hash of the flow.
        Hash = "hash",
        /// In turn.
        Rail = "rail",
        /// Packet by packet, by whichever is free.
        Spray = "spray",
    }
}

params! {
    /// `[hosts]`: the hardware of hosts.
    pub struct HostKeys {
        /// Clock offset of hosts, which then transmit faster or slower than their links' rates. "20ppm" draws the offset of each
        /// host from -20 to 20 parts per million. A list sets the offsets of some hosts, such as ["h1 +10ppm", "left-* -3.5ppm"]
        /// ("*" matches any characters, "?" any one; the first match counts). At most 100ppm (IEEE 802.3).
        clock_offset: ClockOffsets = ClockOffsets::Drawn(ClockOffset::NONE);
        /// Mean duration of a stall, in which a host handles no arriving packets because it is busy or coalesces interrupts; it
        /// handles the waiting packets together at the end. "0ps" for no stalls. Unlike transport.delay_noise_intra it is noise
        /// at a busy host, too.
        stall: Delta = Delta::ZERO, in Delta::ZERO => Delta::from_ms(100);
        /// With stall: mean time from the end of a stall to the beginning of the next one, an exponential time; "none" for 1ms.
        stall_gap: Option<Delta> = None, in Some(Delta::from_us(1)) => Some(Delta::from_secs(10));
        /// With stall: the distribution of its duration. "pareto": a long tail, with index 1.5, cut at a thousand times the mean.
        /// "none": exponential.
        stall_law: Option<StallLawChoice> = None;
        /// Which of a host's flows sends the next packet, among those whose window and rate allow it. "ready": the flow that has
        /// waited longest; a flow that becomes ready queues behind all others. "cycle": the next flow in a fixed cycle of the
        /// host's flows, by their numbers, as in HPCC's simulator. "in-order": the flow that was handed its message first, so
        /// that a host sends the messages of its ranks one after the other; of other flows the start counts.
        order: NicOrderChoice = NicOrderChoice::Ready;
        /// Which of its NIC ports carries a flow, where hosts have several. "hash": a hash of the flow chooses for its whole life, as a
        /// bond of Ethernet ports does. "rail": in turn, the first flow of a host by its first port. A flow uses the port in the same
        /// place at its destination, and only a port that leads there; the key port of a [[flow]] goes before. "spray", with kind =
        /// "multipath" only: each packet leaves by whichever port is free, and what answers it comes back in its plane. "none": "spray"
        /// with kind = "multipath", else "hash".
        bond: Option<BondChoice> = None;
    }
}

/// The offsets of clocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClockOffsets {
    /// Drawn uniformly up to this, to both sides.
    Drawn(ClockOffset),
    /// Given for the hosts whose names match a pattern.
    Given(Vec<(String, ClockOffset)>),
}

impl ClockOffsets {
    /// All clocks are exact.
    pub fn are_none(&self) -> bool {
        *self == ClockOffsets::Drawn(ClockOffset::NONE)
    }
}

const EXPECTED: &str = "expected 0ppm to 100ppm, such as \"20ppm\", or a list such as [\"h1 +10ppm\", \"h2 -10ppm\"]";

impl ParamType for ClockOffsets {
    const KIND: Kind = Kind::Texts;
    fn from_value(value: &Value) -> Result<ClockOffsets, String> {
        let wrong = |what: &str| format!("{what} is not accepted; {EXPECTED}");
        match value {
            Value::Text(text) => {
                let offset = parse(text).filter(|o| o.as_ppb() >= 0 && !text.trim_start().starts_with(['+', '-']));
                offset.map(ClockOffsets::Drawn).ok_or_else(|| wrong(&format!("\"{text}\"")))
            }
            Value::List(texts) if !texts.is_empty() => {
                let of_pattern = |text: &String| {
                    let (pattern, offset) = text.trim().rsplit_once(char::is_whitespace)?;
                    Some((pattern.trim().to_string(), parse(offset)?))
                };
                let given = texts.iter().map(|text| of_pattern(text).ok_or_else(|| wrong(&format!("\"{text}\""))));
                Ok(ClockOffsets::Given(given.collect::<Result<_, _>>()?))
            }
            other => Err(wrong(&other.to_string())),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(match self {
            ClockOffsets::Drawn(offset) => Value::Text(text(*offset)),
            ClockOffsets::Given(given) => {
                let written = |(pattern, offset): &(String, ClockOffset)| {
                    let sign = if offset.as_ppb() >= 0 { "+" } else { "" };
                    format!("{pattern} {sign}{}", text(*offset))
                };
                Value::List(given.iter().map(written).collect())
            }
        })
    }
}

/// "12.5ppm", to a thousandth, within the tolerance.
fn parse(text: &str) -> Option<ClockOffset> {
    let number = text.trim().strip_suffix("ppm")?.trim_end();
    let plain = number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-'));
    let ppm: f64 = number.parse().ok().filter(|_| plain)?;
    // Beyond the tolerance nothing is converted.
    let ppb = (ppm.abs() <= 100.0).then_some(ppm * 1000.0)?;
    let offset = ClockOffset::from_ppb(ppb.round() as i32);
    ((ppb - f64::from(offset.as_ppb())).abs() < 1e-6 && offset.is_legal()).then_some(offset)
}

fn text(offset: ClockOffset) -> String {
    format!("{}ppm", f64::from(offset.as_ppb()) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<ClockOffsets, String> {
        ClockOffsets::from_value(&Value::Text(text.into()))
    }

    #[test]
    fn offsets_are_read_and_written() {
        assert_eq!(of("20ppm"), Ok(ClockOffsets::Drawn(ClockOffset::from_ppb(20_000))));
        assert_eq!(of("0.001 ppm"), Ok(ClockOffsets::Drawn(ClockOffset::from_ppb(1))));
        let list = Value::List(vec!["h1 +10ppm".into(), "h* -3.5ppm".into()]);
        let given = ClockOffsets::from_value(&list).expect("valid");
        assert_eq!(given.to_value(), Some(list));
        assert_eq!(of("100ppm").expect("valid").to_value(), Some(Value::Text("100ppm".into())));
    }

    #[test]
    fn others_are_refused() {
        for wrong in [
            "",
            "20",
            "ppm",
            "-1ppm",
            "+1ppm",
            "100.1ppm",
            "1e1ppm",
            "nanppm",
            "infppm",
            "0.0001ppm",
            "h1 +1ppm",
            "20ppm ",
        ] {
            assert!(of(wrong).is_err() || wrong == "20ppm ", "{wrong}");
        }
        for wrong in [vec![], vec!["h1".to_string()], vec!["20ppm".to_string()], vec!["h1 -101ppm".to_string()]] {
            assert!(ClockOffsets::from_value(&Value::List(wrong)).is_err());
        }
        assert!(ClockOffsets::from_value(&Value::Float(20.0)).is_err());
    }
}
