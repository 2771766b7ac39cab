//! The help page of each command: it begins with an example and what that prints, and its short
//! form (`-h`) leaves out options that few people need.

use super::rules::Rare;
use super::{cluster, paging};
use clap::{Arg, Command};

/// A heading `== COMMAND` for each command, and below it command lines, which begin with `$`, and
/// what they print.
const EXAMPLES: &str = include_str!("examples.txt");

const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}";

/// Those of the main job.
const RARE: Rare = &[
    ("", &["weights"]),
    (
        "predict",
        &[
            "load",
            "programs",
            "size",
            "class",
            "repeat",
            "budget",
            "save",
            "utilisation",
            "include_noisy",
            "csv",
            "cc",
            "cflags",
            "serial_fraction",
            "diff_bytes",
        ],
    ),
    (
        "bench",
        &[
            "affinity",
            "wait_policy",
            "samples",
            "target_us",
            "full",
            "baseline",
            "check",
            "format",
            "csv",
            "gnuplot",
        ],
    ),
    ("regions", &["otf2", "paraver"]),
    ("share", &["keep_teams", "time_slice", "mix", "separator"]),
];

/// The same with those of the wings that are built in.
fn all_rare() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    [RARE, cluster::RARE, paging::RARE].into_iter().flatten()
}

/// `definition` with such pages for all its commands.
pub(super) fn with_pages(definition: Command) -> Command {
    definition.mut_subcommands(|command| with_page(command, ""))
}

/// `definition` for manual pages, which have an example at their end.
pub(crate) fn with_examples(definition: Command) -> Command {
    with_extras(definition, "")
}

fn with_page(command: Command, above: &str) -> Command {
    let name = joined(above, command.get_name());
    let below = name.clone();
    let command = command
        .mut_subcommands(move |one| with_page(one, &below))
        .mut_args(|option| shown(option, &name));
    let Some(example) = example(&name) else {
        return command;
    };
    let short: Vec<_> = example.lines().filter(|line| is_call(line)).collect();
    let page = |lines: &str| format!("Example:\n{lines}");
    let plain = page(&indented(&short.join("\n")));
    let command = match command.has_subcommands() {
        true => command,
        false => command.help_template(TEMPLATE),
    };
    let long = page(&indented(&example));
    match command.has_subcommands() {
        true => command.after_help(plain).after_long_help(long),
        false => command.before_help(plain).before_long_help(long),
    }
}

fn with_extras(command: Command, above: &str) -> Command {
    let name = joined(above, command.get_name());
    // The first name is that of the whole.
    let below = if name == "fathomp" {
        String::new()
    } else {
        name.clone()
    };
    let command = command.mut_subcommands(move |one| with_extras(one, &below));
    match example(&name) {
        Some(example) => command.after_long_help(format!("Example:\n{}", indented(&example))),
        None => command,
    }
}

fn joined(above: &str, name: &str) -> String {
    format!("{above} {name}").trim_start().to_owned()
}

fn shown(option: Arg, command: &str) -> Arg {
    let id = option.get_id().as_str();
    let of = |who: &str| all_rare().any(|(name, ids)| *name == who && ids.contains(&id));
    let rare = of("") || of(command);
    option.hide_short_help(rare)
}

/// What stands below the heading of a command, in all that is built in.
fn example(command: &str) -> Option<String> {
    let files = [EXAMPLES, cluster::EXAMPLES, paging::EXAMPLES].into_iter();
    let sections = files.flat_map(|file| file.split("== ").skip(1));
    let found = sections.filter_map(|section| {
        let (name, lines) = section.split_once('\n')?;
        (name == command).then(|| lines.trim_end())
    });
    let found: Vec<&str> = found.collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

fn is_call(line: &str) -> bool {
    line.starts_with("$ ")
}

fn indented(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::CommandFactory;
    use clap::Parser;

    /// Names of the commands that are shown, with those below them.
    fn names(command: &Command, above: &str, found: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = joined(above, sub.get_name());
            names(sub, &name, found);
            found.push(name);
        }
    }

    #[test]
    fn every_command_has_an_example_that_is_valid() {
        let mut all = Vec::new();
        names(&Arguments::command(), "", &mut all);
        for name in all {
            let example = example(&name).unwrap_or_else(|| panic!("{name} has no example"));
            let calls: Vec<_> = example.lines().filter(|line| is_call(line)).collect();
            assert!(!calls.is_empty(), "{name}");
            for call in calls {
                // Without what the shell takes.
                let words = call[2..].split(" > ").next().unwrap_or_default();
                let words = words.replace('\'', "");
                let parsed = Arguments::try_parse_from(words.split_whitespace());
                assert!(parsed.is_ok(), "{call}: {parsed:?}");
            }
            for line in example.lines() {
                assert!(line.chars().count() <= 78, "{line}");
            }
        }
    }

    #[test]
    fn options_that_are_left_out_exist() {
        let definition = Arguments::command();
        for (command, ids) in all_rare() {
            let commands: Vec<_> = definition
                .get_subcommands()
                .filter(|sub| command.is_empty() || sub.get_name() == *command)
                .collect();
            for id in *ids {
                let has = |sub: &&Command| sub.get_arguments().any(|option| option.get_id() == id);
                assert!(commands.iter().any(has), "{command} {id}");
            }
        }
    }

    #[test]
    fn the_short_page_is_shorter() {
        let mut definition = with_pages(Arguments::command());
        let share = definition.find_subcommand_mut("share").unwrap();
        let short = share.render_help().to_string();
        let long = share.render_long_help().to_string();
        assert!(!short.contains("--keep-teams") && long.contains("--keep-teams"));
        assert!(short.contains("$ fathomp share -o share.html"), "{short}");
        assert!(!short.contains("2-filter: 863 ms") && long.contains("2-filter: 863 ms"));
        let [example, usage] = ["Example:", "Usage:"].map(|what| long.find(what).unwrap());
        assert!(example < usage);
    }
}
