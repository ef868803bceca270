//! An algorithm whose timer is due at once, for ever: an error that names it, no run without an end.

use farloop_cc::{About, Ack, Catalog, Control, Ctx, DynAlgorithm, FlowInfo, Loss, Needs, Sender, TimerId};
use farloop_scenario::{Cores, RunError, Settings, parse_with};
use farloop_units::{Bytes, ParamError, ParamSpec, Rate, Value};

/// Two datacenters, so that the network can be cut in two.
const SCENARIO: &str = r#"
run.duration = "5ms"
network.topology = "dumbbell"
network.wan_delay = "1ms"
algorithm.name = "restless"
[[flow]]
name = "one"
from = "s2"
to = "r1"
start = "1ms"
"#;

/// Arms its timer for the same moment again, a packet in flight at a time.
#[derive(Clone, Debug)]
struct Restless;

impl DynAlgorithm for Restless {
    fn describe(&self) -> About {
        About {
            name: "restless".into(),
            summary: "never waits".into(),
            source: "none: a test".into(),
            ..About::default()
        }
    }
    fn specs(&self) -> Vec<ParamSpec> {
        Vec::new()
    }
    fn set(&mut self, _: &str, _: &Value) -> Result<(), ParamError> {
        Err(ParamError::UnknownName)
    }
    fn get(&self, _: &str) -> Option<Option<Value>> {
        None
    }
    fn needs(&self) -> Needs {
        Needs::NONE
    }
    fn sender(&self, _: &FlowInfo) -> Box<dyn Sender> {
        Box::new(Restless)
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

impl Sender for Restless {
    fn control(&self) -> Control {
        Control { cwnd: Bytes::new(1), pacing: Rate::MAX }
    }
    fn on_start(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.now();
        ctx.arm(TimerId(0), now);
    }
    fn on_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let now = ctx.now();
        ctx.arm(timer, now);
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &Ack<'_>) {}
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

#[test]
fn a_timer_that_is_always_due_is_an_error_however_the_network_is_cut() {
    let mut catalog = Catalog::builtin();
    catalog.register_dyn(Box::new(Restless)).expect("sound");
    for threads in [1, 2] {
        let scenario = parse_with(SCENARIO, "still.toml", &[], &catalog).unwrap_or_else(|d| panic!("{d}"));
        let settings = Settings { cores: Cores::with_threads(threads), trace: None };
        let Err(RunError::Scenario(message)) = scenario.run(&settings, &mut |_| true) else {
            panic!("it has an outcome")
        };
        let expected = "still.toml:1: algorithm: simulated time stands still: 10000000 events after each other at 1.000000 ms of the run: \
                        timers of the algorithm \"restless\" of the flow \"one\"; expected timers that are due later";
        assert!(message.to_string().starts_with(expected), "{threads}: {message}");
    }
}
