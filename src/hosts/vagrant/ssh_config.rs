//! What `vagrant ssh-config` prints: how a machine is logged in to. Notices stand before it, paths may be quoted,
//! and a machine may have several keys. Read [`options`].

/// The options that say how to log in; the others are about what OpenSSH prints, or are for its old versions.
const TAKEN: [&str; 10] = [
    "HostName",
    "User",
    "Port",
    "UserKnownHostsFile",
    "StrictHostKeyChecking",
    "IdentityFile",
    "IdentitiesOnly",
    "ProxyCommand",
    "ProxyJump",
    "HostKeyAlias",
];

/// Name and value of each option that counts of `machine`, in their order, values without quotes; `None` where there
/// is no section of it.
pub(super) fn options(printed: &str, machine: &str) -> Option<Vec<(String, String)>> {
    let mut lines = printed.lines().map(|line| line.trim().split_once([' ', '\t']).unwrap_or_default());
    let is_start = |(name, value): &(&str, &str)| *name == "Host" && unquoted(value) == machine;
    lines.find(is_start)?;
    let section = lines.take_while(|(name, _)| *name != "Host" && *name != "Match");
    let taken = section.filter_map(|(name, value)| {
        let name = TAKEN.into_iter().find(|taken| taken.eq_ignore_ascii_case(name))?;
        Some((name.to_owned(), unquoted(value).to_owned()))
    });
    Some(taken.collect())
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(printed: &str, machine: &str, name: &str) -> Vec<String> {
        let options = options(printed, machine).unwrap().into_iter();
        options.filter(|(found, _)| found == name).map(|(_, value)| value).collect()
    }

    #[test]
    fn the_case_with_quotes_blanks_and_notices() {
        let folder = format!("{}/tests/fixtures/cases/073-vagrant-ssh-config", env!("CARGO_MANIFEST_DIR"));
        let printed = std::fs::read_to_string(format!("{folder}/input.stdout")).unwrap();
        let expected = std::fs::read_to_string(format!("{folder}/expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
        let expected = expected.get(0).unwrap_or(&expected);
        let printed = format!("==> vagrant: A new version of Vagrant is available: 2.4.1!\n\n{printed}");
        let hosts = expected["expect"]["hosts"].as_array().unwrap();
        assert_eq!(hosts.len(), 2);
        for host in hosts {
            let name = host["name"].as_str().unwrap();
            let one = |option: &str| values(&printed, name, option).remove(0);
            assert_eq!(one("HostName"), host["hostname"].as_str().unwrap());
            assert_eq!(one("Port"), host["port"].to_string());
            assert_eq!(one("User"), host["user"].as_str().unwrap());
            assert_eq!(one("IdentitiesOnly"), "yes");
            let keys = host["identity_files"].as_array().unwrap().iter();
            let keys: Vec<_> = keys.map(|key| key.as_str().unwrap().to_owned()).collect();
            assert_eq!(values(&printed, name, "IdentityFile"), keys);
            let options = options(&printed, name).unwrap();
            assert!(options.iter().all(|(name, _)| TAKEN.contains(&name.as_str())), "{options:?}");
        }
    }

    #[test]
    fn the_samples() {
        let sample = include_str!("../../../tests/fixtures/samples/vagrant/ssh-config.txt");
        assert_eq!(values(sample, "m2", "Port"), ["2201"]);
        assert_eq!(values(sample, "m1", "UserKnownHostsFile"), ["/dev/null"]);
        assert_eq!(options(sample, "m3"), None);
        let halted = include_str!("../../../tests/fixtures/vagrant/ssh-config-halted.txt");
        assert_eq!(options(halted, "m1"), None);
    }
}
