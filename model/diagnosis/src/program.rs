//! What concerns the program as a whole: serial time, processors, blocking, page faults,
//! nodes, other programs, and the recording itself.

use crate::between::{Between, outside_in, serial_computing};
use crate::cause::{Basis, Cause, Cost, Kind};
use crate::input::Input;
use crate::library;
use crate::mpi;
use crate::region::Seen;
use crate::waited::{FAULT_NS, Waited};
use fathomp_analysis::{Oversubscription, Region, SiteKind, State};
use fathomp_types::units::{count, duration, percent, plural, ratio};

/// Recording that costs more than this part of the threads' time is a cause.
const INTRUSIVE: f64 = 0.05;
/// So is this part of the processors that the program used outside the runtime's threads.
const ELSEWHERE: f64 = 0.1;
/// What the kernel does for a program before it begins and after it ended, and in children that
/// it starts by the way, is up to this.
const LOADING_NS: f64 = 20e6;

/// Loading a program, and what its libraries set up, takes no more page faults than this.
const FEW_FAULTS: f64 = 2_000.0;

/// What concerns a region but none of its constructs.
pub(crate) fn find_in_region(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    let region = seen.region;
    let place = seen.place();
    let waited = Waited::of(seen);
    let blocked = seen.mean(State::Blocked) + waited.blocked;
    // Sleep in a library's lock is part of what that costs.
    let told = |cause: &Cause| {
        let named = cause.kind == Kind::Lock && cause.title != Kind::Lock.title();
        (named || cause.kind == Kind::Library) && cause.region.as_ref() == Some(&region.key)
    };
    if blocked > 0.0 && !causes.iter().any(told) {
        causes.push(seen.cause(
            Kind::Blocked,
            Basis::Counts,
            blocked,
            blocked_words(seen, blocked, waited.blocked),
            format!(
                "Keep sleep, files, sockets and the program's own locks out of {place}; more threads do not make them faster."
            ),
        ));
    }
    let io = seen.mean(State::Io) + waited.io;
    if io > 0.0 {
        causes.push(seen.cause(
            Kind::Io,
            Basis::Times,
            io,
            format!("{} in files", duration(io)),
            format!("Move reading and writing of files out of {place}."),
        ));
    }
    let atomics = region.dsm.as_ref().map_or((0, 0.0), |dsm| {
        (dsm.all.atomics, seen.each(dsm.all.atomic_ns as f64))
    });
    if atomics.0 > 0 {
        causes.push(seen.cause(
            Kind::NodeAtomics,
            Basis::Counts,
            atomics.1 + waited.atomics,
            format!(
                "{} that run in memory of other nodes, {} a thread, and the others wait for it",
                plural(atomics.0, "atomic instruction"),
                duration(atomics.1)
            ),
            format!(
                "Let each thread of {place} add up on its own and combine at the end (a reduction), or let it update what no other node does."
            ),
        ));
    }
    let communication =
        (seen.mean(State::Communication) - atomics.1).max(0.0) + waited.communication;
    if communication > 0.0 {
        causes.push(mpi::inside(seen, communication).unwrap_or_else(|| {
            seen.cause(
                Kind::Communication,
                Basis::Times,
                communication,
                format!(
                    "{} for pages and messages of other nodes",
                    duration(communication)
                ),
                format!("Touch fewer pages that other nodes write in {place}."),
            )
        }));
    }
    let minor = region.counts.minor_faults;
    let major = region.counts.major_faults;
    let faults = seen.each(minor * FAULT_NS + major * 100.0 * FAULT_NS);
    if faults > 0.0 {
        causes.push(seen.cause(
            Kind::PageFaults,
            Basis::Counts,
            faults,
            format!(
                "{} and {} that read from disk, about {} a thread",
                plural(minor.round() as u64, "page fault"),
                count(major.round() as u64),
                duration(faults)
            ),
            format!(
                "Let {place} reuse memory that was touched before, or ask for huge pages: memory that is freed and allocated anew is paged in anew."
            ),
        ));
    }
}

fn blocked_words(seen: &Seen<'_>, blocked: f64, waited: f64) -> String {
    let words = if waited > 0.5 * blocked {
        "one thread sleeps or waits for something outside OpenMP while the others wait for it"
            .to_owned()
    } else {
        format!(
            "its threads sleep, or wait for something outside OpenMP, {} each",
            duration(blocked)
        )
    };
    match library::asleep_in(seen) {
        Some(place) => format!("{words}, {place}"),
        None => words,
    }
}

