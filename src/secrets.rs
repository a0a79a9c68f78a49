//! Values that may not be seen: what `{{ env.NAME }}` stood for. Everything that is written or printed goes
//! through [`Secrets`]; it knows nothing of where text comes from.

use std::borrow::Cow;

use serde_json::Value;

/// What stands in the place of a secret.
const STARS: &str = "***";
/// A shorter secret is only hidden where it stands as a word: `pi` stays in `pipe`.
const SHORT: usize = 4;

/// Texts that are replaced by `***`.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// Hides these values; also as the shell sees them quoted, and the long lines of each.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for value in values {
            texts.extend(value.lines().map(str::trim).filter(|line| line.len() >= 8).map(str::to_owned));
            let json = Value::from(value.as_str()).to_string();
            texts.push(json.trim_matches('"').to_owned());
            texts.extend([shell_words::quote(&value).into_owned(), value.trim().to_owned(), value]);
        }
        texts.retain(|text| !text.trim().is_empty() && text != "''");
        // The longest first: a part of it may be a secret of its own.
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        texts.dedup();
        Secrets(texts)
    }

    /// Hides those of `more` too.
    pub fn add(&mut self, more: Secrets) {
        let all = std::mem::take(&mut self.0).into_iter().chain(more.0);
        *self = Secrets::new(all);
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` without secrets.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| {
            let text = match text.contains(secret.as_str()) {
                true => Cow::Owned(replace(&text, secret)),
                false => text,
            };
            without_beginning(text, secret)
        })
    }

    /// The same for bytes that may not be text.
    pub fn hide_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match (self.0.is_empty(), std::str::from_utf8(bytes)) {
            (true, _) => Cow::Borrowed(bytes),
            (false, Ok(text)) => match self.hide(text) {
                Cow::Borrowed(_) => Cow::Borrowed(bytes),
                Cow::Owned(hidden) => Cow::Owned(hidden.into_bytes()),
            },
            // Text between bytes that are none: each stretch by itself.
            (false, Err(_)) => {
                let stretches = bytes.utf8_chunks();
                let hidden = stretches.flat_map(|chunk| {
                    [self.hide(chunk.valid()).into_owned().into_bytes(), chunk.invalid().to_vec()]
                });
                Cow::Owned(hidden.flatten().collect())
            }
        }
    }

    /// The same for bytes of which only the first part was kept: they may end in the beginning of a secret.
    pub fn hide_in_part(&self, bytes: &[u8]) -> Vec<u8> {
        let mut hidden = self.hide_bytes(bytes).into_owned();
        let mut all = self.0.iter().flat_map(|secret| beginnings(secret));
        if let Some(beginning) = all.find(|beginning| hidden.ends_with(beginning.as_bytes())) {
            hidden.truncate(hidden.len() - beginning.len());
            hidden.extend(STARS.as_bytes());
        }
        hidden
    }

    /// The same for the free text of a value: what stands under `keys`, at any depth. Names, numbers and words
    /// that a program reads stay: no secret is in them.
    pub fn hide_in(&self, value: Value, keys: &[&str]) -> Value {
        match value {
            _ if self.0.is_empty() => value,
            Value::Array(list) => list.into_iter().map(|value| self.hide_in(value, keys)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| {
                    let value = match keys.contains(&key.as_str()) {
                        true => self.hide_all(value),
                        false => self.hide_in(value, keys),
                    };
                    (key, value)
                })
                .collect(),
            other => other,
        }
    }

    fn hide_all(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(&text).into_owned()),
            Value::Array(list) => list.into_iter().map(|value| self.hide_all(value)).collect(),
            Value::Object(map) => map.into_iter().map(|(key, value)| (key, self.hide_all(value))).collect(),
            other => other,
        }
    }
}

/// Where a text was cut, `…` may follow the beginning of a secret.
fn without_beginning<'a>(text: Cow<'a, str>, secret: &str) -> Cow<'a, str> {
    if !text.contains('…') {
        return text;
    }
    let cut = |beginning: &str| format!("{beginning}…");
    match beginnings(secret).find(|beginning| text.contains(&cut(beginning))) {
        Some(beginning) => Cow::Owned(text.replace(&cut(beginning), &cut(STARS))),
        None => text,
    }
}

/// The proper beginnings of a secret that tell something, the longest first.
fn beginnings(secret: &str) -> impl Iterator<Item = &str> {
    let ends: Vec<usize> = secret.char_indices().map(|(end, _)| end).skip(SHORT).collect();
    ends.into_iter().rev().map(|end| &secret[..end])
}

fn replace(text: &str, secret: &str) -> String {
    if secret.chars().count() >= SHORT {
        return text.replace(secret, STARS);
    }
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let mut hidden = String::new();
    let mut rest = text;
    let mut before = None;
    while let Some(start) = rest.find(secret) {
        let (front, back) = (&rest[..start], &rest[start + secret.len()..]);
        let last = front.chars().next_back().or(before);
        let is_alone = !is_word(last) && !is_word(back.chars().next());
        hidden.push_str(front);
        hidden.push_str(if is_alone { STARS } else { secret });
        before = secret.chars().next_back();
        rest = back;
    }
    hidden + rest
}

#[cfg(test)]
mod tests {
    use super::Secrets;
    use serde_json::json;

    #[test]
    fn secrets_become_stars() {
        let secrets = Secrets::new(["hunter2".into(), "it's mine".into(), "pi".into(), String::new()]);
        for (text, expected) in [
            ("login hunter2, hunter2!", "login ***, ***!"),
            ("echo 'it'\\''s mine'", "echo ***"),
            ("it's mine", "***"),
            ("pi@board pipe 3pi pi", "***@board pipe 3pi ***"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(secrets.hide(text), expected);
        }
        assert_eq!(&*secrets.hide_bytes(b"\xffhunter2\xfe"), b"\xff***\xfe");
        let value = json!({ "reason": ["hunter2", 1], "hunter2": "hunter2", "x": { "reason": "hunter2" } });
        let hidden = json!({ "reason": ["***", 1], "hunter2": "hunter2", "x": { "reason": "***" } });
        assert_eq!(secrets.hide_in(value, &["reason"]), hidden);
        assert_eq!(secrets.hide("a whole text may end in hunt"), "a whole text may end in hunt");
        assert_eq!(secrets.hide_in_part(b"cut at hunter2, hunt"), b"cut at ***, ***");
        assert_eq!(secrets.hide("cut at hunte… there"), "cut at ***… there");
    }

    #[test]
    fn lines_of_a_key_are_hidden_too() {
        let secrets = Secrets::new(["-----BEGIN-----\nAAAAB3NzaC1yc2E\n-----END-----\n".into()]);
        assert_eq!(secrets.hide("x AAAAB3NzaC1yc2E y"), "x *** y");
    }
}
