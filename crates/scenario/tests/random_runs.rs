//! Random scenarios, built and run: no panic, no overflow (tests check arithmetic and assertions), no broken invariant.
//!
//! What is drawn reaches the ends of what keys accept: rates from 1 kbps to 10 Tbps, MTUs from 64 B to 64 kB, sizes from a byte to a
//! petabyte. The end of each run is chosen so that its hosts can send a few thousand packets.

use farloop_cc::Catalog;
use farloop_net::Simulation;
use farloop_scenario::{network_alternatives, parse_with, topologies};
use farloop_test_support::cases;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::panic::resume_unwind;

const RATES: [u64; 8] =
    [1_000, 1_000_000, 50_000_000, 1_000_000_000, 12_500_000_000, 100_000_000_000, 400_000_000_000, 10_000_000_000_000];
const SIZES: [&str; 8] = ["1B", "1459B", "1461B", "64kB", "3MB", "10GB", "1000000GB", "none"];

/// A choice among some words.
fn any_of(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(words)
}

/// Two pairs of hosts.
type Pairs = [(&'static str, &'static str); 2];

/// `[network]` of the topologies' examples, with hosts: of those that have a rate and a delay for all links.
fn examples() -> Vec<(String, Pairs)> {
    let has_both = |word: &str| {
        let alternatives = network_alternatives();
        let specs = &alternatives.iter().find(|a| a.topology == word).expect("listed").specs;
        ["rate", "link_delay"].iter().all(|key| specs.iter().any(|spec| spec.name == *key))
    };
    let topologies = topologies();
    let drawn = topologies.iter().filter(|info| has_both(info.word));
    drawn.flat_map(|info| info.examples.iter().map(|e| (info.network(e), e.pairs))).collect()
}

prop_compose! {
    fn network()(
        example in prop::sample::select(examples()),
        rate in prop::sample::select(&RATES[..]),
        delay in any_of(&["0s", "1ns", "10us", "1ms", "30ms"]),
        pfc in any::<bool>(), ecmp in any_of(&["flow", "packet", "symmetric"]), ecn in any::<bool>(), int in any::<bool>(),
        queues in 0..4u32, buffer in any_of(&["300kB", "4MB", "1GB"]), kmin in any_of(&["1B", "30kB", "200kB"]),
    ) -> (u64, String, Pairs) {
        let switch = format!(
            "buffer = \"{buffer}\"\npfc = {pfc}\necmp = \"{ecmp}\"\necn = {ecn}\nint = {int}\nkmin = \"{kmin}\"\nkmax = \"200kB\"\nflow_queues = {queues}"
        );
        let (network, pairs) = example;
        (rate, format!("{network}rate = \"{rate}bps\"\nlink_delay = \"{delay}\"\n[switch]\n{switch}\n"), pairs)
    }
}

prop_compose! {
    fn transport()(
        mtu in prop::sample::select(vec![64u64, 200, 576, 1500, 9000, 60_000, 65_497]),
        tcp in any::<bool>(),
        recovery in any_of(&["newreno", "sack", "rack"]),
        handshake in any::<bool>(), delayed in any::<bool>(), persistent in any::<bool>(), offload in any::<bool>(),
        noise in any_of(&["0s", "17us", "1s"]), priority in any::<bool>(), window in any_of(&["100kB", "1GB"]),
        carriage in any_of(&["all", "three", "max_queue"]),
    ) -> (u64, String) {
        let mut text = format!("[transport]\nmtu = \"{mtu}B\"\ncontrol_priority = {priority}\nint_carriage = \"{carriage}\"\n");
        if tcp {
            let connections = if persistent { "persistent" } else { "per-flow" };
            let delayed = if delayed { "40ms" } else { "none" };
            text += &format!(
                "kind = \"tcp\"\nrecovery = \"{recovery}\"\nhandshake = {handshake}\ndelayed_ack = \"{delayed}\"\n\
                 connections = \"{connections}\"\nsegmentation_offload = {offload}\ndelay_noise_intra = \"{noise}\"\n\
                 receive_window = \"{window}\"\n"
            );
        }
        (mtu, text)
    }
}

