//! `fathomp compare`.

use clap::Args;
use std::path::PathBuf;

/// `fathomp compare`.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Studies, recordings, or results of `fathomp bench`: before a change, after it, and after
    /// further ones. All are compared with the first, where they have the same number of threads.
    #[arg(value_names = ["BEFORE", "AFTER"], required = true, num_args = 2..)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Leave with code 3 if the program certainly became slower by more than this, such as 5%: if
    /// the lower end of the 95 % interval of the ratio is above 1.05. The same of a region, if that
    /// alone makes the program slower by more than this, and of a row of `fathomp bench`. Needs several runs on a side, as of `fathomp study --repeat 5`.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) fail_above: Option<f64>,
    /// Also write one offline HTML page to this file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing page.
    #[arg(long)]
    pub(crate) force: bool,
}

/// A part of a time: `5%` or `5`, as a fraction.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse::<f64>().ok();
    let sensible = percent.filter(|percent| (0.0..=1000.0).contains(percent));
    let fraction = sensible.map(|percent| percent / 100.0);
    fraction.ok_or_else(|| "give a part of the time in percent, such as 5%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percents_are_read_with_and_without_their_sign() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("2.5"), Ok(0.025));
        assert_eq!(percent("0"), Ok(0.0));
        for nonsense in ["", "-1", "x", "5%%", "NaN", "1e9", "inf"] {
            assert!(percent(nonsense).is_err(), "{nonsense}");
        }
    }
}
