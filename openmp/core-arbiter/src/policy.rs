//! Who gets how many cores, and which: pure functions of what stands on the board.
//!
//! The rule: everybody is due a fair share, the cores divided by the programs that are
//! there. Nobody gets less because of what another one says; only by what it says itself
//! may a program get less, for cores of its share that bring it little go to those to whom
//! they bring more. So the total gain is the largest that there is, given the shares.

use crate::claim::{Activity, Claim};
use crate::cores::{CORES_MAX, Cores};
use crate::presence::Presence;
use crate::speedup::Hull;

/// Programs that can share a machine.
pub const PROGRAMS_MAX: usize = 16;

/// One more core must bring a program at least this part of a core, or it is not due to it:
/// others may have it.
const WORTHWHILE: f64 = 0.25;

/// A core that brings less than this goes to nobody.
const NOTHING: f64 = 0.01;

/// Cores of each program, in the order of the slots.
pub type Counts = [u32; PROGRAMS_MAX];

/// How many cores each program gets of `cores`. A program that is there gets at least one,
/// also if there are more programs than cores: those then share. Absent ones get none.
/// Claims beyond [`PROGRAMS_MAX`] get none.
#[must_use]
pub fn divide(cores: u32, claims: &[Claim]) -> Counts {
    let mut counts = Counts::default();
    let mut hulls = [Hull::default(); PROGRAMS_MAX];
    let cores = cores.min(CORES_MAX);
    let present = claims
        .iter()
        .take(PROGRAMS_MAX)
        .filter(|claim| claim.activity != Activity::Absent)
        .count() as u32;
    if present == 0 || cores == 0 {
        return counts;
    }

    let (share, mut odd) = (cores / present, cores % present);
    let mut left = cores;
    for ((claim, count), hull) in claims.iter().zip(&mut counts).zip(&mut hulls) {
        if claim.activity == Activity::Absent {
            continue;
        }
        let most = claim.wanted.clamp(1, cores);
        *hull = claim.speedup.hull(most);
        let fair = share + u32::from(odd > 0);
        odd = odd.saturating_sub(1);
        *count = due(hull).min(fair).max(1);
        left = left.saturating_sub(*count);
    }

    // The rest goes where it brings most, one by one.
    while left > 0 {
        let mut best: Option<(f64, usize)> = None;
        for (index, hull) in hulls.iter().enumerate() {
            let gain = gain_of_next(hull, counts[index]);
            if gain > NOTHING && best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, index));
            }
        }
        let Some((_, index)) = best else { break };
        counts[index] += 1;
        left -= 1;
    }
    counts
}

/// Cores up to where one more is not worthwhile.
fn due(hull: &Hull) -> u32 {
    let mut due = 1;
    for pair in hull.points().windows(2) {
        let ((from, below), (to, above)) = (pair[0], pair[1]);
        if (above - below) / f64::from(to - from) < WORTHWHILE {
            break;
        }
        due = to;
    }
    due
}

/// What a core on top of `count` brings.
fn gain_of_next(hull: &Hull, count: u32) -> f64 {
    hull.points()
        .windows(2)
        .find(|pair| pair[0].0 <= count && count < pair[1].0)
        .map_or(0.0, |pair| {
            (pair[1].1 - pair[0].1) / f64::from(pair[1].0 - pair[0].0)
        })
}

/// So long a program is waited for that has been started and is not at the board yet.
pub const ARRIVAL_NS: u64 = 200_000_000;

/// What a partner claims that is `presence`, at `now_ns`; none if it wants nothing. `claim`
/// is none if it wrote garbage: then it counts as one that wants its share.
#[must_use]
pub fn wish(presence: Presence, claim: Option<Claim>, now_ns: u64) -> Option<Claim> {
    let share = Claim {
        activity: Activity::Region,
        wanted: CORES_MAX,
        ..Claim::default()
    };
    let claim = claim.unwrap_or(share);
    match (presence, claim.activity) {
        (Presence::Gone, Activity::Expected) => {
            (now_ns.saturating_sub(claim.since_ns) < ARRIVAL_NS).then_some(share)
        }
        (Presence::Gone, _) | (_, Activity::Absent) => None,
        // It has done something since it was seen.
        (Presence::Still { seen_ns, .. }, _) if (seen_ns..=now_ns).contains(&claim.since_ns) => {
            Some(claim)
        }
        (Presence::Still { stopped: true, .. }, _) => None,
        (Presence::Still { .. }, Activity::Serial) => None,
        (Presence::Still { .. } | Presence::Running, _) => Some(claim),
    }
}

/// What the partners claim, as a program sees it that is about to begin a region of about
/// `region_ns` (none: not known) at `now_ns`. A partner in a serial part counts with the
/// cores of its last region unless the serial part will probably outlast the region: a
/// region cannot give cores back before it ends.
#[must_use]
pub fn expected(partner: &Claim, now_ns: u64, region_ns: Option<u64>) -> Claim {
    let mut seen = *partner;
    if seen.activity == Activity::Serial {
        let lasted = now_ns.saturating_sub(seen.since_ns);
        // What has lasted long will last long.
        let rest = seen
            .serial_ns
            .unwrap_or_default()
            .saturating_sub(lasted)
            .max(lasted);
        if region_ns.is_some_and(|region| region <= rest) {
            seen.wanted = 1;
        }
    }
    seen
}

