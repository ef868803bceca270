//! The catalog's registration: accepted and refused algorithms, and plug-ins that behave as built-in algorithms do.

use super::*;
use crate::testing::plugins::{Aimd, MadeAtRunTime};
use crate::testing::{Bench, any_signals, flow, torture, torture_without_on_send};
use farloop_test_support::cases;
use farloop_units::Words;
use proptest::prelude::*;

/// The built-in algorithms and two from elsewhere.
fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.register::<Aimd>().expect("sound");
    catalog.register_dyn(Box::new(MadeAtRunTime::new("sample-made", "window"))).expect("sound");
    catalog
}

#[test]
fn what_hosts_set_is_known_and_says_something() {
    let catalog = catalog();
    for entry in catalog.entries.iter() {
        for host in &entry.hosts {
            assert!(!catalog.host_settings(&entry.info.name, &host.name).is_empty());
            for (key, value) in &host.settings {
                let mut params = entry.params.clone();
                params.set(key, value).expect("checked at registration");
                assert_ne!(params, entry.params, "{}.{key} on {} says nothing", entry.info.name, host.name);
            }
        }
    }
    assert!(catalog.host_settings("timely", "linux-6").is_empty());
    let policer = || ("lt_bw".to_string(), Value::Bool(true));
    assert_eq!(catalog.host_settings("bbr", "linux-6"), [policer()]);
    let before = ("ack_aggregation".to_string(), Value::Bool(false));
    assert_eq!(catalog.host_settings("bbr", "linux-4.9"), [before, policer()]);
    assert_eq!(catalog.host_settings("sample-aimd", "linux-6"), [("least".to_string(), Value::Text("3kB".into()))]);
}

#[test]
fn what_is_registered_is_found_by_name() {
    let catalog = catalog();
    let names: Vec<&str> = catalog.names().skip(all().count()).collect();
    assert_eq!(names, ["sample-aimd", "sample-aimd-watched", "sample-made"]);
    let base = catalog.info("sample-aimd").expect("registered");
    assert_eq!((base.preset_of.as_deref(), base.needs), (None, Aimd::NEEDS));
    assert_eq!(base.params[1].range, "0.0 to 1.0");
    let preset = catalog.info("sample-aimd-watched").expect("registered");
    assert_eq!(preset.preset_of.as_deref(), Some("sample-aimd"));
    assert_eq!(preset.params[1].default, Some(Value::Float(0.8)));
    assert!(preset.needs.port_agent, "needs follow the preset's parameters");
    let made = catalog.info("sample-made").expect("registered");
    assert_eq!((&*made.params[0].name, &made.params[0].default), ("window", &Some(Value::Text("10kB".into()))));
    // Catalogs are values: others know nothing of it.
    assert!(Catalog::builtin().lookup("sample-aimd").is_none() && lookup("sample-made").is_none());
}

#[test]
fn what_is_set_in_a_clone_stays_there() {
    let catalog = catalog();
    for (name, key, value) in
        [("sample-aimd", "decrease", Value::Float(0.25)), ("sample-made", "window", Value::Text("7kB".into()))]
    {
        let before = catalog.lookup(name).expect("registered");
        let mut after = before.clone();
        assert_eq!(after, before);
        assert_eq!(after.set(key, &value), Ok(()));
        assert_ne!(after, before);
        assert_eq!(after.get(key), Some(Some(value)));
        assert_eq!(Some(before), catalog.lookup(name));
        assert_eq!(after.set("nonsense", &Value::Int(1)), Err(ParamError::UnknownName));
        assert_eq!(after.get("nonsense"), None);
    }
    // The same values under another name are another algorithm.
    let other = AnyParams::Dyn(Box::new(MadeAtRunTime::new("other", "window")));
    assert_ne!(catalog.lookup("sample-made"), Some(other));
}

