//! A trace for Paraver: states, events and, beside it, their names and colours (`.pcf`) and those
//! of threads (`.row`). Types and values are Extrae's, where it has some.

mod labels;
mod messages;
mod runs;

use super::tracks::{Activities, CommonClock, Doing, Slice, Tracks, program_name, walk};
use fathomp_trace::model::Recording;
use fathomp_types::text::one_line;
use labels::{Event, events, state};
use messages::Messages;
use runs::Runs;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Write};

/// A trace that is being written, process by process.
pub struct Paraver {
    clock: CommonClock,
    activities: Activities,
    runs: Runs,
    tasks: Vec<Task>,
    hosts: Vec<String>,
    ranks: bool,
    /// Types and values of events that there are, of activities.
    seen: BTreeSet<Event>,
    messages: Messages,
    end_ns: u64,
}

struct Task {
    name: String,
    host: usize,
    threads: usize,
}

/// What stands beside a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParaverLabels {
    /// Names and colours of states, names of events: the file `.pcf`.
    pub pcf: String,
    /// Names of threads: the file `.row`.
    pub row: String,
}

impl Paraver {
    /// Begins a trace. Its lines are kept in `draft`, an empty file open for reading and writing, until
    /// all of them can be put in order.
    #[must_use]
    pub fn new(draft: File, clock: CommonClock) -> Self {
        Self {
            clock,
            activities: Activities::default(),
            runs: Runs::new(draft),
            tasks: Vec::new(),
            hosts: Vec::new(),
            ranks: false,
            seen: BTreeSet::new(),
            messages: Messages::default(),
            end_ns: 0,
        }
    }

