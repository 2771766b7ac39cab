//! Loops and waiting places: constructs inside regions.

use crate::facts::{LoopRow, LoopShareRow, WaitRow};
use crate::sites::Sites;
use crate::time_accounting::TimeAccount;
use fathomp_trace::model::SiteKind;
use fathomp_trace::record::{LoopKind, Record};
use fathomp_trace::state::State;
use fathomp_types::InstanceId;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Longest list of waiting places.
const MOST_WAITS: usize = 200;

#[derive(Default)]
struct LoopSum {
    regions: BTreeSet<usize>,
    ordered: bool,
    chunk: Option<(u64, u64)>,
    threads: BTreeMap<(usize, usize), [u64; 4]>,
}

/// Worksharing loops, by decreasing time.
pub(crate) fn loops(accounts: &[TimeAccount<'_>], sites: &Sites) -> Vec<LoopRow> {
    let mut sums: BTreeMap<(usize, LoopKind), LoopSum> = BTreeMap::new();
    for (process, account) in accounts.iter().enumerate() {
        let clock = &account.process.clock;
        let region_of: HashMap<InstanceId, usize> = account
            .parts
            .iter()
            .map(|part| (part.record.instance, part.region))
            .collect();
        for (thread, stream) in account.process.threads.iter().enumerate() {
            for record in &stream.records {
                let Record::Loop(share) = record else {
                    continue;
                };
                let entry = sites.region(process, share.site);
                let sum = sums.entry((entry, share.kind)).or_default();
                sum.regions.extend(region_of.get(&share.instance));
                sum.ordered |= share.ordered;
                let chunk = share.chunk;
                sum.chunk = Some(
                    sum.chunk
                        .map_or((chunk, chunk), |(a, b)| (a.min(chunk), b.max(chunk))),
                );
                let row = sum.threads.entry((process, thread)).or_default();
                let time = clock.span(share.end.since(share.begin)).0;
                let more = [1, time, share.iterations, share.chunks];
                for (sum, more) in row.iter_mut().zip(more) {
                    *sum = sum.saturating_add(more);
                }
            }
        }
    }
    let mut rows: Vec<LoopRow> = sums
        .into_iter()
        .map(|((entry, kind), sum)| loop_row(entry, kind, sum, accounts, sites))
        .collect();
    rows.sort_by(|a, b| {
        (Reverse(a.time_ns), &a.key, a.kind).cmp(&(Reverse(b.time_ns), &b.key, b.kind))
    });
    rows
}

fn loop_row(
    entry: usize,
    kind: LoopKind,
    sum: LoopSum,
    accounts: &[TimeAccount<'_>],
    sites: &Sites,
) -> LoopRow {
    let site = &sites.entries[entry];
    let mut total = [0_u64; 4];
    let mut longest = 0;
    let threads: Vec<LoopShareRow> = sum
        .threads
        .into_iter()
        .map(|((process, index), row)| {
            for (sum, more) in total.iter_mut().zip(row) {
                *sum = sum.saturating_add(more);
            }
            longest = longest.max(row[1]);
            LoopShareRow {
                process,
                thread: accounts[process].process.threads[index].id.0,
                shares: row[0],
                time_ns: row[1],
                iterations: row[2],
                chunks: row[3],
            }
        })
        .collect();
    let mean = total[1] as f64 / threads.len().max(1) as f64;
    let (chunk_min, chunk_max) = sum.chunk.unwrap_or((0, 0));
    LoopRow {
        key: site.key.clone(),
        name: match site.name.as_str() {
            "" => site.place.short.clone(),
            name => name.to_owned(),
        },
        place: site.place.clone(),
        regions: sum
            .regions
            .into_iter()
            .map(|region| sites.entries[region].key.clone())
            .collect(),
        kind,
        ordered: sum.ordered,
        chunk_min,
        chunk_max,
        shares: total[0],
        time_ns: total[1],
        iterations: total[2],
        chunks: total[3],
        load_balance: if longest == 0 {
            1.0
        } else {
            mean / longest as f64
        },
        threads,
    }
}

/// Places where threads waited, by decreasing time.
pub(crate) fn waits(accounts: &[TimeAccount<'_>], sites: &Sites) -> Vec<WaitRow> {
    let mut sums: BTreeMap<(usize, State), [u64; 3]> = BTreeMap::new();
    for (process, account) in accounts.iter().enumerate() {
        let clock = &account.process.clock;
        for stream in &account.process.threads {
            for record in &stream.records {
                let Record::Interval(wait) = record else {
                    continue;
                };
                if matches!(wait.state, State::Compute | State::Idle) {
                    continue;
                }
                let entry = sites.region(process, wait.site);
                // Calls of MPI are told by themselves.
                if sites.entries[entry].kind == SiteKind::Mpi {
                    continue;
                }
                let time = clock.span(wait.end.since(wait.begin)).0;
                let sum = sums.entry((entry, wait.state)).or_default();
                sum[0] = sum[0].saturating_add(1);
                sum[1] = sum[1].saturating_add(time);
                sum[2] = sum[2].max(time);
            }
        }
    }
    let mut rows: Vec<WaitRow> = sums
        .into_iter()
        .map(|((entry, state), sum)| {
            let site = &sites.entries[entry];
            WaitRow {
                key: site.key.clone(),
                name: site.name.clone(),
                place: site.place.clone(),
                state,
                count: sum[0],
                time_ns: sum[1],
                max_ns: sum[2],
            }
        })
        .collect();
    rows.sort_by(|a, b| {
        (Reverse(a.time_ns), &a.key, a.state).cmp(&(Reverse(b.time_ns), &b.key, b.state))
    });
    rows.truncate(MOST_WAITS);
    rows
}