/// The program as a whole.
pub(crate) fn find(input: &Input<'_>, between: Option<&Between>, causes: &mut Vec<Cause>) {
    let main = input.main;
    if let Some(serial) = main.serial() {
        serial_part(input, serial, between, causes);
        causes.extend(mpi::outside(input));
    }
    without_processor(input, causes);
    let intrusion = &main.intrusion;
    if intrusion.fraction.max(intrusion.worst_region_fraction) >= INTRUSIVE {
        let ns = intrusion.fraction * main.wall_ns as f64;
        causes.push(program(
            input,
            Kind::Recording,
            Basis::Counts,
            ns,
            format!(
                "{} were recorded, estimated to take {} of the threads' time, {} in the region they disturb most",
                plural(intrusion.events, "event"),
                percent(intrusion.fraction),
                percent(intrusion.worst_region_fraction)
            ),
            "Take times of short regions from a run without recording.".to_owned(),
        ));
    }
}

fn program(
    input: &Input<'_>,
    kind: Kind,
    basis: Basis,
    ns: f64,
    evidence: String,
    action: String,
) -> Cause {
    let main = input.main;
    Cause {
        kind,
        title: kind.title().to_owned(),
        region: None,
        place: "the program".to_owned(),
        evidence,
        basis,
        measured: Cost::new(main.threads, ns, main.wall_ns as f64),
        predicted: None,
        region_share: (ns / (main.wall_ns as f64).max(1.0)).clamp(0.0, 1.0),
        action,
    }
}

fn serial_part(
    input: &Input<'_>,
    serial: &Region,
    between: Option<&Between>,
    causes: &mut Vec<Cause>,
) {
    let main = input.main;
    let all = serial_computing(main);
    let computing = all - between.map_or(0.0, |one| one.added_ns);
    let lost = computing * (1.0 - 1.0 / f64::from(main.threads.max(1)));
    if lost > 0.0 || (main.threads == 1 && computing > 0.0) {
        let mut alone = format!(
            "{} of {} pass outside parallel regions, where one thread computes",
            duration(all),
            duration(main.wall_ns as f64)
        );
        if computing < all {
            alone.push_str(&format!(
                "; only {} of that without what short regions add",
                duration(computing)
            ));
        }
        let faults = serial.counts.minor_faults;
        let paged = (faults * FAULT_NS).min(computing);
        let paging = faults >= FEW_FAULTS && paged >= 0.2 * computing;
        let (evidence, action) = match paging {
            true => (
                format!(
                    "{alone} and takes {} page faults, about {} of that: it touches new memory",
                    count(faults.round() as u64),
                    duration(paged)
                ),
                "Touch new memory first in parallel loops, by the threads that use it later, or reuse what was touched before: memory that is freed and allocated anew is paged in anew.",
            ),
            false => (
                alone,
                "Put more of the serial part into parallel regions: it does not get faster with more threads.",
            ),
        };
        let mut cause = program(
            input,
            Kind::SerialPart,
            Basis::Times,
            lost,
            evidence,
            action.to_owned(),
        );
        if paging {
            "serial part with page faults".clone_into(&mut cause.title);
        }
        causes.push(cause);
    }
    let blocked = outside_in(main, serial, State::Blocked);
    if blocked > 0.0 {
        causes.push(program(
            input,
            Kind::Blocked,
            Basis::Counts,
            blocked,
            format!(
                "{} of {} pass outside parallel regions asleep or waiting for something outside OpenMP",
                duration(blocked),
                duration(main.wall_ns as f64)
            ),
            "Wait less between regions (sleep, files, sockets, other processes); this is no serial work that threads could share."
                .to_owned(),
        ));
    }
}

