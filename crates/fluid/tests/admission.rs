//! Trials of algorithms, and the page that lists their outcome.

use crate::common::{algorithm, equal_star, flow};
use farloop_cc::{About, Ack, AnyParams, Catalog, Control, Ctx, DynAlgorithm, FlowInfo, Loss, Needs, Sender};
use farloop_fluid::admission::BOUND;
use farloop_fluid::{Admission, Error, Settings, Simulation, check_algorithm};
use farloop_network::spec::{TransportKind, TransportSpec};
use farloop_test_support::{assert_stored, replace_blocks};
use farloop_units::{Bytes, ParamError, ParamSpec, Rate, Value};

/// The algorithms by the way in which they get their ACKs, as docs/fluid.md lists them.
#[test]
fn stored_page_lists_how_algorithms_get_their_acks() {
    let catalog = Catalog::builtin();
    let mut rows = vec!["| algorithm | ACKs at a look | difference |".to_string(), "| --- | --- | ---: |".to_string()];
    for name in catalog.names() {
        let params = catalog.lookup(name).expect("known");
        let kind = if params.needs().delivery_rate { TransportKind::Tcp } else { TransportKind::Rdma };
        let trial = || Admission::over(&params, &TransportSpec::plain(kind));
        let tried = check_algorithm(&params).map_or(Admission::Refused, |()| trial());
        rows.push(match tried {
            Admission::Few(difference) => format!("| `{name}` | few | {:.1} % |", difference * 100.0),
            Admission::Single(difference) => {
                format!("| `{name}` | one for each packet | {:.0} % |", difference * 100.0)
            }
            Admission::Refused => format!("| `{name}` | refused | |"),
        });
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fluid.md");
    let page = std::fs::read_to_string(file).expect("the page");
    assert_stored(file, &replace_blocks(&page, &[("admission", rows.join("\n"))]));
}

/// A law of ACKs, not of bytes: it halves its window at each of so many ACKs. With none it sends nothing at all.
#[derive(Clone, Debug)]
struct CountsAcks {
    every: u64,
}

struct CountingSender {
    every: u64,
    count: u64,
    window: f64,
    mss: f64,
}

impl DynAlgorithm for CountsAcks {
    fn describe(&self) -> About {
        About { name: "counts-acks".to_string(), ..About::default() }
    }
    fn specs(&self) -> Vec<ParamSpec> {
        Vec::new()
    }
    fn set(&mut self, name: &str, _: &Value) -> Result<(), ParamError> {
        panic!("it has no parameter {name}")
    }
    fn get(&self, _: &str) -> Option<Option<Value>> {
        None
    }
    fn needs(&self) -> Needs {
        Needs::NONE
    }
    fn sender(&self, flow: &FlowInfo) -> Box<dyn Sender> {
        let mss = flow.mss.as_f64();
        Box::new(CountingSender { every: self.every, count: 0, window: 100.0 * mss, mss })
    }
    fn clone_box(&self) -> Box<dyn DynAlgorithm> {
        Box::new(self.clone())
    }
}

impl Sender for CountingSender {
    fn control(&self) -> Control {
        let pacing = if self.every == 0 { Rate::ZERO } else { Rate::MAX };
        Control { cwnd: Bytes::from_f64(self.window), pacing }
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, ack: &Ack<'_>) {
        self.count += 1;
        self.window += self.mss * ack.acked.as_f64() / self.window;
        if self.every > 0 && self.count.is_multiple_of(self.every) {
            self.window = (self.window / 2.0).max(self.mss);
        }
    }
    fn on_loss(&mut self, _: &mut Ctx<'_>, _: &Loss) {}
}

fn counting(every: u64) -> AnyParams {
    AnyParams::Dyn(Box::new(CountsAcks { every }))
}

/// A law of ACKs gets one for each packet, and the user a note.
#[test]
fn a_law_of_acks_gets_an_ack_for_each_packet() {
    assert!(matches!(Admission::of(&counting(60)), Admission::Single(difference) if difference > BOUND));
    assert!(matches!(Admission::of(&algorithm("swift")), Admission::Few(difference) if difference <= BOUND));
    let spec = equal_star(3, counting(60), vec![flow(0, 2, 3_000_000), flow(1, 2, 3_000_000)]);
    let simulation = Simulation::build(spec, Settings::default(), &mut || true).expect("admitted");
    let notes = simulation.notes();
    assert!(notes.iter().any(|note| note.starts_with("counts-acks gets an ACK for each packet")), "{notes:?}");
    let spec = equal_star(2, algorithm("swift"), vec![flow(0, 1, 30_000_000)]);
    assert_eq!(Simulation::build(spec, Settings::default(), &mut || true).expect("admitted").notes(), [""; 0]);
}

/// One whose flows do not end is refused, by the key of its name.
#[test]
fn an_algorithm_that_sends_nothing_is_refused() {
    assert_eq!(Admission::of(&counting(0)), Admission::Refused);
    match Simulation::build(equal_star(2, counting(0), vec![flow(0, 1, 1_000)]), Settings::default(), &mut || true) {
        Err(Error::Refused(refusal)) => assert_eq!(refusal.key, "algorithm.name", "{refusal}"),
        other => panic!("{:?}", other.err()),
    }
}
