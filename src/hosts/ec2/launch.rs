//! The launch: what is asked of `run-instances`, in which zone, and what a refusal means. Before each call its line
//! stands in the ledger. Read [`launch`] first.

use std::time::Duration;

use serde_json::json;

use super::instance::{HOST_TAG, Instance, Launched, RUN_TAG};
use super::{thing, user_data};
use crate::hosts::aws::{Aws, AwsError, Caller, INPUT};
use crate::hosts::provide::{Making, Said};
use crate::spec::Text;
use crate::spec::host::{AddressKind, Ec2};
use crate::transports::TransportError;

/// How long an instance lives after the deadline of its run.
const AFTER_DEADLINE: Duration = Duration::from_mins(10);
/// How long an instance lives whose run has no deadline.
const WITHOUT_DEADLINE: Duration = Duration::from_hours(12);
/// What EC2 says when a zone has none to give: another may.
const NO_CAPACITY: [&str; 6] = [
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientReservedInstanceCapacity",
    "InsufficientCapacity",
    "UnfulfillableCapacity",
    "Unsupported",
];
/// Errors after which an instance may have been launched all the same.
const UNSURE: [&str; 7] = [
    "",
    "InternalError",
    "InternalFailure",
    "Unavailable",
    "ServiceUnavailable",
    "RequestTimeout",
    "IdempotentParameterMismatch",
];

/// After which time an instance shuts itself down.
pub(super) fn time_to_live(ec2: &Ec2, deadline: Option<Duration>) -> Duration {
    let default = || deadline.map_or(WITHOUT_DEADLINE, |deadline| deadline + AFTER_DEADLINE);
    ec2.ttl.as_ref().map_or_else(default, |time| time.value.0)
}

/// Launches an instance for the host `name`, in the first of its zones that has room. `earlier` is how many of the
/// run's instances have ended there before.
///
/// # Errors
/// When EC2 refuses.
pub(super) async fn launch(
    aws: &Aws,
    name: &str,
    ec2: &Ec2,
    making: &Making,
    earlier: usize,
) -> Result<Instance, TransportError> {
    let image = image(aws, ec2).await?;
    let zones: Vec<Option<&str>> = match ec2.availability_zones.values.as_slice() {
        [] => vec![None],
        zones => zones.iter().map(|zone| Some(zone.value.as_str())).collect(),
    };
    let mut refused = Vec::new();
    for zone in zones {
        let place = zone.map(|zone| format!(" in {zone}")).unwrap_or_default();
        let what = ec2.instance_type.as_ref().map_or("an instance", |kind| kind.as_str());
        (making.tell)(name, Said::Doing(format!("launching {what} from {image}{place}")));
        match launch_in(aws, name, ec2, making, &image, (zone, earlier)).await {
            Ok(instance) => return Ok(instance),
            Err(failed) if NO_CAPACITY.contains(&failed.code.as_str()) => {
                (making.tell)(name, Said::Line(failed.error.message.clone()));
                refused.push(failed);
            }
            Err(failed) => return Err(explained(failed)),
        }
    }
    let Some(last) = refused.pop() else { return Err(TransportError::new("there is no zone")) };
    Err(match refused.is_empty() {
        true => explained(last),
        false => {
            let message = format!("none of its {} zones has room; {}", refused.len() + 1, last.error.message);
            explained(AwsError { error: TransportError { message, ..last.error }, ..last })
        }
    })
}

