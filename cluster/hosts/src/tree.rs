//! Who starts whose agent: a tree, so that no host starts very many.

/// How many agents one starts if nobody asks for another number.
pub const FAN_OUT: u16 = 32;

/// A host whose agent is started from here, and those whose agents that one starts in turn,
/// with their own below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) host: u16,
    pub(crate) below: Vec<u16>,
}

impl Branch {
    /// Whether messages for `host` go this way.
    pub(crate) fn leads_to(&self, host: u16) -> bool {
        self.host == host || self.below.contains(&host)
    }
}

/// Divides hosts into at most `fan_out` branches of about the same size.
pub(crate) fn branches(hosts: &[u16], fan_out: u16) -> Vec<Branch> {
    let ways = usize::from(fan_out.max(1));
    let mut rest = hosts;
    let mut branches = Vec::new();
    for left in (1..=ways).rev() {
        let (here, others) = rest.split_at(rest.len().div_ceil(left));
        rest = others;
        if let Some((host, below)) = here.split_first() {
            branches.push(Branch {
                host: *host,
                below: below.to_vec(),
            });
        }
    }
    branches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All hosts below, and how deep they lie.
    fn depths(hosts: &[u16], fan_out: u16, depth: usize, found: &mut Vec<(u16, usize)>) {
        for branch in branches(hosts, fan_out) {
            found.push((branch.host, depth));
            depths(&branch.below, fan_out, depth + 1, found);
        }
    }

    #[test]
    fn every_host_is_started_once_and_nobody_starts_too_many() {
        for (count, fan_out, deepest) in [
            (0, 2, 0),
            (1, 2, 1),
            (32, 32, 1),
            (33, 32, 2),
            (255, 32, 2),
            (14, 2, 3),
        ] {
            let hosts: Vec<u16> = (1..=count).collect();
            assert!(branches(&hosts, fan_out).len() <= usize::from(fan_out));
            let mut found = Vec::new();
            depths(&hosts, fan_out, 1, &mut found);
            assert_eq!(
                found.iter().map(|(_, depth)| *depth).max().unwrap_or(0),
                deepest,
                "{count}"
            );
            found.sort_unstable();
            assert!(found.iter().map(|(host, _)| *host).eq(hosts));
        }
    }

    #[test]
    fn messages_go_the_way_of_their_host() {
        let branches = branches(&[3, 4, 5, 6, 7], 2);
        let leads = |host| branches.iter().position(|branch| branch.leads_to(host));
        assert_eq!(
            [3, 5, 6, 7, 8].map(leads),
            [Some(0), Some(0), Some(1), Some(1), None]
        );
    }
}
