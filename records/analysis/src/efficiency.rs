//! POP efficiencies from application time per thread.

use crate::facts::Efficiency;

/// What a thread (or a place in a team) did, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// Application code.
    pub(crate) useful: f64,
    /// The runtime's own work.
    pub(crate) overhead: f64,
}

impl Efficiency {
    /// Nothing lost, for want of any time to lose.
    pub(crate) const PERFECT: Self = Self {
        parallel: 1.0,
        load_balance: 1.0,
        communication: 1.0,
        serialisation: 1.0,
        transfer: 1.0,
        serial_region: 1.0,
        parallel_region: 1.0,
    };

    /// Efficiencies of `threads` threads over `wall` nanoseconds, `shares`
    /// being what each of them did (those missing did nothing).
    pub(crate) fn new(shares: impl Iterator<Item = Share>, threads: f64, wall: f64) -> Self {
        let mut sum = 0.0;
        let mut busiest = Share::default();
        for share in shares {
            sum += share.useful;
            if share.useful > busiest.useful {
                busiest = share;
            }
        }
        if wall <= 0.0 || threads <= 0.0 {
            return Self::PERFECT;
        }
        let parallel = (sum / (threads * wall)).clamp(0.0, 1.0);
        if busiest.useful <= 0.0 {
            return Self {
                parallel,
                communication: 0.0,
                serialisation: 0.0,
                ..Self::PERFECT
            };
        }
        let load_balance = (sum / threads / busiest.useful).clamp(0.0, 1.0);
        let communication = (busiest.useful / wall).clamp(0.0, 1.0);
        let transfer = (1.0 - busiest.overhead / wall).clamp(communication, 1.0);
        Self {
            parallel,
            load_balance,
            communication,
            serialisation: communication / transfer,
            transfer,
            serial_region: 1.0,
            parallel_region: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(useful: f64, overhead: f64) -> Share {
        Share { useful, overhead }
    }

    #[test]
    fn the_factors_multiply() {
        let shares = [share(80.0, 5.0), share(40.0, 5.0)];
        let e = Efficiency::new(shares.into_iter(), 2.0, 100.0);
        assert!((e.parallel - 0.6).abs() < 1e-12);
        assert!((e.load_balance - 0.75).abs() < 1e-12);
        assert!((e.communication - 0.8).abs() < 1e-12);
        assert!((e.transfer - 0.95).abs() < 1e-12);
        assert!((e.parallel - e.load_balance * e.communication).abs() < 1e-12);
        assert!((e.communication - e.serialisation * e.transfer).abs() < 1e-12);
    }

    #[test]
    fn no_time_loses_nothing_and_no_work_is_not_an_error() {
        assert_eq!(
            Efficiency::new([].into_iter(), 2.0, 0.0),
            Efficiency::PERFECT
        );
        let idle = Efficiency::new([share(0.0, 9.0)].into_iter(), 1.0, 10.0);
        assert_eq!(idle.parallel, 0.0);
        assert!(idle.load_balance.is_finite());
    }
}
