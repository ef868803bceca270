use super::plan::STALL;
use super::*;
use crate::collectives::{Algorithm, Choice, expand};
use crate::ideal::{Level, Network, Outcome, run};
use crate::job::{Collective, Work};
use crate::survey::survey;
use crate::validate::check;
use farloop_units::{Delta, Rate};

fn expand_plan(plan: &Plan) -> Job {
    expand(&generate(plan, "plan").unwrap(), Choice::Fixed(Algorithm::Ring), &|_| {
        crate::collectives::Location::default()
    })
    .unwrap()
}

fn run_plan(plan: &Plan, network: &Network) -> Outcome {
    run(&expand_plan(plan), network, 1, false, &mut |_, _| true).unwrap()
}

fn free(latency_us: u64) -> Network {
    Network::alpha_beta(Delta::from_us(latency_us), Rate::MAX)
}

/// Many layers, so that logits are less than 0.5 % of a stage, and an optimizer that costs nothing.
fn pipeline(stages: u32, microbatches: u32) -> Plan {
    let model = Model::Llama3Medium;
    Plan { model, layers: 1024, pipeline: stages, microbatches, memory_bandwidth: 1e16, ..Plan::default() }
}

/// Seconds of a stage's forward pass.
fn forward_seconds(plan: &Plan) -> f64 {
    let shape = plan.shape();
    let layers = u64::from(shape.layers / plan.pipeline);
    (layers * shape.layer_operations(shape.sequence) * shape.sequence) as f64 / plan.flops
}

#[test]
fn the_bubble_of_1f1b_is_its_closed_form() {
    for (stages, microbatches) in [(2, 8), (4, 8), (4, 16), (8, 8)] {
        let plan = pipeline(stages, microbatches);
        let both = 3.0 * forward_seconds(&plan);
        let outcome = run_plan(&plan, &free(0));
        let (p, m) = (f64::from(stages), f64::from(microbatches));
        let got = outcome.end.as_secs_f64();
        assert!((got / ((m + p - 1.0) * both) - 1.0).abs() < 0.01, "{got}");
        // Of a stage that is not the last: the share of time in which it does not compute.
        let bubble = 1.0 - outcome.ranks[0].computing.as_secs_f64() / got;
        assert!((bubble - (p - 1.0) / (m + p - 1.0)).abs() < 0.01, "{bubble}");
    }
}

/// When a 1F1B pipeline ends whose messages take `latency`: each pass begins when the one before it on its stage and the one that it
/// needs are over, by going through all of them.
fn recurrence(stages: u32, microbatches: u32, forward: f64, latency: f64) -> f64 {
    let orders: Vec<Vec<Slot>> = (0..stages).map(|s| one_f_one_b(stages, s, microbatches)).collect();
    let mut ends: Vec<Vec<Option<f64>>> = orders.iter().map(|o| vec![None; o.len()]).collect();
    let at = |stage: u32, forward: bool, microbatch: u32| {
        orders[stage as usize].iter().position(|s| s.forward == forward && s.microbatch == microbatch).unwrap()
    };
    loop {
        let mut changed = false;
        for stage in 0..stages {
            for k in 0..orders[stage as usize].len() {
                let slot = orders[stage as usize][k];
                let needs = if slot.forward {
                    (stage > 0).then(|| (stage - 1, at(stage - 1, true, slot.microbatch)))
                } else {
                    (stage + 1 < stages).then(|| (stage + 1, at(stage + 1, false, slot.microbatch)))
                };
                let before = if k == 0 { Some(0.0) } else { ends[stage as usize][k - 1] };
                let needed = needs.map_or(Some(0.0), |(s, i)| ends[s as usize][i].map(|e| e + latency));
                if let (None, Some(a), Some(b)) = (ends[stage as usize][k], before, needed) {
                    ends[stage as usize][k] = Some(f64::max(a, b) + if slot.forward { forward } else { 2.0 * forward });
                    changed = true;
                }
            }
        }
        if !changed {
            return ends.iter().flatten().map(|e| e.unwrap()).fold(0.0, f64::max);
        }
    }
}

#[test]
fn latency_between_stages_costs_what_dependencies_say() {
    let plan = pipeline(4, 8);
    let f = forward_seconds(&plan);
    for latency in [0.01 * f, 0.3 * f, 2.0 * f] {
        let network = free((latency * 1e6) as u64);
        let got = run_plan(&plan, &network).end.as_secs_f64();
        let expected = recurrence(4, 8, f, latency);
        assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
    }
    // As many microbatches as stages: each crosses all borders there and back once behind the others.
    let plan = pipeline(4, 4);
    let (f, latency) = (forward_seconds(&plan), 0.05);
    let got = run_plan(&plan, &free(50_000)).end.as_secs_f64();
    let expected = (4.0 + 4.0 - 1.0) * 3.0 * f + 2.0 * 3.0 * latency;
    assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
}

