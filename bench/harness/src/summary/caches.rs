//! Effective sizes of caches, from how long an access takes as the working set
//! grows.
//!
//! While the working set fits a level, the latency stays where it is; when it
//! no longer fits, the latency climbs until it is the next level's. The last
//! working set before the climb is what the level really gives a program, with
//! everything that shares it taken off.

use serde::Serialize;

/// A latency this much above a level's no longer belongs to the level.
const CLIMB: f64 = 1.3;
/// Two neighbours this close (as a factor) are not on a climb.
const FLAT: f64 = 1.12;

/// A level of the memory hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Plateau {
    /// Largest working set that the level holds, bytes.
    pub bytes: u64,
    /// Time of an access there, nanoseconds.
    pub access_ns: f64,
    /// The sweep ended here: the level holds at least so much.
    pub open: bool,
}

/// The levels in a sweep of working sets (bytes) and times per access
/// (nanoseconds), fastest first.
#[must_use]
pub fn plateaus(curve: &[(u64, f64)]) -> Vec<Plateau> {
    let mut curve: Vec<(u64, f64)> = curve
        .iter()
        .copied()
        .filter(|(_, ns)| ns.is_finite() && *ns > 0.0)
        .collect();
    curve.sort_by_key(|(bytes, _)| *bytes);
    let mut found: Vec<Plateau> = Vec::new();
    let mut at = 0;
    while at < curve.len() {
        // Leave the climb: the next point must be about as fast as this one.
        let on_climb = at > 0
            && curve
                .get(at + 1)
                .is_some_and(|next| next.1 > curve[at].1 * FLAT);
        if on_climb {
            at += 1;
            continue;
        }
        let level = curve[at].1;
        let mut end = at;
        while end < curve.len() && curve[end].1 <= level * CLIMB {
            end += 1;
        }
        let sum: f64 = curve[at..end].iter().map(|(_, ns)| ns).sum();
        let plateau = Plateau {
            bytes: curve[end - 1].0,
            access_ns: sum / (end - at) as f64,
            open: end == curve.len(),
        };
        match found.last_mut() {
            // A slow climb's end, not a level of its own.
            Some(last) if plateau.access_ns <= last.access_ns * CLIMB => {
                last.bytes = plateau.bytes;
                last.open = plateau.open;
            }
            _ if end - at > 1 => found.push(plateau),
            _ => {}
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latency of a hierarchy in which a fraction of the accesses hits.
    fn machine(levels: &[(u64, f64)], memory_ns: f64) -> Vec<(u64, f64)> {
        (12..=29)
            .flat_map(|power| [1u64 << power, (1 << power) + (1 << (power - 1))])
            .map(|bytes| {
                let mut ns = 0.0;
                let mut held = 0.0;
                for (size, latency) in levels {
                    let fits = (*size as f64 / bytes as f64).min(1.0) - held;
                    ns += fits.max(0.0) * latency;
                    held = (*size as f64 / bytes as f64).min(1.0).max(held);
                }
                (bytes, ns + (1.0 - held) * memory_ns)
            })
            .collect()
    }

    #[test]
    fn the_levels_of_a_machine_are_found() {
        let curve = machine(&[(48 << 10, 1.5), (2 << 20, 5.0), (32 << 20, 25.0)], 110.0);
        let found = plateaus(&curve);
        assert_eq!(found[0].bytes, 48 << 10);
        assert!((found[0].access_ns - 1.5).abs() < 0.2);
        assert!(!found[0].open && found.last().unwrap().open);
        assert!(found.windows(2).all(|pair| pair[0].bytes < pair[1].bytes));
    }

    #[test]
    fn a_flat_sweep_is_one_open_level() {
        let curve: Vec<(u64, f64)> = (12..20).map(|power| (1 << power, 2.0)).collect();
        let found = plateaus(&curve);
        assert_eq!(found.len(), 1);
        assert!(found[0].open);
        assert_eq!(plateaus(&[]), []);
        assert_eq!(plateaus(&[(4096, f64::NAN)]), []);
    }
}
