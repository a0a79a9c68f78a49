//! `ecs:` of a host: a cluster of Amazon ECS, on which each command of a container environment is a task.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::TimeSpan;
use super::super::located::{List, Text};
use super::AddressKind;

/// A cluster of Amazon ECS. A container on it is a Fargate task; it has no shell of its own, so nothing is native.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecs {
    /// The region.
    ///
    /// Default: what the `aws` command line has. Example: `region: eu-central-1`
    pub region: Option<Text>,
    /// The profile of the `aws` command line.
    ///
    /// Default: what the `aws` command line has. Example: `profile: lab`
    pub profile: Option<Text>,
    /// The cluster; it must be there.
    ///
    /// Default: `default`. Example: `cluster: bench`
    pub cluster: Option<Text>,
    /// Ids of the subnets in which tasks get their network interface.
    ///
    /// Example: `subnets: [subnet-0123456789abcdef0]`
    pub subnets: List,
    /// Ids of security groups; clients must reach the ports of services through them.
    ///
    /// Default: that of the VPC. Example: `security_groups: [sg-0123456789abcdef0]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub security_groups: List,
    /// What tasks run on.
    ///
    /// Default: `fargate`. Example: `launch_type: fargate-spot`
    pub launch_type: Option<LaunchType>,
    /// Whether tasks get a public address; without a NAT gateway they can't pull their image otherwise.
    ///
    /// Default: `false`. Example: `assign_public_ip: true`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assign_public_ip: Option<bool>,
    /// By which address clients reach a service in a task.
    ///
    /// Default: `private`. Example: `address: public`
    pub address: Option<AddressKind>,
    /// The role by which ECS pulls the image and writes the log.
    ///
    /// Default: none. Example: `execution_role: arn:aws:iam::123456789012:role/ecsTaskExecutionRole`
    pub execution_role: Option<Text>,
    /// The role that the task itself has.
    ///
    /// Default: none. Example: `task_role: arn:aws:iam::123456789012:role/bench`
    pub task_role: Option<Text>,
    /// The processor: `x86_64` or `arm64`.
    ///
    /// Default: `x86_64`. Example: `architecture: arm64`
    pub architecture: Option<Architecture>,
    /// The version of Fargate's platform.
    ///
    /// Default: `LATEST`. Example: `platform_version: 1.4.0`
    pub platform_version: Option<Text>,
    /// The group of CloudWatch Logs that tasks print to; it is made if it is not there, and left.
    ///
    /// Default: `/runner`. Example: `log_group: /bench`
    pub log_group: Option<Text>,
    /// Tags beside those by which `runner` finds its tasks again.
    ///
    /// Default: none. Example: `tags: { project: disks }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub tags: IndexMap<Text, Text>,
    /// The longest time until a task runs.
    ///
    /// Default: `10m`. Example: `up_within: 20m`
    pub up_within: Option<TimeSpan>,
}

/// What tasks run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum LaunchType {
    /// Fargate.
    #[default]
    Fargate,
    /// Fargate Spot, which may take a task away.
    FargateSpot,
    /// Instances of the cluster's own.
    Ec2,
}

/// The processor of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Architecture {
    /// Intel or AMD.
    #[default]
    #[serde(rename = "x86_64")]
    X86,
    /// Graviton.
    Arm64,
}

impl Ecs {
    /// Every text that may hold a template.
    pub(super) fn texts_mut(&mut self) -> Vec<&mut Text> {
        let Ecs { region, profile, cluster, execution_role, task_role, platform_version, log_group, .. } =
            self;
        let one = [region, profile, cluster, execution_role, task_role, platform_version, log_group];
        let lists = self.subnets.values.iter_mut().chain(&mut self.security_groups.values);
        one.into_iter().flatten().chain(lists).chain(self.tags.values_mut()).collect()
    }

    /// How a person reads it.
    pub(super) fn way(&self) -> String {
        format!("ECS cluster {}", self.cluster.as_ref().map_or("default", |cluster| cluster.as_str()))
    }
}
