//! Thread affinity in words: `OMP_AFFINITY_FORMAT`, `omp_display_affinity` and
//! `omp_capture_affinity` (OpenMP 5.1, 6.14).

use super::{Ranges, ranges};
use crate::env::DEFAULT_AFFINITY_FORMAT;
use crate::team::Member;
use crate::{current, runtime};
use fathomp_sys::cluster::process;
use fathomp_sys::{affinity, counters};
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

/// The format of LLVM's library unless the user sets another one.
const LIBOMPS_FORMAT: &str = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

/// What a format can ask for, of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    team_num: u32,
    num_teams: u32,
    nesting_level: u32,
    thread_num: u32,
    num_threads: u32,
    /// -1 at the outermost level.
    ancestor_thread_num: i32,
    host: String,
    process: u32,
    native_thread: u32,
    /// Processors the thread may run on, e.g. `0,2-3`.
    affinity: String,
}

impl Facts {
    fn of(member: &'static Member, original: Original) -> Self {
        let team = member.team();
        let cpus = affinity::of_this_thread().unwrap_or_default();
        let (team_num, num_teams) = team.league();
        let outer = member.at_level(team.level() as i32 - 1);
        Self {
            team_num,
            num_teams,
            nesting_level: team.level(),
            thread_num: member.thread_num(),
            num_threads: team.size(),
            ancestor_thread_num: outer.map_or(-1, |outer| outer.thread_num() as i32),
            host: host_name(),
            process: std::process::id(),
            native_thread: counters::os_thread_id(),
            affinity: ranges(
                cpus.iter(),
                match original {
                    Original::Libgomp => Ranges::Dash,
                    Original::Libomp => Ranges::DashOfMore,
                },
            ),
        }
    }

    /// The value of a field; a field nobody knows is `undefined`.
    fn field(&self, name: &str) -> String {
        match name {
            "t" | "team_num" => self.team_num.to_string(),
            "T" | "num_teams" => self.num_teams.to_string(),
            "L" | "nesting_level" => self.nesting_level.to_string(),
            "n" | "thread_num" => self.thread_num.to_string(),
            "N" | "num_threads" => self.num_threads.to_string(),
            "a" | "ancestor_tnum" => self.ancestor_thread_num.to_string(),
            "H" | "host" => self.host.clone(),
            "P" | "process_id" => self.process.to_string(),
            "i" | "native_thread_id" => self.native_thread.to_string(),
            "A" | "thread_affinity" => self.affinity.clone(),
            _ => "undefined".to_owned(),
        }
    }
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| "unknown".to_owned(), |name| name.trim().to_owned())
}

/// Widest field; a larger size is taken for a typing error and ignored.
const WIDTH_LIMIT: usize = 4096;

/// Replaces the field specifiers of `format`:
/// `%[[[0].]size]type`, where `type` is a letter or a name in braces.
fn expand(format: &str, facts: &Facts) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        match field(after, facts) {
            Some((value, behind)) => {
                text.push_str(&value);
                rest = behind;
            }
            // Not a specifier: stays as it is.
            None => {
                text.push('%');
                rest = after;
            }
        }
    }
    text + rest
}

/// The specifier at the start of `text` (behind its `%`) in words, and what
/// follows it.
fn field<'a>(text: &'a str, facts: &Facts) -> Option<(String, &'a str)> {
    if let Some(behind) = text.strip_prefix('%') {
        return Some(("%".to_owned(), behind));
    }
    let (zeros, text) = match text.strip_prefix("0.") {
        Some(behind) => (true, behind),
        None => (false, text),
    };
    let (right, text) = match text.strip_prefix('.') {
        Some(behind) => (true, behind),
        None => (zeros, text),
    };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (size, text) = text.split_at(digits);
    let width = match size.parse::<usize>() {
        Ok(width) if width <= WIDTH_LIMIT => width,
        _ => 0,
    };
    let (name, behind) = match text.strip_prefix('{') {
        Some(name) => {
            let (name, behind) = name.split_once('}')?;
            // Letters are no names.
            (if name.len() > 1 { name } else { "" }, behind)
        }
        None => {
            let letter = text.chars().next().filter(char::is_ascii_alphabetic)?;
            text.split_at(letter.len_utf8())
        }
    };
    let value = facts.field(name);
    // Only numbers are filled up with zeros.
    let zeros = zeros && !matches!(name, "A" | "thread_affinity" | "H" | "host");
    let mut padded = String::new();
    // Writing into a string cannot fail.
    let _ = match (right, zeros) {
        (false, _) => write!(padded, "{value:<width$}"),
        (true, false) => write!(padded, "{value:>width$}"),
        (true, true) => match value.strip_prefix('-') {
            Some(magnitude) => {
                write!(
                    padded,
                    "-{magnitude:0>width$}",
                    width = width.saturating_sub(1)
                )
            }
            None => write!(padded, "{value:0>width$}"),
        },
    };
    Some((padded, behind))
}

