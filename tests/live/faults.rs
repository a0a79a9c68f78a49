//! Faults, live: what a run does when connections, engines, machines and workloads misbehave. Nothing may be
//! lost that was measured, nothing may run twice, nothing may be left behind. Each test has a machine of its
//! own ([`host::Host`]), so that the lab is not disturbed.

/// Functions with their names.
macro_rules! cases {
    ($($case:ident),+ $(,)?) => { &[$((stringify!($case), $case as fn())),+] };
}

mod connection;
mod engine;
mod host;
mod machines;
mod proxy;
mod workloads;
