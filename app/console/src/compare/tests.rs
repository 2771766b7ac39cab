use super::*;

fn printed(text: &str) -> Printed {
    Printed {
        bytes: text.len() as u64,
        hash: text.bytes().fold(7, |hash: u64, byte| {
            hash.wrapping_mul(31).wrapping_add(byte.into())
        }),
        text: text.as_bytes().to_vec(),
    }
}

/// The difference between an output with 1 thread and one with 4.
fn found(one: &str, four: &str) -> Option<OutputDifference> {
    found_again(one, &[], four)
}

fn found_again(one: &str, again: &[&str], four: &str) -> Option<OutputDifference> {
    let (one, four) = (printed(one), printed(four));
    let again: Vec<Printed> = again.iter().map(|text| printed(text)).collect();
    let runs = [
        Run {
            threads: 4,
            printed: &four,
        },
        Run {
            threads: 1,
            printed: &one,
        },
    ];
    let again: Vec<&Printed> = again.iter().collect();
    let mut found = differences(&runs, &again);
    assert_eq!(
        found.pop().unwrap(),
        None,
        "the reference differs from itself"
    );
    found.pop().unwrap()
}

#[test]
fn what_is_of_the_run_is_no_difference() {
    for (one, four) in [
        ("", ""),
        ("sum 1234567\n", "sum 1234567\n"),
        ("Time: 12.5\n", "Time: 3.25\n"),
        ("elapsed 12.5 s, sum 7\n", "elapsed 3.25 s, sum 7\n"),
        ("sum 7 in 3s\n", "sum 7 in 12ms\n"),
        ("Mop/s total = 123.45\n", "Mop/s total = 456.1\n"),
        ("bandwidth (GB/s) 10.2\n", "bandwidth (GB/s) 20.4\n"),
        ("running with 1\nsum 5\n", "running with 4\nsum 5\n"),
        ("threads 1\nsum 5\n", "threads 4\nsum 5\n"),
        (
            "hello from thread 0\n",
            "hello from thread 3\nhello from thread 0\nhello from thread 1\n",
        ),
        ("at 0x7f001200\n", "at 0x7ffe1200\n"),
        ("started 12:30:55\n", "started 12:31:07\n"),
        // Sums in another order, as far as that shows.
        ("norm 1.0000000001\n", "norm 1.0000000002\n"),
        ("norm 3.14159\n", "norm 3.14160\n"),
        ("residual 1.5e-15\n", "residual 3.1e-16\n"),
        ("error 1.2345D-03\n", "error 1.2346D-03\n"),
        // Lines in another order, lines of each thread.
        ("got 1\ngot 2\ngot 3\n", "got 3\ngot 1\ngot 2\n"),
        ("piece 0\n", "piece 0\npiece 1\npiece 2\npiece 3\n"),
        // A table with times in it.
        (
            "size time sum\n10 1.5 3\n20 2.5 4\n",
            "size time sum\n10 0.5 3\n20 0.7 4\n",
        ),
        ("\x1b[32mok\x1b[0m 5\n", "\x1b[31mok\x1b[0m 5\n"),
        ("10 %\r50 %\rsum 5\n", "sum 5\n"),
    ] {
        assert_eq!(found(one, four), None, "{one:?} {four:?}");
    }
}

#[test]
fn results_that_differ_are_quoted() {
    for (one, four, line, here, there) in [
        (
            "sum 1234567\n",
            "sum 1234566\n",
            1,
            "sum 1234566",
            "sum 1234567",
        ),
        (
            "a\nnorm 1.001\n",
            "a\nnorm 1.101\n",
            2,
            "norm 1.101",
            "norm 1.001",
        ),
        ("x 0.5\n", "x nan\n", 1, "x nan", "x 0.5"),
        (
            "Verification SUCCESSFUL\nTime = 1.5\n",
            "Verification FAILED\nTime = 0.5\n",
            1,
            "Verification FAILED",
            "Verification SUCCESSFUL",
        ),
        (
            "time 5.5, count 10\n",
            "time 2.5, count 11\n",
            1,
            "time 2.5, count 11",
            "time 5.5, count 10",
        ),
        ("1 2 3\n4 5 6\n", "1 2 3\n4 5 7\n", 2, "4 5 7", "4 5 6"),
    ] {
        let found = found(one, four).unwrap_or_else(|| panic!("{one:?} {four:?}"));
        assert_eq!(found.line, line, "{found:?}");
        assert_eq!(found.here.as_deref(), Some(here));
        assert_eq!(found.there.as_deref(), Some(there));
        assert_eq!(found.other_threads, 1);
    }
}

#[test]
fn lines_that_are_there_in_one_run_only_are_differences() {
    let more = found("done\n", "warning: lost an update\ndone\n").unwrap();
    assert_eq!((more.line, more.there), (1, None));
    assert_eq!(more.here.as_deref(), Some("warning: lost an update"));
    let less = found("converged\ndone\n", "done\n").unwrap();
    assert_eq!((less.line, less.here), (1, None));
    assert_eq!(less.there.as_deref(), Some("converged"));
}

#[test]
fn what_varies_with_as_many_threads_is_no_difference() {
    assert_eq!(
        found_again("pi 3.1402\n", &["pi 3.1437\n"], "pi 3.1390\n"),
        None
    );
    assert_eq!(found_again("run abc\n", &["run xyz\n"], "run uvw\n"), None);
    // What does not vary is still compared.
    let found = found_again(
        "pi 3.1402\nsum 5\n",
        &["pi 3.1437\nsum 5\n"],
        "pi 3.1390\nsum 6\n",
    );
    assert_eq!(found.unwrap().line, 2);
}

#[test]
fn random_numbers_and_other_orders_make_slight_differences() {
    for (one, four) in [
        ("pi ~ 3.141526\n", "pi ~ 3.141562\n"),
        ("<r^2> = 337.763639\n", "<r^2> = 331.560490\n"),
    ] {
        assert!(found(one, four).unwrap().slight, "{four}");
    }
    for (one, four) in [
        ("sum 500000\n", "sum 312345\n"),
        ("sum 5\n", "sum 6\n"),
        ("hits 1000001\n", "hits 1000002\n"),
        ("norm 1.25\n", "norm 1.5\n"),
        ("pi 3.1415\n", "pi nan\n"),
        ("a 3.1415\nsum 1.5\n", "a 3.1416\nsum 2.5\n"),
        ("a 3.1415\n", "a 3.1422\nfailed\n"),
        ("passed 3.1415\n", "failed 3.1422\n"),
    ] {
        assert!(!found(one, four).unwrap().slight, "{four}");
    }
}

#[test]
fn of_outputs_that_were_not_kept_nothing_is_said() {
    let (one, mut four) = (printed("sum 5\n"), printed("sum 6\n"));
    four.bytes += 1;
    let runs = [
        Run {
            threads: 1,
            printed: &one,
        },
        Run {
            threads: 2,
            printed: &four,
        },
    ];
    assert_eq!(differences(&runs, &[]), [None, None]);
}

#[test]
fn any_bytes_are_compared() {
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..200).map(|_| random()).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(found(&text, &text), None);
        let _ = found(&text, "0x -.e5 1e+ 5d -");
        let _ = found("0x -.e5 1e+ 5d -", &text);
    }
}
