//! Random scenarios, from the declarations of the keys: what is added to the format is drawn from then on.

use farloop_engine::RandomStream;
use farloop_scenario::sections::*;
use farloop_scenario::{network_alternatives, parse};
use farloop_units::{Bytes, Delta, Kind, ParamSpec, Params, Rate, Value};
use std::fmt::Write;
use std::str::FromStr;

/// A key that another one makes meaningless is taken away, so many times at most.
const REPAIRS: usize = 12;

/// Draws what a scenario is made of.
pub struct Draw(RandomStream);

impl Draw {
    /// The same seed draws the same.
    pub fn new(seed: u64) -> Draw {
        Draw(RandomStream::new(seed, "fuzz", 0))
    }

    fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }

    fn one_of<'a, T: ?Sized>(&mut self, words: &[&'a T]) -> &'a T {
        words[self.0.below(words.len() as u64) as usize]
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// A value for a key, in the form of TOML: about the default, at a bound of its range, or anywhere between in its logarithm.
    fn value(&mut self, spec: &ParamSpec) -> Option<String> {
        if spec.optional && self.chance(0.3) {
            return Some("\"none\"".into());
        }
        let range = spec.range.split_once(" to ");
        let number = |text: &str| match spec.kind {
            Kind::Time => Delta::from_str(text).ok().map(|t| t.as_ps() as f64),
            Kind::Bytes => Bytes::from_str(text).ok().map(|b| b.get() as f64),
            Kind::Rate => Rate::from_str(text).ok().map(|r| r.as_bps() as f64),
            _ => text.parse().ok(),
        };
        let shown = |x: f64| match spec.kind {
            Kind::Time => format!("\"{}ps\"", x as u64),
            Kind::Bytes => format!("\"{}B\"", x as u64),
            Kind::Rate => format!("\"{}bps\"", x as u64),
            Kind::Integer => format!("{}", x as u64),
            _ => format!("{x:?}"),
        };
        match &spec.kind {
            Kind::Bool => Some(self.chance(0.5).to_string()),
            Kind::Choice(words) => Some(format!("\"{}\"", self.one_of(&words.iter().collect::<Vec<_>>()))),
            Kind::Text | Kind::TextList(_) => None,
            _ => {
                let (low, high) = range?;
                let (low, high) = (number(low)?, number(high)?);
                let default = spec.default.as_ref().and_then(|d| match d {
                    Value::Text(t) => number(t),
                    other => number(&other.to_string()),
                });
                let x = match (self.0.below(10), default) {
                    (0, _) => low,
                    (1, _) => high,
                    (2..=7, Some(default)) => default * [0.5, 0.9, 1.1, 2.0][self.0.below(4) as usize],
                    _ => {
                        let (bottom, span) = (low.max(1e-3), high.max(1e-3) / low.max(1e-3));
                        bottom * span.powf(self.0.uniform())
                    }
                };
                Some(shown(x.clamp(low, high)))
            }
        }
    }

    /// Some of these keys, each with chance `p`, one line each.
    fn keys(&mut self, specs: &[ParamSpec], p: f64, but: &[&str]) -> String {
        let mut lines = String::new();
        for spec in specs.iter().filter(|s| !but.contains(&&*s.name)) {
            if self.chance(p)
                && let Some(value) = self.value(spec)
            {
                let _ = writeln!(lines, "{} = {value}", spec.name);
            }
        }
        lines
    }

    /// `[network]` small enough for a moment's run, and the nodes between which flows can be listed, where their names are known.
    fn network(&mut self) -> (String, Vec<String>) {
        let alternatives = network_alternatives();
        let chosen = &alternatives[self.0.below(alternatives.len() as u64) as usize];
        let mut text = format!("[network]\ntopology = \"{}\"\n", chosen.topology);
        if let Some(fabric) = chosen.fabric {
            let _ = writeln!(text, "fabric = \"{fabric}\"");
        }
        for spec in chosen.specs.iter().filter(|s| s.name != "fabric") {
            let line = match (&spec.kind, &*spec.name) {
                (_, "cores" | "remote_hosts" | "wan_links" | "detection_time") => continue,
                (Kind::Integer, "aggs_per_pod") => Some("2".to_string()),
                (Kind::Integer, _) => {
                    Some(self.between(1, 3).max(if spec.name == "datacenters" { 2 } else { 1 }).to_string())
                }
                (Kind::Rate, _) => Some(format!("\"{}\"", self.one_of(&["1Gbps", "10Gbps", "25Gbps", "100Gbps"]))),
                (Kind::Time, _) => Some(format!("\"{}\"", self.one_of(&["0us", "1us", "5us", "200us"]))),
                (Kind::Float, _) => Some(self.one_of(&["0.0", "0.0", "0.001", "0.1"]).to_string()),
                _ if self.chance(0.3) => self.value(spec),
                _ => None,
            };
            if let Some(value) = line {
                let _ = writeln!(text, "{} = {value}", spec.name);
            }
        }
        if chosen.specs.iter().any(|s| s.name == "cores") {
            let _ = writeln!(text, "cores = {}", 2 * self.between(1, 2));
        }
        let mut hosts = Vec::new();
        if chosen.topology == "links" {
            let (switches, count) = (self.between(1, 5), self.between(2, 6));
            for s in 0..switches {
                let kind = if self.chance(0.2) { "router" } else { "switch" };
                let _ = writeln!(text, "[[node]]\nname = \"x{s}\"\nkind = \"{kind}\"\ndatacenter = {}", s % 2);
            }
            for h in 0..count {
                let _ = writeln!(text, "[[node]]\nname = \"h{h}\"\ndatacenter = {}", h % 2);
                hosts.push(format!("h{h}"));
            }
            let mut links: Vec<(String, String)> =
                (1..switches).map(|s| (format!("x{s}"), format!("x{}", self.0.below(s)))).collect();
            // A second way, where there is room for one.
            if switches > 2 && !links.contains(&("x2".into(), "x0".into())) {
                links.push(("x2".into(), "x0".into()));
            }
            links.extend((0..count).map(|h| (format!("h{h}"), format!("x{}", self.0.below(switches)))));
            for (a, b) in links {
                let (rate, delay) =
                    (self.one_of(&["1Gbps", "10Gbps", "40Gbps"]), self.one_of(&["0us", "2us", "100us"]));
                let _ = writeln!(text, "[[link]]\na = \"{a}\"\nb = \"{b}\"\nrate = \"{rate}\"\ndelay = \"{delay}\"");
                if self.chance(0.1) {
                    let _ = writeln!(text, "loss = 0.01\ncorruption = 0.01");
                }
            }
        }
        (text, hosts)
    }

    /// A detour of a fabric whose names are known; most are refused, where they lead nowhere or in circles.
    fn detours(&mut self, network: &str) -> String {
        let mut text = String::new();
        if !network.contains("topology = \"spine-leaf\"") || self.chance(0.4) {
            return text;
        }
        for _ in 0..self.between(1, 2) {
            let (leaf, spine, host) = (self.between(1, 3), self.between(1, 3), self.between(1, 4));
            let _ = writeln!(
                text,
                "[[detour]]\nswitch = \"leaf{leaf}\"\ndestination = \"h{host}\"\nnext = \"spine{spine}\""
            );
        }
        text
    }

    /// Links that fail and change, of networks whose names are known: each goes down once at most, and comes up again or not.
    fn events(&mut self, network: &str) -> String {
        let mut text = String::new();
        let mut names: Vec<String> = match network {
            n if n.contains("topology = \"spine-leaf\"") => {
                (1..=2).flat_map(|leaf| (1..=2).map(move |spine| format!("leaf{leaf}<->spine{spine}"))).collect()
            }
            n if n.contains("topology = \"links\"") => (0..4).map(|s| format!("x{}<->x{s}", s + 1)).collect(),
            n if n.contains("topology = \"dumbbell\"") => vec!["left<->right".into(), "s1->left".into()],
            n if n.contains("topology = \"fat-tree\"") => vec!["tor1-1<->agg1-1".into(), "agg1-?<->core*".into()],
            _ => return text,
        };
        if self.chance(0.4) {
            return text;
        }
        for _ in 0..self.between(1, names.len() as u64) {
            let name = names.swap_remove(self.0.below(names.len() as u64) as usize);
            let at = self.between(0, 200);
            let mut event = |at: u64, keys: &str| {
                let _ = writeln!(text, "[[event]]\nat = \"{at}us\"\nlink = \"{name}\"\n{keys}");
            };
            if self.chance(0.6) && name.contains("<->") {
                event(at, "state = \"down\"");
                if self.chance(0.7) {
                    event(at + self.between(1, 200), "state = \"up\"");
                }
            }
            if self.chance(0.6) {
                let own = ["at", "link", "state", "loss", "corruption", "rate"];
                let numbered = ["lose_data", "lose_acks", "late_data", "late_by"];
                let keys = self.keys(EventKeys::spec_table(), 0.4, &[&own[..], &numbered].concat());
                let numbers = self.one_of(&[
                    "lose_data = \"3, 9-12\"\n",
                    "lose_acks = \"1-/2\"\nlose_data = \"7-/9\"\n",
                    "late_data = \"2-/3\"\nlate_by = \"7us\"\n",
                    "",
                ]);
                let rate = self.one_of(&["1Gbps", "10Gbps", "40Gbps"]);
                let loss = self.one_of(&["0.0", "0.01", "1.0"]);
                let mut event = |at: u64, keys: &str| {
                    let _ = writeln!(text, "[[event]]\nat = \"{at}us\"\nlink = \"{name}\"\n{keys}");
                };
                event(self.between(0, 300), &format!("rate = \"{rate}\"\nloss = {loss}\n{numbers}{keys}"));
            }
        }
        text
    }

    fn traffic(&mut self, hosts: &[String], algorithms: &[&str]) -> String {
        let mut text = String::new();
        // Of the flow before: whether it has a size, and where it goes.
        let mut before: Option<usize> = None;
        for number in 1..=if hosts.is_empty() { 0 } else { self.between(0, 4) } {
            let follows = before.filter(|_| self.chance(0.4));
            let from = follows.unwrap_or(self.0.below(hosts.len() as u64) as usize);
            let to = (from + 1 + self.0.below(hosts.len() as u64 - 1) as usize) % hosts.len();
            let _ = writeln!(
                text,
                "[[flow]]\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{}us\"",
                hosts[from],
                hosts[to],
                self.between(0, 300)
            );
            if follows.is_some() {
                let _ = writeln!(text, "after = [\"f{} + {}us\"]", number - 1, self.between(0, 9));
            }
            before = None;
            if self.chance(0.5) {
                before = Some(to);
                let _ = writeln!(text, "size = \"{}kB\"", self.between(1, 2000));
            }
            if self.chance(0.2) {
                let _ = writeln!(text, "algorithm = \"{}\"", self.one_of(algorithms));
            }
            text += &self.keys(
                Flow::spec_table(),
                0.1,
                &["name", "from", "to", "start", "stop", "size", "count", "initial_rate", "after"],
            );
        }
        let alternatives = workload_alternatives();
        for _ in 0..self.between(u64::from(text.is_empty()), 2) {
            // Elephants need circuits, lists need files.
            let (pattern, specs) = &alternatives[[0, 1, 2, 3, 5][self.0.below(5) as usize]];
            let _ = writeln!(text, "[[workload]]\npattern = \"{pattern}\"");
            if pattern == &"all-reduce" {
                let _ = writeln!(text, "size = \"{}kB\"\nrounds = {}", self.between(1, 300), self.between(1, 3));
                text += &self.keys(specs, 0.3, &["name", "size", "rounds", "collective", "compute", "start", "hosts"]);
                continue;
            }
            let sizes = self.one_of(&["10kB", "1MB", "websearch", "fb_hadoop", "1B"]);
            let sizes = if *pattern == "poisson" && sizes == "1B" { "3kB" } else { sizes };
            let _ = writeln!(text, "sizes = \"{sizes}\"");
            text += &self.keys(
                specs,
                0.3,
                &["name", "sizes", "start", "stop", "interval", "spread", "hosts", "from", "senders"],
            );
            if pattern == &"incast" {
                let _ = writeln!(text, "senders = {}", self.between(1, 20));
            }
        }
        text
    }

    /// A scenario that is most likely valid.
    pub fn scenario(&mut self) -> String {
        let infos: Vec<_> = farloop_cc::all().collect();
        let names: Vec<&str> = infos.iter().map(|i| &*i.name).collect();
        let algorithm = self.one_of(&names);
        let mut text = format!("[run]\nduration = \"{}us\"\nseed = {}\n", self.between(50, 600), self.between(0, 9));
        let (network, hosts) = self.network();
        text += &network;
        // What an algorithm needs stays on: those without are refused, and nothing is learnt.
        let needs_symmetry = |name: &str| infos.iter().any(|i| i.name == name && i.needs.symmetric);
        let symmetric = needs_symmetry(algorithm) || self.chance(0.2);
        let mut needed = vec!["ecn", "int", "agents", "kmin", "kmax", "buffer", "headroom", "xoff"];
        needed.extend(symmetric.then_some("ecmp"));
        let ecmp = if symmetric { "ecmp = \"symmetric\"\n" } else { "" };
        let switch = self.keys(Switch::spec_table(), 0.15, &needed);
        let _ = write!(text, "[switch]\n{switch}{ecmp}");
        let buffer = if self.chance(0.3) { self.between(1, 9) } else { 500 };
        let kmin = self.between(0, 400);
        let kmax = kmin + self.between(0, 800);
        let _ = writeln!(text, "buffer = \"{buffer}MB\"\nkmin = \"{kmin}kB\"\nkmax = \"{kmax}kB\"");
        let routers = self.keys(WanSwitch::spec_table(), 0.1, &needed);
        let _ = write!(text, "[wan_switch]\n{routers}{ecmp}");
        if self.chance(0.2) {
            let keys = self.keys(Switch::spec_table(), 0.1, &needed);
            let _ = write!(text, "[[switch_override]]\nmatch = \"*\"\n{keys}");
        }
        let detours = self.detours(&network);
        if detours.is_empty() {
            text += &self.events(&network);
        }
        text += &detours;
        let alternatives = transport_alternatives();
        let delivery_rate = infos.iter().any(|i| i.name == algorithm && i.needs.delivery_rate);
        // Nor does it go together with many paths, where it needs one.
        let one_path = infos.iter().any(|i| i.name == algorithm && (i.needs.symmetric || i.needs.border_agent));
        let many_paths = infos.iter().any(|i| i.name == algorithm && i.needs.multipath);
        let kinds = if one_path { 2 } else { 3 };
        let kind = match (delivery_rate, many_paths) {
            (true, _) => 1,
            (_, true) => 2,
            _ => self.0.below(kinds) as usize,
        };
        let (kind, specs) = &alternatives[kind];
        let keys = self.keys(specs, 0.12, &["kind", "intra_rtt", "int_bytes", "paths"]);
        let _ = write!(text, "[transport]\nkind = \"{kind}\"\n{keys}");
        if *kind == "multipath" {
            text = self.multipath(text, infos.iter().any(|i| i.name == algorithm && i.needs.int));
        }
        let _ = writeln!(text, "[algorithm]\nname = \"{algorithm}\"");
        if let Some(info) = infos.iter().find(|i| i.name == algorithm)
            && self.chance(0.5)
        {
            let keys = self.keys(&info.params, 0.3, &[]);
            let _ = write!(text, "[algorithm.{algorithm}]\n{keys}");
        }
        let others: Vec<&str> = names.iter().copied().filter(|name| symmetric || !needs_symmetry(name)).collect();
        text += &self.traffic(&hosts, &others);
        let _ = writeln!(text, "[record]\ninterval = \"{}us\"", self.between(1, 100));
        if self.chance(0.3) {
            text += "flows = \"all\"\nports = \"all\"\n";
        }
        self.phases(&mut text);
        self.parallel_links(&mut text);
        text
    }

    /// Parallel links between switches of a listed network, by `links` or by a second `[[link]]`, which may have a rate of its own; and
    /// events of the second one alone. After all else, so that what is drawn before stays the same.
    fn parallel_links(&mut self, text: &mut String) {
        if !text.contains("\n[[link]]\n") || self.chance(0.4) {
            return;
        }
        let (mut made, mut events) = (String::new(), String::new());
        for block in text.split_inclusive('\n').collect::<Vec<_>>().chunk_by(|_, next| !next.starts_with('[')) {
            let block = block.concat();
            let value =
                |key: &str| block.lines().find_map(|line| line.strip_prefix(key)).map(|text| text.replace('"', ""));
            let ends = value("a = ").zip(value("b = "));
            let Some((a, b)) =
                ends.filter(|(a, _)| a.starts_with('x') && block.starts_with("[[link]]\n") && self.chance(0.5))
            else {
                made += &block;
                continue;
            };
            if self.chance(0.5) {
                let _ = writeln!(made, "{block}links = {}", self.between(2, 4));
            } else {
                let own = self.one_of(&["1Gbps", "10Gbps", "40Gbps"]);
                let rate = value("rate = ").unwrap_or_default();
                made += &(block.clone() + &block.replace(&rate, own));
            }
            if self.chance(0.5) {
                let change = self.one_of(&["state = \"down\"", "rate = \"1Gbps\"", "loss = 0.01"]);
                let at = self.between(0, 200);
                let _ = writeln!(events, "[[event]]\nat = \"{at}us\"\nlink = \"{a}<->{b}#2\"\n{change}");
            }
        }
        *text = made + &events;
    }

    /// Choosers with their parameters; most often switches that trim. Algorithms that read telemetry take one path.
    fn multipath(&mut self, mut text: String, int: bool) -> String {
        let choosers: Vec<_> = farloop_cc::paths::choosers().collect();
        let names: Vec<&str> = choosers.iter().map(|info| info.name).collect();
        let name = if int { "single" } else { self.one_of(&names) };
        let _ = writeln!(text, "paths = \"{name}\"");
        for info in &choosers {
            let keys = if self.chance(0.2) { self.keys(&info.params, 0.4, &[]) } else { String::new() };
            if !keys.is_empty() {
                let _ = write!(text, "[transport.{}]\n{keys}", info.name);
            }
        }
        if self.chance(0.6) && !text.contains("\ntrim = ") {
            let limit = self.between(2, 200);
            let keys = match text.contains("\nqueue_limit = ") {
                true => "[switch]\ntrim = \"64B\"\n".to_string(),
                false => format!("[switch]\ntrim = \"64B\"\nqueue_limit = \"{limit}kB\"\n"),
            };
            text = text.replacen("[switch]\n", &keys, 1);
        }
        text
    }

    /// Clocks that are off, and another order of ties. Last, so that what is drawn before stays the same.
    fn phases(&mut self, text: &mut String) {
        if self.chance(0.3) {
            let ppm = self.one_of(&["100ppm", "20ppm", "0.5ppm"]);
            let order = self.one_of(&["ready", "cycle"]);
            let _ = writeln!(text, "[hosts]\nclock_offset = \"{ppm}\"\norder = \"{order}\"");
            if self.chance(0.5) {
                let law = self.one_of(&["fixed", "exponential", "pareto"]);
                let _ = writeln!(
                    text,
                    "stall = \"{}us\"\nstall_gap = \"20us\"\nstall_law = \"{law}\"",
                    self.between(1, 30)
                );
            }
        }
        if self.chance(0.4) {
            let keys = format!("[run]\njitter = {}\n", self.between(1, 4));
            *text = text.replacen("[run]\n", &keys, 1);
        }
    }
}

/// Takes away keys that do not go together with others: the refusal names their lines.
pub fn repair(text: &mut String) {
    for _ in 0..REPAIRS {
        let Err(diagnostic) = parse(text, "random.toml", &[]).and_then(|s| s.build()) else { return };
        let mut lines: Vec<&str> = text.lines().collect();
        let at = diagnostic.line as usize - 1;
        // Of links that are not there, or not as they should be, nothing is left to repair.
        if diagnostic.key.starts_with("event") && at < lines.len() {
            let begin = (0..=at).rev().find(|i| lines[*i] == "[[event]]").unwrap_or(at);
            let end = (begin + 1..lines.len()).find(|i| lines[*i].starts_with('[')).unwrap_or(lines.len());
            lines.drain(begin..end);
            *text = lines.join("\n") + "\n";
            continue;
        }
        if !lines.get(at).is_some_and(|line| line.contains('=')) {
            return;
        }
        lines.remove(at);
        *text = lines.join("\n") + "\n";
    }
}
