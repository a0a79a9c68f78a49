//! A value by a path into the JSON document of an output. Paths are those of RFC 9535, as `serde_json_path`
//! reads them.

use serde_json::Value as Json;
use serde_json_path::{JsonPath, LocatedNode};

use super::Value;
use crate::metrics::json::{self, REPEATED};
use crate::metrics::text;

/// Reads the one number that `path` leads to. Of several documents it must lead into exactly one.
///
/// # Errors
/// No document, one that is cut off, no value, several, something that is no number, or a way through a key that
/// stands in one object twice.
pub(super) fn read(path: &str, output: &[u8]) -> Result<Vec<Value>, String> {
    let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
    let text = text::clean(output);
    let found = json::documents(&text);
    if found.cut_off {
        return Err("finds a JSON document that is cut off".to_owned());
    }
    let hits =
        |document| Some((document, path.query_located(document).all())).filter(|(_, hits)| !hits.is_empty());
    let hits: Vec<(&Json, Vec<LocatedNode<'_>>)> = found.objects.iter().filter_map(hits).collect();
    let (document, nodes) = match (&hits[..], found.objects.len()) {
        ([one], _) => one,
        ([], 0) => {
            let has_nan = ["NaN", "Infinity"].iter().any(|word| text.contains(word));
            let hint = if has_nan { " (`NaN` and `Infinity` are no JSON)" } else { "" };
            return Err(format!("finds no JSON document{hint}"));
        }
        ([], _) => return Err("leads to nothing".to_owned()),
        (more, all) => {
            return Err(format!(
                "leads to something in {} of {all} JSON documents, expected one",
                more.len()
            ));
        }
    };
    let [node] = &nodes[..] else {
        return Err(format!("leads to {} values, expected one", nodes.len()));
    };
    if let Some(key) = repeated(document, node) {
        return Err(format!("leads through the key `{key}`, which stands in one object twice"));
    }
    let value = number(node.node())?;
    Ok(vec![Value { value, labels: Default::default() }])
}

/// The first key on the way to `node` that its object has twice.
fn repeated<'a>(document: &Json, node: &'a LocatedNode<'_>) -> Option<&'a str> {
    let mut here = document;
    for element in node.location().iter() {
        if let Some(key) = element.as_name() {
            let first = key.strip_suffix(REPEATED).unwrap_or(key);
            if here.get(first).is_some() && here.get(format!("{first}{REPEATED}")).is_some() {
                return Some(first);
            }
            here = &here[key];
        } else if let Some(index) = element.as_index() {
            here = &here[index];
        }
    }
    None
}

fn number(found: &Json) -> Result<f64, String> {
    let what = match found {
        Json::Number(number) => match number.as_f64().filter(|value| value.is_finite()) {
            Some(value) => return Ok(value),
            None => "a number that is too large".to_owned(),
        },
        Json::String(found) => format!("the text `{}`", text::shown(found).unwrap_or_default()),
        Json::Bool(found) => format!("`{found}`"),
        Json::Null => "`null`".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    };
    Err(format!("leads to {what}, expected a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(path: &str, output: &str) -> Result<f64, String> {
        read(path, output.as_bytes()).map(|found| found[0].value)
    }

    const REPORT: &str =
        r#"{"jobs": [{"name": "a", "read": {"iops": 12.5}}, {"name": "b", "read": {"iops": 7}}]}"#;

    #[test]
    fn one_number_is_read() {
        let noisy = format!("[WARN] {{careful}}\r\n{{\"other\": 1}}\n{REPORT}\nbye {{}}");
        let array = format!("[{REPORT}]");
        for (path, output, expected) in [
            ("$.jobs[0].read.iops", REPORT, 12.5),
            ("$.jobs[?@.name == 'b'].read.iops", REPORT, 7.0),
            ("$.jobs[-1].read.iops", &noisy, 7.0),
            ("$[0].jobs[1].read.iops", &array, 7.0),
            ("$['a b']", r#"{"a b": -1e-3}"#, -1e-3),
            ("$.big", r#"{"big": 18446744073709551615}"#, 18_446_744_073_709_551_615.0),
        ] {
            assert_eq!(value(path, output), Ok(expected), "{path}");
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        let twice = format!("{REPORT}\n{REPORT}");
        for (path, output, reason) in [
            ("$.a", "", "finds no JSON document"),
            ("$.a", "{\"a\": 1, oops}", "finds no JSON document"),
            ("$.a", "{\"a\": 1, \"b\": NaN}", "finds no JSON document (`NaN` and `Infinity` are no JSON)"),
            ("$.a", "{\"a\": 1", "finds a JSON document that is cut off"),
            ("$.a", "{\"a\": 1} [1, ", "finds a JSON document that is cut off"),
            ("$.jobs[2].read.iops", REPORT, "leads to nothing"),
            ("$.jobs[*].read.iops", REPORT, "leads to 2 values, expected one"),
            ("$.jobs[0].read.iops", &twice, "leads to something in 2 of 2 JSON documents, expected one"),
            ("$.jobs[0].name", REPORT, "leads to the text `a`, expected a number"),
            ("$.jobs", REPORT, "leads to a list, expected a number"),
            ("$.jobs[0]", REPORT, "leads to an object, expected a number"),
            ("$.a", r#"{"a": null}"#, "leads to `null`, expected a number"),
            ("$.a", r#"{"a": true}"#, "leads to `true`, expected a number"),
            ("$.a", r#"{"a": 1e999}"#, "finds no JSON document"),
            (
                "$.a.b",
                r#"{"a": {"b": 1}, "a": {"b": 2}}"#,
                "leads through the key `a`, which stands in one object twice",
            ),
            (
                "$.a['b#2']",
                r#"{"a": {"b": 1, "b": 2}}"#,
                "leads through the key `b`, which stands in one object twice",
            ),
        ] {
            assert_eq!(value(path, output), Err(reason.to_owned()), "{path} {output}");
        }
    }
}
