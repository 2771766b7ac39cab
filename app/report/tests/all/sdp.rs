//! What the terminal shows of the published models.

use fathomp_predict::counts::Counted;
use fathomp_predict::prices::Cluster;
use fathomp_predict::published::{F, Model, Question, predict};
use fathomp_report::text;
use std::path::Path;

const THREADS: &str = "threads,sequential_s,region,thread,local_write_faults,remote_write_faults,fetch_faults,diffs_to_home,speedup_observed
2,3.4,rank.c:411,0,100,2560,5000,2560,1.03
2,3.4,rank.c:411,1,100,2400,5100,2400,1.03
2,3.4,verify.c:500,0,100,2400,5000,2400,1.03
4,3.4,rank.c:411,0,100,2560,5000,2560,
4,3.4,\"a\u{1b}[31m_function_with_a_very_long_name_and_more::of it\",3,0,9000,9000,9000,
";
const PROGRAMS: &str = "class,benchmark,threads,sequential_s,write_faults,fetch_faults
A,EP,8,26.47,0,0
A,IS,8,3.4,4480,8930
";

fn shown(csv: &str, model: Model, f: F, width: usize) -> String {
    let question = Question {
        model,
        protocol: None,
        f,
        at: Vec::new(),
        diff_bytes: None,
    };
    let cluster = Cluster::find(Path::new("gige_amd")).unwrap();
    let counts = Counted::from_csv(csv).unwrap();
    text::sdp(&predict(&counts, &cluster, &question).unwrap(), width)
}

#[test]
fn tables_of_both_models() {
    let shown = [
        shown(THREADS, Model::Critical, F::Published, 200),
        shown(THREADS, Model::Aggregate, F::Published, 100),
        shown(THREADS, Model::Aggregate, F::Fit, 100),
        shown(PROGRAMS, Model::Critical, F::Published, 100),
    ];
    insta::assert_snapshot!(shown.join("\n----\n\n"));
}

#[test]
fn no_line_is_wider_than_asked_for_and_none_commands_the_terminal() {
    for width in [60, 80, 100, 140] {
        for f in [F::Published, F::Fit, F::Values(vec![0.5])] {
            for model in [Model::Critical, Model::Aggregate] {
                let text = shown(THREADS, model, f.clone(), width);
                assert!(!text.contains('\u{1b}'));
                let longest = text.lines().map(|line| line.chars().count()).max();
                assert!(longest <= Some(width), "{width}:\n{text}");
            }
        }
    }
}
