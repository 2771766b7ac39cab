//! What is written for gnuplot, drawn by gnuplot.

use fathomp_bench::output::gnuplot;
use fathomp_bench::summary::summarise;
use fathomp_bench::synthetic;
use fathomp_requirements::{GNUPLOT, tests};
use std::fs;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    fathomp_requirements::run(Vec::from(tests![&[GNUPLOT] => every_figure_is_drawn]))
}

/// All of it, without a word.
fn every_figure_is_drawn() {
    let mut epcc = synthetic::epcc();
    epcc.columns[0].runtime = "it's\n`odd` {_^}".to_owned();
    let documents = [epcc, synthetic::mcbench(), synthetic::access()];
    let directory = tempfile::tempdir().unwrap();
    let files = gnuplot(&summarise(&documents, None));
    for file in &files {
        fs::write(directory.path().join(&file.name), &file.text).unwrap();
    }
    let drawn = Command::new("gnuplot")
        .arg("plots.gp")
        .current_dir(directory.path())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success() && words.is_empty(), "{words}");
    for file in files.iter().filter(|file| file.name.ends_with(".dat")) {
        let image = directory.path().join(file.name.replace(".dat", ".svg"));
        let image = fs::read_to_string(image).unwrap();
        assert!(image.contains("</svg>"), "{}", file.name);
    }
}
