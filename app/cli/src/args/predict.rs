//! `fathomp predict`.

use super::cluster::PredictOnHosts;
use super::workload::{Making, Names};
use super::{ThreadCount, ThreadList};
use clap::{Args, ValueEnum};
use fathomp_console::args::Seconds;
use fathomp_console::args::protocols;
use fathomp_predict::prices::Protocol;
use fathomp_predict::published::F;
use fathomp_workloads::Class;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// `fathomp predict`.
#[derive(Args, Debug)]
pub(crate) struct Predict {
    /// Recordings of one program, best at 1 and several threads.
    #[arg(value_name = "RECORDING", required_unless_present_any = ["counts", "evaluate", "load", "hosts", "hostfile"], conflicts_with_all = ["hosts", "hostfile"])]
    pub(crate) recordings: Vec<PathBuf>,
    /// Machine facts written by `fathomp calibrate` [default: prices of
    /// constructs are extrapolated from the recordings alone].
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Predict as if the machine had so many processors like its own
    /// [default: twice as many as it has, at least 8].
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<ThreadCount>,
    /// Numbers of threads to predict for [default: powers of two up
    /// to the processors predicted for, and what was recorded; with --counts,
    /// those that were counted].
    #[arg(long, value_name = "LIST")]
    pub(crate) at: Option<ThreadList>,
    /// Predict each recorded number of threads from all others and compare with
    /// what was observed; with --cluster, by the published models too. With --counts and
    /// --cluster, by these alone, beside the speedups that the counts come with.
    #[arg(long, conflicts_with_all = ["at"])]
    pub(crate) validate: bool,
    /// With --validate: count programs that come with fathomp (--programs, --class) on nodes
    /// of this machine, predict them for these hosts with their prices (--cluster, or measured
    /// first), run them there, and say how far off that was.
    #[command(flatten)]
    pub(crate) nodes: PredictOnHosts,
    #[command(flatten)]
    pub(crate) evaluating: Evaluating,
    #[command(flatten)]
    pub(crate) sdp: Sdp,
}

impl Predict {
    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.nodes.are_on_hosts() && !self.validate {
            return Some(
                "predictions are held against runs on hosts: give --validate with --hosts, or leave --hosts out",
            );
        }
        if self.sdp.cluster.is_some()
            && !self.validate
            && (self.machine.is_some() || self.cores.is_some())
        {
            return Some(
                "on a cluster its own prices count: leave --machine and --cores out, or --cluster",
            );
        }
        self.nodes.contradiction()
    }
}

/// Options of `fathomp predict --evaluate`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Compared with measurements of many programs")]
pub(crate) struct Evaluating {
    /// Run programs that come with fathomp, with one core and with all (one package and
    /// all, where there are several), and compare with what is predicted of their regions:
    /// which cores are worthwhile, time lost by following the advice, errors of speed-ups.
    /// The published score and simple models are compared, too.
    #[arg(long, conflicts_with_all = ["recordings", "at", "validate", "counts", "model", "cores"])]
    pub(crate) evaluate: bool,
    /// The same from what --save kept, without running anything.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["recordings", "at", "validate", "counts", "model", "cores", "save", "programs", "budget"])]
    pub(crate) load: Option<PathBuf>,
    /// Programs: workloads or suites.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "polybench,npb"
    )]
    pub(crate) programs: Vec<Names>,
    /// Size of programs that have data sets: mini to extralarge, or a number with x, so many
    /// times the last cache. What takes too long for the budget gets a smaller one.
    #[arg(long, value_name = "SIZE", default_value = "10x")]
    pub(crate) size: String,
    /// Class of programs that have classes, such as npb; likewise.
    #[arg(long, value_name = "CLASS", default_value = "A")]
    pub(crate) class: Class,
    /// Runs of each program with each number of threads, as far as the budget goes.
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
    /// Time for all runs, such as 10min or 90s.
    #[arg(long, value_name = "TIME", default_value = "10min")]
    pub(crate) budget: Budget,
    /// Keep recordings in this directory, for --load.
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    /// How utilisation by further cores is defined: the part that they add of what they
    /// could, or the speed-up over their number.
    #[arg(long, value_enum, default_value_t = UtilisationName::Added)]
    pub(crate) utilisation: UtilisationName,
    /// Also use runs that other programs disturbed.
    #[arg(long)]
    pub(crate) include_noisy: bool,
    /// Weights of the published score, a JSON file.
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Write a page with the picture to this file.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write a line for each region and predictor to this CSV file.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
    /// Compiler of the programs.
    #[command(flatten)]
    pub(crate) making: Making,
}

