//! What cargo cannot do for this workspace: `cargo xtask tidy`, `cargo xtask circles`,
//! `cargo xtask main-job`, `cargo xtask dist`, `cargo xtask site`, `cargo xtask pictures`,
//! `cargo xtask suites`.
#![forbid(unsafe_code)]

mod changes;
mod circles;
mod decisions;
mod dist;
mod examples;
mod main_job;
mod observers;
mod paths;
mod pictures;
mod site;
mod suites;
mod tidy;
mod walls;

use std::env;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => match tidy::complaints(workspace()) {
            Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
            Ok(complaints) => {
                for complaint in complaints {
                    eprintln!("{complaint}");
                }
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("cannot look at the tree: {error}");
                ExitCode::FAILURE
            }
        },
        ["circles", ref crates @ ..] if crates.len() < 2 => {
            let part = crates.first().copied().unwrap_or("");
            match circles::shown(workspace(), part) {
                Ok(text) => {
                    print!("{text}");
                    ExitCode::SUCCESS
                }
                Err(error) => {
                    eprintln!("cannot look at the tree: {error}");
                    ExitCode::FAILURE
                }
            }
        }
        ["main-job", command, ref more @ ..] => match main_job::cargo(workspace(), command, more) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("cannot run cargo: {error}");
                ExitCode::FAILURE
            }
        },
        ["dist", ref more @ ..] => match dist::run(workspace(), more) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["site"] => match site::run(workspace()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["pictures", ref names @ ..] => match pictures::run(workspace(), names) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        ["suites", ref more @ ..] => match suites::run(workspace(), more) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!(
                "usage: cargo xtask tidy           look for long files, missing module docs, dead links, \
                 dependencies through walls,\n                                 imports in circles, decisions that their index does not name\n       cargo xtask circles [CRATE]   show the circles that are left\n       cargo xtask main-job COMMAND [ARGUMENT]...   a command of cargo, such as test, on the crates of the main job without clusters and paging\n       cargo xtask dist [--try TREE...]   make packages, or try them in trees of Debian (names, or folders)\n       cargo xtask site   make the documentation's site (by mdbook)\n       cargo xtask pictures [NAME]...   make its pictures anew (by Chromium)\n       cargo xtask suites [--timeout SECONDS] [--nodes NUMBER] DIRECTORY...   run programs on their own OpenMP runtime and on ours"
            );
            ExitCode::FAILURE
        }
    }
}

fn workspace() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).unwrap_or(manifest)
}
