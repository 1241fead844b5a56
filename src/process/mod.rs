//! Runs other programs so that they always end, and everything they started with them.
//!
//! Decides how a program is started, watched, bounded and cleaned up after. It does not know what the program is for:
//! `agent` and `verify` read its output and judge it.
//!
//! A run has three processes. Ours writes an order to a *supervisor*, which is this very program started again
//! ([`supervise::main`]). The supervisor starts the program, watches its clocks and sweeps up its descendants at the
//! end, however the end came. It lives in a process of its own because it must collect every orphan of that one
//! program and of nothing else, and because it must outlive us when we are killed.
pub mod bounded;
mod capture;
pub mod clean;
pub mod clock;
pub mod environment;
mod fresh;
pub mod runs;
pub mod signals;
mod spawn;
pub mod supervise;
mod sweep;
mod tree;

pub use fresh::fresh_id;
pub use spawn::{Ended, ProcessError, Quiet, Spec, Streams, Supervisor, Why};

/// First argument with which this program becomes a supervisor.
pub const SUPERVISE: &str = "__supervise";

/// Name of the variable that marks every process of a run.
pub const RUN_ID: &str = "PUSHBACK_RUN_ID";

/// Name of the variable that our own git commands carry: our hook starts nothing for them.
pub const NO_HOOK: &str = "PUSHBACK_NO_HOOK";

/// Tells whether we were started by a run of our own: then another `run` would recurse.
pub fn nested() -> bool {
    std::env::var_os(RUN_ID).is_some_and(|id| !id.is_empty())
}

/// Keeps other processes of this account from reading our environment and memory, and the system from dumping them.
///
/// It has no effect on root's processes and none outside Linux.
pub fn conceal() {
    #[cfg(target_os = "linux")]
    {
        // Refusal changes nothing that we could mend.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}
