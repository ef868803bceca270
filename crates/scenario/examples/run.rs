//! Runs a scenario file without Python:
//! `cargo run --release -p farloop-scenario --example run -- FILE [--threads N|auto] [--parts N] [KEY=VALUE ...]`. With `--parts` the
//! network is cut into so many parts, whether or not that pays.

use farloop_net::result::Cause;
use farloop_scenario::{Cores, RunError, Settings, run_with};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: run FILE [--threads N|auto] [--parts N] [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let (mut overrides, mut settings) = (Vec::new(), Settings::default());
    let (mut cores, mut parts) = (Cores::ONE, None);
    while let Some(argument) = arguments.next() {
        if argument == "--threads" || argument == "--parts" {
            let given = arguments.next().unwrap_or_default();
            match (argument.as_str(), given.as_str(), given.parse().ok().filter(|n| *n > 0)) {
                ("--threads", "auto", _) => {
                    cores = Cores::auto(std::thread::available_parallelism().map_or(1, usize::from))
                }
                ("--threads", _, Some(threads)) => cores = Cores::with_threads(threads),
                (_, _, Some(_)) => parts = given.parse().ok(),
                _ => {
                    eprintln!("{argument}: expected a whole number from 1 on");
                    return ExitCode::from(2);
                }
            }
            continue;
        }
        let Some((key, value)) = argument.split_once('=') else {
            eprintln!("\"{argument}\" is not KEY=VALUE");
            return ExitCode::from(2);
        };
        overrides.push((key.to_string(), value.to_string()));
    }
    settings.cores = parts.map_or(cores, |parts| cores.cut_into(parts));
    let start = std::time::Instant::now();
    let outcome = farloop_scenario::read(Path::new(&file))
        .map_err(RunError::from)
        .and_then(|text| run_with(&text, &file, &overrides, &settings, &mut |_| true));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(RunError::Scenario(diagnostic)) => {
            eprintln!("{diagnostic}");
            return ExitCode::from(2);
        }
        Err(RunError::Trace(_) | RunError::Cancelled) => return ExitCode::FAILURE,
    };
    let wall = start.elapsed().as_secs_f64();
    let totals = outcome.totals;
    let mut text = if totals.looks > 0 {
        format!("{} looks, {:.1} ns/look\n", totals.looks, wall * 1e9 / totals.looks as f64)
    } else {
        format!(
            "{} packet-hops, {} events, {:.1} ns/hop, {} B/packet, {} drops\n",
            totals.packet_hops,
            totals.events,
            wall * 1e9 / totals.packet_hops as f64,
            totals.bytes_per_packet(),
            totals.drops[Cause::Buffer],
        )
    };
    text += &format!("parts: {}\n", outcome.parts);
    for invariant in &outcome.invariants {
        let verdict = if invariant.ok { "holds" } else { "VIOLATED" };
        text += &format!("{}: {verdict} ({})\n", invariant.name, invariant.detail);
    }
    for deadlock in &outcome.deadlocks {
        text += &format!("{deadlock}\n");
    }
    // A reader that has seen enough is no failure.
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}
