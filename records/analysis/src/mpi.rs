//! Calls of MPI, added up by the place in the program that calls.

use crate::facts::{MpiCalls, MpiFacts};
use crate::sites::Sites;
use crate::time_accounting::TimeAccount;
use fathomp_trace::record::Record;
use fathomp_types::mpi::NAMES;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Places that are listed, the dearest; of the others the sums tell.
const MOST_PLACES: usize = 500;

/// What threads did in MPI; nothing if they never called it, or nobody saw it.
pub(crate) fn calls(accounts: &[TimeAccount<'_>], sites: &Sites) -> Option<MpiFacts> {
    let mut rows: BTreeMap<(usize, u16), MpiCalls> = BTreeMap::new();
    for (process, account) in accounts.iter().enumerate() {
        let clock = &account.process.clock;
        for stream in &account.process.threads {
            for record in &stream.records {
                let Record::Message(call) = record else {
                    continue;
                };
                let entry = sites.region(process, call.site);
                let row = rows.entry((entry, call.function)).or_insert_with(|| {
                    let site = &sites.entries[entry];
                    MpiCalls {
                        function: name(call.function).to_owned(),
                        name: site.name.clone(),
                        place: site.place.clone(),
                        ..MpiCalls::default()
                    }
                });
                if process == 0 {
                    row.sites.insert(call.site);
                }
                let ns = clock.span(call.end.since(call.begin)).0;
                row.count = row.count.saturating_add(1);
                row.time_ns = row.time_ns.saturating_add(ns);
                row.max_ns = row.max_ns.max(ns);
                if let Some(bytes) = call.bytes {
                    row.bytes = row.bytes.saturating_add(bytes);
                    row.sized = row.sized.saturating_add(1);
                }
                if let Some(peer) = call.peer {
                    let to = row.peers.entry(peer).or_default();
                    *to = to.saturating_add(1);
                }
            }
        }
    }
    let mut calls: Vec<MpiCalls> = rows.into_values().collect();
    let sum = |of: fn(&MpiCalls) -> u64| calls.iter().map(of).fold(0, u64::saturating_add);
    let (count, time_ns) = (sum(|one| one.count), sum(|one| one.time_ns));
    calls.sort_by(|a, b| {
        (Reverse(a.time_ns), &a.function, &a.name).cmp(&(Reverse(b.time_ns), &b.function, &b.name))
    });
    calls.truncate(MOST_PLACES);
    (count > 0).then_some(MpiFacts {
        count,
        time_ns,
        complete: accounts.iter().all(|one| one.process.details_missing == 0),
        calls,
    })
}

fn name(function: u16) -> &'static str {
    NAMES.get(usize::from(function)).copied().unwrap_or("MPI")
}
