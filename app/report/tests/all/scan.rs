//! What regions contain, as text.

use fathomp_regions::Regions;
use fathomp_report::text::{ScanOptions, scan};

const REGIONS: &str = r#"{
  "schema": "fathomp.regions", "version": 1,
  "modules": [{"path": "prog"}],
  "regions": [
    {
      "place": {"file": "a.c", "line": 7}, "function": "f\u001b[31m", "module": 0,
      "body": {
        "address": 4096, "bytes": 64, "symbol": "f._omp_fn.0", "kind": "parallel",
        "starts": [{"entry": "GOMP_parallel", "at": 8192, "threads": 4}],
        "names": [["(load4 (+ data 8))", "n"]],
        "loops": [
          {"depth": 0, "innermost": true, "header": 4100, "place": {"file": "a.c", "line": 9},
           "trips": {"known": "(if (< thread (% (load4 (+ data 8)) threads)) (+ (/ (load4 (+ data 8)) threads) 1) (/ (load4 (+ data 8)) threads))"},
           "worksharing": {"kind": "static"}}
        ],
        "accesses": [
          {"at": 4104, "inside": 0, "direction": "read_write", "bytes": 8, "class": {"strided": 64},
           "base": {"expr": "(load8 data)"}, "group": 0,
           "address": {"known": {"start": "(+ (load8 data) 8)", "strides": [{"over": 0, "bytes": "64"}]}}}
        ],
        "arithmetic": [
          {"inside": 0, "kind": "add", "element": "double", "lanes": 2, "instructions": 3}
        ],
        "calls": [{"at": 4108, "callee": "indirect", "kind": "other"}],
        "unknown": [{"kind": "indirect_jump", "detail": "the jump at 0x1010"}]
      },
      "differences": ["the loop at line 12 is no loop in the code"]
    }
  ],
  "problems": ["b.c: cannot be read"]
}"#;

#[test]
fn regions_are_told_in_lines_that_fit() {
    let regions = Regions::from_json(REGIONS).unwrap();
    let options = ScanOptions {
        width: 70,
        verbose: true,
    };
    let text = scan(&regions, &options);
    for words in [
        "a.c:7 in f\u{fffd}[31m: parallel region (f._omp_fn.0)",
        "4 threads; schedule(static)",
        "line 9, shared",
        "share(n)",
        "line 9: reads 8 B strided (data[0])",
        "line 9: writes 8 B strided (data[0])",
        "line 9: computes 3 add (double x2)",
        "outside loops: calls through a pointer (not followed)",
        "not known: the jump at 0x1010",
        "data[0] + 8 + #0 * 64",
        "Differs: the loop at line 12",
        "b.c: cannot be read",
        "Understood",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    let longest = text.lines().map(|line| line.chars().count()).max();
    assert!(longest <= Some(70), "{longest:?}\n{text}");
}
