//! `fathomp bench` on nodes: those of this machine, and those of clusters that are not there.

use crate::common::{self, fathomp, finish, run};
use std::fs;

/// The times mean nothing here; that everything is there does.
#[test]
fn nodes_are_compared_with_the_least_they_could_cost() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for dsm in ["home", "homeless"] {
        let ended = run(
            at,
            &format!("--json bench dsm --quick --dsm {dsm} -o {dsm}.json"),
        );
        let answer = ended.succeeded().json();
        assert_eq!(answer["schema"], "fathomp.bench.dsm");
        let rows = answer["rows"].as_array().unwrap();
        for name in [
            "write fault, page at home here",
            "fetch, page by page, asked for",
            "fetch, page by page",
            "empty barrier",
            "start of an empty program, 4 nodes",
            "memory of a node, array of 64 MiB",
        ] {
            let row = rows.iter().find(|row| row["name"] == name).unwrap();
            assert!(
                row["floor"]["median"]["value"].as_f64().unwrap() > 0.0,
                "{row}"
            );
            assert!(!row["ours"]["processes"][0].as_array().unwrap().is_empty());
        }
        let written = fs::read_to_string(at.join(format!("{dsm}.json"))).unwrap();
        assert_eq!(written.as_bytes(), ended.stdout);
    }
    run(at, "bench dsm -o home.json").refused(1, "home.json exists: use --force");
    for what in [
        "--runtime libgomp",
        "epcc",
        "--full",
        "--html a.html",
        "--threads 2",
    ] {
        let words = what.split(' ').next().unwrap();
        let words = if words == "epcc" {
            "another suite"
        } else {
            words
        };
        run(at, &format!("bench dsm {what}")).refused(1, words);
    }
    run(at, "bench dsm --cc gfortran").refused(1, "nodes run C programs of gcc");
    let ended = run(at, "bench dsm --dsm other");
    assert_eq!(ended.in_words().code, Some(2), "{ended:?}");
}

/// Figures of both protocols on both published clusters by one command.
#[test]
fn clusters_that_are_not_there_are_calculated() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let line = "bench mcbench --simulated gige_amd,infiniband_ddr4x --nodes 2,3,20 --cc gcc --only";
    let outputs = ["-o", "s.json", "--gnuplot", "plots"];
    let only = "ROUND ROBIN 4 65536,ROUND ROBIN 4096 65536,BLOCKED 65536";
    let ended = finish(fathomp(at).args(line.split(' ')).arg(only).args(outputs));
    let table = ended.succeeded().text();
    for words in [
        "mcbench: calculated for gige_amd: 8 nodes, Athlon 64 X2",
        "mcbench, simulated+homeless@infiniband_ddr4x: overhead per MB in ",
        "\n20 ",
        "simulated+homeless@infiniband_ddr4x",
        "Times on gige_amd are calculated",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    for words in ["more than processors", "(quiet)"] {
        assert!(!table.contains(words), "{words}: {table}");
    }
    let plots = fs::read_to_string(at.join("plots/plots.gp")).unwrap();
    for column in ["home-gige-amd", "homeless-infiniband-ddr4x"] {
        let id = format!("'mcbench-consistency-chunks-simulated-{column}.dat'");
        assert!(plots.contains(&id), "{id}: {plots}");
    }
    // Another time the same is answered.
    let again = finish(fathomp(at).args(line.split(' ')).arg(only));
    let numbers = |text: &str| {
        let rows = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&again.succeeded().text()), numbers(&table));
    // Two protocols on two clusters, with three numbers of nodes each.
    assert_eq!(numbers(&table).len(), 12);
    run(at, "report s.json -o s.html --gnuplot joined").succeeded();
    assert!(at.join("joined/plots.gp").exists());
    fs::create_dir(at.join("recording")).unwrap();
    run(at, "report recording -o r.html --gnuplot r").refused(2, "leave it out");
    let page = fs::read_to_string(at.join("s.html")).unwrap();
    assert!(page.contains("gige_amd, calculated: 8 nodes"), "{page}");
    for (line, words) in [
        ("bench epcc --simulated gige_amd", "ask for mcbench alone"),
        (
            "bench mcbench --simulated gige",
            "there is no cluster \"gige\"",
        ),
        (
            "bench mcbench --simulated gige_amd --runtime libgomp",
            "\"libgomp\" is not simulated",
        ),
    ] {
        run(at, line).refused(2, words);
    }
}

