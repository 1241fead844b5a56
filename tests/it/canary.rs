//! The token is a recognisable string: after runs that succeed and runs that fail, at the highest verbosity, it stands in no
//! file, no output and no child's arguments or environment, and was sent nowhere but to the API (fault rows 45–49).

use std::os::unix::fs::PermissionsExt as _;

use camino::Utf8Path;
use serde_json::json;

use crate::forge::{Fault, faults::What};
use crate::scene::says::*;
use crate::scene::{Scene, TOKEN};

/// Base64 without padding; the text shifted by up to two bytes gives every form in which it may stand inside other text.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            out.push(char::from(LETTERS[(n >> (18 - 6 * at)) as usize & 63]));
        }
    }
    out
}

/// Every form of the secret that is looked for.
fn forms(secret: &str) -> Vec<String> {
    let percent: String = secret
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect();
    let mut forms = vec![secret.to_owned(), percent, format!("x-access-token:{secret}")];
    for shift in 0..3 {
        let text = base64(&[&b"xxx"[..shift], secret.as_bytes()].concat());
        // The first letters depend on what stands before, the last on what comes after.
        forms.push(text[(shift * 4).div_ceil(3)..text.len() - 2].to_owned());
    }
    forms
}

#[track_caller]
fn clean(what: &str, bytes: &[u8], secrets: &[String]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in secrets {
        let line = text.lines().find(|line| line.contains(secret.as_str()));
        assert_eq!(line, None, "the secret stands in {what} as {secret}");
    }
}

fn walk(dir: &Utf8Path, secrets: &[String], files: &mut usize) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = camino::Utf8PathBuf::from_path_buf(entry.path()).expect("utf-8");
        let kind = entry.file_type().expect("a kind");
        clean(path.as_str(), path.as_str().as_bytes(), secrets);
        if kind.is_dir() {
            walk(&path, secrets, files);
        } else if kind.is_file() {
            *files += 1;
            clean(path.as_str(), &std::fs::read(&path).unwrap_or_default(), secrets);
        }
    }
}

/// Puts programs in front of `git` and `sh` that write down how they are called.
fn record_children(scene: &mut Scene) {
    let bin = scene.root.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let path = scene.env["PATH"].clone();
    for name in ["git", "ssh", "gh"] {
        let real = path.split(':').map(|dir| Utf8Path::new(dir).join(name)).find(|file| file.is_file());
        let go = real.map_or_else(|| "exit 1".to_owned(), |real| format!("exec '{real}' \"$@\""));
        let script = format!(
            "#!/bin/sh\n{{ printf '%s\\n' \"{name} $*\"; tr '\\0' '\\n' </proc/self/environ; }} >>'{}/children-{name}'\n{go}\n",
            scene.root
        );
        std::fs::write(bin.join(name), script).expect("a file");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    scene.env.insert("PATH".to_owned(), format!("{bin}:{path}"));
}

fn modes(dir: &Utf8Path) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let mode = entry.metadata().expect("metadata").permissions().mode() & 0o777;
        let wanted = if entry.file_type().expect("a kind").is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode & !wanted, 0, "{} is {mode:o}", entry.path().display());
        if entry.file_type().expect("a kind").is_dir() {
            modes(Utf8Path::from_path(&entry.path()).expect("utf-8"));
        }
    }
}

