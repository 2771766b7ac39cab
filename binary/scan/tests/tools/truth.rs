//! How often loops run as scans say it, judged by callgrind on a few quick programs. The table of
//! any others: `cargo run -p fathomp-scan --release --example truth`.

#[path = "../truth/compare.rs"]
mod compare;
#[path = "../truth/estimate.rs"]
mod estimate;

use compare::{Judged, judge};
use fathomp_requirements::{VALGRIND, with_tools};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        with_tools(
            "truth::loops_run_as_often_as_is_said",
            &[VALGRIND],
            loops_run_as_often_as_is_said,
        ),
        with_tools(
            "truth::what_a_triangle_does_is_said",
            &[VALGRIND],
            what_a_triangle_does_is_said,
        ),
    ]
}

/// A kernel of the workloads as a program.
fn kernel(directory: &Path, name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads");
    let sources = |folder: &str| -> Vec<PathBuf> {
        let files = std::fs::read_dir(root.join(folder)).unwrap();
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|path| path.extension().is_some_and(|e| e == "c"))
            .collect()
    };
    let program = directory.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-O3", "-g", "-fopenmp", "-w", "-I"])
        .arg(root.join("common"))
        .arg("-I")
        .arg(root.join("polybench/common"))
        .arg(root.join(format!("polybench/{name}.c")))
        .args(sources("common"))
        .args(sources("polybench/common"))
        .arg("-lm")
        .arg("-o")
        .arg(&program);
    assert!(gcc.status().unwrap().success(), "{name}");
    program.to_string_lossy().into_owned()
}

/// What is seen if the test fails.
fn tell(name: &str, region: &Judged) {
    let Judged {
        symbol,
        address,
        times,
        own,
        ..
    } = region;
    let work = region.work();
    println!("{name} {symbol} at {address:#x}, {times} times: said, counted {work:?}, own {own:?}");
    for looped in region.loops.iter().filter(|looped| !looped.right()) {
        println!(
            "    {:#x}: {:?} {}",
            looped.header, looped.said, looped.reason
        );
    }
}

fn loops_run_as_often_as_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let (mut right, mut all) = (0, 0);
    for name in ["gemm", "jacobi-2d", "2mm", "atax", "gemver", "heat-3d"] {
        let program = kernel(directory.path(), name);
        let words = [&program, "--size", "mini", "--repeat", "1"].map(str::to_owned);
        for region in judge(&words) {
            all += 1;
            right += u32::from(region.right());
            tell(name, &region);
        }
    }
    assert!(all >= 12, "{all}");
    assert!(right * 100 >= all * 85, "{right} of {all}");
}

/// Work that shrinks from one iteration to the next.
fn what_a_triangle_does_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let program = kernel(directory.path(), "lu");
    let words = [&program, "--size", "mini", "--repeat", "1"].map(str::to_owned);
    let judged = judge(&words);
    let region = judged
        .iter()
        .find(|r| r.symbol.contains("kernel_lu"))
        .unwrap();
    let (said, counted) = region.work();
    assert!((said - counted).abs() < 0.1 * counted, "{said} {counted}");
    assert!(region.right_share() > 0.9, "{}", region.right_share());
}
