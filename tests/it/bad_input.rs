//! What people get wrong: one sentence, the mend, the right exit code, and nothing lost.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::scene::says::*;
use crate::scene::{Out, POLICY, Plan, Scene, TOKEN};

/// Asserts one sentence and one hint.
#[track_caller]
fn says(out: &Out, code: i32, what: &str, mend: &str) {
    out.ends(code, &[what, mend]);
    let errors: Vec<&str> = out.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
    let hints: Vec<&str> = out.stderr.lines().filter(|line| line.starts_with("  hint: ")).collect();
    assert!(errors.len() == 1 && hints.len() == 1, "one sentence and one hint: {}", out.stderr);
    assert!(errors[0].contains(what) && hints[0].contains(mend), "{}", out.stderr);
    assert!(!out.stderr.contains("panicked"), "{}", out.stderr);
}

fn plain() -> Scene {
    Scene::new(one)
}

fn one(plan: &mut Plan) {
    plan.script = codex_reviews(&[p1()], &[p1()]);
    plan.editor = settles();
}

#[test]
fn not_a_repository() {
    let mut scene = plain();
    scene.work = scene.root.join("home");
    for args in [["status"].as_slice(), &["run"], &["gate"], &["show", "c1"]] {
        says(&scene.run(args), 2, "is not in a git worktree", "-C DIR");
    }
    let json = scene.run(&["status", "--json"]);
    assert_eq!((json.json()["error"]["kind"].clone(), json.json()["exit"].clone()), (json!("usage"), json!(2)));
    scene.work = scene.bare.clone();
    says(&scene.run(&["status"]), 2, "worktree", "-C DIR");
}

#[test]
fn no_pull_request_for_the_branch() {
    let scene = plain();
    scene.git(&["switch", "-q", "-c", "lonely"]);
    says(&scene.run(&["status"]), 2, "branch `lonely` of octo has no open pull request in octo/pay", "gh pr create");
    scene.run(&["status", "--pr", "7"]).ends(11, &["octo/pay#7"]);
    says(&scene.run(&["status", "--pr", "99"]), 21, "octo/pay has no pull request #99", "");
    says(&scene.run(&["status", "--pr", "seven"]), 2, "`seven` is neither", "--pr 12");
    says(&scene.run(&["status", "--repo", "pay"]), 2, "`pay` is not OWNER/REPO", "--repo octo/app");
}

#[test]
fn fc_49_two_pull_requests_of_one_branch() {
    let scene = Scene::new(|plan| {
        one(plan);
        let again = json!({ "number": 9, "title": "Again", "head": "feature", "author": "me", "base": "next" });
        let first = json!({ "number": 7, "title": "Charge", "body": "", "head": "feature", "author": "me" });
        plan.repo = json!({ "pulls": [first, again] });
        plan.script = Vec::new();
    });
    scene.git(&["push", "-q", "origin", "main:next"]);
    says(&scene.run(&["status"]), 2, "several open pull requests: #9 (into next), #7 (into main)", "--pr N");
    scene.run(&["status", "--pr", "9", "--json"]).ends(12, &["\"number\": 9"]);
    scene.forge.act_on(Some("octo/pay"), Some(9), json!({ "pull": { "state": "closed" } }));
    scene.run(&["status", "--json"]).ends(12, &["\"number\": 7"]);
}

#[test]
fn a_pull_request_from_a_fork() {
    let scene = Scene::new(one);
    let fork = scene.root.join("fork.git");
    scene.git_in(&scene.root, &["clone", "-q", "--bare", scene.bare.as_str(), fork.as_str()]);
    scene.git(&["remote", "rename", "origin", "upstream"]);
    scene.git(&["remote", "add", "origin", "https://github.com/me/pay.git"]);
    scene.git(&["config", &format!("url.{fork}.insteadOf"), "https://github.com/me/pay.git"]);
    scene.git(&["switch", "-q", "-c", "mine"]);
    scene.write("src/pay.sh", &PAY.replace("# Leftover", "# Mine"));
    scene.git(&["commit", "-qam", "Mine"]);
    scene.git(&["push", "-q", "-u", "origin", "mine"]);
    scene.forge.scene(json!({ "repos": [
        { "name": "me/pay", "git": fork, "default_branch": "main" },
        { "name": "octo/pay", "default_branch": "main", "pulls": [
            { "number": 11, "title": "From a fork", "head": "mine", "head_repo": "me/pay", "author": "me" } ] },
    ] }));
    let out = scene.run(&["status", "--json"]);
    out.ends(12, &[]);
    assert_eq!((&out.json()["pr"]["number"], &out.json()["pr"]["owner"]), (&json!(11), &json!("octo")), "{out:?}");
}

