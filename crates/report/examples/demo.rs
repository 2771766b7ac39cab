//! Writes pages from synthetic facts into a directory, to look at:
//! `cargo run -p fathomp-report --example demo -- /tmp/pages`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use fathomp_report::Input;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let runs = [1, 2, 4, 8].map(synthetic::analysis);
    let prediction = synthetic::prediction(8);
    let many = [synthetic::analysis(128)];
    let one = [synthetic::analysis(2)];
    let pages = [
        (
            "study.html",
            Input {
                analyses: &runs,
                prediction: Some(&prediction),
                notes: &[],
            },
        ),
        (
            "many-threads.html",
            Input {
                analyses: &many,
                ..Input::default()
            },
        ),
        (
            "one-recording.html",
            Input {
                analyses: &one,
                ..Input::default()
            },
        ),
        (
            "prediction.html",
            Input {
                prediction: Some(&prediction),
                ..Input::default()
            },
        ),
        ("empty.html", Input::default()),
    ];
    for (name, input) in pages {
        std::fs::write(directory.join(name), fathomp_report::page(&input)?)?;
    }
    for analysis in [&runs[2], &many[0]] {
        let options = fathomp_report::text::RegionOptions {
            width: 100,
            threads: true,
        };
        println!("{}", fathomp_report::text::regions(analysis, options));
    }
    println!("{}", fathomp_report::text::prediction(&prediction, 80));
    Ok(())
}
