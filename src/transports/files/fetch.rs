//! Files of a place to here: the shell there expands the patterns, and prints each file behind its name and
//! size. Read [`fetch`] first.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::inside;
use crate::transports::job::{self, OUTPUT_LIMIT, quote};
use crate::transports::{Transport, TransportError};

/// The most bytes brought back by one call, names included. Below [`crate::transports::CAPTURE_LIMIT`].
const TOTAL_LIMIT: usize = 48 << 20;

/// What [`fetch`] has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The files in the order of their names, each once.
    pub files: Vec<Fetched>,
    /// The patterns that brought no file, as they were given.
    pub unmatched: Vec<String>,
}

/// A file that was brought back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Its path relative to the directory, never with `..`. Bytes that are no UTF-8 stand as `\xNN`.
    pub name: String,
    /// At most [`OUTPUT_LIMIT`] bytes from its beginning.
    pub bytes: Vec<u8>,
    /// All of it, in bytes.
    pub size: u64,
}

/// Brings back the files that `patterns` match: shell patterns relative to `directory`, in which only
/// `*`, `?` and `[…]` have a meaning. A folder brings all files in it, without following its links.
///
/// # Errors
/// When a pattern or a link leads out of `directory`, a file can't be read, or all have more than 48 MiB
/// together. All begin with where the files were to come from.
pub async fn fetch(
    transport: &dyn Transport,
    directory: &str,
    patterns: &[String],
) -> Result<Found, TransportError> {
    let failed = |error: TransportError| TransportError {
        message: format!("can't bring back files of `{directory}`: {}", error.message),
        hint: error.hint,
        is_lost: error.is_lost,
    };
    let bring = async {
        let printed = job::query(transport, &script(directory, patterns)?).await?;
        parse(&printed, patterns).ok_or_else(|| TransportError {
            message: "they did not arrive whole; something has changed them meanwhile".into(),
            hint: None,
            is_lost: false,
        })
    };
    bring.await.map_err(failed)
}

/// Prints `NAME \0 SIZE \n CONTENTS` for each file, and ` \0 INDEX \n` for each pattern that brings none.
fn script(directory: &str, patterns: &[String]) -> Result<String, TransportError> {
    let mut quoted = String::new();
    for pattern in patterns {
        let inside = inside(Path::new(pattern))?;
        // `./` is the directory itself.
        quoted += &format!(" {}", quote(&format!("./{}", inside.display())));
    }
    let (directory, mebibytes) = (quote(directory), TOTAL_LIMIT >> 20);
    Ok(format!(
        r#"LC_ALL=C; IFS=
cd {directory} || exit 1
fail() {{ printf '%s\n' "$1" >&2; exit 1; }}
here=$(pwd -P); here=${{here%/}}; total=0
add() {{
  if [ -f "$1" ]; then
    [ -r "$1" ] || fail "\`$1\` can't be read"
    n=$(wc -c <"$1") || exit 1
    n=$((n)); k=$((n < {OUTPUT_LIMIT} ? n : {OUTPUT_LIMIT})); total=$((total + k + ${{#1}} + 32))
    [ "$total" -le {TOTAL_LIMIT} ] || fail 'they have more than {mebibytes} MiB together'
    printf '%s\0%s\n' "$1" "$n"
    head -c "$k" <"$1"
    found=1
  elif [ -d "$1" ]; then
    [ -r "$1" ] && [ -x "$1" ] || fail "\`$1\` can't be read"
    for e in "$1"/* "$1"/.[!.]* "$1"/..?*; do [ -L "$e" ] || add "$e"; done
  fi
}}
i=0
for p in{quoted}; do
  found=
  for f in $p; do
    [ -e "$f" ] || continue
    case $f in */.|*/..) continue ;; esac
    case $(readlink -f -- "$f")/ in "$here"/*) add "$f" ;; *) fail "\`$f\` leads out of it" ;; esac
  done
  [ -n "$found" ] || printf '\0%s\n' "$i"
  i=$((i + 1))
done"#
    ))
}

fn parse(mut printed: &[u8], patterns: &[String]) -> Option<Found> {
    let mut files = BTreeMap::new();
    let mut unmatched = Vec::new();
    while !printed.is_empty() {
        let (name, rest) = split(printed, 0)?;
        let (number, rest) = split(rest, b'\n')?;
        let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
        if name.is_empty() {
            unmatched.push(patterns.get(usize::try_from(number).ok()?)?.clone());
            printed = rest;
            continue;
        }
        let name = inside(Path::new(OsStr::from_bytes(name))).ok()?;
        let (bytes, rest) = rest.split_at_checked(number.min(OUTPUT_LIMIT as u64) as usize)?;
        let shown = shown(name.as_os_str().as_bytes());
        files.insert(name, Fetched { name: shown, bytes: bytes.to_vec(), size: number });
        printed = rest;
    }
    Some(Found { files: files.into_values().collect(), unmatched })
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

/// Two names that differ are shown differently.
fn shown(name: &[u8]) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\x{byte:02X}")).collect::<String>();
    name.utf8_chunks().map(|chunk| chunk.valid().to_owned() + &escaped(chunk.invalid())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sizes_and_contents() {
        let patterns = ["none".to_owned(), "*".to_owned()];
        let found = parse(b"\x000\n./b\n\0\x003\nx\0\n.//a\xff\x000\n", &patterns);
        assert_eq!(found, None, "a number is no name");
        let found = parse(b"\x000\n./b\nc\x003\nx\0\n.//a\xff\x000\n./b\nc\x001\ny", &patterns).unwrap();
        assert_eq!(found.unmatched, ["none"]);
        let file = |name: &str, bytes: &[u8]| Fetched {
            name: name.into(),
            bytes: bytes.to_vec(),
            size: bytes.len() as u64,
        };
        assert_eq!(found.files, [file("a\\xFF", b""), file("b\nc", b"y")]);
    }

    #[test]
    fn what_is_cut_or_leads_out_is_no_file() {
        assert_eq!(parse(b"./a\x009\nabc", &[]), None);
        assert_eq!(parse(b"./../a\x003\nabc", &[]), None);
        let error = script("/", &["../x".to_owned()]).unwrap_err();
        assert_eq!(error.message, "`../x` leads out of the directory");
    }
}
