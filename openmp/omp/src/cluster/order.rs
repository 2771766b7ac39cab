//! What node 0 tells the others, as bytes.
//!
//! An order is a fixed number of little-endian words. A receiver believes
//! nothing: every field is checked against what it may be.

use crate::icv::{Icvs, ProcBind, Said, Schedule, ScheduleKind};
use crate::parallel::{Caller, Fork, LARGEST_TEAM};
use crate::runtime::runtime;
use crate::team::Team;
use crate::worker::current;
use crate::worksharing::Preset;
use fathomp_sys::float::{self, Control};
use fathomp_sys::outlined::{Opaque, Outlined};
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering;

/// An order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// There are no more regions.
    Leave,
    /// A region.
    Region(Region),
}

/// A region, as far as all nodes must know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) function: Outlined,
    pub(super) data: Opaque,
    /// Members on all nodes.
    pub(super) total: u32,
    /// Nesting level of what encloses the region.
    pub(super) level: u32,
    pub(super) team_num: u32,
    pub(super) num_teams: u32,
    pub(super) bind: Option<ProcBind>,
    /// Return address of the program's call.
    pub(super) call: usize,
    /// Table of the region's task reductions; 0 if none.
    pub(super) table: usize,
    /// Number of this execution in recordings; 0 if it has none.
    pub(super) instance: u64,
    /// ICVs of the task that met the region.
    pub(super) icvs: Icvs,
    pub(super) preset: Option<Preset>,
    /// Whose interface it was begun by, and the floating-point environment there.
    pub(super) caller: Caller,
    pub(super) floats: Control,
}

/// Bytes that are no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nonsense {
    /// It is not as long as any order.
    Length(usize),
    /// No order begins so.
    Kind(u64),
    /// Its code is not code of this program.
    Code(usize),
    /// A field says what it cannot say.
    Field(&'static str, u64),
}

impl fmt::Display for Nonsense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => write!(f, "it has {bytes} bytes"),
            Self::Kind(kind) => write!(f, "its kind is {kind:#x}"),
            Self::Code(address) => write!(f, "there is no code at {address:#x}"),
            Self::Field(name, value) => write!(f, "its {name} is {value}"),
        }
    }
}

/// "fathoml" and "fathomr", with the format's version.
const LEAVE: u64 = u64::from_le_bytes(*b"fathoml\x01");
const REGION: u64 = u64::from_le_bytes(*b"fathomr\x01");

const ICVS: usize = 8;
const PRESET: usize = ICVS + 5;
const WORDS: usize = PRESET + 8;

impl Region {
    /// The region that `fork` asks for in a task with these ICVs, `team` being
    /// this node's part of the team.
    pub(super) fn new(fork: &Fork, team: &'static Team, icvs: &Icvs) -> Self {
        let (team_num, num_teams) = current().team().league();
        Self {
            function: fork.function,
            data: fork.data,
            total: team.size(),
            level: team.level() - 1,
            team_num,
            num_teams,
            bind: fork.bind,
            call: fork.call,
            table: team.tasks.region_table(),
            instance: team.dock.instance.load(Ordering::Relaxed),
            icvs: *icvs,
            preset: fork.preset,
            caller: fork.caller,
            floats: float::control(),
        }
    }
}

/// Handles above this one are addresses of allocators that the program has made,
/// in memory that all nodes share.
const PREDEFINED_ALLOCATORS: u64 = 9;

/// Whether a number may be an allocator's handle: no more can be told here.
fn is_allocator(handle: u64) -> bool {
    handle <= PREDEFINED_ALLOCATORS || (4096..1 << 47).contains(&handle) && handle.is_multiple_of(8)
}

const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

const fn low(word: u64) -> u32 {
    word as u32
}

const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