#[test]
fn interleaving_makes_the_bubble_smaller() {
    let plain = pipeline(4, 8);
    let both = 3.0 * forward_seconds(&plain);
    for parts in [2, 4] {
        let plan = Plan { interleave: parts, ..plain.clone() };
        let got = run_plan(&plan, &free(0)).end.as_secs_f64();
        // (p - 1) / v passes of a stage in place of p - 1 (Narayanan et al., SC 2021, section 2.2.2).
        let expected = (8.0 + 3.0 / f64::from(parts)) * both;
        assert!((got / expected - 1.0).abs() < 0.01, "{got} {expected}");
    }
}

fn diloco(fragments: u32, delay_steps: u32, outer_bits: u64) -> Plan {
    Plan {
        model: Model::Llama3Small,
        data: 8,
        replicas: 2,
        outermost: Outermost::Data,
        inner_steps: 4,
        fragments,
        delay_steps,
        outer_bits,
        microbatches: 1,
        overlap: false,
        memory_bandwidth: 1e16,
        ..Plan::default()
    }
}

/// Gbps of a rank inside of a site and between the two.
const RATES: (u64, u64) = (400, 20);

fn two_sites() -> Network {
    Network {
        inside: Level::new(Delta::from_us(5), Rate::from_gbps(RATES.0)),
        between: Level::new(Delta::from_ms(10), Rate::from_gbps(RATES.1)),
        ranks_per_site: 4,
        ..Network::alpha_beta(Delta::ZERO, Rate::MAX)
    }
}

#[test]
fn diloco_takes_its_closed_form() {
    let plan = diloco(1, 0, 32);
    let outcome = run_plan(&plan, &two_sites());
    let shape = plan.shape();
    let (bits, r, m) = (32.0 * shape.parameters() as f64, 8.0, 2.0);
    let operations = u64::from(shape.layers) * shape.layer_operations(shape.sequence) + shape.logit_operations();
    let compute = 3.0 * (operations * shape.sequence) as f64 / plan.flops;
    // Of each layer's ring, and of those before and behind the layers.
    let rings = f64::from(shape.layers) + 2.0;
    let inner = 2.0 * bits / (RATES.0 as f64 * 1e9) * (1.0 - m / r) + rings * 2.0 * (r / m - 1.0) * 5e-6;
    let outer = 2.0 * bits / (RATES.1 as f64 * 1e9) * (1.0 - 1.0 / r) + 2.0 * (r - 1.0) * 10e-3;
    let expected = 4.0 * (compute + inner) + outer;
    let got = outcome.end.as_secs_f64();
    assert!((got / expected - 1.0).abs() < 0.02, "{got} {expected}");
}

#[test]
fn streaming_hides_what_it_exchanges() {
    let of = |plan: &Plan| run_plan(plan, &two_sites()).end.as_secs_f64();
    let whole = of(&diloco(1, 0, 32));
    let streamed = of(&diloco(2, 1, 32));
    let few_bits = of(&diloco(2, 1, 4));
    assert!(streamed < whole && few_bits < streamed, "{whole} {streamed} {few_bits}");
}

#[test]
fn collectives_are_as_many_and_as_large_as_the_model_says() {
    let plan = Plan { tensor: 4, data: 2, microbatches: 3, ..Plan::default() };
    let job = generate(&plan, "plan").unwrap();
    let counted = survey(&job);
    let shape = plan.shape();
    // Four all-reduces of a layer and microbatch in each of two tensor groups; gradients of 32 layers and two ends in four groups.
    let tensor = 4 * u64::from(shape.layers) * 3 * 2;
    let gradients = (u64::from(shape.layers) + 2) * 4;
    let hidden = shape.sequence * shape.hidden * 2;
    let (kind, count, bytes) = counted.collectives[0];
    assert_eq!((kind, count), (Collective::AllReduce, tensor + gradients));
    assert_eq!(bytes, tensor * hidden * 4 + shape.parameters() / 4 * 4 * 8);
}

