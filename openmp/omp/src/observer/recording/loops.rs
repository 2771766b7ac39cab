//! What a recording learns about loops.

use super::tally::Tally;
use crate::recorded::recorder;
use crate::team::Member;
use crate::worksharing::{Dealing, Loop};
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::record::{LoopKind, LoopShare, PIECES_TIMED};
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::sync::atomic::Ordering;

/// One dispatch in so many is timed.
const SAMPLE: u32 = 16;

fn kind_of(wanted: &Loop) -> LoopKind {
    match wanted.dealing {
        _ if wanted.sections => LoopKind::Sections,
        Dealing::Static { .. } => LoopKind::Static,
        Dealing::Dynamic { .. } => LoopKind::Dynamic,
        Dealing::Guided { .. } | Dealing::GuidedWhole { .. } | Dealing::Trapezoidal { .. } => {
            LoopKind::Guided
        }
    }
}

/// The member of a recorded thread meets a loop.
pub(super) fn begin(member: &'static Member, wanted: &Loop) {
    let Some(recorder) = recorder() else {
        return;
    };
    let kind = if wanted.sections {
        SiteKind::Sections
    } else {
        SiteKind::Loop
    };
    let tally = &member.share.tally;
    tally.site.set(recorder.site(kind, wanted.call, 0).0);
    tally.kind.set(kind_of(wanted) as u32);
    tally.ordered.set(u32::from(wanted.ordered));
    tally.asked.set(wanted.dealing.chunk());
    tally.iterations.set(0);
    tally.chunks.set(0);
    tally.begin.set(now().0);
    tally.longest.set(0);
    member.share.recorded.set(1);
}

/// Loop bounds of the member's next chunk, which is counted if its loop is recorded.
pub(crate) fn next(member: &'static Member) -> Option<(u64, u64)> {
    let cursor = &member.share;
    let thread = member.worker().recorder();
    let Some(thread) = thread.filter(|_| cursor.recorded.get() != 0) else {
        return cursor.hand_out(member);
    };
    let tally = &cursor.tally;
    time_chunk(tally);
    let countdown = tally.countdown.get();
    let chunk = if countdown == 0 {
        tally.countdown.set(SAMPLE - 1);
        let begin = now();
        let chunk = cursor.next_chunk(member);
        thread.overhead(begin, now(), SAMPLE);
        chunk
    } else {
        tally.countdown.set(countdown - 1);
        cursor.next_chunk(member)
    };
    let (from, to) = chunk?;
    tally.chunks.set(tally.chunks.get() + 1);
    tally.iterations.set(tally.iterations.get() + (to - from));
    Some(cursor.iterations().bounds(from, to))
}

/// A chunk is over, or the first is asked for. Chunks are timed one by one while they are few.
#[inline]
fn time_chunk(tally: &Tally) {
    let chunks = tally.chunks.get();
    if chunks <= PIECES_TIMED {
        let at = now();
        if chunks > 0 {
            let taken = at.since(Ticks(tally.since.get())).0;
            tally.longest.set(tally.longest.get().max(taken));
        }
        tally.since.set(at.0);
    }
}

/// The member meets a loop of which it will run so many iterations, without asking for chunks.
#[cold]
pub(crate) fn fixed_loop(member: &'static Member, wanted: &Loop, iterations: u64) {
    if member.worker().recorder().is_none() {
        return;
    }
    begin(member, wanted);
    let chunk = wanted.dealing.chunk();
    let tally = &member.share.tally;
    tally.iterations.set(iterations);
    tally.chunks.set(match chunk {
        0 => u64::from(iterations != 0),
        chunk => iterations.div_ceil(chunk),
    });
}

/// The member is through with the loop that it has met last.
pub(crate) fn left_loop(member: &'static Member) {
    let cursor = &member.share;
    if cursor.recorded.get() == 0 {
        return;
    }
    cursor.recorded.set(0);
    let Some(thread) = member.worker().recorder() else {
        return;
    };
    let tally = &cursor.tally;
    // Once for all: adding each chunk to the region as well would double its cost.
    thread.chunks(tally.chunks.get(), tally.iterations.get());
    let kind = match tally.kind.get() {
        kind if kind == LoopKind::Static as u32 => LoopKind::Static,
        kind if kind == LoopKind::Guided as u32 => LoopKind::Guided,
        kind if kind == LoopKind::Sections as u32 => LoopKind::Sections,
        _ => LoopKind::Dynamic,
    };
    thread.loop_done(&LoopShare {
        site: SiteId(tally.site.get()),
        instance: InstanceId(member.team().dock.instance.load(Ordering::Relaxed)),
        kind,
        ordered: tally.ordered.get() != 0,
        chunk: tally.asked.get(),
        iterations: tally.iterations.get(),
        chunks: tally.chunks.get(),
        begin: Ticks(tally.begin.get()),
        end: now(),
        longest: match (kind, tally.chunks.get()) {
            // Chunks of other kinds are no pieces, or are not asked for one by one.
            (LoopKind::Dynamic | LoopKind::Sections, 1..=PIECES_TIMED) => {
                Ticks(tally.longest.get())
            }
            _ => Ticks(0),
        },
    });
}
