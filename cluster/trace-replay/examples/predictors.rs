//! What each predictor of the protocols gains: recorded programs are replayed with all of them,
//! and with all but one.
//!
//!     fathomp record --nodes 4 --accesses -o cg -- ./cg.S
//!     cargo run --release -p fathomp-trace-replay --example predictors RECORDING...
//!
//! For each predictor, over Ethernet and over a faster wire, it prints by how many percent each
//! program takes longer without it, and how many more messages and bytes it takes: the programs
//! that need it most first, those that do better without it last.

use fathomp_access_trace::{Accesses, of_recording, read};
use fathomp_protocols::heuristics::{Predictor, PredictorSet};
use fathomp_trace::dsm::DsmCount;
use fathomp_trace_replay::{Costs, Homes, Prices, Setting, Sharing, replay};
use fathomp_transport::Net;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Programs that are named at each end of a row.
const NAMED_MAX: usize = 5;

/// A wire: latency in microseconds, bandwidth in MB/s, and prices of nodes on it.
const WIRES: [(&str, f64, f64, Prices); 2] = [
    (
        "62.5 us, 103 MB/s",
        62.5,
        103.4,
        Prices {
            local_write_us: 20.9,
            remote_write_us: 40.5,
            fetch_us: 295.3,
            diff_to_home_us: 120.0,
            ours: true,
            barrier_us: Some(270.0),
            fetch_at_work_us: None,
        },
    ),
    (
        "3 us, 1221 MB/s",
        3.0,
        1221.0,
        Prices {
            local_write_us: 5.0,
            remote_write_us: 6.0,
            fetch_us: 30.0,
            diff_to_home_us: 20.0,
            ours: true,
            barrier_us: Some(20.0),
            fetch_at_work_us: None,
        },
    ),
];

/// Time in seconds, messages, and bytes.
fn run(accesses: &Accesses, setting: &Setting) -> Result<[f64; 3], Box<dyn Error>> {
    let outcome = replay(accesses, setting)?;
    let all = outcome.all();
    Ok([
        outcome.time_ns as f64 * 1e-9,
        all.messages as f64,
        all.counts[DsmCount::BytesSent] as f64,
    ])
}

fn row(what: &str, mut changes: Vec<(f64, &str)>) {
    changes.sort_by(|one, other| other.0.total_cmp(&one.0));
    let named = |(change, program): &(f64, &str)| format!("{program} {change:+.1} %");
    let ends = NAMED_MAX.min(changes.len());
    let most: Vec<_> = changes[..ends].iter().map(named).collect();
    let least: Vec<_> = changes[changes.len() - ends..].iter().map(named).collect();
    println!("  {what}: {} .. {}", most.join(", "), least.join(", "));
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut programs = Vec::new();
    for path in std::env::args().skip(1) {
        let path = Path::new(&path);
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        programs.push((name, read(BufReader::new(File::open(of_recording(path))?))?));
    }
    for (wire, latency_us, mb_per_s, prices) in WIRES {
        let net = Net::new(latency_us, mb_per_s)?;
        let setting = |accesses: &Accesses, left_out| -> Result<Setting, Box<dyn Error>> {
            Ok(Setting {
                nodes: u16::try_from(accesses.threads.len())?,
                sharing: Sharing::Home { plain: false },
                homes: Homes::Recorded,
                net,
                costs: Costs::from_prices(&prices, &net),
                left_out,
            })
        };
        let mut with_all = Vec::new();
        for (_, accesses) in &programs {
            with_all.push(run(accesses, &setting(accesses, PredictorSet::default())?)?);
        }
        for predictor in Predictor::ALL {
            println!("{wire}, without {predictor:?}:");
            let mut without = Vec::new();
            for (_, accesses) in &programs {
                let left_out = std::iter::once(predictor).collect();
                without.push(run(accesses, &setting(accesses, left_out)?)?);
            }
            for (at, what) in ["time", "messages", "bytes"].into_iter().enumerate() {
                let change =
                    |program: usize| (without[program][at] / with_all[program][at] - 1.0) * 100.0;
                let names = programs.iter().enumerate();
                let changes = names.map(|(program, (name, _))| (change(program), name.as_str()));
                row(
                    what,
                    changes.filter(|(change, _)| change.is_finite()).collect(),
                );
            }
        }
    }
    Ok(())
}
