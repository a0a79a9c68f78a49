//! The `aws` command line: a call is an answer in JSON, or an error by its name. Read [`Aws`] first.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

use super::command_line::Call;
use super::{Fate, Thing};
use crate::spec::Text;
use crate::transports::TransportError;

/// The longest time of one call.
const WITHIN: Duration = Duration::from_secs(120);
/// The input of a call, as its words name it.
pub(super) const INPUT: &str = "/dev/stdin";
const INSTALL: &str =
    "install the AWS command line, e.g. `apt-get install awscli`, and log in with `aws configure`";

/// Where calls go, and as whom.
#[derive(Debug, Clone, Default)]
pub(super) struct Aws {
    host: String,
    options: Vec<String>,
    place: OnceCell<String>,
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
        Aws { host: name.to_owned(), options: options.collect(), place: OnceCell::new() }
    }

    /// Asks `words`, such as `["ec2", "describe-instances", "--instance-ids", "i-1"]`, and reads the answer; an
    /// empty answer is `null`.
    ///
    /// # Errors
    /// When the tool is missing or AWS refuses.
    pub(super) async fn ask<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, AwsError> {
        self.ask_with(words, "").await
    }

    /// The same with `input`, which the words name as [`INPUT`].
    ///
    /// # Errors
    /// When the tool is missing or AWS refuses.
    pub(super) async fn ask_with<T: DeserializeOwned>(
        &self,
        words: &[&str],
        input: &str,
    ) -> Result<T, AwsError> {
        let arguments = words.iter().chain(&["--output", "json"]).map(|&word| word.to_owned());
        let endpoint = endpoint(words, &|name| std::env::var(name).ok());
        let env = [("AWS_PAGER", ""), ("AWS_CLI_AUTO_PROMPT", "off")];
        let call = Call {
            program: "aws",
            install: INSTALL,
            arguments: arguments.chain(self.options.iter().cloned()).chain(endpoint).collect(),
            directory: None,
            input: input.as_bytes().to_vec(),
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
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

impl Aws {
    /// Where things are made that are asked for here: `account 123456789012 in eu-central-1`.
    ///
    /// # Errors
    /// When AWS does not tell.
    pub(super) async fn place(&self) -> Result<&str, AwsError> {
        let find = async || {
            let caller: Caller = self.ask(&["sts", "get-caller-identity"]).await?;
            let zones: Zones = self.ask(&["ec2", "describe-availability-zones"]).await?;
            let region = zones.availability_zones.into_iter().next().map(|zone| zone.region_name);
            Ok(format!("account {} in {}", caller.account, region.unwrap_or_default()))
        };
        self.place.get_or_try_init(find).await.map(String::as_str)
    }

    /// Why `thing` can't be looked for here: it was made somewhere else, where it may still be.
    ///
    /// # Errors
    /// When AWS does not tell where this is.
    pub(super) async fn elsewhere(&self, thing: &Thing) -> Result<Option<Fate>, AwsError> {
        let Some(made) = &thing.place else { return Ok(None) };
        let here = self.place().await?;
        let why = || {
            format!(
                "it was made in {made}, and this is {here}; help: set the profile and region that it was made with"
            )
        };
        Ok((made != here).then(|| Fate::Left(why())))
    }
}

/// Who is asking.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Caller {
    pub account: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Zones {
    availability_zones: Vec<Zone>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Zone {
    region_name: String,
}

/// `AWS_ENDPOINT_URL` as an option: versions of the tool before 2.13 don't know the variable, and would go to
/// AWS itself, where it costs money. A variable for one service wins over it in those that do.
fn endpoint(words: &[&str], variable: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let service = words.first().map(|service| service.to_uppercase().replace('-', "_")).unwrap_or_default();
    let is_ignored = variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS").is_some_and(|text| text == "true");
    let own = variable(&format!("AWS_ENDPOINT_URL_{service}"));
    let url = own.or_else(|| variable("AWS_ENDPOINT_URL")).filter(|url| !url.is_empty() && !is_ignored);
    url.map(|url| vec!["--endpoint-url".to_owned(), url]).unwrap_or_default()
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

    #[test]
    fn the_variables_for_the_address_hold_for_every_version_of_the_tool() {
        let set = |pairs: &'static [(&str, &str)]| {
            let get = move |name: &str| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            endpoint(&["ec2", "run-instances"], &get)
        };
        assert_eq!(set(&[]), Vec::<String>::new());
        assert_eq!(set(&[("AWS_ENDPOINT_URL", "http://a")]), ["--endpoint-url", "http://a"]);
        const BOTH: [(&str, &str); 2] =
            [("AWS_ENDPOINT_URL", "http://a"), ("AWS_ENDPOINT_URL_EC2", "http://b")];
        assert_eq!(set(&BOTH), ["--endpoint-url", "http://b"]);
        const IGNORED: [(&str, &str); 2] =
            [("AWS_ENDPOINT_URL", "http://a"), ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")];
        assert_eq!(set(&IGNORED), Vec::<String>::new());
    }
}