/// Who would pay for a launch, and of which image it would be.
///
/// # Errors
/// When we are not let in, or the image can't be used.
pub(super) async fn foresee(aws: &Aws, name: &str, ec2: &Ec2) -> Result<String, TransportError> {
    let caller: Caller = aws.ask(&["sts", "get-caller-identity"]).await?;
    let image = image(aws, ec2).await?;
    let words = ["ec2", "describe-images", "--image-ids", &image];
    let images = aws.ask::<Images>(&words).await.map_err(explained)?.images;
    match images.first() {
        Some(found) if matches!(found.state.as_deref(), None | Some("available")) => {
            let title = found.name.as_deref().unwrap_or("an image without a name");
            Ok(format!("would be launched by the account {}, of {image}, `{title}`", caller.account))
        }
        Some(Image { state: Some(state), .. }) => {
            Err(TransportError::new(format!("`{name}`: the image {image} is {state}")))
        }
        _ => Err(explained(AwsError {
            code: "InvalidAMIID".to_owned(),
            error: TransportError::new(format!("`{name}`: there is no image {image}")),
        })),
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Images {
    images: Vec<Image>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Image {
    name: Option<String>,
    state: Option<String>,
}

/// The id of the image. That of a parameter is looked up once, so that every zone is asked for the same one.
async fn image(aws: &Aws, ec2: &Ec2) -> Result<String, TransportError> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Answer {
        parameter: Parameter,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Parameter {
        value: String,
    }
    let Some(ami) = &ec2.ami else { return Err(TransportError::new("the host has no `ami`")) };
    let Some(parameter) = ami.strip_prefix("resolve:ssm:") else { return Ok(ami.value.clone()) };
    let answer =
        aws.ask::<Answer>(&["ssm", "get-parameter", "--name", parameter]).await.map_err(explained)?;
    Ok(answer.parameter.value)
}

async fn launch_in(
    aws: &Aws,
    name: &str,
    ec2: &Ec2,
    making: &Making,
    image: &str,
    (zone, earlier): (Option<&str>, usize),
) -> Result<Instance, AwsError> {
    let unmade = |error: TransportError| AwsError { code: "runner".to_owned(), error };
    let token = token(&making.run, name, zone, earlier);
    let own = ec2.user_data.as_ref().map(|text| text.as_str());
    let text = user_data::wrapped(time_to_live(ec2, making.deadline), own);
    let mut words = vec!["ec2".to_owned(), "run-instances".to_owned()];
    words.extend(arguments(name, ec2, &making.run, image, zone));
    words.extend([
        "--client-token".to_owned(),
        token.clone(),
        "--user-data".to_owned(),
        format!("fileb://{INPUT}"),
    ]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let place = aws.place().await?;
    let launch = making.ledger.made(thing(name, &making.run, &token, Some(place))).map_err(unmade)?;
    let failed = match aws
        .ask_with::<Launched>(&words, &text)
        .await
        .map(|launched| launched.instances.into_iter().next())
    {
        Ok(Some(instance)) => {
            making.ledger.made(thing(name, &making.run, &instance.id, Some(place))).map_err(unmade)?;
            making.ledger.released(launch);
            return Ok(instance);
        }
        Ok(None) => unmade(TransportError::new(format!("`{name}`: EC2 tells of no instance"))),
        Err(failed) => failed,
    };
    if !UNSURE.contains(&failed.code.as_str()) && failed.code != "runner" {
        making.ledger.released(launch);
    }
    Err(failed)
}

/// By this EC2 knows a launch that is asked for again: at most 64 characters.
fn token(run: &str, name: &str, zone: Option<&str>, earlier: usize) -> String {
    // FNV-1a: the same in every version of the program.
    let text = format!("{name}/{}", zone.unwrap_or_default());
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("runner-{run}-{hash:016x}-{earlier}")
}

/// The options of `run-instances`, but the token and the user data.
pub(super) fn arguments(name: &str, ec2: &Ec2, run: &str, image: &str, zone: Option<&str>) -> Vec<String> {
    let mut words = Vec::new();
    let mut option = |key: &str, values: Vec<String>| {
        words.push(format!("--{key}"));
        words.extend(values);
    };
    let one = |text: &Text| vec![text.value.clone()];
    option("image-id", vec![image.to_owned()]);
    ec2.instance_type.iter().for_each(|kind| option("instance-type", one(kind)));
    option("count", vec!["1".to_owned()]);
    option("instance-initiated-shutdown-behavior", vec!["terminate".to_owned()]);
    let tags = tags(name, ec2, run);
    let tagged = ["instance", "volume"].map(|kind| json!({ "ResourceType": kind, "Tags": tags }));
    option("tag-specifications", vec![json!(tagged).to_string()]);
    ec2.key_name.iter().for_each(|key| option("key-name", one(key)));
    ec2.subnet.iter().for_each(|subnet| option("subnet-id", one(subnet)));
    let groups: Vec<String> = ec2.security_groups.values.iter().map(|group| group.value.clone()).collect();
    if !groups.is_empty() {
        option("security-group-ids", groups);
    }
    let group = ec2.placement_group.as_ref().map(|group| group.value.as_str());
    let placement = [("AvailabilityZone", zone), ("GroupName", group)];
    let placement = placement.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?))));
    let placement: serde_json::Map<_, _> = placement.collect();
    if !placement.is_empty() {
        option("placement", vec![json!(placement).to_string()]);
    }
    if ec2.spot.as_ref().is_some_and(|spot| spot.value) {
        let once = json!({ "SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate" });
        let market = json!({ "MarketType": "spot", "SpotOptions": once });
        option("instance-market-options", vec![market.to_string()]);
    }
    if ec2.address == Some(AddressKind::Public) {
        option("associate-public-ip-address", Vec::new());
    }
    words
}

