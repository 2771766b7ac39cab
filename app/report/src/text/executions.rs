//! Executions of regions one by one: threads, iterations and time of each, separated by
//! blanks for other programs to read.

use super::printable;
use fathomp_analysis::Execution;
use std::fmt::Write as _;

/// One line for each execution, in the order of their begin: threads, iterations (`-` if they
/// are not known), nanoseconds from fork to join, and the region. Executions that were
/// recorded as one sum stand on one line, with their number behind the region.
#[must_use]
pub fn executions(executions: &[Execution]) -> String {
    let mut text = "# threads iterations ns region\n".to_owned();
    for one in executions {
        let iterations = one
            .iterations
            .map_or_else(|| "-".to_owned(), |count| count.to_string());
        let summed = match one.executions {
            0 | 1 => String::new(),
            several => format!(" x{several}"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{} {iterations} {} {}{summed}",
            one.threads,
            one.wall_ns,
            printable(&one.region)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_and_what_was_summed_is_said() {
        let one = Execution {
            region: "a.c:5".to_owned(),
            pid: 7,
            executions: 1,
            threads: 4,
            iterations: Some(1000),
            begin_ns: 0,
            wall_ns: 12_345,
        };
        let several = Execution {
            executions: 3,
            iterations: None,
            ..one.clone()
        };
        assert_eq!(
            executions(&[one, several]),
            "# threads iterations ns region\n4 1000 12345 a.c:5\n4 - 12345 a.c:5 x3\n"
        );
    }
}
