//! The filters of experiment files: sizes and times as plain numbers, and text quoted for the shell. What
//! minijinja brings along stays available. Read [`add`] first.

use std::collections::BTreeSet;

use minijinja::{Environment, Error, ErrorKind, Value};

use super::TimeSpan;

/// Ours, in the order they are explained.
pub const NAMES: [&str; 5] = ["bytes", "kib", "mib", "seconds", "quote"];
/// Those of minijinja that people reach for; only to name the nearest one.
const OTHERS: [&str; 20] = [
    "abs", "default", "first", "float", "format", "int", "join", "last", "length", "lower", "max", "min",
    "replace", "round", "split", "string", "sum", "title", "trim", "upper",
];

/// Teaches them to `environment`.
pub fn add(environment: &mut Environment<'_>) {
    environment.add_filter("bytes", |value: &Value| in_units_of(value, 1));
    environment.add_filter("kib", |value: &Value| in_units_of(value, 1 << 10));
    environment.add_filter("mib", |value: &Value| in_units_of(value, 1 << 20));
    environment.add_filter("seconds", |value: &Value| match number(value) {
        Some(seconds) => Ok(plain(seconds)),
        None => TimeSpan::parse(&value.to_string()).map(|time| plain(time.0.as_secs_f64())).map_err(refused),
    });
    environment.add_filter("quote", |value: &Value| shell_words::quote(&value.to_string()).into_owned());
}

/// Every name that is suggested for a misspelt filter.
pub fn known() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(OTHERS)
}

/// The filters that the template `text` names: what follows a `|` in braces, outside of quotes.
pub fn used(text: &str) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{").into_iter().chain(rest.find("{%")).min() {
        rest = &rest[start + 2..];
        let mut quote = None;
        for (index, letter) in rest.char_indices() {
            match (quote, letter) {
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), _) if open == letter => quote = None,
                (None, '|') => {
                    let name = rest[index + 1..].trim_start();
                    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
                    used.insert(name[..end].to_owned());
                }
                (None, '}') => break,
                _ => {}
            }
        }
    }
    used.remove("");
    used
}

fn in_units_of(value: &Value, unit: u64) -> Result<Value, Error> {
    let bytes = match number(value) {
        Some(bytes) => bytes,
        None => bytes(&value.to_string()).map_err(refused)?,
    };
    Ok(plain(bytes / unit as f64))
}

/// An amount of data in bytes: a number and, mostly, a unit. `KiB MiB GiB TiB` and the bare letters
/// `K M G T` (as `dd`, `fio` and `iozone` take them) count in 1024, `kB MB GB TB` in 1000.
///
/// # Errors
/// When it is not such an amount.
pub fn bytes(text: &str) -> Result<f64, String> {
    let refused = || format!("`{text}` is not an amount of data such as `4096`, `64KiB`, `1M` or `2GB`");
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = (&text[..end], text[end..].trim_start());
    let number: f64 = digits.parse().map_err(|_| refused())?;
    let factor = match unit {
        "" | "B" => 1.0,
        "K" | "k" | "KiB" => 1024.0,
        "M" | "m" | "MiB" => 1048576.0,
        "G" | "g" | "GiB" => 1073741824.0,
        "T" | "t" | "TiB" => 1099511627776.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return Err(refused()),
    };
    Ok(number * factor)
}

fn number(value: &Value) -> Option<f64> {
    value.is_number().then(|| f64::try_from(value.clone()).ok()).flatten()
}

/// A whole number without a point, so that commands take it.
fn plain(number: f64) -> Value {
    match number.fract() == 0.0 && number.abs() < 9e15 {
        true => Value::from(number as i64),
        false => Value::from(number),
    }
}

fn refused(reason: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, reason)
}

#[cfg(test)]
mod tests {
    use super::{bytes, used};
    use crate::spec::template::environment;

    #[test]
    fn filters_give_plain_numbers() {
        for (expression, expected) in [
            ("'64MiB'|bytes", "67108864"),
            ("'1M'|bytes", "1048576"),
            ("'4k'|bytes", "4096"),
            ("'1GB'|bytes", "1000000000"),
            ("'1.5 KiB'|bytes", "1536"),
            ("512|bytes", "512"),
            ("'16MiB'|kib", "16384"),
            ("'1536KiB'|mib", "1.5"),
            ("'1GiB'|mib", "1024"),
            ("'1h30m'|seconds", "5400"),
            ("'250ms'|seconds", "0.25"),
            ("90|seconds", "90"),
            ("\"it's here\"|quote", r#"'it'\''s here'"#),
            ("'plain'|quote", "plain"),
            ("''|quote", "''"),
            ("('4KiB'|bytes) * 2", "8192"),
        ] {
            let text = format!("{{{{ {expression} }}}}");
            assert_eq!(environment().render_str(&text, ()).unwrap(), expected, "{expression}");
        }
        for expression in ["'many'|bytes", "'5 apples'|kib", "'-1KiB'|bytes", "''|mib", "'soon'|seconds"] {
            assert!(
                environment().render_str(&format!("{{{{ {expression} }}}}"), ()).is_err(),
                "{expression}"
            );
        }
        assert!(bytes("1.2.3K").is_err());
        let text = "a | b {{ x|byts|mib }} | c {{ 'p|q' }}{% if y | lengt %}{% endif %}";
        assert_eq!(used(text).into_iter().collect::<Vec<_>>(), ["byts", "lengt", "mib"]);
    }
}
