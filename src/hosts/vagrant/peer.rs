//! By which address other hosts reach a machine of Vagrant: what `vagrant ssh-config` names is often a port of the
//! machine below, which means something there alone. Read [`address`].

use std::net::Ipv4Addr;

use crate::transports::ssh::SshConnection;
use crate::transports::{TransportError, job};

/// Networks inside of a machine, by the beginning of their names.
const INNER: [&str; 8] = ["lo", "docker", "br-", "veth", "virbr", "cni", "flannel", "podman"];

/// The address for peers of the machine `name`, which is logged in to as `host` over `connection`. Where it has
/// none that another machine could reach, a name that nobody has (RFC 2606).
///
/// # Errors
/// When the machine can't be asked.
pub(super) async fn address(
    name: &str,
    host: &str,
    provider: &str,
    connection: &SshConnection,
) -> Result<String, TransportError> {
    let is_own = host.parse::<Ipv4Addr>().is_ok_and(|address| !address.is_loopback());
    if is_own {
        return Ok(host.to_owned());
    }
    let printed = job::query(connection, "ip -4 -o addr show scope global 2>/dev/null; :").await?;
    let found = outer(&String::from_utf8_lossy(&printed), provider);
    Ok(found.map_or_else(|| format!("{name}.invalid"), |address| address.to_string()))
}

/// The first address of `ip -4 -o addr` in a network that reaches further than the machine.
fn outer(printed: &str, provider: &str) -> Option<Ipv4Addr> {
    let address = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let interface = words.next()?.split('@').next()?;
        let address = words.nth(1)?.split('/').next()?.parse::<Ipv4Addr>().ok()?;
        let is_inner = INNER.iter().any(|inner| interface.starts_with(inner));
        // VirtualBox gives it to every machine, each behind a translation of its own.
        let is_everywhere = provider == "virtualbox" && address.octets()[..3] == [10, 0, 2];
        (!is_inner && !is_everywhere).then_some(address)
    };
    printed.lines().find_map(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_others_reach() {
        let virtualbox = "2: eth0    inet 10.0.2.15/24 brd 10.0.2.255 scope global dynamic eth0\\ valid_lft 86\n\
            3: docker0    inet 172.17.0.1/16 brd 172.17.255.255 scope global docker0\\\n\
            4: eth1    inet 192.168.56.11/24 brd 192.168.56.255 scope global eth1\\";
        assert_eq!(outer(virtualbox, "virtualbox"), Some(Ipv4Addr::new(192, 168, 56, 11)));
        assert_eq!(outer(virtualbox.lines().next().unwrap(), "virtualbox"), None);
        let container = "77: eth0@if78    inet 172.17.0.5/16 brd 172.17.255.255 scope global eth0\\";
        assert_eq!(outer(container, "docker"), Some(Ipv4Addr::new(172, 17, 0, 5)));
        assert_eq!(outer("", "docker"), None);
    }
}
