//! Changes JSON as a tree, so that most of what comes out is JSON still, and the readers
//! behind the parser are reached.

use crate::mutate;
use crate::random::Random;
use serde_json::{Map, Number, Value};

/// Changes a document.
pub fn document(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    let parsed = serde_json::from_slice::<Value>(input);
    let Ok(mut value) = parsed else {
        return mutate::text(input, others, random);
    };
    if random.once_in(6) {
        return mutate::text(input, others, random);
    }
    let nodes = count(&value);
    let mut at = random.below(nodes);
    if let Some(node) = node(&mut value, &mut at) {
        change(node, random);
    }
    if let Ok(text) = serde_json::to_vec(&value) {
        *input = text;
    }
}

/// Changes one line of a file that has a document in each.
pub fn lines(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    if random.once_in(4) {
        return mutate::text(input, others, random);
    }
    let mut all: Vec<Vec<u8>> = input
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let at = random.below(all.len());
    if let Some(line) = all.get_mut(at) {
        document(line, &[], random);
    }
    *input = all.join(&b'\n');
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The node with that number, in the order of the text.
fn node<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, at)),
        Value::Object(fields) => fields.values_mut().find_map(|item| node(item, at)),
        _ => None,
    }
}

fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(fields) if !fields.is_empty() && !random.once_in(6) => {
            field(fields, random);
        }
        Value::Array(items) if !random.once_in(6) => item(items, random),
        Value::String(text) if random.once_in(2) => {
            let mut bytes = std::mem::take(text).into_bytes();
            mutate::text(&mut bytes, &[], random);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        _ => *value = anything(random),
    }
}

fn field(fields: &mut Map<String, Value>, random: &mut Random) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let (Some(key), Some(other)) = (random.one_of(&keys).cloned(), random.one_of(&keys)) else {
        return;
    };
    match random.below(4) {
        0 => {
            fields.remove(&key);
        }
        1 => {
            fields.insert(key, anything(random));
        }
        2 => {
            let value = fields.get(other).cloned().unwrap_or_default();
            fields.insert(key, value);
        }
        _ => {
            let value = fields.remove(&key).unwrap_or_default();
            fields.insert(format!("{key}_"), value);
        }
    }
}

fn item(items: &mut Vec<Value>, random: &mut Random) {
    let at = random.below(items.len());
    match random.below(5) {
        0 if !items.is_empty() => {
            items.remove(at);
        }
        1 if !items.is_empty() => {
            let copy = items[at].clone();
            let times = 1 << random.below(9);
            items.splice(at..at, std::iter::repeat_n(copy, times));
        }
        2 if !items.is_empty() => {
            let other = random.below(items.len());
            items.swap(at, other);
        }
        3 => items.clear(),
        _ => items.push(anything(random)),
    }
}

/// Some value.
fn anything(random: &mut Random) -> Value {
    let number = random.extreme();
    match random.below(12) {
        0 => Value::Null,
        1 => Value::Bool(random.once_in(2)),
        2..5 => Value::Number(Number::from(number)),
        5 => Value::Number(Number::from(number.cast_signed())),
        6 => Value::Number(Number::from(random.below(10))),
        7 => {
            let floats = [1e300, -1e300, 5e-324, 0.5, -0.0, 1.7e308, f64::EPSILON];
            let float = random.one_of(&floats).copied().unwrap_or_default();
            Number::from_f64(float).map_or(Value::Null, Value::Number)
        }
        8 => Value::String(number.to_string()),
        9 => Value::String("x".repeat(1 << random.below(14))),
        10 => Value::Array(Vec::new()),
        _ => (0..1 << random.below(9)).fold(Value::Null, |inner, _| Value::Array(vec![inner])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_what_comes_out_is_json() {
        let begin = br#"{"a": [1, 2, {"b": "text"}], "c": null, "d": {"e": -1.5}}"#;
        let mut sound = 0;
        for seed in 0..1_000 {
            let mut input = begin.to_vec();
            document(&mut input, &[], &mut Random::new(seed));
            sound += usize::from(serde_json::from_slice::<Value>(&input).is_ok());
        }
        assert!((700..1_000).contains(&sound), "{sound}");
    }

    #[test]
    fn every_node_is_found() {
        let mut value = serde_json::json!({"a": [1, 2], "b": 3});
        let nodes = count(&value);
        assert_eq!(nodes, 5);
        for number in 0..nodes {
            assert!(node(&mut value, &mut number.clone()).is_some());
        }
        assert!(node(&mut value, &mut nodes.clone()).is_none());
    }

    #[test]
    fn lines_stay_lines() {
        for seed in 0..300 {
            let mut input = b"{\"a\": 1}\n{\"b\": 2}\n".to_vec();
            lines(&mut input, &[], &mut Random::new(seed));
            lines(&mut Vec::new(), &[], &mut Random::new(seed));
        }
    }
}
