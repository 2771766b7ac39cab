//! A body of the plan where it is loaded, and the sets of values it was begun with.

use super::budget::Budget;
use fathomp_sys::modules::Loaded;
use fathomp_sys::outlined::Opaque;
use fathomp_sys::safe_read::{self, Leave, Part};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_trace::now;
use fathomp_trace::recorder::ThreadRecorder;
use fathomp_trips::{BodyPlan, Inputs, SLOTS_MAX, Slot, SlotKind, WORDS_MAX, WordPlan, dry};
use fathomp_types::SiteId;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sets of values that are kept of a body. More come from callers that count up (`for k`
/// around a region over `k..n`), or never repeat.
const SETS_MAX: u32 = 2048;
const BUCKETS: usize = 256;
/// Words behind pointers are read again after so many ticks, some ten microseconds, if there
/// is time for it.
const DEEP_EVERY: u64 = 30_000;

/// Values that a body was begun with.
#[derive(Debug)]
pub(crate) struct Known {
    /// Values of the slots.
    cheap: Box<[i64]>,
    /// Values of the words; 0 where they are not known.
    pub(crate) words: &'static [i64],
    /// Which of the words are known, one bit each.
    pub(crate) have: u64,
    /// Number of the set of words, from 1 on.
    pub(crate) set: u64,
    /// Total iterations.
    pub(super) total: Option<u64>,
    /// What stands in the recording; shared by all that are of the same set.
    pub(crate) noted: &'static Noted,
    next: Option<&'static Self>,
}

/// What of a set stands in the recording.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// Its values.
    pub(crate) words: AtomicBool,
    /// What a dry run found, or that it finds nothing.
    pub(crate) dry: AtomicBool,
    /// Dry runs that were cut short.
    pub(crate) tries: AtomicU32,
}

/// Where a slot lies.
#[derive(Clone, Copy, Debug)]
enum At {
    Data(u64),
    Module(Part, u64),
    /// In the module, but where reading could be a fault.
    Checked(u64),
}

#[derive(Debug)]
pub(super) struct Bound {
    plan: &'static BodyPlan,
    slots: Box<[(At, Slot)]>,
    leave: Leave,
    bias: u64,
    /// The part of the module that holds the body.
    code: Option<(u64, u64)>,
    deep: bool,
    last: AtomicRef<Known>,
    buckets: Box<[AtomicRef<Known>]>,
    count: AtomicU32,
    /// When words behind pointers were read last.
    read: AtomicU64,
    adding: Mutex<()>,
}

/// Slots as they are now.
struct Values {
    cheap: [i64; SLOTS_MAX],
    words: [i64; WORDS_MAX],
    have: u64,
}

impl Bound {
    pub(super) fn new(
        plan: &'static BodyPlan,
        loaded: &Loaded,
        leave: Leave,
        checked: bool,
    ) -> Self {
        let at = |slot: &Slot| {
            let address = loaded.bias.wrapping_add(slot.offset);
            match slot.kind {
                SlotKind::Data => At::Data(slot.offset),
                SlotKind::Module => match loaded.part_of(address) {
                    Some((part, offset)) if !checked => At::Module(part, offset),
                    _ => At::Checked(address),
                },
            }
        };
        let slots: Box<[_]> = plan.cheap.iter().map(|slot| (at(slot), *slot)).collect();
        let careful = slots.iter().any(|(at, _)| matches!(at, At::Checked(_)));
        Self {
            plan,
            slots,
            leave,
            bias: loaded.bias,
            code: loaded
                .part_of(loaded.bias.wrapping_add(plan.address))
                .map(|(part, _)| part.bounds()),
            deep: plan.is_deep() || careful,
            last: AtomicRef::new(None),
            buckets: (0..BUCKETS).map(|_| AtomicRef::new(None)).collect(),
            count: AtomicU32::new(0),
            read: AtomicU64::new(0),
            adding: Mutex::new(()),
        }
    }

    /// The set of values that the body is about to be begun with.
    #[inline]
    pub(super) fn look(&self, data: Opaque, next_set: &AtomicU64, budget: &Budget) -> Option<Look> {
        if let Some(last) = self.last.load(Ordering::Acquire)
            && self.is(last, data)
            && !(self.deep && self.is_due(budget))
        {
            return Some(Look::Known(last));
        }
        self.search(data, next_set, budget)
    }

