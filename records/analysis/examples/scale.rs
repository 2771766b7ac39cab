//! Prints how long the analysis of a long recording takes:
//! `cargo run --release -p fathomp-analysis --example scale [REGIONS] [THREADS]`.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Options, analyse};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let regions = arguments.next().and_then(Result::ok).unwrap_or(250_000);
    let threads = arguments.next().and_then(Result::ok).unwrap_or(4) as u32;
    let mut script = Script::new(threads).with_counters();
    for step in 0..regions {
        let work: Vec<Work> = (0..u64::from(threads))
            .map(|thread| Work::compute(2_000 + 100 * ((step + thread) % 7)))
            .collect();
        script.serial(300).region(0x100 * (1 + step % 20), &work);
    }
    let recording = script.build();
    let begin = Instant::now();
    let analysis = analyse(&recording, &Options::default());
    let records = 2 * regions * u64::from(threads);
    println!(
        "{records} records in {:.2} s ({:.0} ns a record), {} regions, {} kB of JSON",
        begin.elapsed().as_secs_f64(),
        begin.elapsed().as_nanos() as f64 / records as f64,
        analysis.regions.len() - 1,
        serde_json::to_string(&analysis).map_or(0, |json| json.len() / 1000),
    );
}
