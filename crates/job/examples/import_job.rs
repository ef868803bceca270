//! What `farloop import-job` prints as JSON, without Python: cargo run -p farloop-job --example import_job -- FILE...

use farloop_job::formats::{NO_OPTIONS, Options};
use farloop_job::import::{Request, choice, import, network};
use farloop_units::Rate;

fn main() {
    let request = Request {
        limit: farloop_job::memory::MemoryLimit::NONE,
        files: std::env::args().skip(1).collect(),
        format: None,
        options: Options { flops: Some(4e14), memory_bandwidth: Some(3.35e12), ..NO_OPTIONS },
        choice: choice("nccl", Rate::from_gbps(400), Rate::from_gbps(3600)).expect("known"),
        ranks_per: (u32::MAX, 8),
        network: Some(network("5us", "400Gbps", None, None, ("0ns", "0ns", "none")).expect("valid")),
        out: None,
        expanded: false,
    };
    match import(&request, &mut |_| unreachable!("nothing is written"), &mut |_, _, _| true) {
        Ok(summary) => println!("{summary:#}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
