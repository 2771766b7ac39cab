//! How often loops run as scans say it, beside what callgrind counts:
//! `truth [--loops] PROGRAM [ARGUMENTS] [-- PROGRAM [ARGUMENTS]]...`. Needs valgrind and gcc.

use compare::{Judged, judge};

#[path = "../tests/truth/compare.rs"]
mod compare;
#[path = "../tests/truth/estimate.rs"]
mod estimate;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let loops = arguments.first().is_some_and(|first| first == "--loops");
    if loops {
        arguments.remove(0);
    }
    println!(
        "{:<52} {:>6} {:>12} {:>7} {:>7} {:>8}",
        "region", "times", "counted", "said", "right", "own said"
    );
    let mut all = vec![];
    for program in arguments
        .split(|argument| argument == "--")
        .filter(|p| !p.is_empty())
    {
        let judged = judge(program);
        let sum: f64 = judged.iter().map(|region| region.work().1).sum();
        for region in &judged {
            show(&program[0], region, loops);
        }
        all.extend(judged.into_iter().map(|region| {
            let share = region.work().1 / sum;
            (region, share)
        }));
    }
    for (title, least) in [("all regions", 0.0), ("regions with 1 % of the work", 0.01)] {
        let chosen: Vec<&Judged> = all
            .iter()
            .filter(|(_, share)| *share >= least)
            .map(|(region, _)| region)
            .collect();
        let right = chosen.iter().filter(|region| region.right()).count();
        println!(
            "{title}: work within 10 % for {right} of {} ({:.0} %)",
            chosen.len(),
            100.0 * right as f64 / chosen.len().max(1) as f64
        );
    }
}

fn show(program: &str, region: &Judged, loops: bool) {
    let (said, counted) = region.work();
    let name = program.rsplit('/').next().unwrap_or_default();
    println!(
        "{:<52} {:>6} {counted:>12.4e} {:>6.1}% {:>6.1}% {:>7.1}%{}",
        format!("{name} {} {:#x}", region.symbol, region.address),
        region.times,
        100.0 * said / counted,
        100.0 * region.right_share(),
        100.0 * region.own.0 / region.own.1,
        if region.right() { "" } else { "  <-" }
    );
    if loops {
        for looped in &region.loops {
            println!(
                "    {:#x} {} instructions, counted {}, said {} {}",
                looped.header,
                looped.instructions,
                looped.counted,
                looped
                    .said
                    .map_or("nothing".to_owned(), |said| said.to_string()),
                looped.reason
            );
        }
    }
}
