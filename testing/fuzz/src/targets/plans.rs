//! What is known of regions, and what follows for the next run: files that the runtime in a
//! program reads, or that were edited by hand.

use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_advise::Advice;
use fathomp_regions::{Body, BodyKind, Expr, Leaf, Op, Regions};
use fathomp_teams::{Advised, Choice, Choices, Table, TableModule, Why};
use fathomp_trips::{
    BodyPlan, Identity, Inputs, ModulePlan, Plan, Program, Slot, SlotKind, Step, WordPlan, compile,
    dry, total, words,
};

/// Plans for the runtime.
pub(super) const PLAN: Target = Target {
    name: "trips-plan",
    what: "plans by which the runtime notes iterations",
    shape: Shape::Sealed(seal),
    seeds: plans,
    read: plan,
};

/// What regions contain.
pub(super) const REGIONS: Target = Target {
    name: "regions",
    what: "regions.json, and plans made of it",
    shape: Shape::Json,
    seeds: regions_seeds,
    read: regions,
};

/// Expressions.
pub(super) const EXPRESSION: Target = Target {
    name: "expression",
    what: "expressions as text",
    shape: Shape::Text,
    seeds: expressions,
    read: expression,
};

/// Advice.
pub(super) const ADVICE: Target = Target {
    name: "advice",
    what: "advice.json",
    shape: Shape::Json,
    seeds: || vec![ADVICE_FILE.into()],
    read: advice,
};

/// Advice for the runtime.
pub(super) const TABLE: Target = Target {
    name: "advice-table",
    what: "advice as the runtime reads it",
    shape: Shape::Text,
    seeds: tables,
    read: table,
};

/// What the runtime chose.
pub(super) const CHOICES: Target = Target {
    name: "choices",
    what: "what the runtime says it chose",
    shape: Shape::Text,
    seeds: choices_seeds,
    read: choices,
};

/// Puts the checksum of a plan right: eight bytes that tell what it is, four of checksum.
fn seal(input: &mut [u8]) {
    if let Some((head, rest)) = input.split_first_chunk_mut::<12>() {
        head[8..].copy_from_slice(&crc32fast::hash(rest).to_le_bytes());
    }
}

fn sample_expr() -> Expr {
    let sum = |left, right| Expr::Op(Op::Add, Box::new(left), Box::new(right));
    let element = Expr::load(sum(Leaf::Data.into(), Expr::Const(8)), 4, true);
    let choice = Expr::Select(
        Box::new(element.clone()),
        Box::new(Expr::load(element, 8, false)),
        Box::new(Leaf::Threads.into()),
    );
    sum(choice, Leaf::Module(0x4010).into())
}

fn plans() -> Vec<Vec<u8>> {
    let program = Program::compile(&sample_expr(), &mut |_| None).expect("a program");
    let body = BodyPlan {
        address: 0x1234,
        cheap: vec![Slot {
            kind: SlotKind::Data,
            offset: 8,
            bytes: 4,
            signed: true,
        }],
        words: vec![WordPlan::Cheap(0), WordPlan::Behind(program.clone())],
        total: Some(program.clone()),
        dry: Some(dry::DryPlan {
            loops: vec![dry::LoopPlan {
                id: 1,
                header: 0x1250,
                parent: None,
                trips: Some(program),
            }],
            calls: vec![
                (0x1260, dry::Answer::Value(4)),
                (0x1270, dry::Answer::GiveUp),
            ],
        }),
    };
    let modules = [
        Identity::BuildId(vec![7; 20]),
        Identity::File {
            path: b"/a/b".to_vec(),
            size: 3,
            changed_unix_ns: 9,
        },
    ]
    .map(|identity| ModulePlan {
        identity,
        bodies: vec![body.clone()],
    });
    let plan = Plan {
        modules: modules.to_vec(),
    };
    vec![plan.to_bytes(), Plan::default().to_bytes()]
}

/// Memory whose bytes depend on their address; a part of it cannot be read.
struct World;

impl Inputs for World {
    fn input(&self, number: u16) -> Option<i64> {
        (number % 5 != 4).then_some(i64::from(number) << 20)
    }

    fn data(&self) -> u64 {
        0x7ffc_1000
    }

    fn bias(&self) -> u64 {
        0x5555_0000
    }

    fn team(&self) -> (u32, u32) {
        (4, 3)
    }

    fn load(&self, address: u64, bytes: u8) -> Option<u64> {
        let value = address.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        let bits = u32::from(bytes) * 8;
        (address % 7 != 3).then(|| value & u64::MAX.checked_shr(64 - bits).unwrap_or(0))
    }
}

fn evaluate(program: &Program) -> bool {
    for step in program.steps() {
        if let Step::Load { bytes, .. } = step {
            assert!(matches!(bytes, 1 | 2 | 4 | 8), "a load of {bytes} bytes");
        }
    }
    program.evaluate(&World).is_some()
}

fn plan(input: &[u8]) -> Said {
    let plan = match Plan::from_bytes(input) {
        Ok(plan) => plan,
        Err(error) => return Said::refused(&error),
    };
    let again = Plan::from_bytes(&plan.to_bytes()).expect("what was just written");
    assert_eq!(again, plan, "a plan changes when it is written");
    let (mut bodies, mut known) = (0, 0);
    for body in plan.modules.iter().flat_map(|module| &module.bodies) {
        bodies += 1;
        known += usize::from(body.total.as_ref().is_some_and(evaluate));
        for word in &body.words {
            if let WordPlan::Behind(program) = word {
                known += usize::from(evaluate(program));
            }
        }
        let loops = body.dry.iter().flat_map(|dry| &dry.loops);
        known += loops
            .filter_map(|one| one.trips.as_ref())
            .filter(|one| evaluate(one))
            .count();
    }
    Said::read([about(plan.modules.len()), about(bodies), about(known)])
}

