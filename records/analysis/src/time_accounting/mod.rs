//! Who is charged what: every tick of every thread's life on one row.
//!
//! Works per process, in ticks, exactly; only the results are rounded to
//! nanoseconds. The steps are [`parts`] (which records nest in which),
//! [`teams`] (what one thread's record says about the others'), [`gaps`] (what is
//! left outside regions) and [`off`] (what of it was without a processor).

mod accounts;
mod gaps;
mod off;
mod parts;
pub(crate) mod pieces;
mod states;
mod teams;
mod wakeup_delay;

pub(crate) use accounts::{ByPlace, TimeAccount};
pub(crate) use parts::Part;
pub(crate) use states::total;
pub(crate) use teams::{Team, times as member_times};
pub(crate) use wakeup_delay::WakeupDelay;

use crate::sites::Sites;
use fathomp_trace::model::Process;

/// Does the accounts of `process`, whose regions are numbered by `sites`.
pub(crate) fn keep<'a>(
    process: &'a Process,
    sites: &Sites,
    process_index: usize,
) -> TimeAccount<'a> {
    let (mut parts, by_thread) = parts::collect(process, |site| sites.region(process_index, site));
    let mut teams = teams::form(&parts);
    teams::span(&teams, &mut parts);
    parts::nest(&mut parts, &by_thread);
    teams::complete(&mut teams, &mut parts);
    teams::complete_merged(&mut parts);
    parts::exclude_nested(&mut parts, &by_thread);
    let (begin, end) = gaps::process_span(process, &parts);
    let (lives, gaps) = gaps::lives_and_gaps(process, &mut parts, &by_thread, begin, end);
    let mut account = TimeAccount {
        process,
        parts,
        by_thread,
        teams,
        lives,
        gaps,
        begin,
        end,
    };
    off::charge(&mut account);
    teams::weigh(&mut account.teams, &account.parts);
    account
}
