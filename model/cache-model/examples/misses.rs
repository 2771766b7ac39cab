//! How well misses are predicted, against callgrind's simulated caches: a table of
//! workloads. Arguments: a size, compiler flags, then workloads; `-v` lists what is wrong.
//!
//!     cargo run --release -p fathomp-cache-model --example misses -- medium -O2 gemm mvt

#[path = "../tests/callgrind/compare.rs"]
mod compare;

use compare::{Shares, built, compare};
use fathomp_workloads::{Suite, catalogue};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().position(|word| word == "-v");
    if let Some(place) = verbose {
        arguments.remove(place);
    }
    let mut arguments = arguments.into_iter();
    let size = arguments.next().unwrap_or_else(|| "small".to_owned());
    let flags = arguments.next().unwrap_or_else(|| "-O2".to_owned());
    let mut names: Vec<String> = arguments.collect();
    if names.is_empty() {
        names = catalogue()
            .iter()
            .filter(|workload| workload.suite == Suite::Polybench)
            .map(|workload| workload.full_name())
            .collect();
    }
    let directory = tempfile::tempdir().expect("a directory");
    println!(
        "{:24} accesses   D1 right  weighted   LL right  weighted",
        ""
    );
    let mut all = Shares::default();
    for name in names {
        let (program, mut words) = built(&name, &["-g", &flags], directory.path());
        if let Some(place) = words.iter().position(|word| word == "--size") {
            words[place + 1].clone_from(&size);
        }
        let compared = compare(&program, &words);
        let mut shares = Shares::default();
        shares.add(&compared);
        all.add(&compared);
        row(&name, &shares);
        if verbose.is_some() {
            for one in &compared {
                for level in 0..2 {
                    if !one.right(level) {
                        println!(
                            "    {} {:#x} line {} {} {:?}: level {level} {:.4}, counted {:.4} \
                             ({:.0} executions)",
                            one.region,
                            one.at,
                            one.line,
                            one.name,
                            one.class,
                            one.predicted[level],
                            one.counted[level],
                            one.executed
                        );
                    }
                }
            }
        }
    }
    row("all", &all);
}

fn row(name: &str, shares: &Shares) {
    let percent = |share: f64| format!("{:8.1} %", share * 100.0);
    println!(
        "{name:24} {:8} {} {} {} {}",
        shares.accesses,
        percent(shares.unweighted(0)),
        percent(shares.weighted(0)),
        percent(shares.unweighted(1)),
        percent(shares.weighted(1))
    );
}
