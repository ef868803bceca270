//! How long a scenario takes until its simulation could begin, step by step, and how long nobody asked whether to go on:
//! `cargo run --release --example setup -- FILE`.

use farloop_cc::Catalog;
use farloop_net::Simulation;
use farloop_scenario::RunError;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The time since it was asked last, and the longest such time.
struct Asked {
    last: Instant,
    longest: Duration,
}

impl Asked {
    fn go_on(&mut self) -> bool {
        self.longest = self.longest.max(self.last.elapsed());
        self.last = Instant::now();
        true
    }
}

/// Runs `step`, prints what it took.
fn timed<T>(name: &str, step: impl FnOnce(&mut dyn FnMut() -> bool) -> T) -> T {
    let begin = Instant::now();
    let mut asked = Asked { last: begin, longest: Duration::ZERO };
    let result = step(&mut || asked.go_on());
    asked.go_on();
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    println!("{name:>10}: {:8.1} ms, at most {:.1} ms unasked", ms(begin.elapsed()), ms(asked.longest));
    result
}

fn set_up(file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let shown = |error: RunError| match error {
        RunError::Scenario(diagnostic) => diagnostic.to_string(),
        RunError::Trace(error) => error.to_string(),
        RunError::Cancelled => "cancelled".to_string(),
    };
    let text = farloop_scenario::read(Path::new(file))?;
    let scenario = timed("parse", |go_on| farloop_scenario::parse_while(&text, file, &[], &Catalog::builtin(), go_on))
        .map_err(shown)?;
    let built = timed("build", |go_on| scenario.build_while(go_on)).map_err(shown)?;
    println!("{} nodes, {} links, {} flows", built.spec.nodes.len(), built.spec.links.len(), built.spec.flows.len());
    timed("network", |go_on| Simulation::build(built.spec, farloop_net::Cores::ONE, go_on))?;
    Ok(())
}

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("usage: setup FILE");
        return ExitCode::from(2);
    };
    match set_up(&file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
