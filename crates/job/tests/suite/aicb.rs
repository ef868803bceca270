//! AICB/SimAI workloads: both headers, in and out, refusals, and what a rank does.

use farloop_job::Missing;
use farloop_job::collectives::{Algorithm, Choice, Location, expand};
use farloop_job::formats::{Format, NO_OPTIONS, Options, aicb, detect, read};
use farloop_job::ideal::{Network, run};
use farloop_job::validate::check;
use farloop_units::{Delta, Rate};

const NEW: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0\n\
    2\nfirst\t-1\t100\tALLREDUCE\t4000\t200\tALLREDUCE\t4000\t50\tNONE\t0\t100\nlast\t-1\t300\tNONE\t0\t400\tNONE\t0\t60\tALLREDUCE_DP_EP\t8000\t100\n";
const OLD: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 checkpoints: 0 checkpoint_initiates: 0\n\
    1\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t4096\t1\n";

const MICRO: &str = "MICRO\n2\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLREDUCE\t4000\t1\nmicro_test\t-1\t1\tNONE\t0\t1\tNONE\t0\t1\tALLGATHER\t8000\t1\n";

fn parse(text: &str) -> Result<aicb::Workload, String> {
    aicb::parse(&mut text.as_bytes(), "w.txt").map_err(|e| e.to_string())
}

#[test]
fn both_headers_come_back() {
    for text in [NEW, OLD, MICRO] {
        let first = parse(text).unwrap();
        let mut written = Vec::new();
        aicb::write(&first, &mut written).unwrap();
        assert_eq!(parse(&String::from_utf8(written).unwrap()).unwrap(), first);
    }
    assert_eq!(parse(OLD).unwrap().header.len(), 3);
    assert_eq!(parse(NEW).unwrap().layers[1].parts[2].1.bytes, 8000);
}

#[test]
fn a_rank_goes_forward_and_back() {
    let path = std::env::temp_dir().join(format!("farloop-aicb-{}.txt", std::process::id()));
    std::fs::write(&path, NEW).unwrap();
    let file = path.to_str().unwrap().to_string();
    assert_eq!(detect(&file).unwrap(), Format::Aicb);
    let job = read(std::slice::from_ref(&file), Format::Aicb, &NO_OPTIONS, &mut |_, _| true).unwrap();
    let other = read(&[file], Format::Aicb, &Options { ranks: Some(8), ..NO_OPTIONS }, &mut |_, _| true);
    std::fs::remove_file(&path).unwrap();
    assert!(other.unwrap_err().to_string().contains("all_gpus: 4, but 8 ranks are asked for"));
    assert_eq!(job.groups.iter().find(|g| g.name == "expert-data-1").unwrap().ranks[..], [1, 3]);
    let whole = expand(&job, Choice::Fixed(Algorithm::Ring), &|_| Location::default()).unwrap();
    check(&whole, &mut |_, _| true).unwrap();
    let network = Network::alpha_beta(Delta::from_ns(10), Rate::from_gbps(8));
    let outcome = run(&whole, &network, 1, false, &mut |_, _| true).unwrap();
    // A ring of two with 4,000 B at 1 B/ns: 2 x (10 + 1999). The collective of 8,000 B (8,018 ns) hides 650 ns of computing behind it and
    // goes on while the ring of the input gradient shares its interface.
    let ring = |bytes: u64| 2 * (10 + bytes / 2 - 1);
    let before = 100 + ring(4000) + 300 + 60;
    let least = before + ring(8000);
    let got = outcome.end.as_ps() / 1000;
    assert!((least..=least + ring(4000)).contains(&got), "{got} {least}");
}

#[test]
fn a_benchmark_does_its_collectives_one_after_the_other() {
    let path = std::env::temp_dir().join(format!("farloop-aicb-micro-{}.txt", std::process::id()));
    std::fs::write(&path, MICRO).unwrap();
    let file = [path.to_str().unwrap().to_string()];
    assert_eq!(detect(&file[0]).unwrap(), Format::Aicb);
    let of = |ranks| read(&file, Format::Aicb, &Options { ranks, ..NO_OPTIONS }, &mut |_, _| true);
    let (unsaid, job) = (of(None), of(Some(4)));
    std::fs::remove_file(&path).unwrap();
    let error = unsaid.unwrap_err();
    assert!(error.to_string().ends_with(":1: MICRO does not say the number of ranks"), "{error}");
    assert_eq!(error.missing, Some(Missing::Ranks));
    let job = job.unwrap();
    assert_eq!((job.ranks(), job.programs[3].operations()[1].place), (4, 4));
    let whole = expand(&job, Choice::Fixed(Algorithm::Ring), &|_| Location::default()).unwrap();
    check(&whole, &mut |_, _| true).unwrap();
    let network = Network::alpha_beta(Delta::from_ns(10), Rate::from_gbps(8));
    let end = run(&whole, &network, 1, false, &mut |_, _| true).unwrap().end;
    // Rings of four at 1 B/ns: six steps of 1,000 B, then three of 2,000 B.
    assert_eq!(end.as_ps() / 1000, 6 * (10 + 999) + 3 * (10 + 1999));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let layers = |line: &str| format!("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2\n1\n{line}\n");
    for (text, expected) in [
        (String::new(), "w.txt:1: is empty"),
        (
            "HYBRID_DLRM x\n".into(),
            "w.txt:1: \"HYBRID_DLRM\": expected \"HYBRID_TRANSFORMER_FWD_IN_BCKWD\" or \"MICRO\"",
        ),
        ("MICRO ep: 1\n".into(), "w.txt:1: \"ep:\" behind MICRO; expected nothing"),
        (
            "MICRO\n1\na -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n".into(),
            "w.txt:3: \"ALLREDUCE\": expected NONE, NONE and",
        ),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD zp: 1\n".into(), "w.txt:1: \"zp:\": unknown"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1 ep: 1\n".into(), "w.txt:1: \"ep:\": a second time"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: -1\n".into(), "w.txt:1: \"-1\" is negative"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 3\n".into(), "w.txt:1: checkpoints: 3: expected 0"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n".into(), "w.txt:1: the file ends before the number of layers"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 1\n2\n".into(), "w.txt:2: the file ends after 0 layers"),
        (layers("a -1 1 NONE 0 1 NONE 0 1 NONE 0"), "w.txt:3: 11 columns; expected 12"),
        (layers("a 3 1 NONE 0 1 NONE 0 1 NONE 0 1"), "w.txt:3: \"3\": a dependency"),
        (layers("a -1 -5 NONE 0 1 NONE 0 1 NONE 0 1"), "w.txt:3: \"-5\" is negative; expected nanoseconds"),
        (layers("a -1 1 ALLTOSOME 0 1 NONE 0 1 NONE 0 1"), "w.txt:3: \"ALLTOSOME\": expected NONE, ALLREDUCE"),
        (
            layers("a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\nb -1 1 NONE 0 1 NONE 0 1 NONE 0 1"),
            "w.txt:4: a layer beyond the 1",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert_eq!(error.lines().count(), 1);
    }
}
