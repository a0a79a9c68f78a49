//! Rules on instances of EC2: what a launch needs, what makes no sense of an instance that is there, and the limits
//! of EC2 that can be known before it is asked.

use super::super::host::{Ec2, Host, user_data_type};
use super::super::template::is_template;
use super::super::time::TimeSpan;
use super::super::{Located, Text};
use crate::diagnostic::{Problem, Span};

/// Bytes of user data that EC2 takes.
const USER_DATA_LIMIT: usize = 16 * 1024;
/// Bytes of them for the shutdown timer, and for what is between the parts.
const OF_TIMER: usize = 1024;
/// The most tags of one instance, without the three that every one gets.
const TAGS_LIMIT: usize = 47;

/// Every mistake of the host `name`.
pub(super) fn check(name: &Text, host: &Host, deadline: Option<&Located<TimeSpan>>) -> Vec<Problem> {
    let Some(Located { value: ec2, span }) = &host.ec2 else { return Vec::new() };
    let mut problems = match (&ec2.ami, &ec2.instance_id) {
        (None, None) => vec![
            Problem::at(*span, format!("host `{}` has no instance", name.value))
                .help("add `ami:` to launch one, or `instance_id:` of one that is there"),
        ],
        (Some(ami), Some(_)) => vec![
            Problem::at(ami.span, "an instance that is there is not launched")
                .help("keep one of `ami` and `instance_id`"),
        ],
        (Some(ami), None) => launch(name, ec2, ami),
        (None, Some(id)) => of_another(ec2, id),
    };
    problems.extend(tags(ec2));
    problems.extend(user_data(ec2));
    problems.extend(time_to_live(ec2, deadline));
    problems
}

fn launch(name: &Text, ec2: &Ec2, ami: &Text) -> Vec<Problem> {
    let mut problems = Vec::new();
    if ec2.instance_type.is_none() {
        problems.push(
            Problem::at(ami.span, format!("host `{}` has no `instance_type`", name.value))
                .label("an image alone does not say on what it runs")
                .help("add `instance_type:`, such as `t3.micro`"),
        );
    }
    if !ami.starts_with("ami-") && !ami.starts_with("resolve:ssm:") && !is_template(ami) {
        problems.push(
            Problem::at(ami.span, format!("`{}` is no image", ami.value))
                .help("write an id such as `ami-0123456789abcdef0`, or `resolve:ssm:NAME` of a parameter that holds one"),
        );
    }
    let zone = ec2.availability_zones.values.first().filter(|_| ec2.subnet.is_some());
    problems.extend(zone.map(|zone| {
        Problem::at(zone.span, "a subnet lies in one zone")
            .help("keep one of `subnet` and `availability_zones`")
    }));
    problems
}

/// The first key that only a launch can use.
fn of_another(ec2: &Ec2, id: &Text) -> Vec<Problem> {
    let text = |key: &'static str, text: &Option<Text>| Some((key, text.as_ref()?.span));
    let list = |key: &'static str, values: &[Text]| Some((key, values.first()?.span));
    let keys: [Option<(&str, Span)>; 10] = [
        text("instance_type", &ec2.instance_type),
        text("key_name", &ec2.key_name),
        text("subnet", &ec2.subnet),
        list("security_groups", &ec2.security_groups.values),
        list("availability_zones", &ec2.availability_zones.values),
        text("placement_group", &ec2.placement_group),
        ec2.spot.as_ref().map(|spot| ("spot", spot.span)),
        text("user_data", &ec2.user_data),
        ec2.tags.keys().next().map(|key| ("tags", key.span)),
        ec2.ttl.as_ref().map(|time| ("ttl", time.span)),
    ];
    let problem = |(key, span): (&str, Span)| {
        Problem::at(span, format!("`{key}` says how an instance is launched, and {} is there", id.value))
            .help(format!("leave `{key}` out, or launch one with `ami`"))
    };
    keys.into_iter().flatten().map(problem).collect()
}

fn tags(ec2: &Ec2) -> Vec<Problem> {
    let is_taken = |key: &&Text| key.starts_with("runner:") || key.to_lowercase().starts_with("aws:");
    let taken = |key: &Text| {
        Problem::at(key.span, format!("a tag can't be called `{}`", key.value))
            .help("tags that begin with `runner:` are those by which instances are found again, `aws:` is AWS's own")
    };
    let mut problems: Vec<Problem> = ec2.tags.keys().filter(is_taken).map(taken).collect();
    if let Some(key) = ec2.tags.keys().nth(TAGS_LIMIT) {
        let message = format!("{} tags are more than {TAGS_LIMIT}", ec2.tags.len());
        problems.push(Problem::at(key.span, message).help("EC2 takes 50, and `runner` needs three of them"));
    }
    problems
}

fn user_data(ec2: &Ec2) -> Option<Problem> {
    let text = ec2.user_data.as_ref()?;
    let bytes = match text.is_ascii() {
        true => text.len(),
        // In base64, with the ends of its lines.
        false => text.len().div_ceil(3) * 4 * 77 / 76,
    };
    if bytes > USER_DATA_LIMIT - OF_TIMER {
        let message =
            format!("`user_data` has {bytes} bytes as EC2 gets it, more than {}", USER_DATA_LIMIT - OF_TIMER);
        return Some(Problem::at(text.span, message).help(
            "EC2 takes 16 KiB, and 1 KiB holds the shutdown timer: fetch a longer script with a short one",
        ));
    }
    (user_data_type(text).is_none() && !is_template(text)).then(|| {
        Problem::at(text.span, "cloud-init does not know what this `user_data` is")
            .help("begin a script with `#!/bin/sh`, a configuration with `#cloud-config`")
    })
}

fn time_to_live(ec2: &Ec2, deadline: Option<&Located<TimeSpan>>) -> Option<Problem> {
    let time = ec2.ttl.as_ref()?;
    if time.value.0.as_secs() < 60 {
        let message = format!("an instance can't do anything in {}", time.value);
        return Some(Problem::at(time.span, message).help("write a `ttl` of a minute or more"));
    }
    let deadline = deadline.filter(|deadline| deadline.value.0 > time.value.0)?;
    let message = format!("the instance would be gone after {}, before the run is", time.value);
    Some(
        Problem::at(time.span, message)
            .help(format!("write a `ttl` longer than the `deadline` of {}", deadline.value)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_must_fit_beside_the_timer() {
        let told = |text: String| {
            user_data(&Ec2 { user_data: Some(Text::unwritten(text)), ..Ec2::default() })
                .map(|found| found.message)
        };
        let script = |letter: &str, count: usize| format!("#!/bin/sh\n#{}", letter.repeat(count));
        assert_eq!(told(script("a", 15 * 1024 - 11)), None);
        let expected = "`user_data` has 15361 bytes as EC2 gets it, more than 15360";
        assert_eq!(told(script("a", 15 * 1024 - 10)).as_deref(), Some(expected));
        assert_eq!(told(script("ä", 5600)), None);
        assert!(told(script("ä", 5700)).is_some(), "it is longer in base64");
    }
}