/// Definitions of utilisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UtilisationName {
    /// (S - 1) / (k - 1).
    Added,
    /// S / k.
    Share,
}

/// A time to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(pub(crate) Duration);

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse =
            || format!("\"{text}\" is no time: give seconds or minutes, such as 90s or 10min");
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(refuse()),
        };
        let value: f64 = digits.trim().parse().map_err(|_| refuse())?;
        let seconds = Some(value * unit).filter(|seconds| (1.0..=1e6).contains(seconds));
        seconds
            .map(|seconds| Self(Duration::from_secs_f64(seconds)))
            .ok_or_else(refuse)
    }
}

/// Options of predictions for clusters.
#[derive(Args, Debug)]
#[command(next_help_heading = "On a cluster, from recorded accesses or counts of page faults")]
pub(crate) struct Sdp {
    /// CSV file of counts, instead of recordings.
    #[arg(
        long,
        value_name = "FILE",
        requires = "cluster",
        conflicts_with = "recordings"
    )]
    pub(crate) counts: Option<PathBuf>,
    /// Published model, of the critical path or of all threads' faults [default: accesses
    /// that `fathomp record --accesses` recorded are replayed; without them sdp-crit].
    #[arg(long, value_enum, requires = "cluster", conflicts_with_all = ["machine", "cores"])]
    pub(crate) model: Option<SdpModel>,
    /// Cluster to predict for: gige_amd, gige_amd_mcbench, infiniband_ddr4x, or
    /// a JSON file, such as `fathomp calibrate --nodes` writes.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) cluster: Option<PathBuf>,
    /// Time of the sequential program there [default: that of the recording
    /// with 1 thread].
    #[arg(
        long,
        value_name = "SECONDS",
        requires = "cluster",
        conflicts_with = "counts"
    )]
    pub(crate) sequential: Option<Seconds>,
    /// Protocol whose prices count [default: that of the counts; for a replay, home].
    #[arg(long, value_parser = protocols(), value_name = "PROTOCOL")]
    pub(crate) dsm: Option<Protocol>,
    /// For sdp-agg: fractions of faults that nothing overlaps, such as 0,0.25;
    /// or "fit", to fit it to observed speedups; above 1, faults alone do not explain the
    /// time [default: 0,0.25,0.5,0.75,1].
    #[arg(long, value_name = "LIST", requires = "model")]
    pub(crate) serial_fraction: Option<Fractions>,
    /// Bytes that a diff sent to its home stands for [default: a page].
    #[arg(long, value_name = "BYTES", requires = "cluster", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) diff_bytes: Option<u32>,
}

/// Published models of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SdpModel {
    /// In each region, the thread whose faults cost most.
    SdpCrit,
    /// All threads' faults, a fraction f of them one after the other.
    SdpAgg,
}

/// Fractions of faults that nothing overlaps, or how to find one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fractions(pub(crate) F);

/// The text names no fractions.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{0}\" is no fraction: give numbers from 0 to 1, or \"fit\"")]
pub(crate) struct FractionError(String);

impl FromStr for Fractions {
    type Err = FractionError;

    fn from_str(text: &str) -> Result<Self, FractionError> {
        if text == "fit" {
            return Ok(Self(F::Fit));
        }
        let mut values = Vec::new();
        for part in text.split(',') {
            let value = part.trim().parse().ok();
            let value = value.filter(|f: &f64| (0.0..=1.0).contains(f));
            values.push(value.ok_or_else(|| FractionError(part.to_owned()))?);
        }
        values.sort_by(f64::total_cmp);
        values.dedup();
        Ok(Self(F::Values(values)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_sorted_and_nonsense_is_named() {
        let fractions = |text: &str| text.parse::<Fractions>().map(|fractions| fractions.0);
        assert_eq!(fractions("fit"), Ok(F::Fit));
        assert_eq!(fractions("1, 0,1"), Ok(F::Values(vec![0.0, 1.0])));
        assert_eq!("90".parse(), Ok(Budget(Duration::from_secs(90))));
        assert_eq!("1.5min".parse(), Ok(Budget(Duration::from_secs(90))));
        for text in ["", "min", "-1s", "0", "1 day", "nan", "1e99h"] {
            assert!(text.parse::<Budget>().is_err(), "{text}");
        }
        for text in ["", ",", "0,", "-0.1", "1.1", "NaN", "inf", "fits", "0;1"] {
            assert!(fractions(text).is_err(), "{text}");
        }
    }
}
