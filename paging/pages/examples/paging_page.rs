//! Writes pages from paging that never was into a directory, to look at:
//! `cargo run -p fathomp-paging-pages --example paging_page -- /tmp/pages`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use fathomp_diagnosis::Verdict;
use fathomp_paging_pages::{SkylineOptions, skyline};
use fathomp_report::Input;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&directory)?;
    let few = synthetic::whole(8);
    let many = synthetic::whole(1_024);
    for (name, paging) in [("paging.html", &few), ("paging-many-tasks.html", &many)] {
        let input = Input {
            sections: &[paging],
            ..Input::default()
        };
        let page = fathomp_report::page(&input, &Verdict::default())?;
        std::fs::write(directory.join(name), page)?;
    }
    let options = SkylineOptions {
        width: 100,
        ..SkylineOptions::default()
    };
    println!("{}", skyline(&few, &options));
    Ok(())
}
