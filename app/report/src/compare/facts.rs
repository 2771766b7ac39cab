//! What differs in program, machine and environment.

use super::model::{FactRow, Side};
use super::runs::Runs;
use crate::ranges::ranges;
use crate::units;
use fathomp_analysis::Analysis;
use fathomp_launch::openmp::NUM_THREADS;
use fathomp_regions::Module;
use std::collections::BTreeSet;

/// Letters of a build-id that tell builds apart.
const BUILD_LETTERS: usize = 12;

/// Facts that are not the same on all sides, of the runs that are compared.
pub(super) fn rows(sides: &[Side], runs: &[Runs<'_>]) -> Vec<FactRow> {
    if runs.iter().all(|side| side.analyses().next().is_none()) {
        return vec![FactRow {
            name: "Program, machine and environment".to_owned(),
            values: vec![None; sides.len()],
            unknown: Some("each rank's recording has its own".to_owned()),
        }];
    }
    let firsts: Vec<Option<&Analysis>> = runs.iter().map(|side| side.analyses().next()).collect();
    let mut all = Vec::new();
    let mut add = |name: &str, of: &dyn Fn(&Analysis) -> String| {
        let values = firsts.iter().map(|one| one.map(of));
        all.push(FactRow {
            name: name.to_owned(),
            values: values
                .map(|value| value.filter(|text| !text.is_empty()))
                .collect(),
            unknown: None,
        });
    };
    let machine = |one: &Analysis| one.program.machine.clone();
    add("Command", &|one| one.program.command.join(" "));
    add("Directory", &|one| one.program.directory.clone());
    add("OpenMP runtime", &|one| one.program.runtimes.join(", "));
    add("Recorded by", &|one| {
        format!("fathomp {}", one.program.recorded_by)
    });
    add("Host", &|one| machine(one).host);
    add("Processor", &|one| machine(one).cpu_model);
    add("Processors allowed", &|one| {
        format!(
            "{} of {}",
            ranges(&machine(one).cpus_allowed),
            machine(one).cpus_online
        )
    });
    add("Memory", &|one| units::bytes(machine(one).memory_bytes));
    add("Kernel", &|one| machine(one).kernel);
    add("Frequency governor", &|one| {
        machine(one).governor.unwrap_or_default()
    });
    add("Quota of processors", &|one| {
        let quota = one.program.quota_processors;
        quota.map_or(String::new(), |quota| format!("{quota}"))
    });
    let names = firsts
        .iter()
        .flatten()
        .flat_map(|one| one.program.environment.keys());
    let names: BTreeSet<&String> = names.filter(|name| *name != NUM_THREADS).collect();
    for name in names {
        add(name, &|one| {
            let value = one.program.environment.get(name);
            value.cloned().unwrap_or_else(|| "not set".to_owned())
        });
    }
    all.extend(builds(sides, &firsts));
    all.push(FactRow {
        name: "Standard input".to_owned(),
        values: sides
            .iter()
            .map(|side| side.input.map(|hash| format!("{hash:016x}")))
            .collect(),
        unknown: None,
    });
    all.retain(|row| {
        let first = row.values.first();
        row.unknown.is_some() || row.values.iter().any(|value| Some(value) != first)
    });
    all
}

/// The program's files: which builds they are, and of which compilers.
fn builds(sides: &[Side], firsts: &[Option<&Analysis>]) -> Vec<FactRow> {
    let own = |(side, first): (&Side, &Option<&Analysis>)| -> Option<Module> {
        let path = &first.as_ref()?.processes.first()?.executable;
        side.modules
            .iter()
            .find(|module| module.path == *path)
            .cloned()
    };
    let modules: Vec<Option<Module>> = sides.iter().zip(firsts).map(own).collect();
    let build = |module: &Option<Module>| {
        let id = &module.as_ref()?.build_id;
        (!id.is_empty()).then(|| id.chars().take(BUILD_LETTERS).collect::<String>())
    };
    let builds: Vec<Option<String>> = modules.iter().map(build).collect();
    let known = modules.iter().all(Option::is_some);
    let none_notes = modules
        .iter()
        .flatten()
        .all(|module| module.compilers.is_empty());
    let same_build = builds[0].is_some() && builds.iter().all(|one| *one == builds[0]);
    let compilers: Vec<Option<&Vec<String>>> = modules
        .iter()
        .map(|module| Some(&module.as_ref()?.compilers).filter(|all| !all.is_empty()))
        .collect();
    let unknown = match (known, none_notes) {
        _ if same_build => None,
        (false, _) => Some("a recording has no scan of its program"),
        (true, true) => Some("the program's file does not say"),
        (true, false) if compilers.iter().any(Option::is_none) => {
            Some("the program's file does not say on every side")
        }
        (true, false) => None,
    };
    vec![
        FactRow {
            name: "Build".to_owned(),
            unknown: builds
                .iter()
                .any(Option::is_none)
                .then(|| "a program's file has no build-id, or was not scanned".to_owned()),
            values: builds,
        },
        FactRow {
            name: "Compiler and options".to_owned(),
            values: differing(&compilers),
            unknown: unknown.map(str::to_owned),
        },
    ]
}

/// Compilers and options, without the words that all sides have.
fn differing(all: &[Option<&Vec<String>>]) -> Vec<Option<String>> {
    let words = |one: &Vec<String>| -> Vec<String> {
        let words = one.iter().flat_map(|text| text.split_whitespace());
        words.map(str::to_owned).collect()
    };
    let all: Vec<Option<Vec<String>>> = all.iter().map(|one| one.map(words)).collect();
    let in_all = |word: &String| {
        all.iter()
            .all(|one| one.as_ref().is_some_and(|one| one.contains(word)))
    };
    let own = |one: &Vec<String>| {
        let mut own: Vec<&str> = Vec::new();
        for word in one.iter().filter(|word| !in_all(word)) {
            if !own.contains(&word.as_str()) {
                own.push(word);
            }
        }
        match own.is_empty() {
            true => "nothing else".to_owned(),
            false => own.join(" "),
        }
    };
    let same = all.iter().all(|one| *one == all[0]);
    all.iter()
        .map(|one| {
            one.as_ref()
                .map(|one| if same { one.join(" ") } else { own(one) })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_compilers_only_what_differs_is_shown() {
        let before = vec!["GNU C17 12.2.0 -g -O0 -fopenmp".to_owned()];
        let after = vec!["GNU C17 12.2.0 -g -O2 -ffast-math -fopenmp".to_owned()];
        assert_eq!(
            differing(&[Some(&before), Some(&after), None]),
            [
                Some("GNU C17 12.2.0 -g -O0 -fopenmp".to_owned()),
                Some("GNU C17 12.2.0 -g -O2 -ffast-math -fopenmp".to_owned()),
                None
            ]
        );
        assert_eq!(
            differing(&[Some(&before), Some(&after)]),
            [Some("-O0".to_owned()), Some("-O2 -ffast-math".to_owned())]
        );
        let more = vec!["GNU C17 12.2.0 -g -O0 -fopenmp -flto".to_owned()];
        assert_eq!(
            differing(&[Some(&before), Some(&more)]),
            [Some("nothing else".to_owned()), Some("-flto".to_owned())]
        );
    }
}
