//! What a run takes from outside of its experiment file: contents of local files and values of variables, as
//! digests, so that who goes on with the run sees that they are others. Read [`Inputs`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The digests of everything that the cells of a run take from this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inputs {
    /// A random number, in hexadecimal, that goes into the digest of each variable.
    pub salt: String,
    /// The digest of the contents of each file or folder, by its path as it is written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// The salted digest of each value of `{{ env.NAME }}`, by name. It is short: many values have the same, so
    /// that none can be told from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
}

impl Inputs {
    /// What is other than it `was`, a line each. What is named now and was not, or the other way round, shows in
    /// the settings.
    pub(super) fn changes(&self, was: &Inputs) -> Vec<String> {
        let differs = |is: &BTreeMap<String, String>, was: &BTreeMap<String, String>| {
            let names = is.iter().filter(|(name, digest)| was.get(*name).is_some_and(|was| was != *digest));
            names.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let files = differs(&self.files, &was.files).into_iter();
        let files = files.map(|path| format!("files: `{path}` has other contents"));
        // With another salt nothing can be said.
        let variables = match self.salt == was.salt {
            true => differs(&self.variables, &was.variables),
            false => Vec::new(),
        };
        files.chain(variables.into_iter().map(|name| format!("`env.{name}` has another value"))).collect()
    }
}
