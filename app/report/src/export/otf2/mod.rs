//! An archive in the Open Trace Format 2, which Vampir, Scalasca and `otf2-print` read.
//!
//! `traces.otf2`, the anchor, names what there is; `traces.def` defines it; `traces/N.evt` holds
//! what thread N did. Kinds of records and enumerations have the numbers of OTF2 3.0.

mod chunks;
mod kinds;
mod mpi;
mod strings;

use super::tracks::{Activities, Activity, CommonClock, Doing, MpiClass, Slice, Tracks};
use super::tracks::{program_name, walk};
use chunks::Field::{Byte, Nothing, Number};
use chunks::{Chunks, DEFINITIONS_CHUNK, END, EVENTS_CHUNK, Record};
use fathomp_trace::model::Recording;
use fathomp_trace::record::LoopKind;
use fathomp_trace::state::State;
use fathomp_types::text::one_line;
use kinds::{definition, event, paradigm};
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use strings::Strings;

const ANCHOR: &str = "traces.otf2";
const DEFINITIONS: &str = "traces.def";
const LOCATIONS: &str = "traces";

/// An archive that is being written, process by process.
pub struct Otf2 {
    directory: PathBuf,
    clock: CommonClock,
    activities: Activities,
    strings: Strings,
    hosts: Vec<u64>,
    groups: Vec<Record>,
    locations: Vec<Record>,
    /// The locations of the ranks' first threads, by rank.
    ranks: Vec<u64>,
    communicators: mpi::Communicators,
    end_ns: u64,
}

impl Otf2 {
    /// Begins an archive in a directory, which is made; an earlier archive there goes. If all
    /// `ranks` of a program of MPI will be added, their messages are written, too; 0 if not.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(directory: &Path, clock: CommonClock, ranks: u32) -> io::Result<Self> {
        for file in [ANCHOR, DEFINITIONS] {
            remove(fs::remove_file(directory.join(file)))?;
        }
        let locations = directory.join(LOCATIONS);
        remove(fs::remove_dir_all(&locations))?;
        fs::create_dir_all(&locations)?;
        let mut strings = Strings::default();
        strings.number("");
        Ok(Self {
            directory: directory.to_owned(),
            clock,
            activities: Activities::default(),
            strings,
            hosts: Vec::new(),
            groups: Vec::new(),
            locations: Vec::new(),
            ranks: Vec::new(),
            communicators: mpi::Communicators::new(ranks),
            end_ns: 0,
        })
    }

    /// Adds what was recorded; of a rank, if it has a number.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn add(&mut self, rank: Option<u32>, recording: &Recording) -> io::Result<()> {
        let host = &*one_line(&recording.meta.machine.host);
        let node = self.host(host);
        let first = self.locations.len();
        for process in &recording.processes {
            let group = match rank {
                Some(rank) => self.group(&format!("rank {rank}"), node),
                None => self.group(&format!("{} {}", program_name(process), process.pid), node),
            };
            let clock = self.clock.of(host, &process.clock);
            let tracks = Tracks::new(process, clock, &mut self.activities);
            for thread in &process.threads {
                let slices = tracks.slices(thread, &mut self.activities);
                let events = self.write_events(slices, &tracks)?;
                self.location(&format!("thread {}", thread.id), events, group);
            }
        }
        if let Some(rank) = rank {
            self.ranks.push(first as u64);
            if self.locations.len() == first {
                // Messages name ranks by their place among all.
                let events = self.events_file()?.finish()?;
                let group = self.group(&format!("rank {rank}"), node);
                self.location("nothing recorded", events, group);
            }
        }
        Ok(())
    }

    /// A new location group, by its number.
    fn group(&mut self, name: &str, node: u64) -> u64 {
        const PROCESS: u8 = 1;
        let (number, name) = (self.groups.len() as u64, self.strings.number(name));
        let mut record = Record::new(definition::LOCATION_GROUP, &[number, name].map(Number));
        for field in [Byte(PROCESS), Number(node), Nothing] {
            record.push(field);
        }
        self.groups.push(record);
        number
    }

    /// A new location.
    fn location(&mut self, name: &str, events: u64, group: u64) {
        const THREAD: u8 = 1;
        let (number, name) = (self.locations.len() as u64, self.strings.number(name));
        let mut record = Record::new(definition::LOCATION, &[number, name].map(Number));
        for field in [Byte(THREAD), Number(events), Number(group)] {
            record.push(field);
        }
        self.locations.push(record);
    }

    /// The system tree's node of a host; 0 is the root.
    fn host(&mut self, host: &str) -> u64 {
        let name = self.strings.number(host);
        let known = self.hosts.iter().position(|one| *one == name);
        let index = known.unwrap_or_else(|| {
            self.hosts.push(name);
            self.hosts.len() - 1
        });
        index as u64 + 1
    }

    /// The files of the next location.
    fn events_file(&self) -> io::Result<Chunks<BufWriter<File>>> {
        let location = self.locations.len();
        let file = |ending: &str, size: usize| {
            let name = format!("{LOCATIONS}/{location}.{ending}");
            let file = File::create(self.directory.join(name))?;
            io::Result::Ok(Chunks::new(BufWriter::new(file), size))
        };
        // Readers want the file, though all definitions are global.
        file("def", DEFINITIONS_CHUNK)?.finish()?;
        file("evt", EVENTS_CHUNK)
    }

    /// Writes what the next location does; how many events it has.
    fn write_events(&mut self, slices: Vec<Slice<'_>>, tracks: &Tracks) -> io::Result<u64> {
        let mut events = self.events_file()?;
        let (end_ns, communicators) = (&mut self.end_ns, &mut self.communicators);
        walk(slices, |at, begins, slice| {
            *end_ns = at.max(*end_ns);
            let region = u64::from(slice.activity);
            if begins {
                events.event(at, &Record::of_one_number(event::ENTER, region))?;
            }
            if slice.call.is_some() {
                for record in mpi::events(slice, tracks, begins, communicators) {
                    events.event(at, &record)?;
                }
            }
            if !begins {
                events.event(at, &Record::of_one_number(event::LEAVE, region))?;
            }
            Ok(())
        })?;
        events.finish()
    }

    /// Writes the definitions and the anchor, without which nobody takes the rest for an archive;
    /// the anchor's name.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        let mut records = self.system_tree();
        for (paradigm, name, class) in [(paradigm::OPENMP, "OpenMP", 1), (paradigm::MPI, "MPI", 0)]
        {
            let name = self.strings.number(name);
            let fields = [Byte(paradigm), Number(name), Byte(class)];
            records.push(Record::new(definition::PARADIGM, &fields));
        }
        for (number, row) in self.activities.rows().iter().enumerate() {
            records.push(region(number as u64, row, &mut self.strings));
        }
        records.append(&mut self.groups);
        let locations = self.locations.len();
        records.append(&mut self.locations);
        records.extend(self.communicators.define(&self.ranks, &mut self.strings));
        const TICKS_PER_S: u64 = 1_000_000_000;
        let (length, begin) = (Number(self.end_ns), Number(self.clock.origin_unix_ns()));
        let fields = [Number(TICKS_PER_S), Number(0), length, begin];
        let clock = Record::new(definition::CLOCK, &fields);
        let strings = self.strings.records();
        let file = File::create(self.directory.join(DEFINITIONS))?;
        let mut file = Chunks::new(BufWriter::new(file), DEFINITIONS_CHUNK);
        let mut number = 0;
        for record in std::iter::once(clock).chain(strings).chain(records) {
            file.define(&record)?;
            number += 1;
        }
        file.finish()?;
        let anchor = anchor(locations as u64, number, self.clock.origin_unix_ns());
        let path = self.directory.join(ANCHOR);
        fs::write(&path, anchor)?;
        Ok(path)
    }

    fn system_tree(&mut self) -> Vec<Record> {
        let [machine, node] = ["machine", "node"].map(|class| self.strings.number(class));
        let root = [Number(0), Number(machine), Number(machine), Nothing];
        let mut nodes = vec![Record::new(definition::SYSTEM_TREE_NODE, &root)];
        for (name, number) in self.hosts.iter().zip(1..) {
            let fields = [Number(number), Number(*name), Number(node), Number(0)];
            nodes.push(Record::new(definition::SYSTEM_TREE_NODE, &fields));
        }
        nodes
    }
}

