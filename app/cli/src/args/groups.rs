//! `fathomp --help`: commands by what they are for.

use super::Arguments;
use super::pages::with_pages;
use clap::{Command, CommandFactory};
use fathomp_report::text::wrapped;
use std::fmt::Write as _;

/// What commands are for, and the commands.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Look at a program",
        &[
            "study", "run", "record", "regions", "report", "compare", "scan", "predict", "advise",
            "sharing",
        ],
    ),
    (
        "Measure a machine",
        &["doctor", "calibrate", "bench", "workload"],
    ),
    ("Clusters", &["simulate"]),
    ("Paging", &["skyline", "collect"]),
    ("Programs that share a machine", &["share"]),
    ("This command", &["completions", "man", "help"]),
];

/// Columns of the names.
const NAMES: usize = 14;

/// The definition of the arguments, whose help lists commands by group, on `width` columns.
pub(crate) fn grouped(width: usize) -> Command {
    let mut built = Arguments::command();
    built.build();
    let header = *built.get_styles().get_header();
    let literal = *built.get_styles().get_literal();
    let mut listed = String::new();
    for (group, names) in GROUPS {
        // A wing that is not built in has no commands.
        let commands: Vec<_> = names
            .iter()
            .filter_map(|name| Some((name, built.find_subcommand(name)?)))
            .collect();
        if commands.is_empty() {
            continue;
        }
        let _ = writeln!(listed, "{header}{group}:{header:#}");
        for (name, command) in commands {
            let about = command.get_about();
            let about = about.map(ToString::to_string).unwrap_or_default();
            let text = wrapped(&about, width, &" ".repeat(NAMES));
            let room = NAMES.saturating_sub(2);
            let _ = write!(listed, "  {literal}{name:room$}{literal:#}{text}");
        }
        listed.push('\n');
    }
    with_pages(Arguments::command())
        .before_help(clap::builder::StyledStr::from(listed.trim_end().to_owned()))
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut definition = Arguments::command();
        definition.build();
        let shown = definition
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set());
        let mut known: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let all_are_built_in = cfg!(all(feature = "cluster", feature = "paging"));
        grouped.retain(|name| all_are_built_in || known.contains(name));
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
    }
}
