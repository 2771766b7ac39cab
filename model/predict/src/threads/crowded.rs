//! Programs whose own threads share processors, although they were given no more threads
//! than there are processors.

use crate::recorded::{Group, Runs};
use fathomp_analysis::{Oversubscription, ProgramFacts};

/// The crowd in the runs with the most threads that the processors have room for.
pub(crate) fn crowd(runs: &Runs<'_>, present: u32) -> Option<Oversubscription> {
    let (groups, _) = fitting(&runs.groups, present);
    groups.last()?.typical_run().crowd
}

/// The number of threads, as the program is given them, below which nothing changes: if
/// its application threads fill the processors even with one thread in each team, that
/// is the fewest measured. Nested teams may shrink together.
pub(crate) fn fewest(crowd: &Oversubscription, groups: &[Group<'_>]) -> u32 {
    let (Some(few), Some(most)) = (groups.first(), groups.last()) else {
        return 1;
    };
    let regions = &most.typical_run().analysis.regions;
    let nested = regions.iter().any(|region| region.level > 1);
    let alone = crowd.threads / most.threads.max(1);
    match !nested && alone >= crowd.processors {
        true => few.threads,
        false => 1,
    }
}

/// The groups to fit to: those without more threads than processors, here or on the hosts on
/// which they ran, if there are any; and whether others were left out.
pub(crate) fn fitting<'a, 'b>(groups: &'b [Group<'a>], cores: u32) -> (&'b [Group<'a>], bool) {
    let is_fair = |group: &&Group<'_>| {
        let on_hosts = |program: &ProgramFacts| !program.hosts.is_empty();
        let crowded = |program: &ProgramFacts| program.crowded(group.threads).is_some();
        let mut programs = group.runs.iter().map(|run| &run.analysis.program);
        group.threads <= cores && !programs.any(|one| on_hosts(one) && crowded(one))
    };
    let fair = groups.iter().take_while(is_fair).count();
    if fair == 0 {
        (groups, false)
    } else {
        (&groups[..fair], fair < groups.len())
    }
}
