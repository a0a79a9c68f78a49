//! What the engine's word on a container says of its end.

use std::fmt;

use bollard::models::ContainerState;

/// The exit code of what SIGKILL has ended: 128 + 9.
const KILLED: i64 = 137;

/// How a container has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The kernel has killed it for want of memory.
    OutOfMemory,
    /// The kernel has killed one of its processes for want of memory, and it went on for a while: whatever its
    /// exit code is, its work is not whole.
    ProcessOutOfMemory,
    /// SIGKILL has ended it. Who sent it is not known: a user, the engine, or the kernel when the machine's own
    /// memory was short.
    Killed,
    /// It ended with this exit code.
    Code(i64),
}

impl End {
    /// What the `State` of an inspected container says; `None` while it runs.
    pub fn of(state: &ContainerState) -> Option<End> {
        if state.running? {
            return None;
        }
        let code = state.exit_code.unwrap_or(-1);
        Some(match (state.oom_killed, code) {
            (Some(true), KILLED) => End::OutOfMemory,
            (Some(true), _) => End::ProcessOutOfMemory,
            (_, KILLED) => End::Killed,
            (_, code) => End::Code(code),
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::OutOfMemory => out.write_str("its container was ended for using too much memory"),
            End::ProcessOutOfMemory => {
                out.write_str("a process of its container was ended for using too much memory")
            }
            End::Killed => {
                write!(
                    out,
                    "its container ended with exit code {KILLED}: killed (SIGKILL), by whom is not known"
                )
            }
            End::Code(code) => write!(out, "its container ended with exit code {code}"),
        }
    }
}
