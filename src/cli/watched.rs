//! Which files outside the worktree an editor must leave alone: those that steer git, which runs with our rights after
//! the editor, and those that say what this program may do (R28). Looking at them is the worktree's business.

use camino::{Utf8Path, Utf8PathBuf};
use etcetera::BaseStrategy as _;

use super::look;
use crate::store;

/// Names them. Files that are not there are named too: they may appear.
pub(super) fn files(common_dir: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut files = vec![store::trust_path(common_dir)];
    files.extend(look::user_path());
    let named = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty()).map(Utf8PathBuf::from);
    files.extend(named("GIT_CONFIG_GLOBAL"));
    if let Ok(base) = etcetera::choose_base_strategy() {
        let git = [base.home_dir().join(".gitconfig"), base.config_dir().join("git").join("config")];
        files.extend(git.into_iter().filter_map(|path| Utf8PathBuf::try_from(path).ok()));
    }
    files.sort();
    files.dedup();
    files
}