/// What was not there is removed, too.
fn remove(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn region(number: u64, row: &Activity, strings: &mut Strings) -> Record {
    let name = strings.number(&row.name);
    let (role, paradigm) = role(row.doing);
    let source = row.source.as_ref();
    let file = source.map_or(Nothing, |(file, ..)| Number(strings.number(file)));
    let (first, last) = source.map_or((0, 0), |(_, first, last)| (*first, *last));
    let lines = [Number(first.into()), Number(last.into())];
    // No description, and no role by the numbers of the format's first version.
    let fields = [Number(number), Number(name), Number(0), Byte(0), file];
    let mut record = Record::new(definition::REGION, &fields);
    let flags = Number(0);
    for field in lines
        .into_iter()
        .chain([Number(name), Byte(role), Byte(paradigm), flags])
    {
        record.push(field);
    }
    record
}

/// A region's role and paradigm.
fn role(doing: Doing) -> (u8, u8) {
    let openmp = |role: u8| (role, paradigm::OPENMP);
    match doing {
        Doing::Program => (1, paradigm::USER),
        Doing::Parallel | Doing::Several => openmp(5),
        Doing::Loop(LoopKind::Sections) => openmp(6),
        Doing::Loop(_) => openmp(3),
        Doing::Wait(State::ImplicitBarrier) => openmp(16),
        Doing::Wait(State::ExplicitBarrier) => openmp(15),
        Doing::Wait(State::Critical | State::Lock) => openmp(12),
        Doing::Wait(State::Ordered) => openmp(18),
        Doing::Wait(State::TaskWait) => openmp(22),
        Doing::Wait(State::Io) => (27, paradigm::USER),
        Doing::Wait(State::Communication) => (30, paradigm::USER),
        Doing::Wait(_) => openmp(31),
        Doing::Mpi(function) => (MpiClass::of(function).otf2_role, paradigm::MPI),
    }
}

/// The anchor file.
fn anchor(locations: u64, definitions: u64, trace: u64) -> Vec<u8> {
    /// Version of the format's library, and before it that of its interface.
    const VERSION: [u8; 5] = [3, 2, 3, 0, 2];
    const FILES_OF_POSIX: u8 = 1;
    const NOT_COMPRESSED: u8 = 1;
    let text = |text: &str| [text.as_bytes(), &[0]].concat();
    [
        &[0x03, 0x42][..],
        &text("OTF2"),
        &VERSION,
        &(EVENTS_CHUNK as u64).to_le_bytes(),
        &(DEFINITIONS_CHUNK as u64).to_le_bytes(),
        &[FILES_OF_POSIX, NOT_COMPRESSED],
        &locations.to_le_bytes(),
        &definitions.to_le_bytes(),
        // The machine, the creator, a description.
        &text(""),
        &text(concat!("fathomp ", env!("CARGO_PKG_VERSION"))),
        &text(""),
        &0_u32.to_le_bytes(),
        &trace.to_le_bytes(),
        &0_u32.to_le_bytes(),
        &0_u32.to_le_bytes(),
        &END,
        &[0],
    ]
    .concat()
}