impl Region {
    fn words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        words[..ICVS].copy_from_slice(&[
            REGION,
            self.function.word() as u64,
            self.data.0 as u64,
            self.call as u64,
            pair(self.total, self.level),
            pair(self.team_num, self.num_teams),
            self.table as u64,
            self.instance,
        ]);
        words[ICVS..PRESET].copy_from_slice(&icvs_to_words(&self.icvs, self.bind));
        let llvm = u64::from(self.caller != Caller::Gnu);
        words[PRESET] = llvm << 1 | u64::from(self.floats) << 8;
        if let Some(preset) = self.preset {
            words[PRESET] |= 1;
            words[PRESET + 1..].copy_from_slice(&preset.to_words());
        }
        words
    }

    fn from_words(
        words: &[u64; WORDS],
        find: impl FnOnce(usize) -> Option<Outlined>,
    ) -> Result<Self, Nonsense> {
        let (total, level) = (low(words[4]), high(words[4]));
        let (team_num, num_teams) = (low(words[5]), high(words[5]));
        let address = words[1] as usize;
        let [icvs @ .., ways] = &words[ICVS..=PRESET] else {
            return Err(Nonsense::Length(0));
        };
        let (icvs, bind) = icvs_from_words(icvs)?;
        check("size", total, 2..=LARGEST_TEAM)?;
        check("level", level, 0..=u32::MAX - 1)?;
        check("number of teams", num_teams, 1..=u32::MAX)?;
        check("team", team_num, 0..=num_teams - 1)?;
        let mut own = [0; 7];
        own.copy_from_slice(&words[PRESET + 1..]);
        check(
            "floating-point environment",
            (ways >> 8) as u32,
            0..=0xf_ffff,
        )?;
        let preset = match ways & 0xff & !2 {
            0 if own == [0; 7] => None,
            1 => Some(Preset::from_words(own).ok_or(Nonsense::Field("loop", own[5]))?),
            other => return Err(Nonsense::Field("loop's presence", other)),
        };
        Ok(Self {
            function: find(address).ok_or(Nonsense::Code(address))?,
            data: Opaque(words[2] as usize),
            total,
            level,
            team_num,
            num_teams,
            bind,
            call: words[3] as usize,
            table: words[6] as usize,
            instance: words[7],
            icvs,
            preset,
            caller: match ways & 2 {
                0 => Caller::Gnu,
                _ => Caller::Llvm,
            },
            floats: (ways >> 8) as Control,
        })
    }
}

fn check(name: &'static str, value: u32, range: RangeInclusive<u32>) -> Result<(), Nonsense> {
    if range.contains(&value) {
        Ok(())
    } else {
        Err(Nonsense::Field(name, value.into()))
    }
}

/// ICVs and a `proc_bind` clause. Lists are ends of what the environment says,
/// which is the same on all nodes, so their lengths are enough.
fn icvs_to_words(icvs: &Icvs, clause: Option<ProcBind>) -> [u64; 5] {
    let Schedule {
        kind,
        monotonic,
        chunk,
        said,
    } = icvs.schedule;
    let bytes = [
        kind as u8,
        monotonic.into(),
        icvs.bind as u8,
        clause.map_or(u8::MAX, |bind| bind as u8),
        icvs.max_active_levels,
        icvs.dynamic.into(),
        said as u8,
        0,
    ];
    [
        pair(icvs.num_threads, icvs.thread_limit),
        pair(
            icvs.num_threads_inner.len() as u32,
            icvs.bind_inner.len() as u32,
        ),
        pair(chunk, icvs.default_device.cast_unsigned()),
        u64::from_le_bytes(bytes),
        icvs.default_allocator as u64,
    ]
}

fn icvs_from_words(words: &[u64]) -> Result<(Icvs, Option<ProcBind>), Nonsense> {
    let &[threads, lengths, numbers, bytes, allocator] = words else {
        return Err(Nonsense::Length(words.len() * 8));
    };
    let [kind, monotonic, bind, clause, levels, dynamic, said, 0] = bytes.to_le_bytes() else {
        return Err(Nonsense::Field("settings", bytes));
    };
    let wrong = |name, value: u8| Nonsense::Field(name, value.into());
    let flag = |name, value: u8| match value {
        0 | 1 => Ok(value == 1),
        _ => Err(wrong(name, value)),
    };
    let policy = |value: u8| {
        ProcBind::from_number(value.into()).ok_or_else(|| wrong("binding policy", value))
    };
    check("number of threads", low(threads), 1..=u32::MAX)?;
    check("thread limit", high(threads), 1..=u32::MAX)?;
    if !is_allocator(allocator) {
        return Err(Nonsense::Field("allocator", allocator));
    }
    let settings = &runtime().settings;
    let icvs = Icvs {
        num_threads: low(threads),
        thread_limit: high(threads),
        num_threads_inner: end(settings.num_threads, low(lengths))?,
        bind_inner: end(settings.proc_bind, high(lengths))?,
        default_allocator: allocator as usize,
        schedule: Schedule {
            kind: ScheduleKind::from_number(kind.into()).ok_or_else(|| wrong("schedule", kind))?,
            monotonic: flag("schedule's modifier", monotonic)?,
            chunk: low(numbers),
            said: Said::from_number(said).ok_or_else(|| wrong("schedule's origin", said))?,
        },
        default_device: high(numbers).cast_signed(),
        max_active_levels: levels,
        bind: policy(bind)?,
        dynamic: flag("dynamic adjustment", dynamic)?,
        fixed: false,
    };
    let clause = match clause {
        u8::MAX => None,
        clause => Some(policy(clause)?),
    };
    Ok((icvs, clause))
}