    #[inline]
    fn is(&self, known: &Known, data: Opaque) -> bool {
        self.slots
            .iter()
            .zip(&known.cheap)
            .all(|((at, slot), value)| match at {
                // Part of what is read when that is due.
                At::Checked(_) => true,
                _ => self.slot(*at, slot, data) == Some(*value),
            })
    }

    /// Whether words behind pointers are to be read again: not too often, and of all the
    /// time so far a hundredth at most.
    fn is_due(&self, budget: &Budget) -> bool {
        let now = now().0;
        now.saturating_sub(self.read.load(Ordering::Relaxed)) >= DEEP_EVERY
            && budget.left(now, 100) > 0
    }

    #[inline]
    fn slot(&self, at: At, slot: &Slot, data: Opaque) -> Option<i64> {
        let value = match at {
            At::Data(offset) => self.leave.data(data, offset, slot.bytes),
            At::Module(part, offset) => self.leave.module(&part, offset, slot.bytes),
            At::Checked(address) => safe_read::checked(address, slot.bytes),
        };
        value.map(|value| slot.extend(value))
    }

    /// Looks further than at the last set.
    #[inline(never)]
    fn search(&self, data: Opaque, next_set: &AtomicU64, budget: &Budget) -> Option<Look> {
        let mut values = Values {
            cheap: [0; SLOTS_MAX],
            words: [0; WORDS_MAX],
            have: 0,
        };
        for ((at, slot), value) in self.slots.iter().zip(&mut values.cheap) {
            *value = self.slot(*at, slot, data)?;
        }
        let cheap = values.cheap.get(..self.slots.len())?;
        let bucket = &self.buckets[hash(cheap) as usize % BUCKETS];
        // Words behind pointers are as they were if they were read a moment ago.
        if !(self.deep && self.is_due(budget)) {
            let known = chain(bucket).find(|known| *known.cheap == *cheap);
            if let Some(known) = known {
                self.last.store(Some(known), Ordering::Release);
                return Some(Look::Known(known));
            }
        }
        // Of a caller that never has the same pointers twice not everything can be known.
        if self.deep && budget.left(now().0, 50) == 0 {
            return None;
        }
        self.read_words(&mut values, data, budget);
        let cheap = values.cheap.get(..self.slots.len())?;
        let words = values.words.get(..self.plan.words.len())?;
        let same = |known: &&Known| *known.words == *words && known.have == values.have;
        let find = || chain(bucket).find(|known| *known.cheap == *cheap && same(known));
        if let Some(known) = find() {
            self.last.store(Some(known), Ordering::Release);
            return Some(Look::Known(known));
        }
        let total = self.total(&values, data);
        if self.count.load(Ordering::Relaxed) >= SETS_MAX {
            return Some(Look::Passing { total });
        }
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = find() {
            return Some(Look::Known(known));
        }
        // The same words behind other pointers are the same set.
        let twin = self.buckets.iter().flat_map(chain).find(same);
        let known: &'static Known = Box::leak(Box::new(Known {
            cheap: cheap.into(),
            words: twin.map_or_else(|| &*Box::leak(words.into()), |twin| twin.words),
            have: values.have,
            set: twin.map_or_else(|| next_set.fetch_add(1, Ordering::Relaxed), |twin| twin.set),
            total,
            noted: twin.map_or_else(|| &*Box::leak(Box::default()), |twin| twin.noted),
            next: bucket.load(Ordering::Acquire),
        }));
        bucket.store(Some(known), Ordering::Release);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.last.store(Some(known), Ordering::Release);
        Some(Look::Known(known))
    }

    /// Reads all words.
    fn read_words(&self, values: &mut Values, data: Opaque, budget: &Budget) {
        let begin = now().0;
        self.evaluate_words(values, data);
        if self.deep {
            let end = now().0;
            budget.spend(end.saturating_sub(begin));
            self.read.store(end, Ordering::Relaxed);
        }
    }

    fn evaluate_words(&self, values: &mut Values, data: Opaque) {
        for (number, word) in self.plan.words.iter().enumerate() {
            let value = match word {
                WordPlan::Cheap(slot) => values.cheap.get(usize::from(*slot)).copied(),
                WordPlan::Behind(program) => program.evaluate(&EvaluationInputs {
                    inputs: &values.cheap,
                    have: u64::MAX,
                    data,
                    bias: self.bias,
                }),
            };
            if let (Some(value), Some(place)) = (value, values.words.get_mut(number)) {
                *place = value;
                values.have |= 1 << number;
            }
        }
    }

    /// Whether a dry run could find something of the set.
    #[inline]
    pub(super) fn is_dry(&self, known: &Known) -> bool {
        self.plan.dry.is_some() && !known.noted.dry.load(Ordering::Relaxed)
    }

    /// Runs the body dry with so many steps at most.
    pub(super) fn run_dry(
        &self,
        known: &Known,
        function: usize,
        data: Opaque,
        steps_max: u32,
    ) -> Option<Result<dry::Found, dry::GiveUp>> {
        let plan = self.plan.dry.as_ref()?;
        let now = EvaluationInputs {
            inputs: known.words,
            have: known.have,
            data,
            bias: self.bias,
        };
        let trips: Vec<Option<u64>> = plan
            .loops
            .iter()
            .map(|looped| u64::try_from(looped.trips.as_ref()?.evaluate(&now)?).ok())
            .collect();
        let start = dry::Start {
            plan,
            function: function as u64,
            bias: self.bias,
            code: self.code?,
            data: data.0 as u64,
            trips: &trips,
            steps_max,
        };
        Some(dry::run(start, &Process))
    }

    fn total(&self, values: &Values, data: Opaque) -> Option<u64> {
        let total = self.plan.total.as_ref()?.evaluate(&EvaluationInputs {
            inputs: &values.words,
            have: values.have,
            data,
            bias: self.bias,
        })?;
        u64::try_from(total).ok()
    }
}

