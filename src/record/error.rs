//! What can go wrong with a run on disk. One shape: what was tried, on which path, why it failed, and
//! what to do about it.

use std::borrow::Cow;
use std::error::Error;
use std::path::{Path, PathBuf};

/// A file of a run could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("could not {action} `{}`", path.display())]
pub struct RecordError {
    /// What was tried, e.g. `write`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Why it failed.
    pub source: Box<dyn Error + Send + Sync>,
    /// What to do, in the imperative.
    pub hint: Option<Cow<'static, str>>,
}

impl RecordError {
    /// An error without a hint; a plain text is a cause too.
    pub fn new(action: &'static str, path: &Path, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { action, path: path.to_owned(), source: source.into(), hint: None }
    }

    /// The same error with advice.
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}
