//! Gives switches the settings of `[[switch_override]]`, and finds the key that sets one.

use crate::diagnostic::{Diagnostic, listing, nearest};
use crate::glob;
use crate::scenario::Scenario;
use crate::sections::{LcmpKeys, Switch, SwitchKeys, WanSwitch};
use crate::switch::SwitchOverride;
use crate::topology::Layout;
use farloop_net::spec::{Ecmp, NodeId, NodeKind, SwitchSpec};
use farloop_units::Bytes;
use std::collections::{HashMap, HashSet};

/// Gives the switches of `layout` the settings of the overrides that match them, later ones on top, and those of `[lcmp]`.
pub(crate) fn apply(scenario: &Scenario, layout: &mut Layout) -> Result<(), Diagnostic> {
    let is_switch = |kind: &NodeKind| matches!(kind, NodeKind::Switch(_));
    let index = Index::new(&scenario.switch_overrides);
    let (mut switches, mut hosts) = (HashSet::new(), HashSet::new());
    for node in &layout.nodes {
        let matched = if is_switch(&node.kind) { &mut switches } else { &mut hosts };
        matched.extend(index.matching(&node.name));
    }
    for (i, o) in scenario.switch_overrides.iter().enumerate() {
        let at = |problem: String, expected: &str| {
            scenario.diagnostic_at(&["switch_override", &o.pattern, "match"], problem, expected)
        };
        if switches.contains(&i) {
            continue;
        }
        if hosts.contains(&i) {
            return Err(at(format!("\"{}\" matches hosts only", o.pattern), "expected the names of switches"));
        }
        let names = || layout.nodes.iter().filter(|n| is_switch(&n.kind)).map(|n| n.name.as_str());
        let known = format!("switches: {}", listing(names()));
        let suggestion = nearest(&o.pattern, names());
        return Err(Diagnostic { suggestion, ..at(format!("no switch is called \"{}\"", o.pattern), &known) });
    }
    for node in 0..layout.nodes.len() {
        let name = &layout.nodes[node].name;
        let ours: Vec<_> = index.matching(name).into_iter().map(|i| &scenario.switch_overrides[i]).collect();
        if ours.is_empty() || !is_switch(&layout.nodes[node].kind) {
            continue;
        }
        let settled = match layout.routers.contains(&(node as NodeId)) {
            true => Settled::settle::<WanSwitch>(&scenario.wan_switch, &ours, scenario.packet()),
            false => Settled::settle::<Switch>(&scenario.switch, &ours, scenario.packet()),
        };
        let (kmin, kmax) = settled.thresholds;
        if kmin > kmax {
            let key = if sets(&ours, "kmin") { "kmin" } else { "kmax" };
            let problem = format!("kmin = \"{kmin}\" is above kmax = \"{kmax}\" for switch \"{name}\"");
            let path = setting_path(scenario, layout, node as NodeId, key);
            return Err(scenario.diagnostic_at(&path, problem, "expected kmin at most kmax; set both"));
        }
        if let Some((o, (key, problem, expected))) = settled.idle {
            let problem = format!("{problem} for switch \"{name}\"");
            return Err(scenario.diagnostic_at(&["switch_override", &o.pattern, key], problem, expected));
        }
        layout.nodes[node].kind = NodeKind::Switch(settled.spec);
    }
    let own = scenario.lcmp.as_ref().map(LcmpKeys::to_network);
    for node in &mut layout.nodes {
        if let (NodeKind::Switch(SwitchSpec { ecmp: Ecmp::Lcmp(lcmp), .. }), Some(own)) = (&mut node.kind, own) {
            *lcmp = own;
        }
    }
    Ok(())
}

/// A switch's settings after its overrides.
struct Settled<'s> {
    spec: SwitchSpec,
    thresholds: (Bytes, Bytes),
    /// The first override that sets a key which has no effect, and why.
    idle: Option<(&'s SwitchOverride, (&'static str, &'static str, &'static str))>,
}

impl<'s> Settled<'s> {
    fn settle<P: SwitchKeys>(keys: &P, ours: &[&'s SwitchOverride], packet: Bytes) -> Settled<'s> {
        let all = apply_overrides(keys, ours);
        // A later override may go back to a discipline without turns.
        let idle = |i: usize| {
            let why = apply_overrides(keys, &ours[..=i]).idle_key()?;
            sets(&ours[i..=i], why.0).then_some((ours[i], why))
        };
        Settled { spec: all.spec(packet), thresholds: all.thresholds(), idle: (0..ours.len()).find_map(idle) }
    }
}

/// The overrides of each name: those for a single name are looked up, so that a thousand of them do not cost every switch a
/// thousand comparisons.
struct Index<'s> {
    single: HashMap<&'s str, usize>,
    patterns: Vec<(usize, &'s str)>,
}

impl<'s> Index<'s> {
    fn new(overrides: &'s [SwitchOverride]) -> Index<'s> {
        let all = overrides.iter().enumerate().map(|(i, o)| (i, o.pattern.as_str()));
        let (patterns, single): (Vec<_>, Vec<_>) = all.partition(|(_, pattern)| pattern.contains(['*', '?']));
        Index { single: single.into_iter().map(|(i, name)| (name, i)).collect(), patterns }
    }

    /// In their order.
    fn matching(&self, name: &str) -> Vec<usize> {
        let matching = self.patterns.iter().filter(|(_, pattern)| glob::matches(pattern, name)).map(|(i, _)| *i);
        let mut all: Vec<usize> = matching.chain(self.single.get(name).copied()).collect();
        all.sort_unstable();
        all
    }
}

/// The path of the key that sets `key` of the switch `node`.
pub(crate) fn setting_path<'s>(scenario: &'s Scenario, layout: &Layout, node: NodeId, key: &'s str) -> Vec<&'s str> {
    let name = &layout.nodes[node as usize].name;
    let setting = |o: &&SwitchOverride| glob::matches(&o.pattern, name) && sets(&[o], key);
    match scenario.switch_overrides.iter().rev().find(setting) {
        Some(o) => vec!["switch_override", &o.pattern, key],
        None if layout.routers.contains(&node) => vec!["wan_switch", key],
        None => vec!["switch", key],
    }
}

fn sets(overrides: &[&SwitchOverride], key: &str) -> bool {
    overrides.iter().any(|o| o.settings.iter().any(|(k, _)| *k == key))
}

/// `keys` with the settings of `overrides` on top.
fn apply_overrides<P: SwitchKeys>(keys: &P, overrides: &[&SwitchOverride]) -> P {
    let mut keys = keys.clone();
    for (key, value) in overrides.iter().flat_map(|o| &o.settings) {
        keys.set(key, value).expect("values were checked when they were read");
    }
    keys
}
