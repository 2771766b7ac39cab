//! Recordings nobody would make and a report still has to survive.

use super::analysis;
use fathomp_analysis::{Analysis, Counts, Efficiency, Problem, Severity, Spread, State, Times};

/// Names nobody would choose and a binary may still have.
pub(crate) const HOSTILE: [&str; 4] = [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror=\"window.owned = 1\"><b>&amp;{{ 7 * 7 }}'\"",
    "\u{202e}evil\u{1b}[31m\u{0}\u{2028}漢字\u{1f980}]]><!--",
    "=HYPERLINK(\"x\"),\"",
];

/// A recording whose regions have such names, and one of ten thousand letters.
pub(crate) fn hostile() -> Analysis {
    let mut analysis = analysis(4);
    let novel = format!("std::vector<{}>::operator()", "std::pair<int, ".repeat(700));
    let names = HOSTILE.into_iter().map(str::to_owned).chain([novel]);
    for (region, name) in analysis.regions.iter_mut().skip(1).zip(names.clone()) {
        region.name.clone_from(&name);
        region.place.label = name.clone();
        region.place.function = Some(name);
    }
    analysis.regions[0].place.label = HOSTILE[0].to_owned();
    for (row, name) in analysis.loops.iter_mut().zip(names.clone().skip(3)) {
        row.name = name;
    }
    analysis.waits[0].name = names.clone().last().unwrap_or_default();
    analysis.program.name = HOSTILE[1].to_owned();
    analysis.program.command = HOSTILE.map(str::to_owned).to_vec();
    analysis.program.machine.host = HOSTILE[0].to_owned();
    analysis
        .program
        .environment
        .insert(HOSTILE[0].to_owned(), HOSTILE[1].to_owned());
    analysis.problems.push(Problem {
        severity: Severity::Error,
        sentence: HOSTILE.join(" "),
    });
    analysis
}

/// A recording in which every number is as large, or as little a number, as
/// its type allows.
pub(crate) fn extreme(fraction: f64) -> Analysis {
    let mut analysis = analysis(3);
    let mut times = Times::default();
    for state in State::ALL {
        times[state] = u64::MAX;
    }
    let counts = Counts {
        minor_faults: fraction,
        major_faults: fraction,
        voluntary_switches: fraction,
        involuntary_switches: fraction,
        cycles: Some(fraction),
        instructions: Some(fraction),
        processor_ns: Some(fraction),
    };
    let efficiency = Efficiency {
        parallel: fraction,
        load_balance: fraction,
        communication: fraction,
        serialisation: fraction,
        transfer: fraction,
        serial_region: fraction,
        parallel_region: fraction,
    };
    analysis.wall_ns = u64::MAX;
    analysis.states = Times::default();
    analysis.states[State::Compute] = u64::MAX;
    analysis.efficiency = efficiency;
    analysis.parallel_time_fraction = fraction;
    analysis.counts = counts;
    analysis.program.started_unix_ns = u64::MAX;
    analysis.program.machine.memory_bytes = u64::MAX;
    analysis.team_size = u32::MAX;
    analysis.intrusion.fraction = fraction;
    analysis.intrusion.events = u64::MAX;
    for thread in &mut analysis.threads_seen {
        thread.dropped = u64::MAX;
    }
    for region in &mut analysis.regions {
        region.states = times;
        region.wall_ns = u64::MAX;
        region.share = fraction;
        region.instances = u64::MAX;
        region.team_size_max = u32::MAX;
        region.tasks_created = u64::MAX;
        region.tasks_run = u64::MAX;
        region.efficiency = efficiency;
        region.counts = counts;
        region.length = Spread {
            max_ns: u64::MAX,
            ..region.length
        };
        for thread in &mut region.threads {
            thread.states = times;
            thread.counts = counts;
        }
    }
    for row in &mut analysis.loops {
        row.iterations = u64::MAX;
        row.load_balance = fraction;
    }
    analysis.timeline.begin_ns = u64::MAX;
    analysis.timeline.end_ns = 0;
    for segment in analysis
        .timeline
        .threads
        .iter_mut()
        .flat_map(|row| &mut row.segments)
    {
        segment.region = usize::MAX;
        for (_, share) in &mut segment.mix {
            *share = fraction as f32;
        }
    }
    analysis
}
