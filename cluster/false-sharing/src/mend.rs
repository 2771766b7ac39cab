//! Sentences about shared lines.

use fathomp_shared_lines::{Evidence, Kind, SharedLine};

/// "1 line", "2 lines".
pub(crate) fn plural(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

/// "a", "a and b", "a, b and c", "a, b, c and 4 more".
pub(crate) fn list(words: &[String]) -> String {
    const SHOWN: usize = 4;
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] if words.len() <= SHOWN => format!("{} and {last}", first.join(", ")),
        _ => format!(
            "{} and {} more",
            words[..SHOWN - 1].join(", "),
            words.len() - SHOWN + 1
        ),
    }
}

/// What a finding is, without what it costs.
pub(crate) fn sentence(line: &SharedLine) -> String {
    let what = match line.parts.is_empty() {
        true => line.name.clone(),
        false => list(&line.parts),
    };
    let lines = match line.lines {
        1 => "one cache line".to_owned(),
        many => format!("{many} cache lines"),
    };
    let writers = line.writers.len() as u64;
    let threads = plural(writers, "thread");
    let write = if writers == 1 { "writes" } else { "write" };
    let phases = plural(line.phases, "phase");
    match (line.kind, line.boundary) {
        (Kind::False, true) => format!(
            "{threads} {write} {what} in blocks that meet inside {lines}: false sharing at the blocks' ends only, in {phases}"
        ),
        (Kind::False, false) if line.evidence == Evidence::Reads => {
            let readers = plural(line.readers.len() as u64, "thread");
            format!(
                "{threads} {write} and {readers} only read different bytes of {what} in {lines}: false sharing, in {phases}"
            )
        }
        (Kind::False, false) => {
            format!(
                "{threads} {write} different bytes of {what} in {lines}: false sharing, in {phases}"
            )
        }
        (Kind::True, _) => {
            let how = if line.atomics > 0 && line.locked > 0 {
                " by atomic instructions and under locks"
            } else if line.atomics > 0 {
                " by atomic instructions"
            } else if line.locked > 0 {
                " under locks"
            } else {
                ""
            };
            match line.readers.len() {
                0 if line.handed_on => format!(
                    "{threads} read of {what} in {lines} what others of them write{how}: true sharing, in {phases}"
                ),
                0 => format!(
                    "{threads} {write} the same bytes of {what} in {lines}{how}: true sharing, in {phases}"
                ),
                readers => format!(
                    "{threads} {write} what {} of {what} in {lines}{how}: true sharing, in {phases}",
                    match readers {
                        1 => "another reads".to_owned(),
                        many => format!("{many} others read"),
                    }
                ),
            }
        }
        (Kind::ReadMostly, _) => {
            let readers = plural(line.readers.len() as u64, "thread");
            format!(
                "{readers} read {what}, and no thread writes it meanwhile: it costs nothing, in {phases}"
            )
        }
    }
}

/// Whether each thread has many elements of a variable, not one.
fn in_pieces(line: &SharedLine) -> bool {
    let writers = line.writers.len();
    line.lines > writers as u64 || line.parts.len() > 2 * writers
}

/// What lines are called that only hold reference counts.
pub(crate) const REFERENCES: &str = "reference counts of shared_ptr";

/// What mends a finding.
pub(crate) fn mend(line: &SharedLine, variables: usize, heap: bool) -> String {
    let name = &line.name;
    if name == REFERENCES {
        let copied = line.accesses_at.first();
        // Without optimisation the library's own functions count.
        let users = |file: &String| !file.starts_with("/usr/");
        let copied = copied.filter(|site| site.file.as_ref().is_some_and(users));
        let at = copied.map_or(String::new(), |site| format!(" at {}", site.label));
        return format!(
            "Each copy of a shared_ptr counts up, and its end down{at}: pass it by reference, or the object itself, inside parallel regions"
        );
    }
    match (line.kind, line.boundary) {
        (Kind::False, true) => format!(
            "Nothing need be done unless phases are very short: then begin each thread's block of {name} at a multiple of 64 bytes, by a chunk size that is one and an aligned array"
        ),
        (Kind::False, false) if variables > 1 => format!(
            "Give each of {name} a line of its own: declare them apart with alignas(64), or put what one thread writes into a structure that is padded to 64 bytes"
        ),
        (Kind::False, false) if line.evidence == Evidence::Reads => format!(
            "Keep what is written of {name} and what is read in lines of their own: separate the two, with alignas(64)"
        ),
        (Kind::False, false) if in_pieces(line) => format!(
            "Let each thread's pieces of {name} begin and end at multiples of 64 bytes: align it to 64 bytes, and give threads rows or chunks that are a multiple of that long"
        ),
        (Kind::False, false) if heap => format!(
            "Let each thread's part of {name} fill whole lines: pad its elements to a multiple of 64 bytes and allocate it by aligned_alloc(64, ...), or let each thread work on a private variable and combine them at the end (reduction)"
        ),
        (Kind::False, false) => format!(
            "Let each thread's part of {name} fill whole lines: pad its elements to a multiple of 64 bytes with alignas(64), or let each thread work on a private variable and combine them at the end (reduction)"
        ),
        (Kind::True, _) if line.handed_on && line.atomics == 0 => format!(
            "Threads hand {name} on to each other: nothing need be done, unless often in small pieces; then hand on more at a time, or let the thread that reads compute it itself"
        ),
        (Kind::True, _) if line.atomics > 0 => format!(
            "Let each thread update a copy of {name} of its own and combine the copies at the end: a reduction clause does that, for arrays as well"
        ),
        (Kind::True, _) if line.locked > 0 => format!(
            "Let each thread collect in a private variable and add it to {name} once at the end, or use a reduction clause in place of the critical section or lock"
        ),
        (Kind::True, _) => format!(
            "Let one thread write {name}, or give each thread a copy; if nothing orders these writes they are a data race, which `fathomp run --nodes {} --check-races` looks for",
            line.writers.len().max(2)
        ),
        (Kind::ReadMostly, _) => {
            "Nothing need be done as long as nothing that is written often comes into its lines"
                .to_owned()
        }
    }
}
