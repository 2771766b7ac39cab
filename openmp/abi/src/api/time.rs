//! Wall time, or what stands for it.

use super::ask;
use fathomp_sys::clock;

ask! {
    /// Seconds since some moment in the past, the same for all threads.
    omp_get_wtime, omp_get_wtime_ -> f64 = clock::monotonic_ns() as f64 * 1e-9;
    /// Seconds between two readings of that clock at its finest.
    omp_get_wtick, omp_get_wtick_ -> f64 = clock::monotonic_resolution_ns() as f64 * 1e-9;
}
