//! Caches as a program gets them: what a machine says it has, corrected by what was
//! measured.

use crate::cache::Cache;

/// Corrects the sizes of `nominal` caches by measured ones: working sets, in bytes, up to
/// which the time of an access stays at a level's (where the curve of `bench access` bends;
/// `fathomp_bench::summary::plateaus` finds them, and a level at which the sweep ended is to
/// be left out). Each measured size corrects the cache that it is nearest to by ratio; a
/// cache without one stays as it is, as does one that is measured larger than it is, for
/// which prefetching is to blame.
#[must_use]
pub fn effective(nominal: &[Cache], measured: &[u64]) -> Vec<Cache> {
    let mut caches = nominal.to_vec();
    for bytes in measured.iter().filter(|bytes| **bytes > 0) {
        let ratio = |cache: &Cache| (cache.bytes.max(1) as f64 / *bytes as f64).ln().abs();
        let nearest = (0..nominal.len())
            .min_by(|one, two| ratio(&nominal[*one]).total_cmp(&ratio(&nominal[*two])));
        let Some(nearest) = nearest.filter(|index| ratio(&nominal[*index]) <= RATIO_MAX.ln())
        else {
            continue;
        };
        let cache = &mut caches[nearest];
        let whole = nominal[nearest].bytes;
        if *bytes < cache.bytes || cache.bytes != whole {
            // Of two that are near, the larger one is what it holds.
            let before = if cache.bytes == whole { 0 } else { cache.bytes };
            cache.bytes = before.max(*bytes).min(whole);
            // The sets stay: what others take of a shared cache are ways.
            let ways = f64::from(nominal[nearest].ways) * cache.bytes as f64 / whole as f64;
            if nominal[nearest].ways > 0 {
                cache.ways = (ways.round() as u32).max(1);
            }
        }
    }
    caches
}

/// A measured size further from a cache's than this is not that cache's.
const RATIO_MAX: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_sizes_correct_the_caches_they_belong_to() {
        let nominal = [
            Cache::new(32 << 10, 8),
            Cache::new(1 << 20, 16),
            Cache::new(32 << 20, 16),
        ];
        let found = effective(&nominal, &[48 << 10, 768 << 10, 12 << 20]);
        assert_eq!(found[0], nominal[0]);
        assert_eq!(found[1], Cache::new(768 << 10, 12));
        assert_eq!(found[2], Cache::new(12 << 20, 6));
        assert_eq!(effective(&nominal, &[]), nominal);
        assert_eq!(effective(&[], &[1 << 20]), []);
        assert_eq!(effective(&nominal, &[1 << 40, 0]), nominal);
    }
}
