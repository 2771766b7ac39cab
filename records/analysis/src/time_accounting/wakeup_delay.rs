//! Why the members of a team waited for each other.
//!
//! All members of an execution are charged the same time, so a member that waits less
//! does more of something else. What the member that waited least did more than
//! the members' mean is what the others waited for: application code, being
//! blocked, being without a processor, the runtime's work. How long even that
//! member waited is another matter: what the barriers cost by themselves, or
//! members that were late in turn.

use fathomp_trace::state::{PerState, State};

/// States of waiting for other members at a barrier or for tasks.
pub(crate) const MEETING: [State; 4] = [
    State::ImplicitBarrier,
    State::ExplicitBarrier,
    State::TaskWait,
    State::Idle,
];

/// Mean waiting of a team's members, in the unit of what it was made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WakeupDelay {
    /// By what the member that waited least did meanwhile.
    pub(crate) waited_for: PerState<f64>,
    /// What that member waited, too.
    pub(crate) together: f64,
}

impl WakeupDelay {
    /// Of a team of `size`, from the times of its members.
    pub(crate) fn of(members: &[PerState<f64>], size: f64) -> Self {
        let mut lag = Self::default();
        if members.len() < 2 || (members.len() as f64) < size {
            return lag;
        }
        let waited =
            |times: &PerState<f64>| -> f64 { MEETING.iter().map(|state| times[*state]).sum() };
        let Some(last) = members
            .iter()
            .min_by(|a, b| waited(a).total_cmp(&waited(b)))
        else {
            return lag;
        };
        let mean = |of: &dyn Fn(&PerState<f64>) -> f64| -> f64 {
            members.iter().map(of).sum::<f64>() / members.len() as f64
        };
        lag.together = waited(last);
        let owed = (mean(&waited) - lag.together).max(0.0);
        for state in State::ALL {
            if !MEETING.contains(&state) {
                lag.waited_for[state] = (last[state] - mean(&|times| times[state])).max(0.0);
            }
        }
        let sum: f64 = lag.waited_for.0.iter().sum();
        for part in &mut lag.waited_for.0 {
            *part = if sum > 0.0 { *part * owed / sum } else { 0.0 };
        }
        lag
    }

    /// Adds `other`, whose unit is worth `factor`.
    pub(crate) fn add(&mut self, other: &Self, factor: f64) {
        for state in State::ALL {
            self.waited_for[state] += other.waited_for[state] * factor;
        }
        self.together += other.together * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(times: &[(State, f64)]) -> PerState<f64> {
        let mut states = PerState::default();
        for (state, ns) in times {
            states[*state] = *ns;
        }
        states
    }

    #[test]
    fn the_member_with_most_work_is_waited_for() {
        let lag = WakeupDelay::of(
            &[
                member(&[(State::Compute, 100.0), (State::ImplicitBarrier, 2.0)]),
                member(&[(State::Compute, 40.0), (State::ImplicitBarrier, 62.0)]),
            ],
            2.0,
        );
        assert_eq!(lag.together, 2.0);
        assert_eq!(lag.waited_for[State::Compute], 30.0);
    }

    #[test]
    fn a_sleeper_is_no_imbalance() {
        let lag = WakeupDelay::of(
            &[
                member(&[(State::Compute, 10.0), (State::Blocked, 90.0)]),
                member(&[(State::Compute, 10.0), (State::ImplicitBarrier, 90.0)]),
                member(&[(State::Compute, 10.0), (State::ImplicitBarrier, 90.0)]),
            ],
            3.0,
        );
        assert_eq!(lag.waited_for[State::Compute], 0.0);
        assert_eq!(lag.waited_for[State::Blocked], 60.0);
    }

    #[test]
    fn a_team_of_which_some_left_no_record_says_nothing() {
        let one = member(&[(State::Compute, 10.0)]);
        let other = member(&[(State::ImplicitBarrier, 10.0)]);
        let lag = WakeupDelay::of(&[one, other], 3.0);
        assert_eq!((lag.together, lag.waited_for), (0.0, PerState::default()));
    }
}
