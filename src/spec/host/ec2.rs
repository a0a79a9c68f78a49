//! `ec2:` of a host: an instance of Amazon EC2 that the run launches and terminates, or one that is there.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::TimeSpan;
use super::super::located::{List, Located, Text};
use super::super::schema;
use super::AddressKind;

/// An instance of Amazon EC2: with `ami`, one that is launched for the run; with `instance_id`, one that is there.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = schema::exactly_one(&["ami", "instance_id"])))]
pub struct Ec2 {
    /// The region.
    ///
    /// Default: what the `aws` command line has. Example: `region: eu-central-1`
    pub region: Option<Text>,
    /// The profile of the `aws` command line.
    ///
    /// Default: what the `aws` command line has. Example: `profile: lab`
    pub profile: Option<Text>,
    /// The image: an id, or `resolve:ssm:NAME` with the name of a parameter that holds one.
    ///
    /// Example: `ami: "resolve:ssm:/aws/service/debian/release/12/latest/amd64"`
    pub ami: Option<Text>,
    /// An instance that is there; it is used, and left as it is.
    ///
    /// Example: `instance_id: i-0123456789abcdef0`
    pub instance_id: Option<Text>,
    /// The type of the instance.
    ///
    /// Default: needed with `ami`. Example: `instance_type: c5n.18xlarge`
    pub instance_type: Option<Text>,
    /// How many there are: `NAME` then stands for `NAME-1`, `NAME-2`, ….
    ///
    /// Default: one, named as it stands. Example: `count: 3`
    #[schemars(range(min = 1, max = 100))]
    pub count: Option<Located<u32>>,
    /// The key pair, as EC2 calls it.
    ///
    /// Default: none, as where the image lets you in. Example: `key_name: lab`
    pub key_name: Option<Text>,
    /// The private key file; `~` is the home directory.
    ///
    /// Default: those of the agent, of `~/.ssh/config` and the usual ones. Example: `identity: ~/.ssh/lab`
    pub identity: Option<Text>,
    /// Login name.
    ///
    /// Default: `ec2-user`. Example: `user: admin`
    pub user: Option<Text>,
    /// TCP port of SSH.
    ///
    /// Default: `22`. Example: `port: 2222`
    pub port: Option<Located<u16>>,
    /// A host to connect through, `user@address:port`.
    ///
    /// Default: none. Example: `jump: gate@198.51.100.1`
    pub jump: Option<Text>,
    /// A known_hosts file, or `accept-new` to add the key of an instance that is not known yet.
    ///
    /// Default: with `instance_id`, `~/.ssh/known_hosts`; of one that is launched, the key that it shows first is
    /// trusted, as long as the run lasts. Example: `known_hosts: accept-new`
    pub known_hosts: Option<Text>,
    /// By which address `runner` reaches it. Its peers always use the private one.
    ///
    /// Default: `public` where it has one, else `private`. Example: `address: private`
    pub address: Option<AddressKind>,
    /// The subnet.
    ///
    /// Default: that of the default VPC. Example: `subnet: subnet-0123456789abcdef0`
    pub subnet: Option<Text>,
    /// Ids of security groups.
    ///
    /// Default: that of the VPC. Example: `security_groups: [sg-0123456789abcdef0]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub security_groups: List,
    /// Availability zones: where one lacks capacity, the next is tried.
    ///
    /// Default: what EC2 chooses. Example: `availability_zones: [eu-central-1a, eu-central-1b]`
    #[serde(default, skip_serializing_if = "List::is_empty")]
    pub availability_zones: List,
    /// A placement group that is there.
    ///
    /// Default: none. Example: `placement_group: cluster-1`
    pub placement_group: Option<Text>,
    /// Whether it is a spot instance, which may be taken away.
    ///
    /// Default: `false`. Example: `spot: true`
    pub spot: Option<Located<bool>>,
    /// A script that it runs when it starts first. It runs before measurements, and not beside them, only if it ends by itself.
    ///
    /// Default: none. Example: `user_data: "#!/bin/sh\napt-get install -y iperf3"`
    pub user_data: Option<Text>,
    /// Tags beside those by which `runner` finds it again.
    ///
    /// Default: none. Example: `tags: { project: disks }`
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub tags: IndexMap<Text, Text>,
    /// After this time it shuts itself down, and so terminates, whatever has become of `runner`.
    ///
    /// Default: the `deadline` and ten minutes; without one, `12h`. Example: `ttl: 3h`
    pub ttl: Option<Located<TimeSpan>>,
    /// The longest time until it lets us in.
    ///
    /// Default: `10m`. Example: `up_within: 20m`
    pub up_within: Option<TimeSpan>,
    /// How long a lost connection is tried again.
    ///
    /// Default: `10m`. Example: `reconnect: 30m`
    pub reconnect: Option<TimeSpan>,
}

impl Ec2 {
    /// Every text that may hold a template.
    pub(super) fn texts_mut(&mut self) -> Vec<&mut Text> {
        let Ec2 { region, profile, ami, instance_id, instance_type, key_name, identity, user, jump, .. } =
            self;
        let Ec2 { known_hosts, subnet, placement_group, user_data, .. } = self;
        let one = [region, profile, ami, instance_id, instance_type, key_name, identity, user, jump];
        let other = [known_hosts, subnet, placement_group, user_data];
        let lists = self.security_groups.values.iter_mut().chain(&mut self.availability_zones.values);
        one.into_iter().chain(other).flatten().chain(lists).chain(self.tags.values_mut()).collect()
    }

    /// How a person reads it.
    pub(super) fn way(&self) -> String {
        let text = |text: &Option<Text>| text.as_ref().map(|text| text.value.clone()).unwrap_or_default();
        match &self.instance_id {
            Some(id) => format!("EC2 instance {}", id.value),
            None => format!("EC2 {} of {}", text(&self.instance_type), text(&self.ami)),
        }
    }
}

/// The media type of `text` as cloud-init reads it off its beginning; `None` where it would not know it.
pub fn user_data_type(text: &str) -> Option<&'static str> {
    const TYPES: [(&str, &str); 10] = [
        ("#!", "text/x-shellscript"),
        ("#cloud-config-archive", "text/cloud-config-archive"),
        ("#cloud-config", "text/cloud-config"),
        ("#cloud-boothook", "text/cloud-boothook"),
        ("#include-once", "text/x-include-once-url"),
        ("#include", "text/x-include-url"),
        ("#part-handler", "text/part-handler"),
        ("## template: jinja", "text/jinja2"),
        ("Content-Type: multipart/", "multipart/mixed"),
        ("MIME-Version:", "multipart/mixed"),
    ];
    let begins = |(start, kind)| text.trim_start().starts_with(start).then_some(kind);
    TYPES.into_iter().find_map(begins)
}
