//! The published figures as data files and a command file that draws them.

use super::{Record, counters, records};
use crate::facts::PagingFacts;
use crate::section::choice::Chosen;
use crate::section::words;
use fathomp_bench::output::{PlotFile, plain, quoted};
use fathomp_paging::StateSet;
use fathomp_skyline::{Correlation, Profile};
use std::fmt::Write as _;

/// The command file, `plots.gp`, and its data: for every counter the cumulative profile by
/// state, and the three panels (counter, rate, skyline) of all tasks together and of the
/// tasks at `places`; and the tasks' correlation beside what chance gives. `gnuplot
/// plots.gp` in their directory draws SVG images.
#[must_use]
pub fn skyline_gnuplot(
    paging: &PagingFacts,
    states: Option<StateSet>,
    places: &[usize],
) -> Vec<PlotFile> {
    let mut commands = String::from("# Draws what a paging recording shows: gnuplot plots.gp\n");
    let mut files = Vec::new();
    for one in counters(paging, states) {
        let name = one.facts.counter.name();
        files.push(PlotFile {
            name: format!("{name}-profile.dat"),
            text: profile_data(paging, &one),
        });
        commands.push_str(&profile_drawing(&one));
        let all = Record {
            place: None,
            label: "all tasks".to_owned(),
            counts: one.profile.bins.clone(),
            skyline: &one.profile.skyline,
        };
        for record in std::iter::once(all).chain(records(paging, &one, places)) {
            let task = record
                .place
                .and_then(|place| paging.analysis.tasks.get(place));
            let id = match task {
                Some(task) => format!("{name}-task-{}", task.id.0),
                None => format!("{name}-all"),
            };
            files.push(PlotFile {
                name: format!("{id}.dat"),
                text: panel_data(paging, &one, &record),
            });
            commands.push_str(&panel_drawing(&id, &one, &record));
        }
        let both = [
            ("wall", &one.profile.correlation),
            ("phases", &one.profile.correlation_in_phases),
        ];
        for (axis, correlation) in both {
            let Some(correlation) = correlation else {
                continue;
            };
            let id = format!("{name}-correlation-{axis}");
            files.push(PlotFile {
                name: format!("{id}.dat"),
                text: correlation_data(paging, correlation),
            });
            commands.push_str(&correlation_drawing(&id, &one, correlation));
        }
    }
    files.push(PlotFile {
        name: "plots.gp".to_owned(),
        text: commands,
    });
    files
}

/// Profiles that are drawn as layers: each of one state where there are such, else the
/// chosen one alone.
fn layers<'a>(one: &Chosen<'a>) -> Vec<&'a Profile> {
    let single: Vec<&Profile> = one
        .facts
        .profiles
        .iter()
        .filter(|profile| profile.total > 0 && profile.states.iter().count() == 1)
        .collect();
    let total: u64 = single
        .iter()
        .fold(0, |sum, profile| sum.saturating_add(profile.total));
    if single.is_empty() || total != one.facts.total {
        return vec![one.profile];
    }
    single
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// Begin of the bin in seconds, then the rate of each layer, and last the published sum if
/// it was kept.
fn profile_data(paging: &PagingFacts, one: &Chosen<'_>) -> String {
    let window = &paging.analysis.window;
    let per_second = 1e9 / window.bin_ns.max(1) as f64;
    let layers = layers(one);
    let mut text = format!("# {} per second\n# seconds", one.facts.counter.name());
    for layer in &layers {
        let _ = write!(text, " {}", super::states_word(layer.states));
    }
    let published = one.profile.published.bins.as_ref();
    text.push_str(if published.is_some() {
        " published\n"
    } else {
        "\n"
    });
    for bin in 0..window.bins {
        // Writing to a String cannot fail.
        let _ = write!(text, "{}", seconds(window.bin_begin_ns(bin)));
        for layer in &layers {
            let count = layer.bins.get(bin).copied().unwrap_or(0);
            let _ = write!(text, " {}", count as f64 * per_second);
        }
        if let Some(published) = published {
            let count = published.get(bin).copied().unwrap_or(0.0);
            let _ = write!(text, " {}", count * per_second);
        }
        text.push('\n');
    }
    text
}

const TERMINAL: &str = "\nreset\nset terminal svg size 860,HEIGHT dynamic enhanced font 'sans,13' background 'white'\n\
    set key outside right top noenhanced\nset grid\nset xlabel 'seconds'\nset autoscale xfix\nset yrange [0:*]\n";