fn tags(name: &str, ec2: &Ec2, run: &str) -> Vec<serde_json::Value> {
    let own = ec2.tags.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let has_name = ec2.tags.keys().any(|key| key.as_str() == "Name");
    let named = (!has_name).then_some(("Name", name));
    let all = own.chain(named).chain([(RUN_TAG, run), (HOST_TAG, name)]);
    all.map(|(key, value)| json!({ "Key": key, "Value": value })).collect()
}

/// The error with what can be done about it.
pub(super) fn explained(failed: AwsError) -> TransportError {
    let hints = [
        (
            "VcpuLimitExceeded",
            "ask for more vCPUs of this family under Service Quotas, EC2, or take a smaller `instance_type`",
        ),
        ("InstanceLimitExceeded", "ask for more instances of this type under Service Quotas, EC2"),
        (
            "MaxSpotInstanceCountExceeded",
            "ask for more spot vCPUs under Service Quotas, EC2, or leave `spot` out",
        ),
        (
            "Unsupported",
            "not every zone has every type: `aws ec2 describe-instance-type-offerings --location-type availability-zone`",
        ),
        ("InvalidAMIID", "an image has another id in each region: is `region` right?"),
        ("ParameterNotFound", "is the name behind `resolve:ssm:` right, and the region?"),
        ("InvalidKeyPair", "`aws ec2 describe-key-pairs` lists those of the region"),
        ("InvalidSubnet", "`aws ec2 describe-subnets` lists those of the region"),
        ("InvalidGroup", "`aws ec2 describe-security-groups` lists those of the region"),
        ("VPCIdNotSpecified", "the region has no default VPC: add `subnet:`"),
        ("InvalidInstanceType", "`aws ec2 describe-instance-types` lists those of the region"),
        (
            "OptInRequired",
            "the account has not subscribed to this service, or to the image in the Marketplace",
        ),
        ("IdempotentParameterMismatch", "`runner clean` removes what was launched before"),
    ];
    let is_of = |(start, _): &(&str, &str)| failed.code.starts_with(start);
    let hint = match NO_CAPACITY.contains(&failed.code.as_str()) && failed.code != "Unsupported" {
        true => Some("add `availability_zones:` with more zones, take another `instance_type`, or try later"),
        false => hints.into_iter().find(is_of).map(|(_, hint)| hint),
    };
    TransportError { hint: hint.map(str::to_owned).or(failed.error.hint), ..failed.error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::TimeSpan;

    fn text(text: &str) -> Text {
        Text::unwritten(text.to_owned())
    }

    #[test]
    fn a_token_is_the_same_for_the_same_launch_alone() {
        let one = token("0badcafe", "load", None, 0);
        assert_eq!(one, "runner-0badcafe-15cdf0b6ebf75372-0");
        let others = [
            token("0badcaff", "load", None, 0),
            token("0badcafe", "load-1", None, 0),
            token("0badcafe", "load", Some("eu-central-1a"), 0),
            token("0badcafe", "load", None, 1),
        ];
        assert!(others.iter().all(|other| *other != one && other.len() <= 64));
        assert!(token("0badcafe", &"x".repeat(100), None, 99).len() <= 64);
    }

    #[test]
    fn every_setting_is_asked_for() {
        let mut ec2 = Ec2 {
            instance_type: Some(text("c5n.large")),
            key_name: Some(text("lab")),
            subnet: Some(text("subnet-1")),
            placement_group: Some(text("near")),
            spot: Some(crate::spec::Located::unwritten(true)),
            address: Some(AddressKind::Public),
            ..Ec2::default()
        };
        ec2.security_groups.values = vec![text("sg-1"), text("sg-2")];
        ec2.tags.insert(text("project"), text("disks"));
        let words = arguments("load", &ec2, "0badcafe", "ami-1", Some("eu-central-1a")).join(" ");
        let tags = r#"[{"Key":"project","Value":"disks"},{"Key":"Name","Value":"load"},{"Key":"runner:run","Value":"0badcafe"},{"Key":"runner:host","Value":"load"}]"#;
        let expected = [
            "--image-id ami-1 --instance-type c5n.large --count 1",
            "--instance-initiated-shutdown-behavior terminate",
            &format!(
                r#"--tag-specifications [{{"ResourceType":"instance","Tags":{tags}}},{{"ResourceType":"volume","Tags":{tags}}}]"#
            ),
            "--key-name lab --subnet-id subnet-1 --security-group-ids sg-1 sg-2",
            r#"--placement {"AvailabilityZone":"eu-central-1a","GroupName":"near"}"#,
            r#"--instance-market-options {"MarketType":"spot","SpotOptions":{"SpotInstanceType":"one-time","InstanceInterruptionBehavior":"terminate"}}"#,
            "--associate-public-ip-address",
        ];
        assert_eq!(words, expected.join(" "));
        let bare = arguments("load", &Ec2::default(), "0badcafe", "ami-1", None).join(" ");
        assert!(
            !["--placement", "--instance-market", "--associate", "--key", "--security"]
                .iter()
                .any(|key| bare.contains(key)),
            "{bare}"
        );
    }

    #[test]
    fn an_instance_outlives_its_run_by_little() {
        let minutes = Duration::from_mins;
        let given =
            Ec2 { ttl: Some(crate::spec::Located::unwritten(TimeSpan(minutes(5)))), ..Ec2::default() };
        for (ec2, deadline, expected) in [
            (&given, Some(minutes(60)), 5),
            (&Ec2::default(), Some(minutes(60)), 70),
            (&Ec2::default(), None, 12 * 60),
        ] {
            assert_eq!(time_to_live(ec2, deadline), minutes(expected));
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let hint = |code: &str| {
            let error = TransportError { hint: Some("other".into()), ..TransportError::new("no") };
            explained(AwsError { code: code.to_owned(), error }).hint.unwrap()
        };
        for (code, words) in [
            ("VcpuLimitExceeded", "vCPUs"),
            ("MaxSpotInstanceCountExceeded", "leave `spot` out"),
            ("InsufficientInstanceCapacity", "`availability_zones:`"),
            ("Unsupported", "describe-instance-type-offerings"),
            ("InvalidAMIID.NotFound", "region"),
            ("InvalidKeyPair.NotFound", "describe-key-pairs"),
            ("UnauthorizedOperation", "other"),
        ] {
            assert!(hint(code).contains(words), "{code}: {}", hint(code));
        }
    }
}
