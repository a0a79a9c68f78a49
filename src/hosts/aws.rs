//! The `aws` command line: a call is an answer in JSON, or an error by its name. Read [`Aws`] first.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::command_line::Call;
use crate::spec::Text;
use crate::transports::TransportError;

/// The longest time of one call.
const WITHIN: Duration = Duration::from_secs(120);
const INSTALL: &str =
    "install the AWS command line, e.g. `apt-get install awscli`, and log in with `aws configure`";

/// Where calls go, and as whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Aws {
    host: String,
    options: Vec<String>,
}

/// An error of AWS by its name, such as `InsufficientInstanceCapacity`; the name is empty where there is none.
#[derive(Debug, Clone)]
pub(super) struct AwsError {
    /// Its name.
    pub code: String,
    /// What to tell.
    pub error: TransportError,
}

impl From<AwsError> for TransportError {
    fn from(error: AwsError) -> TransportError {
        error.error
    }
}

impl Aws {
    /// For the host `name`; what is not given, the tool's own configuration says.
    pub(super) fn new(name: &str, region: Option<&Text>, profile: Option<&Text>) -> Self {
        let option = |key: &str, text: Option<&Text>| text.map(|text| [key.to_owned(), text.value.clone()]);
        let options = option("--region", region).into_iter().chain(option("--profile", profile)).flatten();
        Aws { host: name.to_owned(), options: options.collect() }
    }

    /// Asks `words`, such as `["ec2", "describe-instances", "--instance-ids", "i-1"]`, and reads the answer; an
    /// empty answer is `null`.
    ///
    /// # Errors
    /// When the tool is missing or AWS refuses.
    pub(super) async fn ask<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, AwsError> {
        let fixed = ["--output", "json", "--no-cli-pager", "--no-cli-auto-prompt"];
        let arguments = words.iter().chain(&fixed).map(|&word| word.to_owned());
        let call = Call {
            program: "aws",
            install: INSTALL,
            arguments: arguments.chain(self.options.iter().cloned()).collect(),
            directory: None,
            env: Vec::new(),
            within: WITHIN,
        };
        let asked = call.shown();
        let failed = |code: &str, reason: String| AwsError {
            code: code.to_owned(),
            error: TransportError::new(format!("`{}`: {asked}: {reason}", self.host)),
        };
        let printed = call.run(&|_| {}).await.map_err(|error| AwsError {
            code: String::new(),
            error: TransportError { message: format!("`{}`: {}", self.host, error.message), ..error },
        })?;
        if printed.code != Some(0) {
            let said = printed.last_words();
            let mut error = failed(code(&said), said.clone());
            error.error.hint = hint(&said).map(str::to_owned);
            return Err(error);
        }
        let answer = match printed.stdout.trim_ascii() {
            b"" => b"null",
            answer => answer,
        };
        serde_json::from_slice(answer)
            .map_err(|error| failed("", format!("its answer can't be read: {error}")))
    }
}

/// The name in `An error occurred (NAME) when calling …`.
fn code(said: &str) -> &str {
    let name = said.split_once("An error occurred (").and_then(|(_, rest)| rest.split_once(')'));
    name.map_or("", |(name, _)| name)
}

/// What can be done about what was said.
fn hint(said: &str) -> Option<&'static str> {
    let hints = [
        (
            "Unable to locate credentials",
            "log in with `aws configure` or `aws sso login`, or set `AWS_PROFILE`",
        ),
        ("ExpiredToken", "log in again, e.g. with `aws sso login`"),
        ("You must specify a region", "add `region:` to the host, or set `AWS_REGION`"),
        ("could not be found", "see `aws configure list-profiles`"),
        (
            "UnauthorizedOperation",
            "the user or role lacks the right to do this: see docs/clouds.md for those that are needed",
        ),
        (
            "AccessDenied",
            "the user or role lacks the right to do this: see docs/clouds.md for those that are needed",
        ),
        (
            "Could not connect to the endpoint",
            "is the region right, and does `AWS_ENDPOINT_URL` lead anywhere?",
        ),
    ];
    hints.into_iter().find(|(words, _)| said.contains(words)).map(|(_, hint)| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_names_and_hints() {
        let said = "An error occurred (InsufficientInstanceCapacity) when calling the RunInstances operation";
        assert_eq!(code(said), "InsufficientInstanceCapacity");
        assert_eq!(code("Unable to locate credentials"), "");
        assert!(hint("Unable to locate credentials. You can configure").is_some());
        assert_eq!(hint(said), None);
    }
}