#[test]
fn dispatch_reaches_every_half_of_a_plug_in() {
    let params = catalog().lookup("sample-aimd-watched").expect("registered");
    let mut sender = params.sender(&flow(false));
    assert!(matches!(sender, crate::AnySender::Dyn(_)));
    let before = sender.control().cwnd;
    let (mut random, mut effects) = (farloop_engine::RandomStream::new(1, "test", 0), Vec::new());
    let mut ctx = Ctx::new(farloop_units::Time::ZERO, &mut random, &mut effects);
    sender.on_signal(&mut ctx, &Signal::Quantized { feedback: 63 });
    assert_eq!(sender.control().cwnd, Bytes::from_f64(before.as_f64() * 0.8));
    let data = Data { seq: Bytes::ZERO, payload: Bytes::new(1460), ecn_marked: true, int: &[], fields: &[] };
    assert!(params.receiver(&flow(false)).on_data(&mut ctx, &data).ecn_echo);
    let info =
        PortInfo { rate: Rate::from_gbps(1), buffer: Bytes::new(1_000_000), ..crate::testing::port(Border::Inside) };
    let mut head = Head {
        flow: 0,
        wire: Bytes::new(1500),
        data: true,
        ecn_marked: false,
        fields: Fields::NONE,
        flow_queue: Bytes::ZERO,
    };
    let mut agent = params.port(&info).expect("watched");
    agent.on_enqueue(&mut ctx, &mut head, Bytes::new(50_001));
    assert_eq!(effects, [Effect::Emit(Signal::Quantized { feedback: 63 })]);
}

#[test]
fn taken_and_malformed_names_are_refused_and_leave_the_catalog_as_it_was() {
    let mut catalog = catalog();
    let before: Vec<AlgorithmInfo> = catalog.infos().cloned().collect();
    let taken = |name: &str| Err(RegisterError::NameTaken { name: name.to_string() });
    let made = |name: &str| Box::new(MadeAtRunTime::new(name, "window"));
    let preset = |name: &str| Variant { name: name.into(), summary: "x".into(), ..Variant::default() };
    assert_eq!(catalog.register::<Aimd>(), taken("sample-aimd"));
    assert_eq!(catalog.register::<crate::algorithms::reno::Reno>(), taken("reno"));
    assert_eq!(catalog.register_dyn(made("vegas-10")), taken("vegas-10"));
    let own = made("mine").map_description(|a| a.presets = vec![preset("mine")]);
    assert_eq!(catalog.register_dyn(Box::new(own)), taken("mine"));
    let others = made("mine").map_description(|a| a.presets = vec![preset("mine-2"), preset("dctcp")]);
    assert_eq!(catalog.register_dyn(Box::new(others)), taken("dctcp"));
    let long = "x".repeat(61);
    for name in ["", "Mine", "my_vegas", "-x", "x-", "x--y", "9x", "é", "a.b", "none", "name", "agents", &long] {
        let error = catalog.register_dyn(made(name)).expect_err(name);
        assert_eq!(error, RegisterError::BadName { name: name.to_string() });
        assert!(error.to_string().contains("hyphens"), "{error}");
    }
    assert_eq!(catalog.infos().cloned().collect::<Vec<_>>(), before);
    catalog.register_dyn(made("my-vegas-2")).expect("a good name");
}

#[test]
fn unsound_declarations_are_refused() {
    let made = || MadeAtRunTime::new("mine", "window");
    let set = |key: &str, value: &str| Variant {
        name: "mine-2".into(),
        summary: "x".into(),
        settings: vec![(key.into(), Value::Text(value.into()))],
        ..Variant::default()
    };
    let refused = |algorithm: MadeAtRunTime| {
        let mut catalog = Catalog::builtin();
        let error = catalog.register_dyn(Box::new(algorithm)).expect_err("unsound").to_string();
        assert!(catalog.lookup("mine").is_none());
        error
    };
    for (algorithm, wanted) in [
        (made().map_description(|a| a.source.clear()), "one line each"),
        (
            made().map_description(|a| a.presets = vec![set("windw", "1kB")]),
            "windw = \"1kB\": there is no such parameter",
        ),
        (made().map_description(|a| a.presets = vec![set("window", "7 apples")]), "\"mine-2\": window = \"7 apples\""),
        (made().map_description(|a| a.presets = vec![set("window", "9GB")]), "outside the accepted range, 1B to 1GB"),
        (made().map_description(|a| a.hosts = vec![set("window", "1kB")]), "linux-4.9, linux-6"),
        (
            made().map_description(|a| a.shipped = vec![("other".into(), Shipped::Linux)]),
            "expected its name or a preset's",
        ),
        (MadeAtRunTime::new("mine", "Window"), "parameter \"Window\""),
        (MadeAtRunTime::new("mine", ""), "parameter \"\""),
    ] {
        let error = refused(algorithm);
        assert!(error.contains(wanted), "{error}");
    }
}

