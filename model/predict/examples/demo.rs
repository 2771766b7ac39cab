//! Predicts the made-up demo program from a few thread counts and compares
//! with what it really does: `cargo run -p fathomp-predict --example demo`.

use fathomp_analysis::testing::demo;
use fathomp_analysis::{Analysis, Options as AnalyseOptions, analyse};
use fathomp_predict::{Options, PredictError, predict};
use std::time::Instant;

fn main() -> Result<(), PredictError> {
    let facts = |threads| analyse(&demo(threads), &AnalyseOptions::default());
    for from in [&[1, 2][..], &[1, 2, 4], &[1, 2, 4, 8], &[2], &[8]] {
        let analyses: Vec<Analysis> = from.iter().map(|&threads| facts(threads)).collect();
        let inputs: Vec<&Analysis> = analyses.iter().collect();
        let options = Options {
            at: vec![4, 8, 16, 32],
            cores: Some(64),
            ..Options::default()
        };
        let begin = Instant::now();
        let prediction = predict(&inputs, &options)?;
        println!(
            "from {from:?} ({:.0} ms):",
            begin.elapsed().as_secs_f64() * 1e3
        );
        for point in &prediction.points {
            let truth = facts(point.threads).wall_ns as f64;
            println!(
                "  {:2} threads: {:5.1} ms ({:.1} to {:.1}), truth {:5.1} ms, {:+5.1} %",
                point.threads,
                point.time_ns / 1e6,
                point.low_ns / 1e6,
                point.high_ns / 1e6,
                truth / 1e6,
                100.0 * (point.time_ns / truth - 1.0)
            );
        }
    }
    Ok(())
}