/// The cores that slot `slot` of `slots` takes: `count` of `cores`. First those that nobody
/// holds, then those held by partners that have more than `counts` gives them, which they
/// will give back, then any; among equals those that it has had before, then those of its
/// own part of the machine. The first of them comes first in the answer's order.
#[must_use]
pub fn choose(slot: usize, slots: usize, cores: u32, counts: &Counts, claims: &[Claim]) -> Cores {
    let cores = cores.min(CORES_MAX);
    let slots = slots.clamp(1, PROGRAMS_MAX) as u32;
    let zone_start = slot as u32 * cores / slots;
    let zone_end = (slot as u32 + 1) * cores / slots;
    let before = claims.get(slot).map(|claim| claim.held).unwrap_or_default();
    let count = counts.get(slot).copied().unwrap_or_default().min(cores);

    let mut ranked = [(0_u8, 0_u8, false, false, 0_u32); CORES_MAX as usize];
    let ranked = &mut ranked[..cores as usize];
    for (core, rank) in (0..cores).zip(ranked.iter_mut()) {
        let (mut owners, mut guests) = (0, 0);
        for (index, claim) in claims.iter().enumerate().take(PROGRAMS_MAX) {
            if index == slot || claim.activity == Activity::Absent || !claim.held.contains(core) {
                continue;
            }
            if claim.held.len() > counts[index] {
                guests += 1;
            } else {
                owners += 1;
            }
        }
        let in_zone = (zone_start..zone_end).contains(&core);
        *rank = (owners, guests, !before.contains(core), !in_zone, core);
    }
    ranked.sort_unstable();
    ranked
        .iter()
        .take(count as usize)
        .map(|(.., core)| *core)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speedup::Speedup;
    use proptest::prelude::*;

    fn claim(wanted: u32, parallel: f64) -> Claim {
        Claim {
            activity: Activity::Region,
            wanted,
            speedup: Speedup::from_fn(|p| 1.0 / (1.0 - parallel + parallel / f64::from(p))),
            ..Claim::default()
        }
    }

    #[test]
    fn equals_get_the_same() {
        let equal = [claim(16, 1.0); 3];
        assert_eq!(divide(16, &equal)[..3], [6, 5, 5]);
        assert_eq!(divide(2, &equal)[..3], [1, 1, 1]);
        assert_eq!(divide(16, &equal[..1])[..1], [16]);
        assert_eq!(divide(16, &[]), Counts::default());
    }

    #[test]
    fn cores_go_where_they_bring_more() {
        let counts = divide(16, &[claim(16, 0.5), claim(16, 0.999)]);
        assert!(counts[0] <= 3 && counts[1] >= 13, "{counts:?}");
        assert_eq!(counts[0] + counts[1], 16);
        // Whom nobody disturbs gets what brings anything.
        let alone = divide(16, &[claim(16, 0.5), Claim::default()]);
        assert!(alone[0] >= 5, "{alone:?}");
    }

    #[test]
    fn a_program_that_wants_little_leaves_the_rest() {
        assert_eq!(divide(16, &[claim(2, 1.0), claim(16, 1.0)])[..2], [2, 14]);
        let serial = Claim {
            activity: Activity::Serial,
            wanted: 1,
            ..claim(1, 1.0)
        };
        assert_eq!(divide(2, &[serial, claim(2, 1.0)])[..2], [1, 1]);
    }

    #[test]
    fn long_serial_parts_lend_their_cores_to_short_regions() {
        let mut partner = Claim {
            activity: Activity::Serial,
            ..claim(8, 1.0)
        };
        partner.serial_ns = Some(1 << 20);
        assert_eq!(expected(&partner, 0, Some(1000)).wanted, 1);
        assert_eq!(expected(&partner, 0, Some(1 << 21)).wanted, 8);
        assert_eq!(expected(&partner, 0, None).wanted, 8);
        // It has lasted for so long that it will not end now.
        assert_eq!(expected(&partner, 1 << 30, Some(1 << 21)).wanted, 1);
    }

    #[test]
    fn who_sleeps_or_is_stopped_or_gone_wants_nothing() {
        let at_work = claim(4, 1.0);
        let serial = Claim {
            activity: Activity::Serial,
            ..at_work
        };
        let still = |stopped| Presence::Still {
            stopped,
            seen_ns: 5,
        };
        assert_eq!(wish(Presence::Running, Some(at_work), 0), Some(at_work));
        assert_eq!(wish(still(false), Some(at_work), 0), Some(at_work));
        assert_eq!(wish(still(true), Some(at_work), 0), None);
        assert_eq!(wish(still(false), Some(serial), 0), None);
        let later = Claim {
            since_ns: 5,
            ..serial
        };
        assert_eq!(wish(still(false), Some(later), 6), Some(later));
        assert_eq!(wish(still(false), Some(later), 4), None);
        assert_eq!(wish(Presence::Running, Some(serial), 0), Some(serial));
        assert_eq!(wish(Presence::Gone, Some(at_work), 0), None);
        assert_eq!(wish(Presence::Gone, None, 0), None);
        assert_eq!(
            wish(Presence::Running, None, 0).map(|one| one.wanted),
            Some(CORES_MAX)
        );
    }

    #[test]
    fn a_program_that_is_about_to_come_is_waited_for_and_not_for_ever() {
        let coming = Claim {
            activity: Activity::Expected,
            wanted: 1,
            since_ns: 1000,
            ..Claim::default()
        };
        let share = wish(Presence::Gone, Some(coming), 1001);
        assert_eq!(share.map(|one| one.wanted), Some(CORES_MAX));
        assert_eq!(wish(Presence::Gone, Some(coming), 1000 + ARRIVAL_NS), None);
    }

    #[test]
    fn cores_that_are_free_are_taken_first_then_borrowed_ones() {
        let mut claims = [claim(4, 1.0), claim(4, 1.0)];
        let counts = divide(4, &claims);
        assert_eq!(
            choose(0, 2, 4, &counts, &claims),
            [0, 1].into_iter().collect()
        );
        assert_eq!(
            choose(1, 2, 4, &counts, &claims),
            [2, 3].into_iter().collect()
        );
        claims[0].held = [0, 2].into_iter().collect();
        assert_eq!(
            choose(1, 2, 4, &counts, &claims),
            [1, 3].into_iter().collect()
        );
        claims[0].held = Cores::first(4);
        assert_eq!(
            choose(1, 2, 4, &counts, &claims),
            [2, 3].into_iter().collect()
        );
        claims[1].held = [0, 1].into_iter().collect();
        assert_eq!(
            choose(1, 2, 4, &counts, &claims),
            [0, 1].into_iter().collect()
        );
    }

    fn any_claim() -> impl Strategy<Value = Claim> {
        (
            0_u8..3,
            0_u32..1000,
            any::<u64>(),
            any::<[u64; 4]>(),
            any::<Option<u64>>(),
            any::<u64>(),
        )
            .prop_map(
                |(activity, wanted, curve, held, serial_ns, since_ns)| Claim {
                    activity: [Activity::Absent, Activity::Serial, Activity::Region]
                        [usize::from(activity)],
                    wanted,
                    speedup: Speedup::from_word(curve),
                    held: Cores::from_words(held),
                    serial_ns,
                    since_ns,
                },
            )
    }

    proptest! {
        /// Whatever the others say, a program that wants its fair share has it.
        #[test]
        fn a_fair_share_is_safe_from_liars(
            cores in 1_u32..=CORES_MAX,
            others in proptest::collection::vec(any_claim(), 0..PROGRAMS_MAX - 1),
            me in 0_usize..PROGRAMS_MAX,
            now_ns: u64,
        ) {
            let honest = Claim { activity: Activity::Region, wanted: CORES_MAX, ..Claim::default() };
            let mut claims: Vec<Claim> = others.iter().map(|one| expected(one, now_ns, Some(5))).collect();
            let me = me.min(claims.len());
            claims.insert(me, honest);
            let counts = divide(cores, &claims);
            let present = claims.iter().filter(|one| one.activity != Activity::Absent).count() as u32;
            prop_assert!(counts[me] >= (cores / present).max(1));
            let sum: u32 = counts.iter().sum();
            prop_assert!(sum <= cores.max(present));
            for (claim, count) in claims.iter().zip(counts) {
                prop_assert_eq!(count == 0, claim.activity == Activity::Absent);
                prop_assert!(count <= claim.wanted.max(1));
            }
            let taken = choose(me, claims.len(), cores, &counts, &claims);
            prop_assert_eq!(taken.len(), counts[me].min(cores));
            prop_assert!(taken.iter().all(|core| core < cores));
        }

        /// No core moved from one program to another makes the total larger, unless it is
        /// one that its owner is due.
        #[test]
        fn no_exchange_gains(
            cores in 2_u32..64,
            parallel in proptest::collection::vec(0.0_f64..1.0, 2..5),
        ) {
            let claims: Vec<Claim> = parallel.iter().map(|part| claim(CORES_MAX, *part)).collect();
            let counts = divide(cores, &claims);
            let fair = cores / claims.len() as u32 + 1;
            for from in 0..claims.len() {
                for to in 0..claims.len() {
                    if from == to || counts[from] <= fair || counts[to] == 0 {
                        continue;
                    }
                    let hulls = [from, to].map(|one| claims[one].speedup.hull(cores));
                    let lost = gain_of_next(&hulls[0], counts[from] - 1);
                    let won = gain_of_next(&hulls[1], counts[to]);
                    prop_assert!(won <= lost + 1e-9);
                }
            }
        }
    }
}
