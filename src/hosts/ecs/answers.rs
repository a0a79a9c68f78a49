//! What of AWS's answers on clusters, tasks, network interfaces and logs is read. Whatever else they hold is passed
//! over. The words of the fields are AWS's own.

use serde::Deserialize;

/// Of `describe-clusters`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Clusters {
    #[serde(default)]
    clusters: Vec<ClusterAnswer>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClusterAnswer {
    cluster_arn: String,
    cluster_name: String,
    status: String,
}

impl Clusters {
    /// The region of an active cluster, given by its name or its ARN.
    pub(super) fn region(&self, name: &str) -> Option<String> {
        let is_it = |found: &&ClusterAnswer| found.cluster_name == name || found.cluster_arn == name;
        let found = self.clusters.iter().find(is_it).filter(|found| found.status == "ACTIVE")?;
        found.cluster_arn.split(':').nth(3).map(str::to_owned)
    }
}

/// Of `register-task-definition`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Definition {
    task_definition: DefinitionAnswer,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionAnswer {
    task_definition_arn: String,
}

impl Definition {
    pub(super) fn arn(&self) -> &str {
        &self.task_definition.task_definition_arn
    }
}

/// Of `list-task-definitions`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Definitions {
    #[serde(default)]
    task_definition_arns: Vec<String>,
}

impl Definitions {
    pub(super) fn into_arns(self) -> Vec<String> {
        self.task_definition_arns
    }
}

/// Of `list-tasks`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskList {
    #[serde(default)]
    task_arns: Vec<String>,
}

impl TaskList {
    pub(super) fn into_arns(self) -> Vec<String> {
        self.task_arns
    }
}

/// Of `run-task` and `describe-tasks`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TaskAnswers {
    #[serde(default)]
    pub tasks: Vec<TaskAnswer>,
    #[serde(default)]
    pub failures: Vec<Refusal>,
}

/// Why there is no task.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Refusal {
    /// `RESOURCE:CPU`, `MISSING`, …
    pub reason: Option<String>,
    pub detail: Option<String>,
}

/// A task.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskAnswer {
    pub task_arn: String,
    #[serde(default)]
    pub last_status: String,
    pub stop_code: Option<String>,
    pub stopped_reason: Option<String>,
    #[serde(default)]
    attachments: Vec<Attachment>,
    #[serde(default)]
    containers: Vec<ContainerAnswer>,
}

#[derive(Debug, Default, Deserialize)]
struct Attachment {
    #[serde(default)]
    details: Vec<Detail>,
}

#[derive(Debug, Default, Deserialize)]
struct Detail {
    name: Option<String>,
    value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerAnswer {
    exit_code: Option<i64>,
    reason: Option<String>,
}

impl TaskAnswer {
    /// Whether its containers run.
    pub(super) fn is_running(&self) -> bool {
        self.last_status == "RUNNING"
    }

    /// Whether it is over for good.
    pub(super) fn is_stopped(&self) -> bool {
        self.last_status == "STOPPED"
    }

    /// Its id, the last part of its ARN.
    pub(super) fn id(&self) -> &str {
        self.task_arn.rsplit('/').next().unwrap_or_default()
    }

    /// Its address in the network, where the task itself says it.
    pub(super) fn private_address(&self) -> Option<&str> {
        self.detail("privateIPv4Address")
    }

    /// Its network interface.
    pub(super) fn interface(&self) -> Option<&str> {
        self.detail("networkInterfaceId")
    }

    fn detail(&self, wanted: &str) -> Option<&str> {
        let mut details = self.attachments.iter().flat_map(|attachment| &attachment.details);
        let found = details.find(|detail| detail.name.as_deref() == Some(wanted));
        found?.value.as_deref().filter(|value| !value.is_empty())
    }

    /// Why it was stopped, as ECS and its container say it.
    pub(super) fn why(&self) -> String {
        let container = self.containers.first();
        let code =
            container.and_then(|container| container.exit_code).map(|code| format!("exit code {code}"));
        let reason = container.and_then(|container| container.reason.clone());
        let said = [self.stop_code.clone(), self.stopped_reason.clone(), reason, code];
        let said: Vec<String> = said.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        if said.is_empty() { "ECS does not say why".to_owned() } else { said.join(": ") }
    }
}

/// Of `ec2 describe-network-interfaces`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Interfaces {
    #[serde(default)]
    network_interfaces: Vec<Interface>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Interface {
    private_ip_address: Option<String>,
    association: Option<Association>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Association {
    public_ip: Option<String>,
}

impl Interfaces {
    pub(super) fn private_address(&self) -> Option<&str> {
        self.network_interfaces.first()?.private_ip_address.as_deref()
    }

    pub(super) fn public_address(&self) -> Option<&str> {
        self.network_interfaces.first()?.association.as_ref()?.public_ip.as_deref()
    }
}

/// Of `logs get-log-events`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogEvents {
    #[serde(default)]
    events: Vec<LogEvent>,
    pub next_forward_token: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct LogEvent {
    #[serde(default)]
    message: String,
}

impl LogEvents {
    pub(super) fn messages(&self) -> impl Iterator<Item = &str> {
        self.events.iter().map(|event| event.message.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(text: &str) -> TaskAnswer {
        let mut answers: TaskAnswers = serde_json::from_str(text).unwrap();
        answers.tasks.remove(0)
    }

    #[test]
    fn tasks_of_two_emulators() {
        let stopped = task(include_str!("../../../tests/fixtures/aws/ecs-stopped-ministack.json"));
        assert!(stopped.is_stopped() && !stopped.is_running());
        assert_eq!((stopped.private_address(), stopped.interface()), (Some("172.17.0.2"), None));
        assert_eq!(stopped.why(), "EssentialContainerExited: Essential container exited: exit code 0");
        assert_eq!(stopped.id(), "6d2ebcb5-25f5-4633-9f99-b4bd0a4fed43");
        let no_image = task(include_str!("../../../tests/fixtures/aws/ecs-no-image-ministack.json"));
        assert!(no_image.why().starts_with("TaskFailedToStart: ResourceInitializationError: "));
        let moto = task(include_str!("../../../tests/fixtures/aws/ecs-tasks-moto.json"));
        assert_eq!(moto.private_address(), Some("10.20.185.16"));
        assert_eq!(moto.interface(), Some("eni-3e54e0b774567e958"));
        let moto = include_str!("../../../tests/fixtures/aws/interfaces-moto.json");
        let moto: Interfaces = serde_json::from_str(moto).unwrap();
        assert_eq!((moto.private_address(), moto.public_address()), (Some("10.165.43.141"), None));
    }

    #[test]
    fn what_aws_leaves_out_is_no_mistake() {
        let bare = r#"{"tasks": [{"taskArn": "a/b", "containers": [{"reason": "OutOfMemoryError"}]}]}"#;
        assert_eq!(task(bare).why(), "OutOfMemoryError");
        assert_eq!(task(r#"{"tasks": [{"taskArn": "a"}]}"#).why(), "ECS does not say why");
        let public = r#"{"NetworkInterfaces": [{"Association": {"PublicIp": "192.0.2.1"}}]}"#;
        let public: Interfaces = serde_json::from_str(public).unwrap();
        assert_eq!(public.public_address(), Some("192.0.2.1"));
        let clusters = r#"{"clusters": [{"clusterArn": "arn:aws:ecs:eu-west-1:1:cluster/b", "clusterName": "b", "status": "INACTIVE"}]}"#;
        let clusters: Clusters = serde_json::from_str(clusters).unwrap();
        assert_eq!(clusters.region("b"), None);
    }
}