#[test]
fn fm_45_to_49_the_token_is_nowhere() {
    let mut scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
    });
    record_children(&mut scene);
    scene.env.insert("PUSHBACK_LOG".to_owned(), "trace".to_owned());
    scene.env.insert("RUST_BACKTRACE".to_owned(), "full".to_owned());
    // git may need this one to push; nobody else sees it.
    scene.env.insert("GH_TOKEN".to_owned(), "second-canary-5TTxQ".to_owned());
    let secrets = forms(TOKEN);
    // The server answers with what it was sent, as proxies do; the program must not pass that on.
    let echo = What::Status {
        code: 502,
        after_effect: false,
        body: Some(json!({ "message": format!("bad header authorization: Bearer {TOKEN}") })),
        headers: Default::default(),
    };
    let mut said = Vec::new();
    scene.forge.fault(Fault::new("GET", "*/reviews", echo).times(0));
    said.push(scene.run(&["-vv", "status"]));
    assert_eq!(said[0].code, 20, "{}", said[0].stderr);
    scene.forge.heal();
    // The editor finds the token (it is in the parent's memory, HOME, …) and prints and writes it.
    let mut leaky = settles();
    leaky["otherwise"] = json!({ "say": [format!("found {TOKEN}")], "decisions": [
        { "id": "c1", "decision": "argue", "reason": format!("The token is {TOKEN} and everybody should know it, as a proof.") } ] });
    scene.script_editor(&leaky);
    let script = scene.root.join("editor.json");
    let run = scene.run(&["-vv", "run", "--wait", "20s"]);
    std::fs::remove_file(&script).expect("the script holds it");
    run.ends(0, &["settled"]);
    said.push(run);
    for args in [
        ["-vv", "--json", "status"].as_slice(),
        &["-vv", "gate"],
        &["config", "show", "--origin"],
        &["run", "--dry-run"],
    ] {
        said.push(scene.run(args));
    }
    scene.env.insert("PUSHBACK_API_URL".to_owned(), "http://127.0.0.1:9".to_owned());
    said.push(scene.run(&["-vv", "status"]));
    for out in &said {
        clean("standard output", out.stdout.as_bytes(), &secrets);
        clean("standard error", out.stderr.as_bytes(), &secrets);
    }
    let recorded = std::fs::read_to_string(scene.root.join("children-git")).expect("git was recorded");
    assert!(recorded.contains("git ") && recorded.contains("PATH="), "git's arguments and environment were recorded");
    assert!(scene.seen("env-1.txt").is_some_and(|env| env.contains("PUSHBACK_FINDINGS=")), "the editor's were too");
    let mut files = 0;
    walk(&scene.root, &secrets, &mut files);
    assert!(files > 50, "{files} files were looked at");
    let second = ["second-canary-5TTxQ".to_owned()];
    for dir in [scene.root.join("seen"), scene.state_dir(), scene.work.join(".pushback")] {
        walk(&dir, &second, &mut files);
    }
    for asked in scene.forge.log() {
        let others: Vec<_> = asked.headers.iter().filter(|(name, _)| name.as_str() != "authorization").collect();
        clean("a request", format!("{} {} {others:?} {}", asked.path, asked.query, asked.body).as_bytes(), &secrets);
        assert_eq!(asked.token.as_deref(), Some(TOKEN));
    }
    clean("the forge", scene.forge.dump().to_string().as_bytes(), &secrets);
    modes(&scene.state_dir());
}

#[test]
fn fm_15_the_token_goes_to_the_api_alone() {
    let scene = Scene::new(|plan| plan.script = codex_reviews(&[p1()], &[p1()]));
    let other = crate::forge::Forge::start();
    let elsewhere = format!("{}/repos/octo/pay/pulls/7/comments", other.url());
    scene.forge.fault(Fault::new("GET", "*/pulls/7/comments", What::Link { next: elsewhere.clone() }).times(0));
    scene.run(&["status"]).ends(20, &["pulls/7/comments"]);
    scene.forge.heal();
    scene
        .forge
        .fault(Fault::new("GET", "*/pulls/7/reviews", What::Redirect { code: 302, location: elsewhere }).times(0));
    scene.run(&["status"]).ends(20, &["reviews"]);
    assert!(other.log().iter().all(|asked| asked.token.is_none()), "{:?}", other.log());
}

#[test]
fn fc_73_a_token_in_the_remotes_address_is_never_shown() {
    let address = "https://x-access-token:ghs_TESTVALUE@github.com/octo/pay.git";
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
    });
    scene.git(&["remote", "set-url", "origin", address]);
    scene.git(&["config", &format!("url.{}.insteadOf", scene.bare), address]);
    let mut said = vec![scene.run(&["-vv", "run", "--wait", "20s"])];
    said[0].ends(0, &["settled"]);
    // The fetch and the push fail: their errors name the remote.
    std::fs::rename(&scene.bare, scene.root.join("gone.git")).expect("moved");
    for args in [["-vv", "run"].as_slice(), &["--json", "status"], &["gate"], &["config", "show"]] {
        said.push(scene.run(args));
    }
    for out in &said {
        assert!(!out.all().contains("TESTVALUE"), "{}", out.all());
    }
    let secret = ["TESTVALUE".to_owned()];
    walk(&scene.state_dir(), &secret, &mut 0);
    walk(&scene.work.join(".pushback"), &secret, &mut 0);
    walk(&scene.root.join("seen"), &secret, &mut 0);
    clean("the forge", scene.forge.dump().to_string().as_bytes(), &secret);
}
