//! `trust`: lets this worktree's `.pushback.toml` apply, exactly as it is now (R29). Only `[agent]`, `[spec]`, `[verify]`
//! and `[hook]` of it ever do, and nothing of it where `CI` is set.

use crate::cli::args::TrustArgs;
use crate::cli::failure::Failure;
use crate::cli::look::{self, CONFIG_FILE};
use crate::cli::{Context, output, place, propose};
use crate::config::layers::{Layers, Origin, parse};
use crate::git::GitWorktree;
use crate::process::bounded;
use crate::report::json::{Envelope, TrustView};
use crate::store;

pub(super) fn run(cx: &Context, args: &TrustArgs) -> Result<u8, Failure> {
    let tree = place::worktree(&cx.global)?;
    let path = tree.discover()?.toplevel.join(CONFIG_FILE);
    let text = bounded::read(&path)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other))
        .map_err(|error| Failure::usage(format!("could not read {path}: {error}"), "`pushback init` writes one"))?;
    let layer = parse(path.as_str(), &text)?;
    let ignored = Layers::merge(vec![(Origin::TrustedWorktree, layer)]).ignored;
    let common = tree.common_dir();
    let known = store::is_trusted(common, text.as_bytes())?;
    let view = |trusted: bool| TrustView {
        path: path.to_string(),
        hash: store::content_hash(text.as_bytes()),
        trusted,
        ignored: ignored.clone(),
    };
    if look::in_ci() {
        let why = format!("{CONFIG_FILE} of a worktree is never used where CI is set");
        return Err(Failure::usage(why, "put it on the default branch"));
    }
    if known {
        return Ok(told(cx, view(true), "already trusted"));
    }
    output::before(cx.global.json, &shown(&tree, &text));
    if !ignored.is_empty() {
        let only = format!("only the default branch and your own file may set: {}\n", ignored.join(", "));
        output::before(cx.global.json, &only);
    }
    if cx.global.dry_run {
        return Ok(told(cx, view(false), "would be trusted"));
    }
    let question = format!("Let this {CONFIG_FILE} start its commands here?");
    propose::agreed(cx, args.yes, &question, &format!("nobody has agreed to {CONFIG_FILE} yet"))?;
    store::trust(common, text.as_bytes())?;
    Ok(told(cx, view(true), "trusted, as long as it stays as it is"))
}

/// What somebody who trusts a file agrees to: its difference from the default branch's, or all of it.
pub(super) fn shown(tree: &GitWorktree, text: &str) -> String {
    let shown = propose::diff(CONFIG_FILE, tree.default_branch_file(CONFIG_FILE).as_deref(), text);
    if shown.is_empty() { text.to_owned() } else { shown }
}

fn told(cx: &Context, view: TrustView, how: &str) -> u8 {
    if cx.global.json {
        output::json(&Envelope::of("trust", 0, "pushback status", view));
    } else {
        output::shown(&format!("{}: {how} ({})\n", view.path, &view.hash[..12]));
    }
    0
}
