//! The loops that a thread is in, one in each part.

use super::cost::Event;
use super::parts::{Open, Part, count};
use super::process::recorder;
use super::region::Loop;
use super::thread::Thread;
use fathomp_trace::model::SiteKind;
use fathomp_trace::now;
use fathomp_trace::record::{LoopKind, LoopShare, PIECES_TIMED};
use fathomp_types::Ticks;

/// One question for iterations in so many is timed.
const SAMPLE: u32 = 16;

impl Thread {
    /// The thread meets a worksharing loop.
    pub(crate) fn loop_begins(&self, wanted: &Loop) {
        let _event = Event::of(&self.events);
        self.loop_begins_here(wanted);
    }

    pub(super) fn loop_begins_here(&self, wanted: &Loop) {
        let Some(recorder) = recorder() else {
            return;
        };
        self.end_loop();
        let kind = match wanted.kind {
            LoopKind::Sections => SiteKind::Sections,
            _ => SiteKind::Loop,
        };
        let begin = now();
        self.in_part(|part| {
            part.open = Some(Open {
                share: LoopShare {
                    site: recorder.site(kind, wanted.call, 0),
                    instance: part.instance,
                    kind: wanted.kind,
                    ordered: wanted.ordered,
                    chunk: wanted.chunk,
                    iterations: 0,
                    chunks: 0,
                    begin,
                    end: begin,
                    longest: Ticks(0),
                },
                step: wanted.step,
                iterations_known: false,
            });
        });
    }

    /// Asks for iterations by `ask`, for the loop that the thread is in; one question in so many
    /// is timed.
    #[inline]
    pub(crate) fn asks_for_iterations<R>(&self, ask: impl FnOnce() -> R) -> R {
        let countdown = self.in_part(|part| {
            let countdown = part.countdown;
            part.countdown = countdown.checked_sub(1).unwrap_or(SAMPLE - 1);
            countdown
        });
        if countdown != 0 {
            return ask();
        }
        let begin = now();
        let answer = ask();
        self.overhead(begin, now(), SAMPLE);
        answer
    }

    /// The thread was dealt the iterations from `first` to before `end`, by the loop's step.
    #[inline]
    pub(crate) fn chunk(&self, first: i64, end: i64) {
        let _event = Event::of(&self.events);
        self.in_part(|part| {
            if let Some(open) = &mut part.open {
                if open.share.chunks <= PIECES_TIMED {
                    // The chunk before is over; so far, the share ends there.
                    let at = now();
                    if open.share.chunks > 0 {
                        open.share.longest = open.share.longest.max(at.since(open.share.end));
                    }
                    open.share.end = at;
                }
                open.share.chunks += 1;
                open.share.iterations += count(first, end, open.step);
                open.iterations_known = true;
            }
        });
    }

    /// The thread has no more iterations of its loop.
    #[inline]
    pub(crate) fn loop_ends(&self) {
        let _event = Event::of(&self.events);
        self.end_loop();
    }

    /// Ends the loop that the thread is in, if it is in one.
    fn end_loop(&self) {
        let open = self.in_part(|part| part.open.take());
        self.end_of(open);
    }

    /// Ends what was open in a part that is over.
    pub(super) fn loop_of(&self, part: Part) {
        self.end_of(part.open);
    }

    fn end_of(&self, open: Option<Open>) {
        let (Some(open), Some(recorder)) = (open, self.recorder()) else {
            return;
        };
        if open.iterations_known {
            recorder.chunks(open.share.chunks, open.share.iterations);
        }
        let end = now();
        let longest = match (open.share.kind, open.share.chunks) {
            (LoopKind::Dynamic | LoopKind::Sections, 1..=PIECES_TIMED) => {
                open.share.longest.max(end.since(open.share.end))
            }
            // Chunks of other kinds are no pieces, or are not asked for one by one.
            _ => Ticks(0),
        };
        recorder.loop_done(&LoopShare {
            end,
            longest,
            ..open.share
        });
    }
}
