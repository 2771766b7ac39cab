//! What users type to simulate.

use clap::Args;
use fathomp_access_trace::Accesses;
use fathomp_console::args::{Seconds, ThreadList, diff_memory, protocols};
use fathomp_launch::{DIFF_MEMORY_MIB, Protocol};
use fathomp_trace_replay::Homes;
use fathomp_types::size::Size;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `fathomp simulate`.
#[derive(Args, Debug)]
pub struct Simulate {
    /// Files of accesses, or recordings made with `--accesses`; of one program with
    /// several numbers of threads, such as 2, 4 and 8, to tell what more would do.
    #[arg(value_name = "FILE|RECORDING", required = true)]
    pub accesses: Vec<PathBuf>,
    /// Numbers of nodes [default: powers of two up to the number of threads, and
    /// that number itself]. The
    /// threads of one recording are divided among them; of several, each node has
    /// one thread.
    #[arg(long, value_name = "LIST")]
    pub nodes: Option<ThreadList>,
    /// Protocol by which pages get from one node to another.
    #[arg(long, value_parser = protocols(), default_value = Protocol::Home.name(), value_name = "PROTOCOL")]
    pub dsm: Protocol,
    /// With --dsm homeless: memory of each node for what it changed.
    #[arg(long, value_name = "SIZE", default_value_t = Size(u64::from(DIFF_MEMORY_MIB) << 20), value_parser = diff_memory)]
    pub dsm_memory: Size,
    /// Leave pages at their first home and fetch them one by one.
    #[arg(long)]
    pub dsm_plain: bool,
    /// Sizes of pages, multiples of 4096 bytes up to 2M, such as 4K,8K,16K: what is
    /// accessed of smaller pages is accessed of larger ones. Of several, the best is named;
    /// `all` are those from 4 KiB to 2 MiB. Powers of two from 64 on too, if lines were recorded
    /// (`record --accesses --lines`).
    #[arg(long, value_name = "LIST", default_value = "4096")]
    pub page_bytes: PageSizes,
    /// Which size of pages would be best: a table for both protocols, with the powers of two up
    /// to 2 MiB, from 64 bytes on if lines were recorded (`record --accesses --lines`).
    #[arg(long, conflicts_with_all = ["page_bytes", "dsm", "per_node"])]
    pub granularity: bool,
    /// The network: its latency in us and bandwidth in MB/s, such as 62.5,103.4; or
    /// a cluster, whose prices count too: gige_amd, gige_amd_mcbench,
    /// infiniband_ddr4x, or a JSON file.
    #[arg(long, value_name = "LAT_US,MBPS|NAME")]
    pub net: String,
    /// With a network in numbers: cost of a write fault that no other node takes
    /// part in, from which the other prices are derived [default: 10].
    #[arg(long, value_name = "US")]
    pub fault_us: Option<FaultPrice>,
    /// Where pages are at home at first: as recorded, a block of them for each node
    /// (block), dealt one by one or by so many (cyclic, cyclic:8), at node 0
    /// (first), or where they are touched first (first-touch).
    #[arg(long, value_name = "HOMES", default_value = "recorded")]
    pub homes: HomesName,
    /// Time of the sequential program there: application times are scaled to it
    /// [default: as long as they were while accesses were recorded, which is too
    /// long].
    #[arg(long, value_name = "SECONDS")]
    pub sequential: Option<Seconds>,
    /// Also show each node.
    #[arg(long)]
    pub per_node: bool,
}

impl Simulate {
    /// What does not go together.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        (self.fault_us.is_some() && !self.net.contains(',')).then_some(
            "--fault-us changes nothing without a network in numbers as --net: give that with it, or leave --fault-us out",
        )
    }
}

/// Sizes of pages in bytes, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSizes(pub Vec<u32>);

/// Where pages are at home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomesName(pub Homes);

/// A fault's price in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultPrice(pub f64);

impl Default for FaultPrice {
    fn default() -> Self {
        Self(10.0)
    }
}

/// The text means nothing.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// It names no homes.
    #[error(
        "\"{0}\" says nothing about homes: give recorded, block, cyclic, cyclic:PAGES, first or first-touch"
    )]
    Homes(String),
    /// It is no list of sizes.
    #[error(
        "\"{0}\" is no size of pages: give a multiple of 4096 bytes up to 2097152, a power of two from 64 to 2048, a list of these, or all"
    )]
    PageBytes(String),
    /// It is no price.
    #[error("\"{0}\" is no price: give 0.001 to 1000000 us")]
    Price(String),
}