/// Wrong in one way each.
#[derive(Clone, Debug)]
struct Wrong(MadeAtRunTime, &'static str);

impl DynAlgorithm for Wrong {
    fn describe(&self) -> About {
        self.0.describe()
    }
    fn specs(&self) -> Vec<ParamSpec> {
        let mut specs = self.0.specs();
        match self.1 {
            "twice" => specs.push(specs[0].clone()),
            "undocumented" => specs[0].doc.clear(),
            "no value" => specs[0].name = "other".into(),
            "kind" => specs[0].kind = Kind::Time,
            "choice" => specs[0].kind = Kind::Choice(Words::Owned(vec!["9kB".into(), "11kB".into()])),
            _ => {}
        }
        specs
    }
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError> {
        match self.1 {
            "refuses" => Err(ParamError::BadValue("never".into())),
            "moves" => self.0.set(name, &Value::Text("2kB".into())),
            _ => self.0.set(name, value),
        }
    }
    fn get(&self, name: &str) -> Option<Option<Value>> {
        if self.1 == "unset" { Some(None) } else { self.0.get(name) }
    }
    fn needs(&self) -> Needs {
        Needs::NONE
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        self.0.sender(flow)
    }
    fn port(&self, _: &PortInfo) -> Option<Box<dyn PortAgent>> {
        (self.1 == "agent").then(|| Box::new(NoPortAgent) as Box<dyn PortAgent>)
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

#[test]
fn parameters_that_cannot_be_used_are_refused() {
    for (way, wanted) in [
        ("twice", "declared twice"),
        ("undocumented", "no documentation"),
        ("no value", "\"other\": it is listed"),
        ("refuses", "its default \"10kB\" is refused: never"),
        ("moves", "changes it"),
        ("unset", "not optional"),
        ("kind", "\"10kB\" is not of its kind, Time"),
        ("choice", "\"10kB\" is not of its kind, Choice"),
        ("agent", "port_agent"),
    ] {
        let wrong = Wrong(MadeAtRunTime::new("mine", "window"), way);
        let error = Catalog::builtin().register_dyn(Box::new(wrong)).expect_err(way).to_string();
        assert!(error.contains(wanted), "{way}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]
    /// Whatever signals come in whatever order, windows and rates stay finite, positive and within bounds. An algorithm that does not want
    /// to see packets that leave does not act on them.
    #[test]
    fn every_algorithm_survives_any_signals(signals in any_signals(), cross in any::<bool>()) {
        let catalog = catalog();
        for info in catalog.infos() {
            let params = catalog.lookup(&info.name).expect("listed");
            let mut sender = params.sender(&flow(cross));
            let controls = torture(&mut sender, &flow(cross), &signals, &info.name);
            if sender.wants_on_send() {
                continue;
            }
            let mut other = params.sender(&flow(cross));
            let others = torture_without_on_send(&mut other, &flow(cross), &signals, &info.name);
            assert_eq!(controls, others, "{}: acts in on_send, but wants_on_send is false", info.name);
            // Counters of bytes reach their ends.
            let mut bench = Bench::new(sender);
            let before = bench.sender.control();
            for seq in 0..10_000 {
                let (seq, payload) = (Bytes::new(1460 * seq), Bytes::new(1460));
                let sent = Sent { seq, payload, in_flight: payload, retransmission: false };
                bench.call(|sender, ctx| sender.on_send(ctx, &sent));
                assert_eq!(bench.effects, [], "{}: on_send has effects, but wants_on_send is false", info.name);
            }
            assert_eq!(bench.sender.control(), before, "{}: acts in on_send, but wants_on_send is false", info.name);
        }
    }
}
