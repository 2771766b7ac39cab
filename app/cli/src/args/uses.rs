//! When an option counts: what is given is used, or refused by name.
//!
//! Every option of every command stands in [`all_options`] once, with what has to be given, or left
//! out, for it to change anything. So a command need not look for options that it has no use for,
//! and a new option cannot be left out: a test misses it.

mod options;

use super::rules::Options;
use super::rules::When::{self, Is, With, Without};
use super::{Arguments, cluster, paging};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory};

/// Says which option was given that would change nothing, if there is one.
pub(crate) fn unused(matches: &ArgMatches) -> Option<String> {
    let mut definition = Arguments::command();
    definition.build();
    let (mut definition, mut matches, mut name) = (&definition, matches, String::new());
    while let Some((word, within)) = matches.subcommand() {
        definition = definition.find_subcommand(word)?;
        matches = within;
        name = format!("{name} {word}").trim_start().to_owned();
    }
    let given = Given {
        definition,
        matches,
    };
    let said = definition.get_arguments().filter(|arg| given.is_given(arg));
    said.flat_map(|arg| given.why_not(arg, rule(&name, arg.get_id().as_str())))
        .next()
}

/// The options of the main job, and of the wings that are built in.
fn all_options() -> impl Iterator<Item = &'static Options> {
    let of_wings = cluster::OPTIONS.iter().chain(paging::OPTIONS);
    options::OPTIONS.iter().chain(of_wings)
}

fn rule(command: &str, id: &str) -> &'static [When] {
    let mut rules = all_options();
    let found = rules.find(|one| one.of.contains(&command) && one.ids.contains(&id));
    found.map_or(&[], |one| one.when)
}

/// What the user typed.
struct Given<'a> {
    definition: &'a clap::Command,
    matches: &'a ArgMatches,
}

impl Given<'_> {
    fn is_given(&self, arg: &Arg) -> bool {
        let source = self.matches.value_source(arg.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    }

    fn arg(&self, id: &str) -> Option<&Arg> {
        let mut all = self.definition.get_arguments();
        all.find(|arg| arg.get_id() == id)
    }

    fn has(&self, id: &str) -> bool {
        self.arg(id).is_some_and(|arg| self.is_given(arg))
    }

    /// The values of an option, given or by default.
    fn values(&self, id: &str) -> Vec<String> {
        let values = self.matches.try_get_raw(id).ok().flatten();
        let values = values.into_iter().flatten();
        values
            .map(|value| value.to_string_lossy().into_owned())
            .collect()
    }

    /// How it is typed.
    fn typed(&self, id: &str) -> String {
        let long = self.arg(id).and_then(Arg::get_long);
        long.map_or_else(|| id.to_uppercase(), |long| format!("--{long}"))
    }

    /// These, as far as the command has them.
    fn any_of(&self, ids: &[&str]) -> String {
        let known: Vec<String> = ids
            .iter()
            .filter(|id| self.arg(id).is_some_and(|arg| !arg.is_hide_set()))
            .map(|id| self.typed(id))
            .collect();
        either(&known)
    }

    /// Why an option changes nothing, as a sentence.
    fn why_not(&self, arg: &Arg, when: &[When]) -> Option<String> {
        let id = arg.get_id().as_str();
        let option = self.typed(id);
        for need in when {
            let lacks = |what: String| {
                Some(format!(
                    "{option} changes nothing without {what}: give that with it, or leave {option} out"
                ))
            };
            match need {
                With(ids) if !ids.iter().any(|id| self.has(id)) => {
                    return lacks(self.any_of(ids));
                }
                Without(ids) => {
                    if let Some(other) = ids.iter().find(|id| self.has(id)) {
                        return Some(format!(
                            "{option} changes nothing with {}: leave one of them out",
                            self.typed(other)
                        ));
                    }
                }
                Is(of, wanted, others)
                    if !self
                        .values(of)
                        .iter()
                        .any(|one| wanted.contains(&one.as_str()))
                        && !others.iter().any(|id| self.has(id)) =>
                {
                    let by_value = wanted.iter().map(|value| match *of {
                        "json" => "text".to_owned(),
                        "suites" => format!("bench {value}"),
                        _ => format!("{} {value}", self.typed(of)),
                    });
                    let by_option = others.iter().map(|id| self.typed(id));
                    return lacks(either(&by_value.chain(by_option).collect::<Vec<_>>()));
                }
                _ => {}
            }
        }
        None
    }
}