/// The library whose place the runtime takes in a call. The specification says
/// neither what the format is if nobody sets it, nor where lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Original {
    /// That of gcc: lines go to stderr.
    Libgomp,
    /// That of LLVM: lines go to stdout, in order with the program's own.
    Libomp,
}

/// Whether regions are begun by way of LLVM's interface.
static LIKE_LIBOMP: AtomicBool = AtomicBool::new(false);

/// For `OMP_DISPLAY_AFFINITY`: the program begins a region by way of LLVM's
/// interface. A process that does so has the lines of all regions as there.
pub fn region_like_libomp() {
    if runtime().settings.display_affinity {
        LIKE_LIBOMP.store(true, Ordering::Relaxed);
    }
}

/// `affinity-format-var`.
#[must_use]
pub fn format(original: Original) -> String {
    let format = runtime().device.affinity_format();
    match (format.is_empty(), original) {
        (false, _) => format,
        (true, Original::Libgomp) => DEFAULT_AFFINITY_FORMAT.to_owned(),
        (true, Original::Libomp) => LIBOMPS_FORMAT.to_owned(),
    }
}

/// The calling thread's affinity in the given format, or, if that is empty, in
/// the one of `affinity-format-var`.
#[must_use]
pub fn capture(wanted: &str, original: Original) -> String {
    let facts = Facts::of(current(), original);
    if wanted.is_empty() {
        expand(&format(original), &facts)
    } else {
        expand(wanted, &facts)
    }
}

/// Shows [`capture`]'s text and a line break, at once so that threads do not
/// mix their lines.
pub fn show(format: &str, original: Original) {
    let line = capture(format, original) + "\n";
    match original {
        Original::Libgomp => {
            // `eprint!` panics if stderr is closed.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
        }
        Original::Libomp => process::write_to_stdout(&line),
    }
}

/// For `OMP_DISPLAY_AFFINITY`: shows the line of the calling thread, which
/// plays `member`, unless it was the last one shown. As LLVM's library has it, the lines of all
/// threads are shown if any of the team is placed in another way than in the region before, and
/// another format is no reason.
pub(super) fn show_if_new(member: &'static Member) {
    let original = match LIKE_LIBOMP.load(Ordering::Relaxed) {
        true => Original::Libomp,
        false => Original::Libgomp,
    };
    let mut hasher = DefaultHasher::new();
    match original {
        Original::Libgomp => capture("", original).hash(&mut hasher),
        Original::Libomp => {
            let team = member.team();
            let binding = *team.binding.lock().unwrap_or_else(PoisonError::into_inner);
            (team.level(), team.size(), binding).hash(&mut hasher);
        }
    }
    // 0 stands for "nothing shown yet".
    let line = (hasher.finish() as u32).max(1);
    let shown = &member.worker().shown_affinity;
    if shown.get() != line {
        shown.set(line);
        show("", original);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts() -> Facts {
        Facts {
            team_num: 1,
            num_teams: 2,
            nesting_level: 3,
            thread_num: 4,
            num_threads: 5,
            ancestor_thread_num: -1,
            host: "box".to_owned(),
            process: 77,
            native_thread: 78,
            affinity: "0-1,6".to_owned(),
        }
    }

    #[test]
    fn fields_by_letter_and_by_name() {
        assert_eq!(
            expand("%t/%T %L:%n/%N %a %H %P %i {%A} 100%%", &facts()),
            "1/2 3:4/5 -1 box 77 78 {0-1,6} 100%"
        );
        assert_eq!(
            expand(
                "%{thread_num} of %{num_threads} on %{thread_affinity}",
                &facts()
            ),
            "4 of 5 on 0-1,6"
        );
    }

    #[test]
    fn widths_and_sides() {
        assert_eq!(expand("[%4n]", &facts()), "[4   ]");
        assert_eq!(expand("[%.4n]", &facts()), "[   4]");
        assert_eq!(expand("[%0.4n]", &facts()), "[0004]");
        assert_eq!(expand("[%0.4a]", &facts()), "[-001]");
        assert_eq!(expand("[%.8{host}]", &facts()), "[     box]");
        assert_eq!(expand("[%2A]", &facts()), "[0-1,6]");
        assert_eq!(expand("[%0.8A]", &facts()), "[   0-1,6]");
    }

    #[test]
    fn what_is_no_field() {
        assert_eq!(
            expand("%q %{foo} %{n}", &facts()),
            "undefined undefined undefined"
        );
        for odd in ["%", "50 %", "%{host", "% n", "%5", "%-"] {
            assert_eq!(expand(odd, &facts()), odd);
        }
    }

    proptest! {
        #[test]
        fn any_format_gives_a_text(format in "[%0-9.{}a-zA-Z _é-]{0,20}") {
            let _ = expand(&format, &facts());
        }
    }
}
