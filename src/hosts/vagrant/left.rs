//! What the ledger says of a machine that a run has brought up: what is to become of it, its name and its folder.

use std::fmt;
use std::path::{Path, PathBuf};

use super::status::NOT_CREATED;
use crate::spec::host::After;

/// How a machine is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It is shut down.
    Halt,
    /// It is deleted.
    Destroy,
}

/// A machine that is to be given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    pub end: End,
    pub machine: String,
    pub folder: PathBuf,
}

impl Left {
    /// What is to become of a machine that was in `state`. One that is to go on running is given back as it was until
    /// it is up.
    pub(super) fn new(after: After, state: &str, machine: &str, folder: &Path) -> Left {
        let end = match (after, state) {
            (After::Halt, _) => End::Halt,
            (After::Destroy, _) | (After::Restore | After::Leave, NOT_CREATED) => End::Destroy,
            (After::Restore | After::Leave, _) => End::Halt,
        };
        Left { end, machine: machine.to_owned(), folder: folder.to_owned() }
    }

    /// What its text says.
    pub(super) fn read(text: &str) -> Option<Left> {
        let (end, rest) = text.split_once(' ')?;
        let end = match end {
            "halt" => End::Halt,
            "destroy" => End::Destroy,
            _ => return None,
        };
        let (machine, folder) = rest.split_once(" in /")?;
        Some(Left { end, machine: machine.to_owned(), folder: Path::new("/").join(folder) })
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.end {
            End::Halt => "halt",
            End::Destroy => "destroy",
        };
        write!(f, "{end} {} in {}", self.machine, self.folder.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_goes_back_to_what_it_was() {
        for (after, state, end) in [
            (After::Restore, NOT_CREATED, End::Destroy),
            (After::Restore, "poweroff", End::Halt),
            (After::Restore, "saved", End::Halt),
            (After::Leave, NOT_CREATED, End::Destroy),
            (After::Leave, "saved", End::Halt),
            (After::Halt, NOT_CREATED, End::Halt),
            (After::Destroy, "poweroff", End::Destroy),
        ] {
            let left = Left::new(after, state, "node1", Path::new("/srv/in /a b"));
            assert_eq!(left.end, end, "{after:?} {state}");
            assert_eq!(Left::read(&left.to_string()), Some(left));
        }
        for text in ["", "halt", "keep node1 in /srv", "halt node1 in srv"] {
            assert_eq!(Left::read(text), None, "{text}");
        }
    }
}
