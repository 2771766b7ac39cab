//! Sites of all processes, joined by identity and named.
//!
//! Processes number sites in order of appearance; across processes and
//! recordings a site is known by kind, module and address.

use crate::facts::{Lines, Place};
use crate::symbols::Symbols;
use fathomp_trace::model::{Recording, Site, SiteKind};
use fathomp_types::SiteId;
use std::collections::{BTreeMap, HashMap};

/// A site, whichever processes know it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Identity across processes and recordings.
    pub(crate) key: String,
    /// What it is.
    pub(crate) kind: SiteKind,
    /// Where it is.
    pub(crate) place: Place,
    /// Lines of a region, if known.
    pub(crate) lines: Option<Lines>,
    /// Short name, unique among entries of its class (regions, others by kind).
    pub(crate) name: String,
}

/// All sites. Entry 0 is the serial part.
pub(crate) struct Sites {
    pub(crate) entries: Vec<Entry>,
    /// Entry by process and [`SiteId`].
    index: Vec<Vec<usize>>,
    /// Entry of sites a record names and no table explains.
    unknown: usize,
}

impl Sites {
    /// Joins and names the sites of `recording`.
    pub(crate) fn new(recording: &Recording, symbols: &mut Symbols) -> Self {
        let mut sites = Self {
            entries: vec![Entry {
                key: "serial".to_owned(),
                kind: SiteKind::Serial,
                place: Place {
                    label: "serial part".to_owned(),
                    short: "serial part".to_owned(),
                    ..Place::default()
                },
                lines: None,
                name: "serial part".to_owned(),
            }],
            index: Vec::with_capacity(recording.processes.len()),
            unknown: 1,
        };
        sites.entries.push(Entry {
            key: "unknown".to_owned(),
            kind: SiteKind::Parallel,
            place: Place {
                label: "unknown place".to_owned(),
                short: "unknown".to_owned(),
                ..Place::default()
            },
            lines: None,
            name: String::new(),
        });
        let mut by_key: HashMap<String, usize> = HashMap::new();
        for process in &recording.processes {
            let mut index = vec![sites.unknown; process.sites.len()];
            // Those without an outlined function last: they may belong to one that has it.
            let mut order: Vec<usize> = (0..process.sites.len()).collect();
            order.sort_by_key(|&number| process.sites[number].function == 0);
            for number in order {
                let site = &process.sites[number];
                let alone = site.kind == SiteKind::Parallel && site.function == 0;
                let same = match alone && site.call != 0 {
                    true => sites.same_directive(site, symbols),
                    false => None,
                };
                index[number] = match (site.kind, same) {
                    _ if number == 0 => 0,
                    (SiteKind::Serial, _) => 0,
                    _ if site.call == 0 && site.function == 0 => sites.unknown,
                    (_, Some(same)) => same,
                    _ => *by_key.entry(key(site)).or_insert_with_key(|key| {
                        let place = symbols.place(&site.module, site.call, site.function);
                        let region = matches!(site.kind, SiteKind::Parallel | SiteKind::Teams);
                        let lines = region
                            .then(|| symbols.lines(&site.module, site.function))
                            .flatten();
                        sites.entries.push(Entry {
                            key: key.clone(),
                            kind: site.kind,
                            place,
                            lines,
                            name: String::new(),
                        });
                        sites.entries.len() - 1
                    }),
                };
            }
            sites.index.push(index);
        }
        name(&mut sites.entries);
        sites
    }

    /// The region of the same directive, where clang calls the code of a region with a false `if`
    /// clause by itself, so that its site has no outlined function.
    fn same_directive(&self, site: &Site, symbols: &mut Symbols) -> Option<usize> {
        let place = symbols.place(&site.module, site.call, 0);
        let at = |place: &Place| (place.module.clone(), place.file.clone(), place.line);
        let here = place.line.map(|_| at(&place))?;
        self.entries
            .iter()
            .position(|one| one.kind == SiteKind::Parallel && at(&one.place) == here)
    }

    /// Names of the places of a kind, sorted.
    pub(crate) fn names_of(&self, kind: SiteKind) -> Vec<String> {
        let of_kind = self.entries.iter().filter(|one| one.kind == kind);
        let mut names: Vec<String> = of_kind.map(|one| one.name.clone()).collect();
        names.sort();
        names
    }

    /// Entry of a site of a process.
    pub(crate) fn region(&self, process: usize, site: SiteId) -> usize {
        if site == SiteId::SERIAL {
            return 0;
        }
        self.index
            .get(process)
            .and_then(|index| index.get(site.0 as usize))
            .copied()
            .unwrap_or(self.unknown)
    }
}