/// Time without a processor: whose doing, and what it costs.
fn without_processor(input: &Input<'_>, causes: &mut Vec<Cause>) {
    let main = input.main;
    let mut cost = 0.0;
    for region in &main.regions {
        if region.kind == SiteKind::Serial {
            continue;
        }
        let seen = Seen::new(input, region);
        let ready = seen.mean(State::Ready) + seen.disturbance.late_ns + Waited::of(&seen).ready;
        cost += ready / seen.overlap();
    }
    let others = main.program.others_used.unwrap_or(0.0);
    let crowd = input.crowd();
    if let Some((quota, throttled)) = input.quota() {
        causes.push(program(
            input,
            Kind::Quota,
            Basis::Counts,
            cost,
            format!(
                "a control group allows {} processors' worth of time, and held threads back for {} in all",
                ratio(quota),
                duration(throttled)
            ),
            "Use no more threads than the quota allows processors, or ask for a larger one (a container's --cpus, a batch system's limit).".to_owned(),
        ));
    } else if let Some((used, processors)) = elsewhere(input).filter(|_| crowd.is_none()) {
        causes.push(program(
            input,
            Kind::Oversubscription,
            Basis::Counts,
            cost,
            format!(
                "threads and processes of the program that are in no parallel region used {} of {}",
                percent(used),
                plural(processors.into(), "processor")
            ),
            "Leave processors to the program's other threads and child processes: use fewer threads, or let them take turns.".to_owned(),
        ));
    } else if let Some(crowd) = crowd {
        // Threads without a processor are in line; how long is known from the kernel or,
        // where it does not say, from how many share one.
        let in_line = 1.0 - f64::from(crowd.processors) / f64::from(crowd.threads.max(1));
        let region_ns = main.wall_ns as f64 * main.parallel_time_fraction.clamp(0.0, 1.0);
        causes.push(program(
            input,
            Kind::Oversubscription,
            Basis::Counts,
            cost.max(in_line * region_ns * f64::from(u8::from(crowd.ready_ns > 0))),
            crowd_words(&crowd),
            crowd_action(input, &crowd),
        ));
    } else if main.program.disturbed() && cost > 0.0 {
        causes.push(program(
            input,
            Kind::OtherPrograms,
            Basis::Times,
            cost,
            format!(
                "other programs used {} of the processors; threads in regions were ready to run without one for {}, or waited for one that was; what threads do to each other when all run at once shows less",
                percent(others),
                duration(cost.min(main.wall_ns as f64))
            ),
            "Record again when the machine is quiet.".to_owned(),
        ));
    }
}

/// The part of the processors that threads and processes of the program used which the
/// runtime does not know, if threads in regions waited for it, and the processors. What
/// passes before the first region and after the last, while the program is loaded and its
/// memory given back, hinders nobody: only what does not fit in there is at the same time as regions.
fn elsewhere(input: &Input<'_>) -> Option<(f64, u32)> {
    let main = input.main;
    let processors = main.program.processors();
    let known: f64 = main
        .threads_seen
        .iter()
        .map(|thread| thread.counts.processor_ns)
        .sum::<Option<f64>>()?;
    let all = main.program.processor_ns? as f64;
    let wall = main.wall_ns as f64;
    let outside = wall * (1.0 - main.parallel_time_fraction).clamp(0.0, 1.0);
    let whole = wall * f64::from(processors);
    let part = |ns: f64| (ns / whole.max(1.0)).clamp(0.0, 1.0);
    let beside = part(all - known - outside - LOADING_NS);
    let one_node = main.program.nodes <= 1;
    (one_node && processors > 0 && beside >= ELSEWHERE).then_some((part(all - known), processors))
}

fn crowd_words(crowd: &Oversubscription) -> String {
    let threads = plural(crowd.threads.into(), "thread");
    let waited = format!(
        "they were ready to run without one for {}, and computed {}",
        duration(crowd.ready_ns as f64),
        duration(crowd.processor_ns as f64)
    );
    match (crowd.first, crowd.processors) {
        (Some(first), 1) => {
            format!("{threads} are bound to processor {first} and share it; {waited}")
        }
        (Some(first), n) => format!(
            "{threads} are bound to the same {}, of which {first} is the first; {waited}",
            plural(n.into(), "processor")
        ),
        (None, n) => format!(
            "{threads} are in parallel regions at the same time, on {}; {waited}",
            plural(n.into(), "processor")
        ),
    }
}

fn crowd_action(input: &Input<'_>, crowd: &Oversubscription) -> String {
    let main = input.main;
    let set = |name: &str| main.program.environment.contains_key(name);
    if crowd.first.is_some() {
        let variables: Vec<String> = ["OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY"]
            .into_iter()
            .filter(|name| set(name))
            .map(str::to_owned)
            .collect();
        let by = match variables.as_slice() {
            [] => "the processors that the program was bound to".to_owned(),
            some => fathomp_types::text::list(some),
        };
        return format!(
            "Give the threads more places or processors: look at {by}; threads that a program starts by itself inherit the place of the thread that starts them."
        );
    }
    let nested = main.regions.iter().any(|region| region.level > 1);
    if nested {
        "Let the teams of nested regions not exceed the processors together: a smaller team outside or inside (num_threads, a list in OMP_NUM_THREADS), or OMP_MAX_ACTIVE_LEVELS=1."
            .to_owned()
    } else if main.regions.iter().any(|region| region.concurrent) {
        "Give each application thread a smaller team (OMP_NUM_THREADS, num_threads): their teams together have more threads than there are processors."
            .to_owned()
    } else {
        "Use no more threads than there are processors.".to_owned()
    }
}