fn profile_drawing(one: &Chosen<'_>) -> String {
    let name = one.facts.counter.name();
    let mut text = TERMINAL.replace("HEIGHT", "420");
    let _ = writeln!(
        text,
        "set output '{name}-profile.svg'\nset title {} noenhanced\nset ylabel 'per second'\nset style fill solid 0.9 noborder",
        quoted(&format!(
            "cumulative profile: {}",
            words::counter(one.facts.counter)
        ))
    );
    let layers = layers(one);
    // The last layer is drawn first, up to the sum of all.
    let curves = (0..layers.len()).rev().map(|last| {
        let columns: Vec<String> = (0..=last).map(|layer| format!("${}", layer + 2)).collect();
        format!(
            "'{name}-profile.dat' using 1:({}) with fillsteps title {}",
            columns.join("+"),
            quoted(&layers[last].title)
        )
    });
    let mut curves: Vec<String> = curves.collect();
    if one.profile.published.bins.is_some() {
        curves.push(format!(
            "'{name}-profile.dat' using 1:{} with steps lc 'black' title 'as published'",
            layers.len() + 2
        ));
    }
    let _ = writeln!(text, "plot {}", curves.join(", \\\n     "));
    text
}

/// Begin of the bin in seconds, counter at its end, rate, and rate of the skyline.
fn panel_data(paging: &PagingFacts, one: &Chosen<'_>, record: &Record<'_>) -> String {
    let window = &paging.analysis.window;
    let per_second = 1e9 / window.bin_ns.max(1) as f64;
    let mut text = format!(
        "# {}: {}\n# seconds counter per_second filtered_per_second\n",
        one.facts.counter.name(),
        plain(&record.label)
    );
    let mut sum = 0_u64;
    for (bin, count, level) in record.levels() {
        sum = sum.saturating_add(count);
        let _ = writeln!(
            text,
            "{} {sum} {} {}",
            seconds(window.bin_begin_ns(bin)),
            count as f64 * per_second,
            level * per_second
        );
    }
    text
}

fn panel_drawing(id: &str, one: &Chosen<'_>, record: &Record<'_>) -> String {
    let mut text = TERMINAL.replace("HEIGHT", "760");
    let title = format!("{}: {}", words::counter(one.facts.counter), record.label);
    let _ = writeln!(
        text,
        "set output '{id}.svg'\nunset key\nset multiplot layout 3,1 title {} noenhanced\n\
         set lmargin 11\nset format y '%.2s%c'\n\
         set ylabel 'counter'\nplot '{id}.dat' using 1:2 with steps lw 1.5\n\
         set ylabel 'per second'\nplot '{id}.dat' using 1:3 with steps\n\
         set ylabel 'filtered, per second'\nplot '{id}.dat' using 1:4 with steps\nunset multiplot",
        quoted(&title)
    );
    text
}

/// Two blocks: the similarity of each pair of tasks, and what chance reaches.
fn correlation_data(paging: &PagingFacts, correlation: &Correlation) -> String {
    let mut text = String::from("# tasks:");
    for task in &correlation.tasks {
        let _ = write!(text, " {}", plain(&paging.label(*task)).replace(' ', "_"));
    }
    text.push_str("\n# 1 similarity, 2 what chance stays below\n");
    let tasks = correlation.tasks.len();
    for matrix in [correlation.similarity(), correlation.similarity_by_chance()] {
        for row in 0..tasks {
            let cells: Vec<String> = (0..tasks)
                .map(|column| matrix.get(row, column).unwrap_or(1.0).to_string())
                .collect();
            let _ = writeln!(text, "{}", cells.join(" "));
        }
        text.push_str("\n\n");
    }
    text
}

fn correlation_drawing(id: &str, one: &Chosen<'_>, correlation: &Correlation) -> String {
    let mut text = TERMINAL.replace("HEIGHT", "420");
    let axis = match correlation.axis {
        fathomp_skyline::Axis::Wall => "wall time",
        fathomp_skyline::Axis::Phases => "phases",
    };
    let tasks = correlation.tasks.len();
    let end = tasks as f64 - 0.5;
    // Of more, gnuplot numbers some.
    let ticks = if tasks <= 16 { "set tics 1\n" } else { "" };
    let _ = writeln!(
        text,
        "set output '{id}.svg'\nunset key\nunset grid\nset xlabel 'task'\nset ylabel 'task'\n\
         set cbrange [0:1]\nset size square\nset xrange [-0.5:{end}]\nset yrange [{end}:-0.5]\n{ticks}\
         set multiplot layout 1,2 title {} noenhanced\nset title 'found'\n\
         plot '{id}.dat' index 0 matrix with image pixels\nset title 'by chance'\n\
         plot '{id}.dat' index 1 matrix with image pixels\nunset multiplot",
        quoted(&format!(
            "tasks alike in {}, {axis}",
            words::counter(one.facts.counter)
        ))
    );
    text
}
