//! How much faster the gears of rates are than packets, in one run:
//! `cargo run --release -p farloop-scenario --example gears -- FILE [KEY=VALUE ...]`. Times are processor seconds of this thread from the
//! built network to its result, medians of three; what is over in less than a twentieth of a second is repeated until then. The bound is
//! that of `run.fluid_error`, with the run itself.

use farloop_cc::Catalog;
use farloop_fluid::{Model, Settings, estimate_error};
use farloop_net::Cores;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Seconds from which on one measurement is long enough.
const LONG: f64 = 0.05;

/// Measurements of each gear.
const MEASUREMENTS: usize = 3;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::from(2)
        }
    }
}

fn measure() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: gears FILE [KEY=VALUE ...]")?;
    let pairs = arguments.map(|argument| match argument.split_once('=') {
        Some((key, value)) => Ok((key.to_string(), value.to_string())),
        None => Err(format!("\"{argument}\" is not KEY=VALUE")),
    });
    let overrides = pairs.collect::<Result<Vec<_>, _>>()?;
    let text = farloop_scenario::read(Path::new(&file)).map_err(|error| error.to_string())?;
    let scenario = farloop_scenario::parse_while(&text, &file, &overrides, &Catalog::builtin(), &mut || true)
        .map_err(|_| format!("{file} is refused: farloop validate {file} says why"))?;
    let spec = || scenario.build_while(&mut || true).map(|built| built.spec).map_err(|_| format!("{file} is refused"));
    let packets = || farloop_net::Simulation::build(spec()?, Cores::ONE, &mut || true).map_err(|e| e.to_string());
    let rates = |model| {
        let settings = Settings { model, ..Settings::default() };
        farloop_fluid::Simulation::build(spec()?, settings, &mut || true).map_err(|error| error.to_string())
    };
    let (fluid, max_min) = (rates(Model::Fluid)?, rates(Model::MaxMin)?);
    let run = |rates: &farloop_fluid::Simulation| rates.run(&mut |_| true).map_err(|stopped| format!("{stopped:?}"));
    let looks = run(&fluid)?.totals.looks;
    let (mut hops, mut times) = (0, [const { Vec::new() }; 4]);
    for _ in 0..MEASUREMENTS {
        times[0].push(seconds(packets, |packets| {
            hops = packets.run(&mut |_| true).map_err(|_| "packets ended early".to_string())?.totals.packet_hops;
            Ok(())
        })?);
        times[1].push(seconds(|| Ok(&fluid), |fluid| run(fluid).map(drop))?);
        let bound = |fluid| {
            let bound = estimate_error(fluid, &run(fluid)?, &mut |_| true);
            bound.map(drop).map_err(|stopped| format!("{stopped:?}"))
        };
        times[2].push(seconds(|| Ok(&fluid), bound)?);
        times[3].push(seconds(|| Ok(&max_min), |rates| run(rates).map(drop))?);
    }
    let medians = times.map(|mut own| {
        own.sort_by(f64::total_cmp);
        own[MEASUREMENTS / 2]
    });
    println!("{file}: {hops} packet-hops, {looks} looks of {:.0} ns", medians[1] * 1e9 / looks as f64);
    for (gear, time) in ["packets", "fluid", "fluid with its bound", "max-min"].iter().zip(medians) {
        println!("{gear}: {time:.5} s, {:.1} times as fast as packets", medians[0] / time);
    }
    Ok(())
}

/// Seconds that a run takes, without those of what is built for it.
fn seconds<T>(
    build: impl Fn() -> Result<T, String>,
    mut run: impl FnMut(T) -> Result<(), String>,
) -> Result<f64, String> {
    let (mut spent, mut runs) = (0.0, 0);
    loop {
        let built = build()?;
        let begin = now();
        run(built)?;
        spent += now() - begin;
        runs += 1;
        if spent >= LONG {
            return Ok(spent / f64::from(runs));
        }
    }
}

/// Processor seconds of this thread; where the platform does not tell, seconds.
fn now() -> f64 {
    thread_local!(static BEGIN: Instant = Instant::now());
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = spent.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| BEGIN.with(|begin| begin.elapsed().as_secs_f64()), |ns| ns * 1e-9)
}
