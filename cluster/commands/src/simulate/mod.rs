//! `fathomp simulate`: recorded accesses on clusters that are not there.

mod answer;
mod granularity;
mod known;
mod priced;

use crate::args::{HomesName, PageSizes, Simulate};
use answer::{Answer, Point};
use fathomp_console::args::Seconds;
use fathomp_console::console::Console;
use fathomp_console::failure::Outcome;
pub(crate) use known::{Known, numbers};
pub use priced::Priced;

/// Replays recorded accesses, as asked for.
///
/// # Errors
///
/// Fails if they cannot be read, or what is asked for cannot be replayed.
pub fn simulate(plan: &Simulate, console: Console) -> Outcome {
    let sequential = plan.sequential.map(|Seconds(time)| time);
    let known = Known::read(&plan.accesses, sequential)?;
    if plan.granularity {
        return granularity::answer(plan, &known, console);
    }
    let priced = Priced::new(plan, plan.dsm)?;
    let HomesName(homes) = plan.homes;
    let mut points = Vec::new();
    for nodes in numbers(plan.nodes.as_ref(), &known)? {
        let PageSizes(sizes) = &plan.page_bytes;
        for page_bytes in sizes {
            let (accesses, extrapolated) = known.on(nodes, *page_bytes)?;
            let outcome = priced.replay(&accesses, nodes, homes)?;
            let mut point = Point::new(&outcome, &known, &priced.net, plan.per_node);
            point.extrapolated = extrapolated;
            point.page_bytes = *page_bytes;
            points.push(point);
        }
    }
    let answer = Answer::new(&known, plan, &priced, points);
    console.result("fathomp.simulate", &answer, || answer.text(console.width()))?;
    Ok(0)
}