#[test]
fn a_detached_head() {
    let scene = plain();
    scene.git(&["checkout", "-q", "--detach"]);
    for args in [["run"].as_slice(), &["status"], &["gate"]] {
        says(&scene.run(args), 2, "HEAD is detached at", "git switch");
    }
    scene.run(&["status", "--pr", "7"]).ends(11, &["octo/pay#7"]);
    says(&scene.run(&["run", "--pr", "7"]), 2, "HEAD is detached", "git switch");
}

#[test]
fn fc_48_several_remotes() {
    let scene = plain();
    scene.git(&["remote", "add", "company", "https://git.example.com/o/pay.git"]);
    scene.run(&["status"]).ends(11, &["octo/pay#7"]);
    scene.git(&["switch", "-q", "-c", "new"]);
    scene.git(&["remote", "rename", "origin", "home"]);
    let out = scene.run(&["status"]);
    says(&out, 2, "could go to several remotes: ", "--repo OWNER/REPO");
    out.ends(2, &["company (https://git.example.com/o/pay.git)", "home (https://github.com/octo/pay.git)"]);
}

#[test]
fn hosts_are_read_from_every_form_of_address() {
    for (address, host) in [
        ("https://ghe.example.com/octo/pay.git", "ghe.example.com"),
        ("git@github.com:octo/pay.git", "github.com"),
        ("ssh://git@ssh.github.com:443/octo/pay.git", "github.com"),
        ("https://x-access-token:ghs_TESTVALUE@github.com/octo/pay", "github.com"),
    ] {
        let scene = plain();
        scene.git(&["remote", "set-url", "origin", address]);
        scene.git(&["config", &format!("url.{}.insteadOf", scene.bare), address]);
        let out = scene.run(&["status", "--json"]);
        out.ends(11, &[]);
        assert_eq!(out.json()["pr"]["host"], host, "{address}");
        assert!(!out.all().contains("TESTVALUE"), "{}", out.all());
        assert!(scene.root.join("pay/.git/pushback").join(host).join("octo/pay/7").is_dir(), "{address}");
    }
}

#[test]
fn r27_a_pull_requests_address_leads_the_token_to_no_unknown_host() {
    let mut scene = plain();
    let at = |host: &str| format!("https://{host}/octo/pay/pull/7");
    for host in ["github.com", "www.github.com"] {
        scene.run(&["status", "--pr", &at(host)]).ends(11, &["octo/pay#7"]);
    }
    let own = scene.forge.url().trim_start_matches("http://").to_owned();
    scene.run(&["status", "--pr", &format!("http://{own}/octo/pay/pull/7")]).ends(11, &["octo/pay#7"]);
    scene.forge.clear_log();
    scene.env.remove("PUSHBACK_API_URL");
    let out = scene.run(&["status", "--pr", &format!("http://{own}/octo/pay/pull/7")]);
    says(&out, 2, "this clone's remotes are on github.com", "--api-url");
    assert!(scene.forge.log().is_empty(), "nothing was asked there");
    scene.git(&["remote", "add", "company", &format!("https://{own}/octo/pay.git")]);
    scene.git(&["config", "remote.pushDefault", "origin"]);
    scene.run(&["status", "--pr", &format!("http://{own}/octo/pay/pull/7")]).ends(11, &["octo/pay#7"]);
}

#[test]
fn a_folder_and_a_git_that_are_not_there_are_told_apart() {
    let mut scene = plain();
    says(&scene.run(&["status", "-C", "no/such"]), 2, "`no/such` does not exist", "-C DIR");
    says(&scene.run(&["status", "-C", "src/pay.sh"]), 2, "`src/pay.sh` is no folder", "-C DIR");
    scene.env.insert("PATH".to_owned(), "/nonexistent".to_owned());
    says(&scene.run(&["status"]), 2, "git could not be run: ", "install git");
    let mut scene = plain();
    // What an ordinary repository is about is told without git and without a file.
    scene.git(&["config", "include.path", "none"]);
    scene.env.insert("TMPDIR".to_owned(), "/nonexistent".to_owned());
    says(&scene.run(&["status"]), 2, "no temporary file can be made in /nonexistent", "TMPDIR");
}