/// Short names of the regions that a recording's first process knows, by [`SiteId`], as
/// in tables of its regions; of other sites, too.
#[must_use]
pub fn site_names(recording: &Recording) -> Vec<String> {
    let sites = Sites::new(recording, &mut Symbols::of(recording));
    let index = sites.index.into_iter().next().unwrap_or_default();
    let name = |entry: usize| sites.entries[entry].name.clone();
    index.into_iter().map(name).collect()
}

/// Identity of a site: its outlined function, which stays one where the
/// function around it was inlined in several places; else the call that
/// entered it.
fn key(site: &Site) -> String {
    let address = if site.function != 0 {
        site.function
    } else {
        site.call
    };
    let kind = match site.kind {
        SiteKind::Serial => "serial",
        SiteKind::Parallel => "parallel",
        SiteKind::Loop => "loop",
        SiteKind::Sections => "sections",
        SiteKind::Mutex => "mutex",
        SiteKind::Barrier => "barrier",
        SiteKind::Task => "task",
        SiteKind::Teams => "teams",
        SiteKind::Threads => "threads",
        SiteKind::Mpi => "mpi",
    };
    format!("{kind}:{}+{address:#x}", site.module.display())
}

/// Gives every entry a short name that no other of its class has.
fn name(entries: &mut [Entry]) {
    let mut classes: BTreeMap<u8, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        let class = match entry.kind {
            SiteKind::Serial | SiteKind::Parallel | SiteKind::Teams => 0,
            other => other as u8,
        };
        classes.entry(class).or_default().push(index);
    }
    for members in classes.into_values() {
        let mut pending = members;
        for candidate in [short, with_directory, with_column, with_function] {
            let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for &index in &pending {
                groups
                    .entry(candidate(&entries[index].place))
                    .or_default()
                    .push(index);
            }
            pending.clear();
            for (name, group) in groups {
                if let [only] = group[..] {
                    entries[only].name = name;
                } else {
                    pending.extend(group);
                }
            }
        }
        // What is still alike is numbered by address.
        pending.sort_by(|&a, &b| {
            let (a, b) = (&entries[a], &entries[b]);
            (short(&a.place), a.place.address, &a.key).cmp(&(
                short(&b.place),
                b.place.address,
                &b.key,
            ))
        });
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for index in pending {
            let base = short(&entries[index].place);
            let number = seen.entry(base.clone()).or_insert(0);
            *number += 1;
            entries[index].name = format!("{base}#{number}");
        }
    }
}

fn short(place: &Place) -> String {
    place.short.clone()
}

fn with_directory(place: &Place) -> String {
    match (&place.file, place.line) {
        (Some(file), Some(line)) => {
            let parts: Vec<&str> = file.rsplit('/').take(2).collect();
            match parts[..] {
                [base, directory] => format!("{directory}/{base}:{line}"),
                _ => place.short.clone(),
            }
        }
        _ => place.short.clone(),
    }
}

fn with_column(place: &Place) -> String {
    match place.column {
        Some(column) => format!("{}:{column}", place.short),
        None => place.short.clone(),
    }
}

fn with_function(place: &Place) -> String {
    match (&place.function, place.line) {
        (Some(function), Some(_)) => format!("{} {function}", place.short),
        _ => place.short.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: SiteKind, file: &str, column: Option<u32>, address: u64) -> Entry {
        let base = file.rsplit('/').next().unwrap_or(file);
        Entry {
            key: format!("{address}"),
            kind,
            place: Place {
                short: format!("{base}:7"),
                file: Some(file.to_owned()),
                line: Some(7),
                column,
                address,
                ..Place::default()
            },
            lines: None,
            name: String::new(),
        }
    }

    #[test]
    fn names_are_short_and_unique_within_a_class() {
        let mut entries = vec![
            entry(SiteKind::Parallel, "/a/x.c", None, 1),
            entry(SiteKind::Parallel, "/b/x.c", None, 2),
            entry(SiteKind::Parallel, "/a/y.c", Some(3), 3),
            entry(SiteKind::Parallel, "/a/y.c", Some(9), 4),
            entry(SiteKind::Parallel, "/a/z.c", Some(1), 6),
            entry(SiteKind::Parallel, "/a/z.c", Some(1), 5),
            entry(SiteKind::Loop, "/a/x.c", None, 1),
        ];
        name(&mut entries);
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a/x.c:7", "b/x.c:7", "y.c:7:3", "y.c:7:9", "z.c:7#2", "z.c:7#1", "x.c:7"
            ]
        );
    }
}
