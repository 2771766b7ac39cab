//! Prices of a cluster that nobody has measured.
//!
//! Three numbers are needed: the latency and bandwidth of the network and what
//! a fault costs that no other node takes part in. How often such a fault's
//! work is done again, on both ends, is taken from the one cluster all prices
//! are published of (`gige_amd`); whether it is so on others is not known, and
//! answers say that prices are derived.

use super::events::{Prices, Protocol};
use super::network::Network;

/// Work of both ends for a page fetched from its home, beyond the fault and the
/// network: waking the thread that serves it, protections, copies. In local write faults:
/// (295.3 - 20.9 - 2 x 62.5 - 4096 / 103.4) / 20.9 on `gige_amd`.
const SERVICE_FAULTS: f64 = 5.25;
/// A remote write fault also makes a twin: 40.5 / 20.9 on `gige_amd`.
const TWIN_FAULTS: f64 = 1.94;

/// Prices from the network's and from `fault_us`, which is that of a local
/// write fault.
pub(super) fn prices(
    network: Network,
    fault_us: f64,
    page_bytes: u32,
    diff_bytes: u32,
    protocol: Protocol,
) -> Prices {
    // 1 MB/s is 1 byte/us.
    let arrival_us =
        |bytes: u32| network.latency_us + f64::from(bytes) / network.bandwidth_mb_per_s;
    let request_us = network.latency_us;
    let fetch_us = fault_us + request_us + arrival_us(page_bytes) + SERVICE_FAULTS * fault_us;
    match protocol {
        Protocol::Home => Prices {
            local_write_us: fault_us,
            remote_write_us: TWIN_FAULTS * fault_us,
            fetch_us,
            // The home applies it before the barrier ends; in the encoding of
            // word and value, a diff of half a page is a page long.
            diff_to_home_us: arrival_us(diff_bytes) + fault_us,
        },
        Protocol::Homeless => Prices {
            local_write_us: fault_us,
            remote_write_us: fault_us,
            // Who is asked makes the diff first.
            fetch_us: fetch_us + fault_us,
            diff_to_home_us: 0.0,
        },
    }
}
