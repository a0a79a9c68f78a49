//! The time between a launch and the first measurement: the instance runs, lets us in, shuts itself down in time,
//! and has ended what it does when it starts. Read [`running`], then [`let_in`].

use std::future::Future;
use std::time::{Duration, Instant};

use super::instance::Instance;
use super::user_data;
use crate::hosts::Machine;
use crate::hosts::provide::Said;
use crate::spec::TimeSpan;
use crate::spec::host::{Ec2, Sudo};
use crate::transports::{TransportError, job};

/// The longest time until an instance lets us in.
const UP_WITHIN: Duration = Duration::from_mins(10);
/// How often it is looked at.
const BETWEEN: Duration = Duration::from_secs(2);
/// How long a login may be refused: the key is put there while the instance starts.
const REFUSES_FOR: Duration = Duration::from_secs(60);

/// The time that an instance has to come up.
pub(super) struct Patience {
    until: Instant,
    whole: Duration,
}

impl Patience {
    pub(super) fn new(ec2: &Ec2) -> Self {
        let whole = ec2.up_within.map_or(UP_WITHIN, |time| time.0);
        Patience { until: Instant::now() + whole, whole }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The error when it is over.
    fn over(&self, name: &str, what: &str) -> TransportError {
        TransportError {
            hint: Some("give it more time with `up_within:`".to_owned()),
            ..TransportError::new(format!("`{name}`: {what} within {}", TimeSpan(self.whole)))
        }
    }
}

/// Waits until the instance runs. `look` asks for it anew; one that was launched just now may not be known yet.
///
/// # Errors
/// When it ends instead, can't be asked for, or takes too long.
pub(super) async fn running<L, F>(
    name: &str,
    patience: &Patience,
    look: L,
) -> Result<Instance, TransportError>
where
    L: Fn() -> F,
    F: Future<Output = Result<Option<Instance>, TransportError>>,
{
    loop {
        match look().await? {
            Some(instance) if instance.is_running() => return Ok(instance),
            Some(instance) if instance.is_over() => {
                let message =
                    format!("`{name}`: the instance {} did not start: {}", instance.id, instance.state());
                return Err(TransportError::new(message));
            }
            _ if patience.left().is_zero() => return Err(patience.over(name, "the instance did not start")),
            _ => tokio::time::sleep(BETWEEN).await,
        }
    }
}

/// Logs in as soon as the instance lets us. `connect` tries once.
///
/// # Errors
/// The last reason why it does not.
pub(super) async fn let_in<C, F>(
    name: &str,
    patience: &Patience,
    connect: C,
) -> Result<Machine, TransportError>
where
    C: Fn() -> F,
    F: Future<Output = Result<Machine, TransportError>>,
{
    let mut refused_since = None;
    loop {
        let error = match connect().await {
            Ok(machine) => return Ok(machine),
            Err(error) => error,
        };
        if !error.is_lost {
            let since: &mut Instant = refused_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= REFUSES_FOR {
                return Err(error);
            }
        }
        if patience.left().is_zero() {
            let hint = "does its security group let port 22 in, and is `address:` the right one?".to_owned();
            let over = patience.over(name, "the instance did not let us in");
            let message = format!("{}: {}", over.message, error.message);
            return Err(TransportError { message, hint: error.hint.or(Some(hint)), ..error });
        }
        tokio::time::sleep(BETWEEN).await;
    }
}

/// Makes sure that the instance shuts itself down after `time`. The user data may have done it already; an image
/// without cloud-init does not read it.
pub(super) async fn arm(machine: &Machine, time: Duration, say: impl Fn(Said)) {
    let as_root = match machine.sudo {
        Sudo::Passwordless => "sudo -n sh -c",
        Sudo::None => "sh -c",
    };
    let timer = job::quote(&user_data::timer(time));
    let script = format!(
        "[ -e /run/runner-ttl ] && exit\nif [ \"$(id -u)\" = 0 ]; then sh -c {timer}; else {as_root} {timer}; fi || exit\n\
         [ -e /run/runner-ttl ]"
    );
    if let Err(error) = job::query(&*machine.transport, &script).await {
        let time = TimeSpan(time);
        say(Said::Doing(format!(
            "warning: it may not shut itself down after {time}, which takes root or cloud-init: {}",
            error.message
        )));
    }
}

/// Waits until cloud-init, where there is one, has ended: until then the instance is not quiet.
///
/// # Errors
/// When the user's own data failed, or it takes too long.
pub(super) async fn settled(
    machine: &Machine,
    ec2: &Ec2,
    patience: &Patience,
    say: impl Fn(Said),
) -> Result<(), TransportError> {
    let name = &machine.name;
    say(Said::Doing("waiting until its start has ended".to_owned()));
    let script = "command -v cloud-init >/dev/null 2>&1 || exit 0\n\
                  said=$(cloud-init status --wait --long 2>&1); code=$?\n\
                  [ $code = 0 ] || printf '%s %s' $code \"$said\"; exit 0";
    let asked = tokio::time::timeout(patience.left().max(BETWEEN), job::query(&*machine.transport, script));
    let printed = match asked.await {
        Ok(printed) => printed?,
        Err(_) => return Err(patience.over(name, "cloud-init did not end")),
    };
    let printed = String::from_utf8_lossy(&printed);
    let said = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    match (said.split_once(' '), &ec2.user_data) {
        (Some(("1", said)), Some(_)) => Err(TransportError {
            hint: Some("`/var/log/cloud-init-output.log` on the instance has what it printed".to_owned()),
            ..TransportError::new(format!("`{name}`: its `user_data` failed: {said}"))
        }),
        (Some((_, said)), _) => {
            say(Said::Line(format!("cloud-init: {said}")));
            Ok(())
        }
        (None, _) => Ok(()),
    }
}