/// `a`, `a or b`, `a, b or c`.
fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    /// Commands that take options, by name.
    fn commands(of: &Command, before: &str) -> Vec<(String, Command)> {
        let mut all = Vec::new();
        for one in of.get_subcommands().filter(|one| one.get_name() != "help") {
            let name = format!("{before} {}", one.get_name())
                .trim_start()
                .to_owned();
            match one.has_subcommands() {
                true => all.extend(commands(one, &name)),
                false => all.push((name, one.clone())),
            }
        }
        all
    }

    /// Options that any command has: they ask for another form of what is said.
    const OF_ALL: [&str; 5] = ["json", "quiet", "help", "version", "help_long"];

    #[test]
    fn every_option_of_every_command_is_there_once_and_no_other() {
        let mut definition = Arguments::command();
        definition.build();
        let all = commands(&definition, "");
        for (name, command) in &all {
            for arg in command.get_arguments() {
                let id = arg.get_id().as_str();
                if OF_ALL.contains(&id) {
                    continue;
                }
                let named = all_options();
                let named =
                    named.filter(|one| one.of.contains(&&name[..]) && one.ids.contains(&id));
                assert_eq!(
                    named.count(),
                    1,
                    "{name} {id}: say in a table of options when it counts"
                );
            }
        }
        for one in all_options() {
            for name in one.of {
                let command = all.iter().find(|(known, _)| known == name);
                let (_, command) = command.unwrap_or_else(|| panic!("no command {name}"));
                let known = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
                let ids = one
                    .ids
                    .iter()
                    .chain(one.when.iter().flat_map(|when| match when {
                        Is(of, _, _) => std::slice::from_ref(of),
                        _ => &[],
                    }));
                for id in ids {
                    assert!(known(id), "{name} has no {id}");
                }
            }
        }
    }

    fn said(line: &str) -> Option<String> {
        let matches = Arguments::command()
            .try_get_matches_from(line.split(' '))
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        unused(&matches)
    }

    fn assert_refused(lines: &[(&str, &str)]) {
        for (line, words) in lines {
            let sentence = said(line).unwrap_or_else(|| panic!("{line}: accepted"));
            assert!(sentence.contains(words), "{line}: {sentence}");
        }
    }

    fn assert_taken(lines: &[&str]) {
        for line in lines {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn what_would_change_nothing_is_said_by_name() {
        assert_refused(&[
            ("fathomp share --repeat 3 -- a -- b", "without --compare"),
            (
                "fathomp share --time-slice 3 -- a -- b",
                "without --strategy gang or --compare",
            ),
            (
                "fathomp regions r --force",
                "without --csv, --counts, --perfetto, --otf2 or --paraver",
            ),
            (
                "fathomp --json regions r --threads",
                "with --json: leave one of them out",
            ),
            (
                "fathomp predict --model sdp-agg --counts a --cluster c --csv x",
                "without --evaluate",
            ),
            (
                "fathomp predict --model sdp-agg --counts a --cluster c -o x",
                "--output changes",
            ),
            (
                "fathomp predict r --validate --dsm home",
                "--dsm changes nothing without --cluster",
            ),
            ("fathomp predict r --budget 9s", "without --evaluate"),
            (
                "fathomp predict --load d --repeat 9",
                "--repeat changes nothing without",
            ),
        ]);
    }

    #[test]
    fn what_counts_is_taken() {
        assert_taken(&[
            "fathomp share --strategy gang --time-slice 3 -- a -- b",
            "fathomp predict --evaluate --size 2x --csv f --force --save d",
        ]);
    }

    #[cfg(feature = "paging")]
    #[test]
    fn options_of_paging_count_where_paging_is_shown() {
        assert_refused(&[(
            "fathomp skyline r --json --tasks 0",
            "--tasks changes nothing without text, --csv or",
        )]);
        assert_taken(&[
            "fathomp record --paging --record-faults -- a",
            "fathomp skyline r --json --tasks 0 --csv f",
        ]);
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn options_of_clusters_count_on_nodes_and_hosts() {
        assert_refused(&[
            (
                "fathomp run --dsm homeless -- a",
                "--dsm changes nothing without --nodes, --hosts",
            ),
            (
                "fathomp record --fault-detection userfault -- a",
                "--fault-detection changes nothing without",
            ),
            (
                "fathomp run --nodes 2 --dsm-memory 9M -- a",
                "without --dsm homeless",
            ),
            (
                "fathomp run --start-timeout 9 -- a",
                "without --hosts, --hostfile or --transport",
            ),
            (
                "fathomp predict r --budget 9s",
                "without --evaluate, --hosts",
            ),
            (
                "fathomp bench epcc --dsm home",
                "--dsm changes nothing without bench dsm, --nodes",
            ),
            (
                "fathomp bench mcbench --simulated c --quick",
                "with --simulated",
            ),
            (
                "fathomp calibrate --cc clang",
                "--cc changes nothing without --nodes",
            ),
        ]);
        assert_taken(&[
            "fathomp run --nodes 1 --dsm homeless -- a",
            "fathomp run --hosts a,b --ssh x --dsm home --start-timeout 4 -- a",
            "fathomp simulate r --net 60,100 --fault-us 9 --dsm-memory 9M --granularity",
            "fathomp bench mcbench --nodes 2 --dsm homeless",
            "fathomp calibrate --nodes 2 --cc clang -o f --force",
        ]);
    }
}