/// From the newest on.
fn chain(bucket: &AtomicRef<Known>) -> impl Iterator<Item = &'static Known> {
    std::iter::successors(bucket.load(Ordering::Acquire), |known| known.next)
}

fn hash(values: &[i64]) -> u64 {
    values.iter().fold(0x9e37_79b9_7f4a_7c15, |hash, value| {
        (hash ^ *value as u64)
            .wrapping_mul(0xff51_afd7_ed55_8ccd)
            .rotate_left(29)
    }) >> 11
}

/// This process's memory.
struct Process;

impl dry::Memory for Process {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        safe_read::checked_into(address, into)
    }
}

/// What programs are evaluated with.
struct EvaluationInputs<'a> {
    inputs: &'a [i64],
    have: u64,
    data: Opaque,
    bias: u64,
}

impl Inputs for EvaluationInputs<'_> {
    #[inline]
    fn input(&self, number: u16) -> Option<i64> {
        if self.have.checked_shr(number.into())? & 1 == 0 {
            return None;
        }
        self.inputs.get(usize::from(number)).copied()
    }

    fn data(&self) -> u64 {
        self.data.0 as u64
    }

    fn bias(&self) -> u64 {
        self.bias
    }

    fn team(&self) -> (u32, u32) {
        (1, 0)
    }

    fn load(&self, address: u64, bytes: u8) -> Option<u64> {
        safe_read::checked(address, bytes)
    }
}

/// What a look at a region's words came to.
#[derive(Clone, Copy)]
pub(crate) enum Look {
    /// A set of values that is kept.
    Known(&'static Known),
    /// There are so many sets that this one is not kept.
    Passing {
        /// Total iterations.
        total: Option<u64>,
    },
}

impl Look {
    /// The number by which the recording knows the set of values; 0 if it does not.
    #[inline]
    pub(crate) fn note(self, recorder: Option<&ThreadRecorder>, site: SiteId) -> u64 {
        let Self::Known(known) = self else { return 0 };
        if !known.noted.words.load(Ordering::Relaxed) {
            let noted = recorder
                .is_some_and(|recorder| recorder.words(site, known.set, known.have, known.words));
            if !noted {
                return 0;
            }
            known.noted.words.store(true, Ordering::Relaxed);
        }
        known.set
    }

    pub(crate) fn total(self) -> Option<u64> {
        match self {
            Self::Known(known) => known.total,
            Self::Passing { total } => total,
        }
    }
}
