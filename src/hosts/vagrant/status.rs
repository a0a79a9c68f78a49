//! What `vagrant --machine-readable` prints: lines of time, machine, kind and data. Read [`state`].

/// A state in which there is no such machine.
pub(super) const NOT_CREATED: &str = "not_created";
/// The state in which it can be logged in to.
pub(super) const RUNNING: &str = "running";

/// The state of `machine` as its provider names it, `running` or `not_created` among them; `None` where nothing is
/// said of it.
pub(super) fn state(printed: &str, machine: &str) -> Option<String> {
    of(printed, "state").find(|(name, _)| *name == machine).map(|(_, state)| state)
}

/// Why Vagrant did nothing: the text of its error, in one line.
pub(super) fn error(printed: &str) -> Option<String> {
    let (_, error) = of(printed, "error-exit").next()?;
    // The class of the error comes first.
    let text = error.split_once(',').map_or(error.as_str(), |(_, text)| text);
    let lines = text.split("\\n").map(str::trim).filter(|line| !line.is_empty());
    Some(lines.collect::<Vec<_>>().join(" ").replace("%!(VAGRANT_COMMA)", ","))
}

/// The version of Vagrant, of `vagrant version` and `vagrant --version`.
pub(super) fn version(printed: &str) -> Option<String> {
    let line = printed.lines().find_map(|line| line.strip_prefix("Vagrant "))?;
    Some(line.trim().to_owned()).filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// Machine and data of each line of a kind.
fn of<'a>(printed: &'a str, kind: &'static str) -> impl Iterator<Item = (&'a str, String)> {
    printed.lines().filter_map(move |line| {
        let mut parts = line.splitn(4, ',');
        let (_, machine) = (parts.next()?.parse::<u64>().ok()?, parts.next()?);
        let data = (parts.next()? == kind).then(|| parts.next())??;
        Some((machine, data.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = include_str!("../../../tests/fixtures/vagrant/status-machine-readable.txt");

    #[test]
    fn states_of_several_machines() {
        for machine in ["m1", "m2"] {
            assert_eq!(state(STATUS, machine).as_deref(), Some(RUNNING));
        }
        assert_eq!((state(STATUS, "m"), state("running", "m1")), (None, None));
        let other =
            "==> a notice, of 3 words, state, x\n17,node1,state,not_created\n17,node1,state-human-short,x";
        assert_eq!(state(other, "node1").as_deref(), Some(NOT_CREATED));
    }

    #[test]
    fn errors_are_one_line() {
        let printed = "1796,,ui,error,x\n1796,,error-exit,Vagrant::Errors::MachineNotFound,The machine with the \
            name 'x' was not found configured for\\nthis Vagrant environment%!(VAGRANT_COMMA) sorry.\n";
        let text =
            "The machine with the name 'x' was not found configured for this Vagrant environment, sorry.";
        assert_eq!(error(printed).as_deref(), Some(text));
        assert_eq!(error(STATUS), None);
    }

    #[test]
    fn versions() {
        assert_eq!(version("==> vagrant: A new version\nVagrant 2.3.4\n").as_deref(), Some("2.3.4"));
        assert_eq!(version("Vagrant failed to initialize at a very early stage:\n"), None);
    }
}
