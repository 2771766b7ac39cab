//! What askers wait for one another that come at any time and take very different times.

/// Time from a question to its answer in a closed network of so many askers, a delay
/// without a queue, and a station with one: mean value analysis (Reiser and
/// Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", J. ACM
/// 27, 1980), linear between whole numbers of askers.
pub(super) fn response(askers: f64, delay_us: f64, demand_us: f64) -> f64 {
    let (mut queue, mut before) = (0.0, 0.0);
    for asker in 1..=askers.ceil().max(1.0) as u32 {
        let wait = demand_us * (1.0 + queue);
        let whole = delay_us + wait;
        queue = f64::from(asker) / whole.max(f64::MIN_POSITIVE) * wait;
        if f64::from(asker) >= askers {
            let fraction = askers - (f64::from(asker) - 1.0);
            let before = if asker == 1 { whole } else { before };
            return before + (whole - before) * fraction.clamp(0.0, 1.0);
        }
        before = whole;
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_asker_waits_for_nobody() {
        assert_eq!(response(1.0, 160.0, 40.0), 200.0);
        assert_eq!(response(0.5, 160.0, 40.0), 200.0);
    }

    #[test]
    fn many_askers_wait_for_each_other() {
        let many_us = response(1000.0, 160.0, 30.0);
        assert!((many_us - 30_000.0).abs() < 1.0);
        // Two askers, one station: the second finds the first there for a fifth of
        // the time.
        let few_us = |askers| response(askers, 160.0, 40.0);
        assert_eq!(few_us(2.0), 160.0 + 40.0 * 1.2);
        assert_eq!(few_us(1.5), 204.0);
    }
}
