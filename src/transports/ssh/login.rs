//! From nothing to a session that may open channels: TCP or a [`jump`], key exchange, host key, login.
//! Every step has its own error. All of it runs on the thread that will own the session.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::config::{Plan, Way};
use super::jump::{self, Carrier};
use super::wire::{Trouble, Wire};
use super::{auth, host_key, known_hosts};
use crate::transports::TransportError;

/// A session that is logged in, and what carries it.
pub(super) struct LoggedIn {
    pub session: ssh2::Session,
    pub wire: Wire,
    pub carrier: Option<Carrier>,
}

/// Connects and logs in.
pub(super) fn log_in(plan: &Plan) -> Result<LoggedIn, TransportError> {
    let deadline = Instant::now() + plan.timeout;
    let (network, carrier) = reach(plan)?;
    let local = |error: io::Error| plan.fail(format!("no connection can be prepared: {error}"), None);
    let (mut wire, inner) = Wire::new(network).map_err(local)?;
    let mut session = ssh2::Session::new().map_err(|error| plan.fail(error.message(), None))?;
    session.set_tcp_stream(inner);
    session.set_blocking(false);

    let known = known_hosts::entries(plan, &session)?;
    shake_hands(&mut session, &mut wire, &known, deadline)
        .map_err(|trouble| no_handshake(plan, trouble, carrier.as_ref()))?;
    let shown = host_key::shown_key(&session).ok_or_else(|| plan.fail("it shows no host key", None))?;
    host_key::check(plan, &known, &shown)?;
    auth::authenticate(plan, &session, &mut wire, deadline)?;
    session.set_keepalive(true, plan.keep_alive);
    Ok(LoggedIn { session, wire, carrier })
}

fn shake_hands(
    session: &mut ssh2::Session,
    wire: &mut Wire,
    known: &[known_hosts::Entry],
    deadline: Instant,
) -> Result<(), Trouble> {
    let supported = session.supported_algs(ssh2::MethodType::HostKey).map_err(Trouble::Ssh)?;
    let order = known_hosts::preferred_algorithms(known, &supported);
    session.method_pref(ssh2::MethodType::HostKey, &order).map_err(Trouble::Ssh)?;
    wire.complete(deadline, || session.handshake())
}

/// A connected socket to the machine.
fn reach(plan: &Plan) -> Result<(OwnedFd, Option<Carrier>), TransportError> {
    match jump::start(plan) {
        Some(Ok((socket, carrier))) => Ok((socket, Some(carrier))),
        Some(Err(error)) => Err(plan.fail(format!("`ssh` for the jump can't be started: {error}"), None)),
        None => Ok((OwnedFd::from(connect(plan)?), None)),
    }
}

fn connect(plan: &Plan) -> Result<TcpStream, TransportError> {
    let addresses: Vec<SocketAddr> = match (plan.host.as_str(), plan.port).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            return Err(plan.lost(
                format!("no address is known for `{}`: {error}", plan.host),
                Some("check `address:`, the name service and the VPN".to_owned()),
            ));
        }
    };
    let mut failed = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, plan.timeout) {
            Ok(stream) => {
                // Without it every short command waits 40 ms for a delayed acknowledgement.
                stream.set_nodelay(true).map_err(|error| plan.fail(error, None))?;
                return Ok(stream);
            }
            Err(error) => failed = failed.or(Some((address, error))),
        }
    }
    Err(match failed {
        Some((address, error)) => no_connection(plan, address, &error),
        None => plan.lost(format!("no address is known for `{}`", plan.host), None),
    })
}

fn no_connection(plan: &Plan, address: SocketAddr, error: &io::Error) -> TransportError {
    // The name and what it means, unless they are the same.
    let at = if address.ip().to_string() == plan.host {
        address.to_string()
    } else {
        format!("{address} (`{}`)", plan.host)
    };
    let (message, hint) = match error.kind() {
        ErrorKind::ConnectionRefused => (
            format!("connection refused by {at}"),
            "is the machine's SSH server running, and is the port right?",
        ),
        ErrorKind::TimedOut => (
            format!("no answer from {at} within {} s", plan.timeout.as_secs()),
            "is the machine on, and does no firewall stand in between?",
        ),
        _ => (format!("no connection to {at}: {error}"), "is the machine on and in reach from here?"),
    };
    plan.lost(message, Some(hint.to_owned()))
}

fn no_handshake(plan: &Plan, trouble: Trouble, carrier: Option<&Carrier>) -> TransportError {
    let complaints = carrier.map(Carrier::complaints).filter(|text| !text.is_empty());
    if let Some(text) = complaints {
        let through = match &plan.way {
            Way::Jump(jump) => format!("jump `{jump}`"),
            Way::Command(command) => format!("command `{command}`"),
            Way::Direct => "way".to_owned(),
        };
        let hint = "log in to the jump host by hand once; it must work without a question".to_owned();
        return plan
            .lost(format!("the {through} does not lead to {}:{}: {text}", plan.host, plan.port), Some(hint));
    }
    let place = format!("{}:{}", plan.host, plan.port);
    match trouble {
        Trouble::TimedOut => plan.lost(
            format!("{place} accepted the connection, but said nothing within {} s", plan.timeout.as_secs()),
            Some("is an SSH server behind this port, or only a forwarding?".to_owned()),
        ),
        Trouble::Ended(reason) => plan.lost(
            format!("no SSH session with {place}: {reason}"),
            Some(
                "is it an SSH server, and does it take more connections (`MaxStartups`, fail2ban)?"
                    .to_owned(),
            ),
        ),
        Trouble::Ssh(error) => plan.lost(
            format!("no SSH session with {place}: {}", error.message()),
            Some("is it an SSH server, and not too old or too strict for libssh2?".to_owned()),
        ),
    }
}