fn regions_seeds() -> Vec<Vec<u8>> {
    let scanned = super::programs::scanned();
    let text = scanned.to_json().expect("regions as JSON");
    vec![text.into_bytes()]
}

fn compiled(body: &Body) -> usize {
    let found = words(body);
    let _ = total(body);
    let _ = dry::plan(body, &found);
    let parallel = body.kind == BodyKind::Parallel;
    if let Some(plan) = compile(body) {
        let whole = Plan {
            modules: vec![ModulePlan {
                identity: Identity::BuildId(vec![1]),
                bodies: vec![plan],
            }],
        };
        // What is written here, the runtime has to take.
        let read = Plan::from_bytes(&whole.to_bytes());
        assert_eq!(read.as_ref(), Ok(&whole), "a plan that is refused");
    }
    found.len() + usize::from(parallel)
}

fn regions(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Regions::from_json(&text) {
        Ok(regions) => {
            let again = regions.to_json().expect("what was read can be written");
            let again = Regions::from_json(&again).expect("what was just written");
            assert_eq!(again, regions, "regions change when they are written");
            let found: usize = regions
                .regions
                .iter()
                .filter_map(|region| region.body.as_ref())
                .map(compiled)
                .sum();
            Said::read([about(regions.regions.len()), about(found)])
        }
        Err(error) => Said::refused(&error),
    }
}

fn expressions() -> Vec<Vec<u8>> {
    vec![sample_expr().to_string().into_bytes()]
}

fn expression(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match text.parse::<Expr>() {
        Ok(expr) => {
            let written = expr.to_string();
            let again = written.parse::<Expr>().expect("what was just written");
            assert_eq!(again, expr, "an expression changes when it is written");
            let program = Program::compile(&expr, &mut |_| None);
            Said::read((
                about(written.len()),
                program.is_ok_and(|one| evaluate(&one)),
            ))
        }
        Err(error) => Said::refused(&error),
    }
}

const ADVICE_FILE: &str = r#"{"schema": "fathomp.advice", "version": 1, "program": "solver",
"modules": [{"path": "/src/solver", "build_id": "07ab"}],
"machine": {"name": "here", "cores": 8, "packages": 2, "measured": true},
"regions": [{"name": "solver.c:12", "module": 0, "address": 4660, "symbol": "main._omp_fn.0",
"steps": [{"from_trips": 0, "threads": 1}, {"from_trips": 1000, "from_iterations": 100, "threads": 8}],
"advised": {"threads": 8, "packages": 1, "gain": 5.0, "gain_low": 4.0, "gain_high": 6.0},
"loss": {"all": 0.1, "one": 4.0},
"points": [{"threads": 1, "packages": 1, "time": 10.0, "low": 9.0, "high": 11.0, "speedup": 1.0,
"dominating": "bandwidth", "share": 0.5}],
"confidence": "medium",
"basis": {"scanned": true, "facts": false, "measured_threads": 1, "measured_counts": 1, "executions": 5,
"absolute": true}, "reason": "It computes."}], "notes": ["Assumed."]}"#;

fn advice(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Advice::from_json(&text) {
        Ok(advice) => {
            for region in &advice.regions {
                for iterations in [None, Some(0), Some(100), Some(u64::MAX)] {
                    let threads = region.threads_by_iterations(iterations);
                    assert!(threads >= 1, "advice of no threads");
                }
                if let Some(module) = region.module {
                    assert!(module < advice.modules.len(), "no such module");
                }
            }
            let again = advice.to_json().expect("what was read can be written");
            Advice::from_json(&again).expect("what was just written");
            Said::read([about(advice.regions.len()), about(advice.modules.len())])
        }
        Err(error) => Said::refused(&error),
    }
}

fn tables() -> Vec<Vec<u8>> {
    let table = Table {
        modules: vec![TableModule {
            build_id: "07ab".to_owned(),
            path: "/src/solver".to_owned(),
            regions: vec![Advised {
                address: 0x1234,
                threads: 4,
                steps: vec![(0, 1), (1000, 4)],
                points: vec![(1, 4000), (4, 1500)],
                relative: true,
            }],
        }],
    };
    vec![table.to_text().into_bytes()]
}

fn table(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Table::from_text(&text) {
        Ok(table) => {
            let again = Table::from_text(&table.to_text()).expect("what was just written");
            assert_eq!(again, table, "a table changes when it is written");
            let regions = table.modules.iter().flat_map(|module| &module.regions);
            for region in regions.clone() {
                for trips in [None, Some(0), Some(u64::MAX)] {
                    assert!(region.threads(trips) >= 1, "advice of no threads");
                }
            }
            Said::read([about(table.modules.len()), about(regions.count())])
        }
        Err(error) => Said::refused(&error),
    }
}

fn choices_seeds() -> Vec<Vec<u8>> {
    let choice = Choice {
        why: Why::Advice,
        all: 4,
        threads: 2,
        executions: 100,
        function: 0x1234,
        call: 0x4321,
        module: "/src/the solver".to_owned(),
    };
    let choices = Choices {
        regions: vec![choice],
    };
    vec![choices.to_text().into_bytes()]
}

fn choices(input: &[u8]) -> Said {
    let text = String::from_utf8_lossy(input);
    match Choices::from_text(&text) {
        Ok(choices) => {
            let again = Choices::from_text(&choices.to_text()).expect("what was just written");
            assert_eq!(
                again.regions.len(),
                choices.regions.len(),
                "choices get lost"
            );
            Said::read(about(choices.regions.len()))
        }
        Err(error) => {
            check_sentence(&error.to_string());
            Said::refused(&error)
        }
    }
}
