//! Counts as the CSV file that `predict --counts` reads.

use super::counted::{Counted, Scope};
use crate::prices::{Event, Protocol};
use fathomp_types::text::csv_field;
use std::fmt::Write as _;

impl Counted {
    /// The file: a line for each region and thread.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let events = match self.protocol {
            Protocol::Homeless => "write_faults,fetch_faults",
            Protocol::Home => "local_write_faults,remote_write_faults,fetch_faults,diffs_to_home",
        };
        let mut text = format!("program,threads,sequential_s,region,thread,{events}\n");
        for program in &self.programs {
            for run in &program.runs {
                for row in &run.rows {
                    let thread = match row.scope {
                        Scope::Thread(number) => number.to_string(),
                        Scope::Critical => "critical".to_owned(),
                        Scope::All => "all".to_owned(),
                    };
                    let of = |event: Event| row.counts.0[event as usize];
                    let counts = match self.protocol {
                        Protocol::Homeless => vec![of(Event::RemoteWrite), of(Event::Fetch)],
                        Protocol::Home => Event::ALL.map(of).to_vec(),
                    };
                    let counts: Vec<String> = counts.iter().map(f64::to_string).collect();
                    // Writing to a String cannot fail.
                    let _ = writeln!(
                        text,
                        "{},{},{},{},{thread},{}",
                        csv_field(&program.name),
                        run.threads,
                        run.sequential_ns * 1e-9,
                        csv_field(&row.region),
                        counts.join(",")
                    );
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in [
            "program,threads,sequential_s,region,thread,write_faults,fetch_faults\n\
             cg.A,2,3.5,\"f(a, b)\",0,20,50\ncg.A,2,3.5,\"f(a, b)\",1,24,51\n",
            "program,threads,sequential_s,region,thread,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home\n\
             is,4,0.5,x.c:1,all,1,2,3,4\n",
        ] {
            let counted = Counted::from_csv(text).unwrap();
            assert_eq!(Counted::from_csv(&counted.to_csv()).unwrap(), counted);
        }
    }
}