impl PageSizes {
    /// Powers of two from one on.
    pub fn from(least: u32) -> Self {
        let doubled = std::iter::successors(Some(least), |bytes| bytes.checked_mul(2));
        Self(
            doubled
                .take_while(|bytes| *bytes <= Accesses::PAGE_BYTES_MAX)
                .collect(),
        )
    }
}

impl FromStr for PageSizes {
    type Err = SimulateError;

    fn from_str(text: &str) -> Result<Self, SimulateError> {
        if text == "all" {
            return Ok(Self::from(Accesses::PAGE_BYTES));
        }
        let possible = Accesses::LINE_BYTES..=Accesses::PAGE_BYTES_MAX;
        let size = |part: &str| {
            let bytes = u32::try_from(part.parse::<Size>().ok()?.0).ok()?;
            let whole = bytes.is_multiple_of(Accesses::PAGE_BYTES) || bytes.is_power_of_two();
            (whole && possible.contains(&bytes)).then_some(bytes)
        };
        let wrong = |part: &str| SimulateError::PageBytes(part.to_owned());
        let sizes = text
            .split(',')
            .map(|part| size(part).ok_or_else(|| wrong(part)));
        let mut sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

impl FromStr for HomesName {
    type Err = SimulateError;

    fn from_str(text: &str) -> Result<Self, SimulateError> {
        let wrong = || SimulateError::Homes(text.to_owned());
        let homes = match text.split_once(':') {
            Some(("cyclic", pages)) => {
                let pages = pages.parse().ok().filter(|pages| *pages > 0);
                Homes::Cyclic(pages.ok_or_else(wrong)?)
            }
            Some(_) => return Err(wrong()),
            None => match text {
                "recorded" => Homes::Recorded,
                "block" => Homes::Block,
                "cyclic" => Homes::Cyclic(1),
                "first" => Homes::First,
                "first-touch" => Homes::FirstTouch,
                _ => return Err(wrong()),
            },
        };
        Ok(Self(homes))
    }
}

impl fmt::Display for HomesName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Homes::Recorded => f.write_str("recorded"),
            Homes::Block => f.write_str("block"),
            Homes::Cyclic(pages) => write!(f, "cyclic:{pages}"),
            Homes::First => f.write_str("first"),
            Homes::FirstTouch => f.write_str("first-touch"),
        }
    }
}

impl FromStr for FaultPrice {
    type Err = SimulateError;

    fn from_str(text: &str) -> Result<Self, SimulateError> {
        let price = text.parse().ok();
        let price = price.filter(|us| (1e-3..=1e6).contains(us));
        let price = price.ok_or_else(|| SimulateError::Price(text.to_owned()))?;
        Ok(Self(price))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_sizes() {
        let sizes = |text: &str| text.parse::<PageSizes>().map(|sizes| sizes.0);
        assert_eq!(sizes("20480,4096, 8192"), Ok(vec![4096, 8192, 20480]));
        assert_eq!(sizes("64,2097152"), Ok(vec![64, 2 << 20]));
        assert_eq!(sizes("8K,4k"), Ok(vec![4096, 8192]));
        let all = sizes("all").unwrap();
        assert_eq!((all[0], all.len()), (4096, 10));
        assert_eq!(PageSizes::from(64).0.len(), 16);
        for text in [
            "",
            "32",
            "96",
            "4095",
            "0",
            "4194304",
            "4096,",
            "-4096",
            "4kk",
            "all,64",
            "4e3",
            "18446744073709551616",
            "4096 8192",
            "\u{662}",
        ] {
            assert!(text.parse::<PageSizes>().is_err(), "{text}");
        }
    }

    #[test]
    fn homes_have_names() {
        let homes = |text: &str| text.parse::<HomesName>().map(|homes| homes.0);
        assert_eq!(homes("cyclic:8"), Ok(Homes::Cyclic(8)));
        assert_eq!(homes("first-touch"), Ok(Homes::FirstTouch));
        for text in ["", "cyclic:", "cyclic:0", "cyclic:-1", "block:2", "Block"] {
            assert!(homes(text).is_err(), "{text}");
        }
        for text in ["", "0", "-1", "NaN", "inf", "1e7"] {
            assert!(text.parse::<FaultPrice>().is_err(), "{text}");
        }
    }
}
