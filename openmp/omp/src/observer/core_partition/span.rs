//! Tells the launcher which regions had which cores: as little as says it.

use fathomp_core_arbiter::Cores;
use fathomp_core_arbiter::events::{Log, Span, Writer};
use fathomp_sys::modules;
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// Executions that are no further apart are told as one, if all else is the same.
const APART_NS: u64 = 50_000;
/// But what is told is no longer than this, so that the launcher hears of it in time.
const LONG_NS: u64 = 20_000_000;

/// What is to be told.
pub(super) struct Spans {
    log: Log<'static>,
    writer: Writer,
    pending: Option<Span>,
    named: BTreeSet<usize>,
}

impl Spans {
    pub(super) fn new(log: Log<'static>) -> Self {
        Self {
            writer: log.writer(),
            log,
            pending: None,
            named: BTreeSet::new(),
        }
    }

    /// A region was executed.
    pub(super) fn add(&mut self, region: usize, when: Range<u64>, threads: u32, cores: Cores) {
        if self.named.insert(region)
            && let Some(found) = modules::locate(region)
        {
            let module = found.module.as_os_str().as_bytes();
            self.log
                .name(&mut self.writer, region as u64, found.address, module);
        }
        if let Some(span) = &mut self.pending {
            let same = (span.region, span.threads, span.cores) == (region as u64, threads, cores);
            let near = when.start.saturating_sub(span.end_ns) <= APART_NS
                && when.end.saturating_sub(span.begin_ns) <= LONG_NS;
            if same && near {
                span.end_ns = when.end;
                span.instances += 1;
                return;
            }
        }
        self.flush();
        self.pending = Some(Span {
            region: region as u64,
            begin_ns: when.start,
            end_ns: when.end,
            instances: 1,
            threads,
            cores,
        });
    }

    /// Tells what has not been told yet.
    pub(super) fn flush(&mut self) {
        if let Some(span) = self.pending.take() {
            self.log.span(&mut self.writer, &span);
        }
    }
}
