//! The registry. Adding an algorithm takes one file here and two lines below: its module, and its entry in `registry!`.
//!
//! Everything that lists or builds algorithms comes from the registry: the command line, scenarios, the editor schema,
//! `farloop explain`, property tests over all algorithms.

#[macro_use]
mod registry;

pub mod annulus;
pub mod bbr;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod fixed;
pub mod gear;
pub mod gemini;
pub mod hpcc;
pub mod hystart;
pub mod pcn;
pub mod poseidon;
pub mod powertcp;
pub mod reno;
pub mod swift;
pub mod timely;
pub mod vegas;
pub mod window;

use crate::api::*;
use farloop_units::{Bytes, ParamError, ParamSpec, Params, Value};

/// Per-flow sender state that lives inline. Larger senders box what they seldom touch, so that flows of the others stay small.
pub const MAX_SENDER_BYTES: usize = 256;

registry! {
    Fixed = fixed::Fixed,
    Reno = reno::Reno,
    Cubic = cubic::Cubic,
    Bbr = bbr::Bbr,
    Dctcp = dctcp::Dctcp,
    Gemini = gemini::Gemini,
    Hpcc = hpcc::Hpcc,
    Timely = timely::Timely,
    Dcqcn = dcqcn::Dcqcn,
    Annulus = annulus::Annulus,
    Vegas = vegas::Vegas,
    Gear = gear::Gear,
    Poseidon = poseidon::Poseidon,
    PowerTcp = powertcp::PowerTcp,
    ThetaPowerTcp = powertcp::ThetaPowerTcp,
    Swift = swift::Swift,
    Pcn = pcn::Pcn,
}

/// What the registry knows of one algorithm or preset.
#[derive(Clone, Debug)]
pub struct AlgorithmInfo {
    /// Its name.
    pub name: &'static str,
    /// The algorithm that it is a preset of, if it is one.
    pub preset_of: Option<&'static str>,
    /// One line: what it is.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// What the network must offer.
    pub needs: Needs,
    /// Its parameters with defaults; for a preset, with the preset's values as defaults.
    pub params: Vec<ParamSpec>,
}

/// Every algorithm and preset, in registry order.
pub fn all() -> Vec<AlgorithmInfo> {
    names().into_iter().filter_map(|name| lookup(name).map(|p| p.info(name))).collect()
}

/// The parameters of the algorithm or preset `name`, at their defaults; `None` for an unknown name.
pub fn lookup(name: &str) -> Option<AnyParams> {
    for (base, presets) in bases() {
        if base == name {
            return AnyParams::of(base);
        }
        if presets.iter().any(|p| p.name == name) {
            let mut params = AnyParams::of(base)?;
            for (key, value) in preset_settings(name) {
                params.set(key, &value).unwrap_or_else(|e| panic!("preset {name}: {key} = {value}: {e:?}"));
            }
            return Some(params);
        }
    }
    None
}

/// The parameters that the preset `name` sets, in its order; empty for an algorithm that is no preset and for an unknown name.
pub fn preset_settings(name: &str) -> Vec<(&'static str, Value)> {
    let preset = bases().into_iter().flat_map(|(_, presets)| presets).find(|p| p.name == name);
    preset.map_or_else(Vec::new, |p| p.settings.iter().map(|(key, text)| (*key, preset_value(text))).collect())
}

/// The parameters that the algorithm `base` has on the hosts `host`, such as "linux-4.9"; empty where they are the defaults.
pub fn host_settings(base: &str, host: &str) -> Vec<(&'static str, Value)> {
    let of_base = hosts().into_iter().filter(|(name, _)| *name == base).flat_map(|(_, hosts)| hosts);
    let settings = of_base.filter(|preset| preset.name == host).flat_map(|preset| preset.settings);
    settings.map(|(key, text)| (*key, preset_value(text))).collect()
}

/// Reads a preset's value: a boolean, a number, else a text.
fn preset_value(text: &str) -> Value {
    if let Ok(b) = text.parse::<bool>() {
        Value::Bool(b)
    } else if let Ok(i) = text.parse::<i64>() {
        Value::Int(i)
    } else if let Ok(x) = text.parse::<f64>() {
        Value::Float(x)
    } else {
        Value::Text(text.to_string())
    }
}

impl AnyParams {
    fn info(&self, name: &'static str) -> AlgorithmInfo {
        let (base, summary, source) = self.about();
        let preset = bases().into_iter().flat_map(|(_, presets)| presets).find(|p| p.name == name);
        let mut params = self.specs();
        for spec in &mut params {
            spec.default = self.get(spec.name).flatten();
        }
        AlgorithmInfo {
            name,
            preset_of: preset.map(|_| base),
            summary: preset.map_or(summary, |p| p.summary),
            source,
            needs: self.needs(),
            params,
        }
    }
}

fn names() -> Vec<&'static str> {
    bases()
        .into_iter()
        .flat_map(|(base, presets)| std::iter::once(base).chain(presets.iter().map(|p| p.name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_signals, flow, torture};
    use proptest::prelude::*;

    #[test]
    fn names_are_unique_and_presets_resolve() {
        let infos = all();
        for (i, info) in infos.iter().enumerate() {
            assert!(infos[i + 1..].iter().all(|other| other.name != info.name), "{} twice", info.name);
            assert!(!info.summary.is_empty() && !info.source.is_empty());
            assert!(info.params.iter().all(|p| !p.doc.is_empty()), "{}: a parameter without documentation", info.name);
        }
    }

    #[test]
    fn every_default_can_be_set_again() {
        for info in all() {
            let mut params = lookup(info.name).expect("listed");
            for spec in &info.params {
                if let Some(value) = &spec.default {
                    assert_eq!(params.set(spec.name, value), Ok(()), "{}.{}", info.name, spec.name);
                }
            }
        }
    }

    #[test]
    fn what_hosts_set_is_known() {
        for (base, hosts) in hosts() {
            for host in hosts {
                assert!(["linux-4.9", "linux-6"].contains(&host.name), "{base}: {}", host.name);
                let mut params = lookup(base).expect("registered");
                for (key, value) in host_settings(base, host.name) {
                    assert_eq!(params.set(key, &value), Ok(()), "{base}.{key} on {}", host.name);
                    let default = lookup(base).expect("registered").get(key);
                    assert_ne!(params.get(key), default, "{base}.{key} on {} says nothing", host.name);
                }
            }
        }
        assert!(host_settings("bbr", "linux-6").is_empty());
        assert_eq!(host_settings("bbr", "linux-4.9"), [("ack_aggregation", Value::Bool(false))]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever signals come in whatever order, windows and rates stay finite, positive and within bounds.
        #[test]
        fn every_algorithm_survives_any_signals(signals in any_signals(), cross in any::<bool>()) {
            for info in all() {
                let params = lookup(info.name).expect("listed");
                torture(&mut params.sender(&flow(cross)), &flow(cross), &signals, info.name);
            }
        }
    }
}