prop_compose! {
    fn flows(end_ns: u64, pairs: Pairs)(list in prop::collection::vec(
        (0..3usize, 0..SIZES.len(), 0..100u64, any::<bool>(), 0..2u8, 1..4u32), 1..6,
    )) -> String {
        let pair = [pairs[0], pairs[0], pairs[1]];
        list.iter().map(|(p, size, at, stops, class, count)| {
            let start = end_ns / 100 * at;
            let stop = if *stops { format!("stop = \"{}ns\"\n", start + end_ns / 7 + 1) } else { String::new() };
            format!(
                "[[flow]]\nfrom = \"{}\"\nto = \"{}\"\nsize = \"{}\"\nstart = \"{start}ns\"\n{stop}class = {class}\ncount = {count}\n",
                pair[*p].0, pair[*p].1, SIZES[*size]
            )
        }).collect()
    }
}

/// All algorithms, and one of another crate.
fn catalog() -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.register::<farloop_cc::testing::plugins::Aimd>().expect("sound");
    catalog
}

fn scenario() -> impl Strategy<Value = String> {
    let names: Vec<String> = catalog().names().map(str::to_string).collect();
    (network(), transport(), prop::sample::select(names), any::<u32>(), 0..2u8)
        .prop_flat_map(|((rate, network, pairs), (mtu, transport), name, seed, long)| {
            // Four thousand packets of a host, up to five minutes.
            let end_ns = (4_000 * 8 * mtu).saturating_mul(1_000_000_000) / rate * if long == 0 { 1 } else { 3 };
            let end_ns = end_ns.clamp(1_000, 300_000_000_000);
            flows(end_ns, pairs).prop_map(move |flows| {
                format!("[run]\nduration = \"{end_ns}ns\"\nseed = {seed}\n{network}{transport}[algorithm]\nname = \"{name}\"\n{flows}")
            })
        })
}

/// Runs so many random scenarios; how many were accepted and how many refused.
fn run_random(count: u32) -> (u32, u32) {
    let (ran, refused) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(count) };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&scenario(), |text| {
        let Ok(built) = parse_with(&text, "random.toml", &[], &catalog()).and_then(|s| s.build()) else {
            refused.set(refused.get() + 1);
            return Ok(());
        };
        let simulation = Simulation::new(built.spec.clone()).expect("what the scenario accepts can be simulated");
        let result = simulation.run(&mut |_| true).expect("nobody stops it");
        prop_assert_eq!(result.violation(), None, "{}", text);
        farloop_scenario::tables::Names::from_built(&built).tables(&result);
        ran.set(ran.get() + 1);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
    (ran.get(), refused.get())
}

/// Each processor draws its share: alone this test would run for half a minute while the others wait.
#[test]
fn random_scenarios_run_soundly() {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let share = cases(150).div_ceil(threads);
    let shares: Vec<(u32, u32)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(move || run_random(share))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_else(|failure| resume_unwind(failure))).collect()
    });
    let (ran, refused): (u32, u32) = shares.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    // Many draws make no sense together, such as telemetry and spraying; enough do, also of the few of a quarter of the cases.
    assert!(ran > refused / 5, "{ran} ran, {refused} were refused");
}

/// Drawn once: HTCP over links without delay, whose packets take up to 42 us of noise. Its timers go by shorter round trips that came
/// before.
#[test]
fn a_timer_may_end_while_a_noisy_packet_is_on_its_link() {
    let text = "[run]\nduration = \"2048us\"\nseed = 2972453148\n[network]\ntopology = \"dumbbell\"\nintra_pairs = 2\n\
                cross_pairs = 2\nrate = \"1Gbps\"\nlink_delay = \"0s\"\n[switch]\nbuffer = \"300kB\"\npfc = false\necn = false\n\
                int = false\n[transport]\nmtu = \"64B\"\ncontrol_priority = true\nkind = \"tcp\"\nrecovery = \"rack\"\n\
                handshake = false\ndelayed_ack = \"none\"\nsegmentation_offload = false\ndelay_noise_intra = \"17us\"\n\
                receive_window = \"1GB\"\n[algorithm]\nname = \"htcp\"\n[[flow]]\nfrom = \"s1\"\nto = \"d1\"\nsize = \"1459B\"\n";
    let built = parse_with(text, "noisy.toml", &[], &catalog()).expect("valid").build().expect("valid");
    let result = Simulation::new(built.spec).expect("valid").run(&mut |_| true).expect("nobody stops it");
    assert_eq!(result.violation(), None);
    assert_eq!(result.totals.finished, 1);
}
