//! What ran where, so that it can be done again.

use super::{Fact, words};
use crate::ranges::ranges;
use crate::{Input, units};
use fathomp_analysis::{Analysis, ProgramFacts};

/// A value has at most this many characters.
const VALUE_CHARS: usize = 2000;
/// Variables shown.
const VARIABLES_MAX: usize = 200;

/// The facts, in the order shown.
pub(crate) fn facts(input: &Input<'_>) -> Vec<Fact> {
    let Some(analysis) = input.main() else {
        let predicted = input.prediction.map(|prediction| {
            let cores = units::count(prediction.cores.into());
            Fact::new("Processors predicted for", cores)
        });
        let mut facts: Vec<Fact> = predicted.into_iter().collect();
        facts.extend(input.sections.iter().flat_map(|one| one.environment()));
        return facts;
    };
    let program = &analysis.program;
    let machine = &program.machine;
    let mut facts = vec![
        Fact::code("Command", program.command.join(" ")),
        Fact::code("Directory", program.directory.clone()),
        Fact::new("Started", units::date(program.started_unix_ns)),
        Fact::new("Recordings", recordings(input.analyses)),
        host(program),
        Fact::new("Processor", machine.cpu_model.clone()),
        Fact::new(
            "Processors",
            format!(
                "{} online, allowed: {}{}",
                machine.cpus_online,
                ranges(&machine.cpus_allowed),
                if program.hosts.is_empty() {
                    ""
                } else {
                    " (the first host's)"
                }
            ),
        ),
        Fact::new("Memory", units::bytes(machine.memory_bytes)),
        Fact::new("Kernel", machine.kernel.clone()),
        Fact::new(
            "Frequency governor",
            machine
                .governor
                .clone()
                .unwrap_or_else(|| "not shown by the kernel".to_owned()),
        ),
        Fact::new("OpenMP runtime", program.runtimes.join(", ")),
        Fact::code("Its library", libraries(program)),
        Fact::new("Recorded by", format!("fathomp {}", program.recorded_by)),
    ];
    facts.extend(
        program
            .environment
            .iter()
            .take(VARIABLES_MAX)
            .map(|(name, value)| Fact::code(name.clone(), value.clone())),
    );
    for process in &analysis.processes {
        if analysis.processes.len() > 1 {
            facts.push(Fact::code(
                format!("Process {}", process.pid),
                process.executable.clone(),
            ));
        }
    }
    facts.retain(|fact| !fact.value.is_empty());
    for fact in &mut facts {
        fact.name = words::shorten(&fact.name, 100);
        fact.value = words::shorten(&fact.value, VALUE_CHARS);
    }
    facts
}

/// The host, or all of them, with what ran on each.
fn host(program: &ProgramFacts) -> Fact {
    let hosts = program.hosts.iter().map(|host| {
        format!(
            "{} ({} with {})",
            host.name,
            units::plural(host.nodes.into(), "node"),
            units::plural(host.machine.processors().into(), "processor")
        )
    });
    match program.hosts.is_empty() {
        true => Fact::new("Host", program.machine.host.clone()),
        false => Fact::new("Hosts", hosts.collect::<Vec<_>>().join(", ")),
    }
}

/// The libraries of runtimes that were watched from outside.
fn libraries(program: &ProgramFacts) -> String {
    let all = program.foreign_recorders.iter();
    let mut paths: Vec<&str> = all.map(|one| one.library.as_str()).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.join(", ")
}

fn recordings(analyses: &[Analysis]) -> String {
    let runs: Vec<String> = analyses
        .iter()
        .map(|one| {
            format!(
                "{}{} in {}{}",
                units::plural(one.team_size.into(), "thread"),
                match one.program.nodes {
                    0 | 1 => String::new(),
                    nodes => format!(" on {}", units::plural(nodes.into(), "node")),
                },
                units::duration(one.wall_ns as f64),
                if one.program.rehearsal {
                    " (a rehearsal: its times are not used)"
                } else {
                    ""
                }
            )
        })
        .collect();
    runs.join("; ")
}