    /// Adds what was recorded; of a rank, if it has a number.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&mut self, rank: Option<u32>, recording: &Recording) -> io::Result<()> {
        self.ranks |= rank.is_some();
        let host = &*one_line(&recording.meta.machine.host);
        let known = self.hosts.iter().position(|one| one == host);
        let host_number = known.unwrap_or(self.hosts.len());
        if known.is_none() {
            self.hosts.push(host.to_owned());
        }
        for process in &recording.processes {
            if process.threads.is_empty() {
                continue;
            }
            let first_cpu: usize = self.tasks.iter().map(|task| task.threads).sum();
            self.tasks.push(Task {
                name: match rank {
                    Some(rank) => format!("rank {rank}"),
                    None => format!("{} {}", program_name(process), process.pid),
                },
                host: host_number,
                threads: process.threads.len(),
            });
            let clock = self.clock.of(host, &process.clock);
            let tracks = Tracks::new(process, clock, &mut self.activities);
            let mut lines = Vec::new();
            let (first, mut ends) = (self.messages.receives(), HashMap::new());
            for (index, thread) in process.threads.iter().enumerate() {
                let slices = tracks.slices(thread, &mut self.activities);
                let life = tracks.life(thread, &slices);
                self.end_ns = self.end_ns.max(life.1);
                // Processor, application, task, thread.
                let (cpu, task, thread) = (first_cpu + index + 1, self.tasks.len(), index + 1);
                let object = format!("{cpu}:1:{task}:{thread}");
                if let Some(rank) = rank {
                    let messages = &mut self.messages;
                    messages.add(rank, &slices, &tracks, &object, &mut ends);
                }
                self.lines(slices, life, &object, &mut lines)?;
            }
            self.messages.end_process(first, &ends);
            lines.sort_by_key(|(at, _)| *at);
            self.runs.add(lines.iter().map(|(_, line)| line))?;
        }
        Ok(())
    }

    /// The lines of a thread.
    fn lines(
        &mut self,
        slices: Vec<Slice<'_>>,
        life: (u64, u64),
        object: &str,
        lines: &mut Vec<(u64, String)>,
    ) -> io::Result<()> {
        const IDLE: u8 = 0;
        let mut open: Vec<Doing> = Vec::new();
        let mut open_events: Vec<Event> = Vec::new();
        let mut since = life.0;
        let seen = &mut self.seen;
        let mut spend = |until: u64, open: &[Doing], lines: &mut Vec<(u64, String)>| {
            if until > since {
                let state = open.last().map_or(IDLE, |doing| state(*doing));
                lines.push((since, format!("1:{object}:{since}:{until}:{state}")));
                since = until;
            }
        };
        walk(slices, |at, begins, slice| {
            spend(at, &open, lines);
            let of_slice = events(slice.doing, slice.activity);
            let mut line = format!("2:{object}:{at}");
            if begins {
                open.push(slice.doing);
            } else {
                open.pop();
                open_events.truncate(open_events.len().saturating_sub(of_slice.len()));
            }
            for event in &of_slice {
                let around = || open_events.iter().rfind(|one| one.kind == event.kind);
                let value = match begins {
                    true => event.value,
                    false => around().map_or(0, |one| one.value),
                };
                line += &format!(":{}:{value}", event.kind);
            }
            if begins {
                seen.extend(of_slice.iter().copied());
                open_events.extend(&of_slice);
            }
            if !of_slice.is_empty() {
                lines.push((at, line));
            }
            Ok(())
        })?;
        spend(life.1, &[], lines);
        Ok(())
    }

    /// Writes the trace, ordered by time, and says what stands beside it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(mut self, out: &mut dyn Write) -> io::Result<ParaverLabels> {
        writeln!(out, "{}", self.header())?;
        let tasks = self.tasks.len();
        if self.ranks {
            write!(out, "c:1:1:{tasks}")?;
            for task in 1..=tasks {
                write!(out, ":{task}")?;
            }
            writeln!(out)?;
        }
        let messages = std::mem::take(&mut self.messages).lines();
        self.runs.add(messages.iter())?;
        self.runs.merge(out)?;
        out.flush()?;
        Ok(ParaverLabels {
            pcf: labels::pcf(&self.seen, self.activities.rows()),
            row: self.row(),
        })
    }

    fn header(&self) -> String {
        let cpus = |host: usize| {
            let here = self.tasks.iter().filter(|task| task.host == host);
            here.map(|task| task.threads).sum::<usize>().to_string()
        };
        let cpus: Vec<String> = (0..self.hosts.len()).map(cpus).collect();
        let tasks = self.tasks.iter();
        let tasks: Vec<String> = tasks
            .map(|task| format!("{}:{}", task.threads, task.host + 1))
            .collect();
        format!(
            "#Paraver ({}):{}_ns:{}({}):1:{}({}),{}",
            date(self.clock.origin_unix_ns()),
            self.end_ns,
            cpus.len(),
            cpus.join(","),
            tasks.len(),
            tasks.join(","),
            u8::from(self.ranks)
        )
    }

    fn row(&self) -> String {
        let threads = self.tasks.iter().flat_map(|task| {
            let host = &self.hosts[task.host];
            (0..task.threads).map(move |thread| (task, host, thread))
        });
        let threads: Vec<_> = threads.collect();
        let mut text = String::new();
        let mut level = |name: &str, labels: Vec<String>| {
            text += &format!(
                "LEVEL {name} SIZE {}\n{}\n\n",
                labels.len(),
                labels.join("\n")
            );
        };
        let cpu =
            |(index, (_, host, _)): (usize, &(_, &String, _))| format!("{}.{host}", index + 1);
        level("CPU", threads.iter().enumerate().map(cpu).collect());
        level("NODE", self.hosts.clone());
        level(
            "TASK",
            self.tasks.iter().map(|task| task.name.clone()).collect(),
        );
        let thread =
            |(task, _, thread): &(&Task, _, usize)| format!("{} thread {thread}", task.name);
        level("THREAD", threads.iter().map(thread).collect());
        text
    }
}

/// A moment as Paraver's header has it, in UTC.
fn date(unix_ns: u64) -> String {
    let minutes = unix_ns / 60_000_000_000;
    // Years begin in March here, so that a leap day ends one (Hinnant, "chrono-compatible low-level
    // date algorithms").
    let days = minutes / (24 * 60) + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{day:02}/{month:02}/{year} at {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let seconds = [0, 951_782_399, 951_868_800, 1_796_000_000];
        let dates = seconds.map(|seconds: u64| date(seconds * 1_000_000_000));
        let expected = [
            "01/01/1970 at 00:00",
            "28/02/2000 at 23:59",
            "01/03/2000 at 00:00",
            "30/11/2026 at 00:53",
        ];
        assert_eq!(dates, expected);
    }
}
