//! Groups of tasks that are alike.

use crate::facts::{Cluster, Matrix};
use fathomp_paging::TaskId;

/// Groups by average linkage: the two groups whose pairs are most alike on average become
/// one, as long as that average exceeds `bar`. The largest first; groups of one left out.
pub(crate) fn clusters(similarity: &Matrix, bar: f64, ids: &[TaskId]) -> Vec<Cluster> {
    let groups = link(similarity, bar);
    let mut clusters: Vec<Cluster> = groups
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| Cluster {
            similarity: mean_within(similarity, &group),
            tasks: group
                .iter()
                .filter_map(|task| ids.get(*task).copied())
                .collect(),
        })
        .collect();
    clusters.sort_by_key(|cluster| {
        (
            std::cmp::Reverse(cluster.tasks.len()),
            cluster.tasks.first().copied(),
        )
    });
    clusters
}

/// A group that is being made.
struct Group {
    members: Vec<usize>,
    /// The group most like it, and how much; kept up to date.
    nearest: Option<(usize, f32)>,
}

fn link(similarity: &Matrix, bar: f64) -> Vec<Vec<usize>> {
    let tasks = similarity.tasks();
    // Mean similarity of two groups.
    let mut between = vec![0.0_f32; tasks * tasks];
    for ((one, other), value) in Matrix::pairs(tasks).zip(similarity.values()) {
        between[one * tasks + other] = *value;
        between[other * tasks + one] = *value;
    }
    let mut groups: Vec<Option<Group>> = (0..tasks)
        .map(|task| {
            Some(Group {
                members: vec![task],
                nearest: None,
            })
        })
        .collect();
    for task in 0..tasks {
        look(&mut groups, &between, task);
    }
    loop {
        let best = groups
            .iter()
            .enumerate()
            .filter_map(|(one, group)| {
                group
                    .as_ref()?
                    .nearest
                    .map(|(other, value)| (one, other, value))
            })
            .max_by(|a, b| a.2.total_cmp(&b.2).then((b.0, b.1).cmp(&(a.0, a.1))));
        let Some((one, other, _)) = best.filter(|(.., value)| f64::from(*value) > bar) else {
            break;
        };
        let Some(gone) = groups[other].take() else {
            break;
        };
        let Some(group) = &mut groups[one] else {
            break;
        };
        let (stay, leave) = (group.members.len() as f32, gone.members.len() as f32);
        group.members.extend(gone.members);
        for third in 0..tasks {
            let of = |group: usize| between[group * tasks + third];
            let mean = (stay * of(one) + leave * of(other)) / (stay + leave);
            between[one * tasks + third] = mean;
            between[third * tasks + one] = mean;
        }
        // A mean is no more than the larger of the two: what had another nearest keeps it.
        for third in 0..tasks {
            let Some(group) = &mut groups[third] else {
                continue;
            };
            let stale = third == one
                || group
                    .nearest
                    .is_some_and(|(nearest, _)| nearest == one || nearest == other);
            if stale {
                look(&mut groups, &between, third);
            }
        }
    }
    let mut found: Vec<Vec<usize>> = groups
        .into_iter()
        .flatten()
        .map(|group| group.members)
        .collect();
    for group in &mut found {
        group.sort_unstable();
    }
    found
}

/// Finds the group nearest to `one`.
fn look(groups: &mut [Option<Group>], between: &[f32], one: usize) {
    let tasks = groups.len();
    let nearest = (0..tasks)
        .filter(|other| *other != one && groups[*other].is_some())
        .map(|other| (other, between[one * tasks + other]))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    if let Some(group) = &mut groups[one] {
        group.nearest = nearest;
    }
}

fn mean_within(similarity: &Matrix, group: &[usize]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (place, &one) in group.iter().enumerate() {
        for &other in &group[place + 1..] {
            sum += similarity.get(one, other).unwrap_or(0.0);
            pairs += 1.0;
        }
    }
    if pairs > 0.0 { sum / pairs } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(tasks: usize, of: impl Fn(usize, usize) -> f32) -> Matrix {
        Matrix::new(
            tasks,
            Matrix::pairs(tasks)
                .map(|(one, other)| of(one, other))
                .collect(),
        )
    }

    fn ids(tasks: usize) -> Vec<TaskId> {
        (0..tasks as u32).map(TaskId).collect()
    }

    #[test]
    fn blocks_are_found() {
        let blocks = matrix(9, |one, other| {
            let group = |task: usize| [0, 1, 0, 1, 1, 0, 1, 2, 1][task];
            if group(one) == group(other) { 0.9 } else { 0.1 }
        });
        let found = clusters(&blocks, 0.4, &ids(9));
        let members = |place: usize| {
            found[place]
                .tasks
                .iter()
                .map(|task| task.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(found.len(), 2);
        assert_eq!(members(0), [1, 3, 4, 6, 8]);
        assert_eq!(members(1), [0, 2, 5]);
        assert!((found[0].similarity - 0.9).abs() < 1e-6);
        assert_eq!(clusters(&blocks, 0.05, &ids(9)).len(), 1);
        assert!(clusters(&blocks, 0.95, &ids(9)).is_empty());
    }

    #[test]
    fn averages_decide_not_single_pairs() {
        // A chain: neighbours are alike, ends are not.
        let chain = matrix(6, |one, other| 1.0 - 0.25 * (other - one) as f32);
        let found = clusters(&chain, 0.5, &ids(6));
        assert!(
            found.iter().all(|cluster| cluster.tasks.len() <= 4),
            "{found:?}"
        );
        assert_eq!(
            found
                .iter()
                .map(|cluster| cluster.tasks.len())
                .sum::<usize>(),
            6
        );
    }

    #[test]
    fn a_thousand_tasks_are_linked_in_no_time() {
        let groups = matrix(
            1_000,
            |one, other| if one % 7 == other % 7 { 0.8 } else { 0.2 },
        );
        assert_eq!(clusters(&groups, 0.5, &ids(1_000)).len(), 7);
    }

    #[test]
    fn none_and_one_make_no_group() {
        assert!(clusters(&Matrix::default(), 0.0, &[]).is_empty());
        assert!(clusters(&matrix(1, |_, _| 0.0), 0.0, &ids(1)).is_empty());
    }
}
