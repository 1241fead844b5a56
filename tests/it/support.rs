//! What several tests share: the built-in rules, compiled once.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use pushback::config::rules::builtin;
use pushback::review::classify::Rules;

static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::compile(&builtin(), &[], &BTreeMap::new()).expect("the built-in rules"));

/// Returns the built-in rules.
pub(crate) fn rules() -> &'static Rules {
    &RULES
}