#[test]
fn every_split_comes_to_its_end() {
    let small = Plan { model: Model::Mixtral, layers: 4, microbatches: 4, tokens: 128, ..Plan::default() };
    for plan in [
        Plan { tensor: 2, pipeline: 2, data: 2, ..small.clone() },
        Plan { tensor: 2, pipeline: 2, data: 4, expert: 2, ..small.clone() },
        Plan { pipeline: 2, interleave: 2, data: 2, tensor: 2, ..small.clone() },
        Plan { data: 4, expert: 4, zero: Zero::Gradients, ..small.clone() },
        Plan { data: 4, expert: 2, zero: Zero::Parameters, overlap: false, ..small.clone() },
        Plan {
            data: 4,
            replicas: 2,
            expert: 2,
            inner_steps: 3,
            fragments: 2,
            delay_steps: 1,
            pipeline: 2,
            ..small.clone()
        },
        Plan { outermost: Outermost::Data, tensor: 2, pipeline: 2, data: 2, ..small.clone() },
    ] {
        let job = expand_plan(&plan);
        assert_eq!(job.ranks(), plan.ranks());
        check(&job, &mut |_, _| true).unwrap_or_else(|e| panic!("{plan:?}: {e}"));
        assert!((0..plan.ranks()).all(|r| plan.rank(plan.place_of(r)) == r));
    }
}

#[test]
fn overlap_hides_gradients() {
    let network = Network::alpha_beta(Delta::from_us(5), Rate::from_gbps(400));
    let plan = Plan { data: 4, microbatches: 2, memory_bandwidth: 1e16, ..Plan::default() };
    let hidden = run_plan(&plan, &network);
    let plain = run_plan(&Plan { overlap: false, ..plan.clone() }, &network);
    assert_eq!(hidden.ranks[0].computing, plain.ranks[0].computing);
    assert!(hidden.end < plain.end);
    // Without overlap all of the rings is exposed: 2 x 3/4 of 4 bytes for each parameter.
    let rings = 1.5 * 4.0 * plan.shape().parameters() as f64 / 50e9;
    let exposed = plain.ranks[0].exposed.as_secs_f64();
    assert!((exposed / rings - 1.0).abs() < 0.01, "{exposed} {rings}");
}

#[test]
fn stalls_repeat_and_have_their_mean() {
    let plan = Plan { data: 2000, layers: 1, stall: Stall::Exponential, stall_probability: 0.5, ..Plan::default() };
    let stalls = |seed| {
        let job = generate(&Plan { seed, ..plan.clone() }, "plan").unwrap();
        let of = |p: &std::sync::Arc<crate::Program>| {
            let stall = p.operations().iter().find(|o| o.phase == STALL);
            stall.map_or(0, |o| if let Work::Compute(d) = o.work { d.as_ps() } else { 0 })
        };
        job.programs.iter().map(of).collect::<Vec<u64>>()
    };
    let drawn = stalls(1);
    assert_eq!(drawn, stalls(1));
    assert_ne!(drawn, stalls(2));
    let mean = drawn.iter().sum::<u64>() as f64 / 2000.0 / 1e9;
    assert!((mean - 0.5).abs() < 0.06, "{mean} ms");
}

#[test]
fn what_does_not_fit_is_refused_with_its_key() {
    for (text, expected) in [
        ("model = \"llama4\"\n", "p.toml:1: model: \"llama4\" is not one of"),
        ("tensor = 8\nfoo = 1\n", "p.toml:2: foo: unknown; expected model, tensor"),
        ("tensor = 0\n", "p.toml:1: tensor: 0 is outside of 1 to 64"),
        ("\ntensor = \"8\"\n", "p.toml:2: tensor: \"8\" is a text; expected a whole number"),
        ("tensor = [8]\n", "p.toml:1: tensor: expected a text, a number"),
        ("tensor = \n", "p.toml:1: is no TOML"),
        ("pipeline = 5\n", "p.toml: layers: 32 are no multiple of pipeline 5"),
        ("interleave = 2\n", "p.toml: interleave: expected pipeline above 1"),
        ("data = 4\nexpert = 3\n", "p.toml: expert 3: expected a divisor of data (4)"),
        ("data = 4\nreplicas = 3\ninner_steps = 5\n", "p.toml: replicas 3: expected data (4) to be a multiple"),
        ("replicas = 1\nfragments = 2\n", "p.toml: replicas, fragments and delay_steps belong to DiLoCo"),
        ("stall_probability = 0.5\n", "p.toml: stall_probability: expected stall"),
    ] {
        let error = read(text, "p.toml").and_then(|p| generate(&p, "p.toml")).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert_eq!(error.lines().count(), 1);
    }
    let plan = read("model = \"llama3-70b\"\ntensor = 8\npipeline = 4\ndata = 32\n", "p.toml").unwrap();
    assert_eq!((plan.ranks(), plan.model), (1024, Model::Llama3Medium));
}
