//! Expressions and their textual form.

use fathomp_regions::{
    Environment, Expr, Leaf, LoopId, NoValue, Op, Regions, RegionsError, Sample, SampleEnvironment,
    Word,
};
use proptest::prelude::*;

/// Threads, and memory that holds its own address.
struct Plain;

impl Environment for Plain {
    fn leaf(&self, leaf: Leaf) -> Option<i64> {
        match leaf {
            Leaf::Threads => Some(4),
            Leaf::Thread => Some(1),
            Leaf::Data => Some(1000),
            _ => None,
        }
    }

    fn memory(&self, address: u64, _: u8) -> Option<u64> {
        Some(address)
    }
}

fn value(text: &str) -> Result<i64, NoValue> {
    text.parse::<Expr>().unwrap().evaluate(&Plain)
}

#[test]
fn expressions_have_the_value_of_the_code() {
    assert_eq!(value("(/ (load8 (+ data 16)) threads)"), Ok(254));
    assert_eq!(value("(if (< thread 1) 7 (sx (load8 data) 8))"), Ok(-24));
    assert_eq!(value("(load1 200)"), Ok(-56));
    assert_eq!(value("(loadu1 200)"), Ok(200));
    assert_eq!(value("(/ 1 (- threads 4))"), Err(NoValue::Division));
    assert_eq!(value("(if 0 i0 3)"), Ok(3));
    assert_eq!(value("i0"), Err(NoValue::Leaf));
    assert_eq!(value("(/ -9223372036854775808 -1)"), Err(NoValue::Division));
}

#[test]
fn what_is_no_expression_is_refused() {
    for text in [
        "",
        "(",
        "(+ 1)",
        "(+ 1 2",
        "(nop 1 2)",
        "load8",
        "(load3 data)",
        "x",
        "1 2",
    ] {
        assert!(text.parse::<Expr>().is_err(), "{text}");
    }
    let deep = "(+ 1 ".repeat(100_000);
    assert!(deep.parse::<Expr>().is_err());
}

#[test]
fn words_are_the_loads_that_do_not_depend_on_where_the_region_is() {
    let expr: Expr = "(+ (load8 (+ (load8 data) (* 8 i0))) (load4 (load8 (+ data 8))))"
        .parse()
        .unwrap();
    let mut words = vec![];
    expr.words(&mut words);
    let words: Vec<String> = words.into_iter().map(ToString::to_string).collect();
    assert_eq!(words, ["(load8 data)", "(load4 (load8 (+ data 8)))"]);
}

#[test]
fn a_sample_answers_for_its_words() {
    let load: Expr = "(load4 (+ data 8))".parse().unwrap();
    let sample = Sample {
        words: vec![Word {
            load: load.clone(),
            value: 10,
        }],
        ..Sample::default()
    };
    let environment = SampleEnvironment {
        sample: &sample,
        threads: 4,
        thread: 0,
        iterations: &[(LoopId(2), 5)],
    };
    let expr = Expr::op(Op::Mul, load, Leaf::Iteration(LoopId(2)).into());
    assert_eq!(expr.evaluate(&environment), Ok(50));
}

#[test]
fn other_versions_are_refused() {
    let text = Regions::default().to_json().unwrap();
    assert_eq!(Regions::from_json(&text).unwrap(), Regions::default());
    let other = text.replace("\"version\": 1", "\"version\": 9");
    assert!(matches!(
        Regions::from_json(&other),
        Err(RegionsError::Version { version: 9, .. })
    ));
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Expr::Const),
        Just(Expr::Leaf(Leaf::Data)),
        Just(Expr::Leaf(Leaf::Threads)),
        any::<u64>().prop_map(|at| Expr::Leaf(Leaf::Module(at))),
        any::<u32>().prop_map(|id| Expr::Leaf(Leaf::Iteration(LoopId(id)))),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (0..25usize, inner.clone(), inner.clone()).prop_map(|(op, left, right)| {
                let op =
                    "+ - * / % /u %u & | ^ << >>u >> min max minu maxu == != < <= <u <=u sx zx"
                        .split(' ')
                        .nth(op)
                        .unwrap();
                format!("({op} {left} {right})").parse().unwrap()
            }),
            inner
                .clone()
                .prop_map(|inside| Expr::load(inside, 4, false)),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| { Expr::Select(Box::new(a), Box::new(b), Box::new(c)) }),
        ]
    })
}

proptest! {
    #[test]
    fn text_says_all_of_an_expression(expr in expr()) {
        prop_assert_eq!(expr.to_string().parse::<Expr>().unwrap(), expr);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,80}") {
        let _ = text.parse::<Expr>();
    }
}
