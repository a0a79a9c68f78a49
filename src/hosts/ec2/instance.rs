//! Instances as `aws` tells them. Only what is used is read; what an emulator leaves out is missing.

use indexmap::IndexMap;
use serde::Deserialize;

use crate::spec::host::AddressKind;

/// The tag that holds the id of the run.
pub(super) const RUN_TAG: &str = "runner:run";
/// The tag that holds the name of the host.
pub(super) const HOST_TAG: &str = "runner:host";

/// The answer of `describe-instances`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Described {
    #[serde(default)]
    reservations: Vec<Launched>,
}

/// The answer of `run-instances`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Launched {
    #[serde(default)]
    pub instances: Vec<Instance>,
}

/// One instance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Instance {
    #[serde(rename = "InstanceId")]
    pub id: String,
    image_id: Option<String>,
    instance_type: Option<String>,
    state: State,
    state_reason: Option<Reason>,
    private_ip_address: Option<String>,
    public_ip_address: Option<String>,
    placement: Option<Placement>,
    /// `spot`, or nothing.
    instance_lifecycle: Option<String>,
    #[serde(default)]
    tags: Vec<Tag>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct State {
    name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Reason {
    #[serde(default)]
    message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Placement {
    availability_zone: Option<String>,
    group_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tag {
    key: String,
    value: String,
}

/// The answer of `terminate-instances`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Terminated {
    #[serde(default)]
    terminating_instances: Vec<Terminating>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Terminating {
    current_state: State,
}

impl Terminated {
    /// Whether all of them end.
    pub(super) fn is_certain(&self) -> bool {
        !self.terminating_instances.is_empty()
            && self.terminating_instances.iter().all(|one| is_over(&one.current_state.name))
    }
}

impl Described {
    pub(super) fn into_instances(self) -> Vec<Instance> {
        self.reservations.into_iter().flat_map(|reservation| reservation.instances).collect()
    }
}

/// Whether an instance in this state ends, or has ended: it costs nothing any more, and never comes back.
fn is_over(state: &str) -> bool {
    matches!(state, "shutting-down" | "terminated")
}

impl Instance {
    pub(super) fn is_running(&self) -> bool {
        self.state.name == "running"
    }

    /// Whether it ends, or has ended.
    pub(super) fn is_over(&self) -> bool {
        is_over(&self.state.name)
    }

    /// Its state, and why it is in it, where that is told.
    pub(super) fn state(&self) -> String {
        match &self.state_reason {
            Some(reason) if !reason.message.is_empty() => format!("{}: {}", self.state.name, reason.message),
            _ => self.state.name.clone(),
        }
    }

    pub(super) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|tag| tag.key == key).map(|tag| tag.value.as_str())
    }

    /// The address by which other instances reach it.
    pub(super) fn private_address(&self) -> Option<&str> {
        self.private_ip_address.as_deref().filter(|address| !address.is_empty())
    }

    /// The address by which we reach it, if it has one of this kind.
    pub(super) fn address(&self, kind: Option<AddressKind>) -> Option<&str> {
        let public = self.public_ip_address.as_deref().filter(|address| !address.is_empty());
        match kind {
            Some(AddressKind::Private) => self.private_address(),
            Some(AddressKind::Public) => public,
            None => public.or(self.private_address()),
        }
    }

    /// Where its figures come from.
    pub(super) fn provenance(&self) -> IndexMap<String, String> {
        let placement = self.placement.as_ref();
        let purchase = self.instance_lifecycle.clone().unwrap_or_else(|| "on-demand".to_owned());
        let facts = [
            ("instance type", self.instance_type.clone()),
            ("machine image", self.image_id.clone()),
            ("zone", placement.and_then(|placement| placement.availability_zone.clone())),
            ("placement group", placement.and_then(|placement| placement.group_name.clone())),
            ("purchase", Some(purchase)),
            ("instance", Some(self.id.clone())),
        ];
        let known = facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        known.filter(|(_, value)| !value.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn recorded(emulator: &str, file: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/aws");
        std::fs::read_to_string(format!("{folder}/{emulator}/{file}.json")).unwrap()
    }

    fn described(emulator: &str) -> Vec<Instance> {
        let text = recorded(emulator, "ec2_describe_instances");
        serde_json::from_str::<Described>(&text).unwrap().into_instances()
    }

    #[test]
    fn answers_of_both_emulators_are_read() {
        for (emulator, id, private, public, image) in [
            ("ministack", "i-3209fa7ab6b44f00e", "172.17.0.2", "172.17.0.2", "ami-ae9a94f9418fea5e4"),
            ("moto", "i-2854bd112f90005a5", "10.204.233.134", "54.214.19.41", "ami-03cf127a"),
        ] {
            let instances = described(emulator);
            assert_eq!(instances.len(), 2, "{emulator}");
            let first = &instances[0];
            assert_eq!(first.id, id);
            assert!(first.is_running() && !first.is_over());
            assert_eq!(first.private_address(), Some(private));
            assert_eq!(first.address(None), Some(public));
            assert_eq!(first.address(Some(AddressKind::Private)), Some(private));
            assert_eq!((first.tag("runner"), first.tag(RUN_TAG)), (Some("x1"), None));
            let told = [
                ("instance type", "t3.micro"),
                ("machine image", image),
                ("zone", "us-east-1a"),
                ("purchase", "on-demand"),
                ("instance", id),
            ];
            let told = told.map(|(name, value)| (name.to_owned(), value.to_owned()));
            assert_eq!(first.provenance(), told.into_iter().collect::<IndexMap<_, _>>(), "{emulator}");
        }
    }

    #[test]
    fn an_instance_is_launched_pending_and_ends_over_shutting_down() {
        let launched: Launched = serde_json::from_str(&recorded("moto", "ec2_run_instances")).unwrap();
        assert_eq!(launched.instances[1].state(), "pending");
        assert!(!launched.instances[1].is_running() && !launched.instances[1].is_over());
        for emulator in ["ministack", "moto"] {
            let ended: Terminated = serde_json::from_str(&recorded(emulator, "ec2_terminate")).unwrap();
            assert!(ended.is_certain(), "{emulator}");
        }
        let one = r#"{"TerminatingInstances": [{"CurrentState": {"Name": "running"}}]}"#;
        assert!(!serde_json::from_str::<Terminated>(one).unwrap().is_certain());
        assert!(!Terminated::default().is_certain());
    }

    #[test]
    fn an_instance_without_the_wanted_address_has_none() {
        let text = r#"{"InstanceId": "i-1", "PublicIpAddress": "", "PrivateIpAddress": "10.0.0.1",
            "InstanceLifecycle": "spot", "Placement": {"GroupName": "near"},
            "State": {"Name": "terminated"}, "StateReason": {"Message": "Server.SpotInstanceTermination"}}"#;
        let instance: Instance = serde_json::from_str(text).unwrap();
        assert_eq!(instance.address(Some(AddressKind::Public)), None);
        assert_eq!(instance.address(None), Some("10.0.0.1"));
        assert_eq!(instance.state(), "terminated: Server.SpotInstanceTermination");
        let told: Vec<_> = instance.provenance().into_iter().collect();
        let expected = [("placement group", "near"), ("purchase", "spot"), ("instance", "i-1")];
        assert_eq!(told, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
