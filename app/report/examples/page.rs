//! Writes pages from synthetic facts into a directory, to look at:
//! `cargo run -p fathomp-report --example page -- /tmp/pages`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Analysis, SiteKind, State};
use fathomp_bench::synthetic as bench;
use fathomp_diagnosis::{Diagnosis, Soundness};
use fathomp_report::Input;
use std::error::Error;
use std::path::PathBuf;

/// Records, analysed: a program that never ran, from its records on.
fn played(threads: u32) -> Analysis {
    let mut script = Script::new(threads).with_counters();
    for address in [0x1000, 0x2000, 0x3000] {
        script.site(SiteKind::Parallel, address);
    }
    let p = u64::from(threads);
    for step in 0..400 {
        script.serial(40_000 + step * 10);
        let even = |_| Work::compute(1_000_000 / p).dynamic(4096, 64);
        let ramp = |thread: u64| Work::compute(600_000 / p * (2 * thread + 1) / p);
        let locked = |_| Work::compute(200_000 / p).and(State::Critical, 4_000 * (p - 1));
        script.region(0x1000, &(0..p).map(even).collect::<Vec<_>>());
        script.region(0x2000, &(0..p).map(ramp).collect::<Vec<_>>());
        script.region(0x3000, &(0..p).map(locked).collect::<Vec<_>>());
    }
    fathomp_analysis::analyse(&script.build(), &fathomp_analysis::Options::default())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let runs = [1, 2, 4, 8].map(synthetic::with_lines);
    let (sources, machine) = (synthetic::sources(), synthetic::machine());
    let prediction = synthetic::prediction(8);
    let many = [synthetic::analysis(128)];
    let one = [synthetic::analysis(2)];
    let whole = [1, 2, 4, 8].map(played);
    let outlook =
        fathomp_predict::predict(&whole.each_ref(), &fathomp_predict::Options::default())?;
    let pages = [
        (
            "whole.html",
            Input {
                analyses: &whole,
                prediction: Some(&outlook),
                notes: &[],
                ..Input::default()
            },
        ),
        (
            "study.html",
            Input {
                analyses: &runs,
                prediction: Some(&prediction),
                machine: Some(&machine),
                sources: Some(&sources),
                ..Input::default()
            },
        ),
        (
            "many-threads.html",
            Input {
                nodes: None,
                sharing: None,
                analyses: &many,
                ..Input::default()
            },
        ),
        (
            "one-recording.html",
            Input {
                nodes: None,
                sharing: None,
                analyses: &one,
                ..Input::default()
            },
        ),
        (
            "prediction.html",
            Input {
                nodes: None,
                sharing: None,
                prediction: Some(&prediction),
                ..Input::default()
            },
        ),
        ("empty.html", Input::default()),
    ];
    for (name, input) in pages {
        std::fs::write(
            directory.join(name),
            fathomp_report::page(&input, &input.conclude(Soundness::of(input.analyses)))?,
        )?;
    }
    let documents = [bench::epcc(), bench::mcbench(), bench::access()];
    let summary = fathomp_bench::summary::summarise(&documents, None);
    std::fs::write(
        directory.join("bench.html"),
        fathomp_report::bench_page(&summary, &[])?,
    )?;
    for analysis in [&runs[2], &many[0]] {
        let options = fathomp_report::text::RegionOptions {
            width: 100,
            threads: true,
        };
        println!("{}", fathomp_report::text::regions(analysis, options));
    }
    println!(
        "{}",
        fathomp_report::text::prediction(&prediction, &Diagnosis::default(), 80)
    );
    println!(
        "{}",
        fathomp_report::text::prediction(&outlook, &Diagnosis::default(), 100)
    );
    Ok(())
}
