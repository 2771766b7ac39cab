//! Lists the inline atomics and fences of a program, and where it waits:
//! `cargo run -p fathomp-rewriting --example sites -- PROGRAM`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let Some(program) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: sites PROGRAM");
        return ExitCode::FAILURE;
    };
    let start = Instant::now();
    let analysis = match fathomp_rewriting::analyse(&program, 0) {
        Ok(analysis) => analysis,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let time = start.elapsed();
    for site in &analysis.sites {
        println!("{:#x} {} bytes {:?}", site.address, site.length, site.kind);
    }
    for address in &analysis.doubtful {
        println!("{address:#x} doubtful");
    }
    for wait in &analysis.waits {
        let then = if wait.flushes { ", then flushes" } else { "" };
        println!("{:#x} waits{then}", wait.address);
    }
    println!(
        "{} found, {} doubtful among {} instructions in {time:.1?}",
        analysis.sites.len(),
        analysis.doubtful.len(),
        analysis.instructions
    );
    ExitCode::SUCCESS
}