/// Pages changed by a long diff, and pages that are only read, with the bytes of their diffs.
type Touched = Vec<(u32, u32)>;

fn pages(set: &[fathomp_access_trace::Run]) -> (Touched, Touched) {
    let each = |run: &fathomp_access_trace::Run| {
        let (first, bytes) = (run.pages.first().0, run.diff_bytes);
        (first..first + run.pages.len()).map(move |page| (page, bytes))
    };
    let all = set.iter().flat_map(each);
    let (read, written): (Touched, Touched) = all.partition(|(_, bytes)| *bytes == 0);
    // Beside the array, a few words change.
    let changed = written.into_iter().filter(|(_, bytes)| *bytes > 300);
    (changed.collect(), read)
}

/// The prediction counts the accesses of the program, page by page and diff by diff.
#[test]
fn the_accesses_that_are_replayed_are_the_programs() {
    use fathomp_bench::pattern::Pattern;
    use fathomp_cluster_commands::simulated::{Passes, shared};
    const NODES: u16 = 3;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let compiler = fathomp_bench::compiler::Compiler::find("gcc", &common::cache()).unwrap();
    let suite = fathomp_bench::suite::SuiteName::Mcbench;
    let built = fathomp_bench::suite::build(suite, &compiler, &common::cache()).unwrap();
    let program = built.unwrap().parts[0].path.clone();
    for (case, array, chunk) in [
        ("ROUND ROBIN 4096 20480", 5 * 4096, Some(4096)),
        ("ROUND ROBIN 4 8192", 2 * 4096, Some(4)),
        ("BLOCKED 36864", 9 * 4096, None),
    ] {
        let line = format!("record --nodes {NODES} --accesses --force -o r --");
        let mut command = fathomp(at);
        command.args(line.split(' ')).arg(&program);
        // Of one repetition each: delay, length of a sample, samples, time at most.
        finish(command.args(["run", case, "1", "1", "3", "100"])).succeeded();
        let file = fs::File::open(at.join("r/accesses.jsonl")).unwrap();
        let recorded = fathomp_access_trace::read(std::io::BufReader::new(file)).unwrap();
        let pattern = Pattern {
            array,
            chunk,
            threads: NODES.into(),
        };
        let passes = Passes {
            before: 0,
            counted: u32::from(NODES),
        };
        let generated = shared(pattern, passes).unwrap();
        let is_changed = |(changed, _): &(Touched, Touched)| !changed.is_empty();
        let sets = |thread: &fathomp_access_trace::Thread| {
            let steps = thread.steps.iter();
            steps
                .map(|step| pages(&thread.sets[step.set as usize]))
                .collect::<Vec<_>>()
        };
        let all: Vec<_> = recorded.threads.iter().map(sets).collect();
        let changed = all.iter().flatten().flat_map(|(changed, _)| changed);
        let begin = changed.map(|(page, _)| *page).min().unwrap();
        let in_array = |touched: &Touched| {
            let pages = begin..begin + array as u32 / 4096;
            let inside = touched.iter().filter(|(page, _)| pages.contains(page));
            let mut inside: Touched = inside.map(|(page, bytes)| (page - begin, *bytes)).collect();
            inside.sort_unstable();
            inside
        };
        for (number, (found, thread)) in all.iter().zip(&generated.threads).enumerate() {
            // The first pass changes what is changed first; its reads follow.
            let first = found.iter().position(is_changed).unwrap();
            // Behind the first writes and a meeting.
            let expected = sets(thread).split_off(2);
            for (pass, pair) in expected.chunks_exact(2).enumerate() {
                let of_pass = found[first..]
                    .iter()
                    .enumerate()
                    .filter(|(_, set)| is_changed(set));
                let (place, (changed, _)) = of_pass.clone().nth(pass).unwrap();
                let (_, read) = &found[first + place + 1];
                let who = format!("{case}: thread {number}, pass {}", pass + 1);
                assert_eq!(in_array(changed), pair[0].0, "{who}");
                assert_eq!(in_array(read), pair[1].1, "{who}");
            }
        }
    }
}

#[test]
fn a_network_is_refused_where_no_runtime_runs_on_nodes() {
    let directory = tempfile::tempdir().unwrap();
    let line = "bench mcbench --net 1,1 --runtime libgomp";
    run(directory.path(), line).refused(2, "no runtime runs on nodes");
}