#[test]
fn an_alias_of_ssh_and_instead_of() {
    let mut scene = plain();
    // ssh reads its file in the home of the account, whatever HOME says: here another ssh answers for the alias.
    let bin = scene.root.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let answers = "#!/bin/sh\n[ \"$1 $2\" = '-G work' ] && printf 'user git\\nhostname github.com\\nport 22\\n'\n";
    std::fs::write(bin.join("ssh"), answers).expect("a program");
    std::fs::set_permissions(bin.join("ssh"), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    scene.env.insert("PATH".to_owned(), format!("{bin}:{}", scene.env["PATH"]));
    scene.git(&["remote", "set-url", "origin", "work:octo/pay.git"]);
    let out = scene.run(&["status", "--json"]);
    out.ends(11, &[]);
    let pr = &out.json()["pr"];
    assert_eq!((&pr["host"], &pr["owner"], &pr["repo"]), (&json!("github.com"), &json!("octo"), &json!("pay")));
    let scene = plain();
    scene.git(&["config", "--add", "url.https://github.com/.insteadOf", "gh:"]);
    scene.git(&["remote", "set-url", "origin", "gh:octo/pay"]);
    let out = scene.run(&["status", "--json"]);
    out.ends(11, &[]);
    let pr = &out.json()["pr"];
    assert_eq!((&pr["host"], &pr["owner"], &pr["repo"]), (&json!("github.com"), &json!("octo"), &json!("pay")));
}

#[test]
fn no_token_a_wrong_token_and_one_that_may_only_read() {
    let mut scene = plain();
    scene.env.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
    scene.env.remove("PUSHBACK_TOKEN");
    says(&scene.run(&["status"]), 21, "no token", "PUSHBACK_TOKEN");
    scene.env.insert("GH_TOKEN".to_owned(), "gh-secret".to_owned());
    let out = scene.run(&["status"]);
    says(&out, 21, "no token for this API base", "PUSHBACK_TOKEN");
    assert!(scene.forge.log().iter().all(|asked| asked.token.is_none()), "another host's token was sent");
    scene.env.insert("PUSHBACK_TOKEN".to_owned(), "wrong".to_owned());
    says(&scene.run(&["status"]), 21, "401", "token");
    says(&scene.run(&["status"]), 21, "401", "pushback doctor");
    assert!(scene.summary_bytes().is_none());
}

#[test]
fn r30_a_worktree_that_is_not_ready() {
    let check = |make: &dyn Fn(&Scene), what: &str, mend: &str| {
        let scene = plain();
        make(&scene);
        let before = (scene.git(&["rev-parse", "HEAD"]), scene.git(&["status", "--porcelain"]));
        says(&scene.run(&["run"]), 2, what, mend);
        assert_eq!((scene.git(&["rev-parse", "HEAD"]), scene.git(&["status", "--porcelain"])), before);
        assert_eq!((scene.writes().len(), scene.editor_rounds()), (0, 0));
        assert!(scene.run(&["status"]).code == 11, "reading goes on");
    };
    let commit = |scene: &Scene| {
        scene.write("src/pay.sh", &PAY.replace("# Leftover", "# Ahead"));
        scene.git(&["commit", "-qam", "Ahead"]);
    };
    check(&|s| s.write("src/pay.sh", "dirty\n"), "src/pay.sh", "git stash");
    check(
        &|s| {
            s.write("src/new.sh", "new\n");
            s.git(&["add", "src/new.sh"]);
        },
        "changes are staged",
        "unstage",
    );
    check(&|s| commit(s), "ahead of", "git push");
    check(
        &|s| {
            commit(s);
            s.git(&["push", "-q"]);
            s.git(&["reset", "-q", "--hard", "HEAD~1"]);
        },
        "behind",
        "git pull",
    );
    check(
        &|s| {
            commit(s);
            s.git(&["push", "-q"]);
            s.git(&["reset", "-q", "--hard", "HEAD~1"]);
            s.write("src/pay.sh", &PAY.replace("# Leftover", "# Other"));
            s.git(&["commit", "-qam", "Other"]);
        },
        "diverged from",
        "git pull --rebase",
    );
    check(
        &|s| drop(std::fs::write(s.root.join("pay/.git/MERGE_HEAD"), format!("{}\n", s.remote_head()))),
        "merge",
        "finish or abort",
    );
    let untracked = plain();
    untracked.write("scratch.txt", "mine\n");
    untracked.run(&["run", "--wait", "20s"]).ends(0, &["settled"]);
    assert_eq!(untracked.git(&["status", "--porcelain"]), "?? scratch.txt", "an untracked file of mine stays mine");
}

#[test]
fn what_a_configuration_gets_wrong() {
    let check = |user: &str, what: &str, mend: &str| {
        let scene = Scene::new(|plan| {
            one(plan);
            plan.user = user.to_owned();
        });
        for args in [["run"].as_slice(), &["status"], &["config", "show"]] {
            says(&scene.run(args), 2, what, mend);
        }
        assert_eq!((scene.writes().len(), scene.summary_bytes()), (0, None));
    };
    check("[reviewers]\nreqired = []\n", "reqired", "required");
    check("[reviewer]\nttl = \"2h\"\n", "reviewer", "reviewers");
    check("[reviewers]\nttl = \"soon\"\n", "ttl", "duration");
    check("[limits]\nrounds = -1\n", "rounds", "");
    check("[[severity.rule]]\npattern = \"(unclosed\"\nlevel = \"P1\"\n", "unclosed", "");
    check("[verify\n", "user.toml", "");
    let branch = Scene::new(|plan| {
        one(plan);
        plan.policy = format!("{POLICY}\n[gate]\nprotcted = []\n");
    });
    says(&branch.run(&["status"]), 2, "protcted", "protected");
    let mut absent = plain();
    absent.env.insert("PUSHBACK_CONFIG".to_owned(), "/no/such.toml".to_owned());
    says(&absent.run(&["status"]), 2, "/no/such.toml", "PUSHBACK_CONFIG");
    let none = Scene::new(|plan| {
        one(plan);
        plan.policy = "[reviewers]\nsettle = \"1s\"\n".to_owned();
    });
    says(&none.run(&["run"]), 2, "no verify command is configured", "verify");
}

#[test]
fn r29_a_pull_request_cannot_change_the_rules_it_is_judged_by() {
    let scene = Scene::new(|plan| {
        one(plan);
        plan.feature
            .push((".pushback.toml", "[gate]\nprotected = []\n[verify]\ncommands = [\"touch pwned\"]\n".to_owned()));
    });
    let out = scene.run(&["run", "--wait", "20s"]);
    out.ends(0, &["settled", "differs from the default branch's and is not used"]);
    assert!(!scene.work.join("pwned").exists());
}

#[test]
fn fm_34_a_decisions_file_that_cannot_be_read_settles_nothing() {
    for text in ["not json", "[]", "{\"schema_version\":1,\"decisions\":[{\"id\":\"c1\",\"decision\":\"fix\"}]}", ""] {
        let scene = Scene::new(|plan| {
            one(plan);
            plan.editor = json!({ "otherwise": { "decisions_text": text } });
        });
        let out = scene.run(&["run", "--wait", "20s"]);
        assert_eq!(out.code, 14, "{text}: {out:?}");
        assert_eq!(scene.statuses().values().next().map(String::as_str), Some("P1 open"), "{text}");
    }
}

#[test]
fn unknown_finding_ids() {
    let scene = plain();
    for command in ["show", "explain"] {
        says(&scene.run(&[command, "c123"]), 2, "c123", "status");
        says(&scene.run(&[command, "what"]), 2, "what", "");
    }
}

#[test]
fn fm_06_state_that_cannot_be_read_is_set_aside_and_newer_state_is_refused() {
    let scene = Scene::new(|plan| {
        plan.script = story();
        plan.editor = settles();
    });
    scene.run(&["run", "--wait", "20s"]).ends(0, &["settled"]);
    let path = scene.state_dir().join("summary.json");
    let good = scene.summary_bytes().expect("a summary");
    let before = scene.statuses();
    for bad in [&b"{\"schema_version\""[..], b"", b"[1,2]", &good[..good.len() / 2], b"\xff\xfe\x00"] {
        std::fs::write(&path, bad).expect("a file");
        scene.run(&["status"]).ends(0, &[]);
        assert_eq!(std::fs::read(&path).expect("a file"), bad, "reading never overwrites it");
        let (writes, seen) = (scene.writes().len(), scene.editor_rounds());
        scene.run(&["run", "--wait", "20s"]).ends(0, &["settled", "could not be read", "summary.json.bad-"]);
        assert_eq!((scene.writes().len(), scene.editor_rounds()), (writes, seen), "{:?}", scene.writes());
        assert_eq!(scene.statuses(), before);
    }
    scene.is_sound();
    let newer = String::from_utf8_lossy(&good).replacen("\"schema_version\": 1", "\"schema_version\": 99", 1);
    std::fs::write(&path, &newer).expect("a file");
    for args in [["run"].as_slice(), &["status"], &["gate"]] {
        says(&scene.run(args), 2, "schema version 99", "newer `pushback`");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("a file"), newer);
    let known = String::from_utf8_lossy(&good).replacen('{', "{\n  \"from_later\": {\"a\": 1},", 1);
    std::fs::write(&path, known).expect("a file");
    scene.run(&["run"]).ends(0, &["settled"]);
    assert_eq!(scene.summary()["from_later"], json!({ "a": 1 }), "unknown fields are kept");
}

#[test]
fn fc_04_comments_from_a_file() {
    let scene = plain();
    let file = scene.root.join("comments.json");
    let name = file.as_str();
    let check = |bytes: &[u8], code: i32, words: &[&str]| {
        std::fs::write(&file, bytes).expect("a file");
        scene.run(&["status", "--comments", name]).ends(code, words);
    };
    check(b"[]", 0, &["gate unknown"]);
    check(b"", 20, &["empty"]);
    check(b" \n", 20, &["empty"]);
    check(b"<html>502</html>", 2, &["is not a list of review comments"]);
    check(b"{\"message\":\"Not Found\"}", 2, &["is not a list of review comments"]);
    check(
        b"[{\"id\":5,\"user\":{\"login\":\"codex\"},\"path\":\"a.rs\",\"line\":3,\"body\":\"[P1] boom\"}]",
        11,
        &["c5", "a.rs:3"],
    );
    scene.run(&["status", "--comments", "/no/such/file"]).ends(2, &["/no/such/file"]);
    assert_eq!(scene.forge.log().len(), 0, "nothing is asked of the forge");
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let scene = Scene::new(|_| {});
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        println!("SKIPPED: there is no /dev/full here");
        return;
    };
    for args in [["config", "show"].as_slice(), &["status", "--json"]] {
        let mut command = scene.command(args);
        let out = command.stdout(full.try_clone().expect("a file")).output().expect("runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(1) && said.contains("the answer could not be written: "), "{args:?}: {said}");
    }
}

#[test]
fn the_next_command_means_the_same_repository() {
    let scene = Scene::new(|plan| plan.script = rabbit_reviews(&[p2()]));
    let dir = scene.work.to_string();
    for command in ["status", "gate"] {
        let out = scene.run(&["--repo", "octo/pay", "-C", &dir, command, "--json"]);
        assert_eq!(out.json()["next"], format!("pushback -C '{dir}' --repo octo/pay run"), "{command}");
        scene.run(&[command]).ends(10, &["next: pushback run"]);
    }
}

#[test]
fn a_token_that_may_not_post_is_found_before_the_editor_starts() {
    let fine = |may: &str| {
        json!({ "token": TOKEN, "kind": "fine_grained", "permissions": {
        "pull_requests": may, "contents": "write", "issues": "read", "checks": "read", "statuses": "read", "metadata": "read" } })
    };
    let classic = json!({ "token": TOKEN, "kind": "classic", "permissions": {
        "pull_requests": "read", "contents": "read", "issues": "read", "checks": "read", "statuses": "read" } });
    for (token, words) in [(fine("read"), "pull_requests=write"), (classic, "no scope but read:org")] {
        let scene = Scene::new(|plan| {
            plan.script = rabbit_reviews(&[p2()]);
            plan.editor = json!({ "findings": [fixes()] });
            plan.tokens = json!([token]);
        });
        scene.run(&["run", "--dry-run"]).ends(10, &["would start no editor", words]);
        scene.run(&["run", "--wait", "20s"]).ends(21, &["permission: ", words]);
        assert_eq!((scene.editor_rounds(), scene.writes().len()), (0, 0), "{words}");
        assert_eq!(scene.statuses().values().next().map(String::as_str), Some("P2 open"));
    }
    // Where nothing is said against it, the editor starts.
    let scene = Scene::new(|plan| {
        plan.script = rabbit_reviews(&[p2()]);
        plan.editor = json!({ "findings": [fixes()] });
        plan.tokens = json!([fine("write")]);
    });
    scene.run(&["run", "--wait", "20s"]);
    assert!(scene.editor_rounds() > 0);
}
