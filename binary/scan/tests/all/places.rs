//! Where regions are said to be.

use crate::common::scanned;

/// Calls that follow each other have the line of the first one's surroundings with optimisation.
#[test]
fn regions_are_where_their_directives_are() {
    let source = "#define N 100000\n\
        static double a[N], b[N];\n\
        int main(void) {\n\
        for (int step = 0; step < 9; step++) {\n\
        #pragma omp parallel for\n\
        for (int i = 0; i < N; i++) a[i] = 2 * b[i];\n\
        #pragma omp parallel for\n\
        for (int i = 0; i < N; i++) b[i] = 3 + a[i];\n\
        }\n\
        return b[1] > 5;\n}\n";
    for level in ["-O0", "-O2", "-O3"] {
        let regions = scanned(source, &[level, "-fopenmp"]);
        let places = regions
            .regions
            .iter()
            .filter_map(|region| region.place.as_ref());
        let mut lines: Vec<u32> = places.map(|place| place.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [5, 7], "{level}");
    }
}