/// The last `length` elements.
fn end<T>(list: &'static [T], length: u32) -> Result<&'static [T], Nonsense> {
    let first = list.len().checked_sub(length as usize);
    first.map_or_else(
        || Err(Nonsense::Field("list's length", length.into())),
        |first| Ok(&list[first..]),
    )
}

impl Order {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Leave => LEAVE.to_le_bytes().into(),
            Self::Region(region) => region.words().map(u64::to_le_bytes).concat(),
        }
    }

    /// `find` tells which function is at an address.
    pub(super) fn decode(
        bytes: &[u8],
        find: impl FnOnce(usize) -> Option<Outlined>,
    ) -> Result<Self, Nonsense> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let length = Nonsense::Length(bytes.len());
        if !rest.is_empty() {
            return Err(length);
        }
        match words.first() {
            Some(&LEAVE) if words.len() == 1 => Ok(Self::Leave),
            Some(&REGION) => {
                let words = <&[u64; WORDS]>::try_from(&words[..]).map_err(|_| length)?;
                Region::from_words(words, find).map(Self::Region)
            }
            Some(&LEAVE) | None => Err(length),
            Some(&kind) => Err(Nonsense::Kind(kind)),
        }
    }
}

/// Whether bytes are an order of another node, for the fuzz harness (`fuzz/`); none of their
/// code is this program's.
#[doc(hidden)]
pub fn is_order(bytes: &[u8]) -> Result<(), String> {
    let order = Order::decode(bytes, |_| None).map_err(|nonsense| nonsense.to_string())?;
    assert_eq!(order.encode(), bytes, "an order changed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worksharing::{Dealing, Iterations, Loop};
    use proptest::prelude::*;

    extern "C" fn body(_data: Opaque) {}

    fn decode(bytes: &[u8]) -> Result<Order, Nonsense> {
        Order::decode(bytes, Outlined::find)
    }

    fn region() -> Region {
        let icvs = Icvs {
            thread_limit: 70,
            default_device: -3,
            ..runtime().initial_icvs()
        };
        Region {
            function: Outlined::find(body as *const () as usize).unwrap(),
            data: Opaque(usize::MAX),
            total: 5,
            level: 2,
            team_num: 1,
            num_teams: 3,
            bind: Some(ProcBind::Spread),
            call: 77,
            table: 0x1000,
            instance: 1 << 40,
            icvs,
            preset: Some(Preset(Loop {
                iterations: Iterations::signed(9, -100, -7),
                dealing: Dealing::Guided { chunk: 3 },
                ordered: true,
                sections: false,
                call: 5,
            })),
            caller: Caller::Llvm,
            floats: 0xf_0f3f,
        }
    }

    #[test]
    fn what_is_sent_is_received() {
        for preset in [region().preset, None] {
            for bind in [None, Some(ProcBind::Close)] {
                let sent = Order::Region(Region {
                    preset,
                    bind,
                    ..region()
                });
                let received = decode(&sent.encode()).unwrap();
                assert_eq!(format!("{received:?}"), format!("{sent:?}"));
            }
        }
        assert!(matches!(decode(&Order::Leave.encode()), Ok(Order::Leave)));
    }

    #[test]
    fn code_that_is_none_is_refused() {
        let mut words = region().words();
        for address in [0, 8, u64::MAX, std::ptr::from_ref(&words) as u64] {
            words[1] = address;
            let bytes = words.map(u64::to_le_bytes).concat();
            let refused = decode(&bytes).unwrap_err();
            assert_eq!(refused, Nonsense::Code(address as usize));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_received_or_refused(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_changed_order_is_received_as_what_it_says_or_refused(
            word in 0..WORDS, value: u64, cut in 0..=WORDS * 8,
        ) {
            let mut words = region().words();
            words[word] = value;
            let mut bytes = words.map(u64::to_le_bytes).concat();
            if let Ok(order) = decode(&bytes) {
                prop_assert_eq!(order.encode(), bytes.clone());
            }
            bytes.truncate(cut);
            prop_assert!(cut == WORDS * 8 || decode(&bytes).is_err());
        }
    }
}
