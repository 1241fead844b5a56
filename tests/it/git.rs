//! The worktree adapter on real repositories, with every git of this machine.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};

use camino::Utf8PathBuf;
use pushback::git::{GitWorktree, Head, PushTarget};
use pushback::ports::{Pushed, Replayed, Worktree};
use pushback::review::diff::FileChange;
use pushback::review::ids::{RepoPath, Sha};

use crate::repo::{Scene, gits, os, path};

fn everywhere(test: impl Fn(Scene)) {
    for git in gits() {
        test(Scene::new(&git));
    }
}

fn sha(text: &str) -> Sha {
    Sha::parse(text).expect("a sha")
}

fn unknown() -> Sha {
    sha(&"1234567890".repeat(4))
}

/// Names with everything that breaks parsers.
const NAMES: &[&[u8]] =
    &[b"foo b/bar.md", b"raw\xff.txt", b"new\nline", b"$(id)", b"-rf", b":(top)x", b"*.txt", b"\"q\" \t", b"a\\b"];

#[test]
fn r30_facts_tell_head_branch_and_state() {
    everywhere(|scene| {
        let tree = scene.open();
        let facts = tree.facts().expect("reads");
        assert_eq!((facts.head, facts.branch.as_deref()), (scene.base.clone(), Some("topic")));
        assert!(!facts.staged && facts.modified.is_empty() && facts.operation.is_none());
        scene.write("untracked", "x");
        scene.write("a.txt", "changed\n");
        let facts = tree.facts().expect("reads");
        assert!(!facts.staged);
        assert_eq!(facts.modified, [path("a.txt")]);
        scene.git(&["add", "a.txt"]);
        let facts = tree.facts().expect("reads");
        assert!(facts.staged && facts.modified.is_empty());
        scene.git(&["reset", "-q", "--hard"]);
        scene.git(&["checkout", "-q", "--detach"]);
        assert_eq!(tree.facts().expect("reads").branch, None);
    });
}

#[test]
fn fm_9_an_operation_under_way_is_named() {
    everywhere(|scene| {
        scene.commit("a.txt", "ours\n");
        scene.git(&["checkout", "-q", "-b", "side", scene.base.as_str()]);
        scene.commit("a.txt", "theirs\n");
        for (args, expected) in
            [(["merge", "topic"], "merge"), (["rebase", "topic"], "rebase"), (["cherry-pick", "topic"], "cherry-pick")]
        {
            let failed = std::process::Command::new(&scene.git).current_dir(&scene.work).args(args).output();
            assert!(!failed.expect("runs").status.success());
            let tree = scene.open();
            assert_eq!(tree.facts().expect("reads").operation.as_deref(), Some(expected));
            tree.rewind(&sha(&scene.git(&["rev-parse", "side"])), &[]).expect("rewinds");
            let facts = tree.facts().expect("reads");
            assert_eq!((facts.operation, facts.staged), (None, false), "{expected}");
            scene.git(&["checkout", "-q", "-B", "side"]);
        }
    });
}

#[test]
fn fc_79_fc_80_fc_81_diffs_name_paths_as_bytes_and_lines_exactly() {
    everywhere(|scene| {
        for name in NAMES {
            scene.write(os(name), "one\r\ntwo\r\nthree\r\n");
        }
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "names"]);
        let before = scene.head();
        for name in NAMES {
            scene.write(os(name), "one\r\nTWO\r\nthree\r\n");
        }
        let tree = scene.open();
        let check = |files: Vec<pushback::review::diff::FileDiff>| {
            let found: BTreeSet<RepoPath> = files.iter().filter_map(|f| f.new_path.clone()).collect();
            assert_eq!(found, NAMES.iter().map(path).collect::<BTreeSet<_>>());
            for file in files {
                assert_eq!(file.change, FileChange::Modified);
                assert_eq!(file.hunks.len(), 1, "{file:?}");
                assert_eq!((file.hunks[0].new_start, file.hunks[0].added.as_slice()), (2, &["TWO".to_owned()][..]));
            }
        };
        check(tree.diff_worktree().expect("compares"));
        let all: Vec<RepoPath> = NAMES.iter().map(path).collect();
        let after = tree.commit(&all, "change names\n").expect("commits");
        check(tree.diff(&before, &after).expect("compares"));
        for name in NAMES {
            let content = tree.file_at(&after, &path(name)).expect("reads").expect("is there");
            assert_eq!(content, b"one\r\nTWO\r\nthree\r\n");
        }
        assert_eq!(tree.file_at(&after, &path("gone")).expect("reads"), None);
        assert_eq!(tree.file_at(&after, &path("dir")).expect("reads"), None);
        assert!(scene.git(&["status", "--porcelain"]).is_empty());
    });
}

#[test]
fn diffs_find_renames_deletions_binaries_and_links() {
    everywhere(|scene| {
        let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
        scene.write("old name", &long);
        scene.write("bin", b"a\0b");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "x"]);
        let before = scene.head();
        scene.git(&["mv", "old name", "new name"]);
        scene.write("new name", long.replace("line 7\n", "seven\n"));
        scene.git(&["rm", "-q", "dir/b.txt"]);
        scene.write("bin", b"a\0c");
        symlink("/etc/passwd", scene.work.join("link")).expect("links");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "y"]);
        let tree = scene.open();
        let files = tree.diff(&before, &scene.head()).expect("compares");
        let of = |change| files.iter().filter(|f| f.change == change).collect::<Vec<_>>();
        let renamed = of(FileChange::Renamed);
        assert_eq!((&renamed[0].old_path, &renamed[0].new_path), (&Some(path("old name")), &Some(path("new name"))));
        assert_eq!((renamed[0].hunks.len(), renamed[0].hunks[0].old_start), (1, 8));
        assert_eq!(of(FileChange::Deleted)[0].old_path, Some(path("dir/b.txt")));
        assert!(of(FileChange::Modified)[0].binary && of(FileChange::Modified)[0].hunks.is_empty());
        assert_eq!(of(FileChange::Added)[0].hunks[0].added, ["/etc/passwd"]);
        let back = tree.diff(&scene.head(), &before).expect("compares");
        assert_eq!(back.len(), files.len());
    });
}

#[test]
fn ancestry_and_trees() {
    everywhere(|scene| {
        let tree = scene.open();
        let one = scene.commit("c.txt", "1\n");
        scene.git(&["checkout", "-q", "-b", "side", scene.base.as_str()]);
        let two = scene.commit("d.txt", "2\n");
        scene.git(&["checkout", "-q", "--orphan", "lonely"]);
        let three = scene.commit("e.txt", "3\n");
        assert_eq!(tree.is_ancestor(&scene.base, &one).expect("reads"), Some(true));
        assert_eq!(tree.is_ancestor(&one, &one).expect("reads"), Some(true));
        assert_eq!(tree.is_ancestor(&one, &scene.base).expect("reads"), Some(false));
        assert_eq!(tree.is_ancestor(&one, &two).expect("reads"), Some(false));
        assert_eq!(tree.is_ancestor(&unknown(), &two).expect("reads"), None);
        assert_eq!(tree.merge_base(&one, &two).expect("reads"), Some(scene.base.clone()));
        assert_eq!(tree.merge_base(&one, &three).expect("reads"), None);
        assert_eq!(tree.merge_base(&one, &unknown()).expect("reads"), None);
        assert_eq!(tree.parent(&two).expect("reads"), Some(scene.base.clone()));
        assert_eq!(tree.parent(&three).expect("reads"), None);
        assert_eq!(tree.tree(&two).expect("reads"), scene.git(&["rev-parse", "side^{tree}"]));
        assert!(tree.tree(&unknown()).is_err());
    });
}

#[test]
fn fc_52_missing_history_is_unknown_and_deepened_where_possible() {
    everywhere(|scene| {
        let middle = scene.commit("c.txt", "1\n");
        let tip = scene.commit("c.txt", "2\n");
        scene.git(&["push", "-q", "origin", "topic"]);
        let url = format!("file://{}", scene.remote);
        let shallow = scene.root.join("shallow");
        scene.git_in(&scene.root, &["clone", "-q", "--depth=1", "-b", "topic", &url, "shallow"]);
        let tree = scene.open_at(&shallow);
        assert!(tree.is_shallow());
        assert_eq!(tree.is_ancestor(&middle, &tip).expect("reads"), Some(true));
        assert!(tree.fetch(&middle).expect("fetches"));

        scene.git_in(&scene.root, &["clone", "-q", "--depth=1", "-b", "topic", &url, "cut"]);
        let cut = scene.root.join("cut");
        let tree = GitWorktree::open_using(scene.git.as_str(), &cut).expect("opens");
        assert_eq!(tree.is_ancestor(&middle, &tip).expect("reads"), None);
        assert_eq!(tree.merge_base(&middle, &tip).expect("reads"), None);
        std::fs::rename(&scene.remote, scene.root.join("away")).expect("moves");
        assert_eq!(scene.open_at(&cut).is_ancestor(&middle, &tip).expect("reads"), None);
    });
}

#[test]
fn pictures_see_every_change_and_nothing_else() {
    everywhere(|scene| {
        scene.write(".git/info/exclude", "/.pushback/\n");
        scene.write(".gitignore", "ignored\n");
        scene.git(&["add", "-A"]);
        scene.git(&["commit", "-q", "-m", "ignore"]);
        let tree = scene.open();
        let clean = tree.picture().expect("takes");
        assert!(clean.files.is_empty() && clean.index.is_empty());
        assert_eq!(clean.branch.as_deref(), Some("topic"));
        assert!(clean.refs.contains_key("refs/heads/main"));

        scene.write("ignored", "x");
        scene.write(".pushback/findings.md", "x");
        scene.git(&["update-ref", "refs/pushback/1/2", "HEAD"]);
        assert_eq!(tree.picture().expect("takes"), clean);

        for name in NAMES {
            scene.write(os(name), "x");
        }
        std::fs::remove_file(scene.work.join("dir/b.txt")).expect("removes");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(scene.work.join("a.txt"), mode).expect("mode");
        symlink("/etc/passwd", scene.work.join("link")).expect("links");
        let seen = tree.picture().expect("takes");
        let mut expected: BTreeSet<RepoPath> = NAMES.iter().map(path).collect();
        expected.extend(["a.txt", "dir/b.txt", "link"].map(path));
        assert_eq!(seen.files.keys().cloned().collect::<BTreeSet<_>>(), expected);
        assert_eq!(seen.files[&path("dir/b.txt")], None);
        assert!(seen.index.is_empty());
        scene.write("-rf", "y");
        let again = tree.picture().expect("takes");
        let changed: Vec<_> = again.files.iter().filter(|(p, h)| seen.files.get(*p) != Some(h)).collect();
        assert_eq!(changed.len(), 1, "{changed:?}");
    });
}

#[test]
fn fm_31_fm_32_pictures_see_what_is_around_the_worktree() {
    everywhere(|scene| {
        let outside = scene.root.join("declared");
        let tree = scene.open().watch([outside.clone()]);
        let clean = tree.picture().expect("takes");
        let differs = |what: &str, by: &dyn Fn(), part: &dyn Fn(&pushback::review::picture::Picture) -> String| {
            by();
            let seen = tree.picture().expect("takes");
            assert_ne!(part(&seen), part(&clean), "{what}");
            scene.git(&["checkout", "-q", "-f", "topic"]);
        };
        let git = |args: &'static [&'static str]| move |scene: &Scene| drop(scene.git(args));
        let config = |p: &pushback::review::picture::Picture| p.config.clone();
        let refs = |p: &pushback::review::picture::Picture| format!("{:?}", p.refs);
        differs("hook", &|| scene.hook(&scene.work.join(".git"), "pre-commit", "exit 0"), &|p| p.hooks.clone());
        differs("remote", &|| git(&["remote", "set-url", "origin", "../x"])(&scene), &|p| p.remotes.clone());
        differs("config", &|| git(&["config", "core.fsmonitor", "/bin/true"])(&scene), &config);
        differs("exclude", &|| scene.write(".git/info/exclude", "*.rs\n"), &config);
        differs("ref", &|| git(&["branch", "new"])(&scene), &refs);
        differs("tag", &|| git(&["tag", "v1"])(&scene), &refs);
        differs("branch", &|| git(&["checkout", "-q", "new"])(&scene), &|p| format!("{:?}", p.branch));
        differs("detached", &|| git(&["checkout", "-q", "--detach"])(&scene), &|p| format!("{:?}", p.branch));
        differs("outside", &|| std::fs::write(&outside, "x").expect("writes"), &|p| format!("{:?}", p.outside));
        scene.write("a.txt", "hidden\n");
        scene.git(&["update-index", "--assume-unchanged", "a.txt"]);
        let hidden = tree.picture().expect("takes");
        scene.git(&["update-index", "--no-assume-unchanged", "a.txt"]);
        assert_ne!(hidden.config, tree.picture().expect("takes").config);
    });
}

#[test]
fn fc_51_forced_scratch_files_are_seen_and_never_committed() {
    everywhere(|scene| {
        scene.write(".git/info/exclude", "/.pushback/\n");
        let tree = scene.open();
        let clean = tree.picture().expect("takes");
        scene.write(".pushback/notes.md", "x");
        scene.write("a.txt", "fixed\n");
        scene.git(&["add", "-A"]);
        assert!(!scene.git(&["diff", "--cached", "--name-only"]).contains("notes"));
        scene.git(&["reset", "-q"]);
        scene.git(&["add", "-f", ".pushback/notes.md"]);
        let seen = tree.picture().expect("takes");
        assert_ne!(seen.index, clean.index);
        assert_eq!(seen.files.keys().collect::<Vec<_>>(), [&path("a.txt")]);
        let refused = tree.commit(&[path(".pushback/notes.md")], "x").expect_err("refused");
        assert!(refused.to_string().contains("notes.md"), "{refused}");
        let made = tree.commit(&[path("a.txt")], "fix\n").expect("commits");
        assert_eq!(scene.git(&["diff-tree", "-r", "--name-only", "HEAD^", "HEAD"]), "a.txt");
        assert_eq!(scene.git(&["diff", "--cached", "--name-only"]), "");
        scene.hook(&scene.work.join(".git"), "pre-commit", "git add -f .pushback/notes.md");
        scene.write("a.txt", "again\n");
        let refused = tree.commit(&[path("a.txt")], "x").expect_err("refused");
        assert!(refused.to_string().contains("notes.md"), "{refused}");
        assert_eq!(scene.head(), made);
    });
}

#[test]
fn r30_exactly_the_given_paths_are_committed() {
    everywhere(|scene| {
        let tree = scene.open();
        scene.write("a.txt", "fixed\n");
        scene.write("mine.txt", "a person's\n");
        scene.write("new.txt", "new\n");
        std::fs::remove_file(scene.work.join("dir/b.txt")).expect("removes");
        let wanted = [path("a.txt"), path("new.txt"), path("dir/b.txt"), path("came and went")];
        let made = tree.commit(&wanted, "Fix it\n\n# a line\nPushback-Findings: c1\n").expect("commits");
        let names = scene.git(&["diff-tree", "-r", "--name-status", "HEAD^", "HEAD"]);
        assert_eq!(names, "M\ta.txt\nD\tdir/b.txt\nA\tnew.txt");
        assert_eq!(scene.git(&["log", "-1", "--format=%B"]).trim_end(), "Fix it\n\n# a line\nPushback-Findings: c1");
        assert_eq!(scene.git(&["status", "--porcelain"]), "?? mine.txt");
        assert_eq!(scene.head(), made);
        assert!(tree.commit(&[path("a.txt")], "x").is_err(), "nothing to commit");
        assert!(tree.commit(&[path("../a")], "x").is_err());
        assert_eq!(scene.head(), made);
    });
}

#[test]
fn a_folder_that_became_a_link_is_committed_as_one() {
    everywhere(|scene| {
        let tree = scene.open();
        std::fs::remove_dir_all(scene.work.join("dir")).expect("removes");
        std::fs::create_dir(scene.root.join("elsewhere")).expect("mkdir");
        std::fs::write(scene.root.join("elsewhere/b.txt"), "secret").expect("writes");
        symlink("../elsewhere", scene.work.join("dir")).expect("links");
        let seen = tree.picture().expect("takes");
        assert_eq!(seen.files[&path("dir/b.txt")], None);
        let paths: Vec<RepoPath> = seen.files.keys().cloned().collect();
        tree.commit(&paths, "x\n").expect("commits");
        assert_eq!(scene.git(&["ls-tree", "--name-only", "HEAD"]), "a.txt\ndir");
        tree.put_back(&scene.base, &[path("dir"), path("dir/b.txt")]).expect("puts back");
        assert_eq!(std::fs::read_to_string(scene.root.join("elsewhere/b.txt")).expect("reads"), "secret");
        assert_eq!(scene.read("dir/b.txt").as_deref(), Some("b\n"));
        assert!(!scene.work.join("dir").is_symlink());
    });
}

#[test]
fn a_commit_that_a_hook_refuses_leaves_the_index_clean() {
    everywhere(|scene| {
        scene.hook(&scene.work.join(".git"), "pre-commit", "echo 'no tabs please' >&2; exit 1");
        scene.write("a.txt", "fixed\n");
        let refused = scene.open().commit(&[path("a.txt")], "x\n").expect_err("refused");
        assert!(refused.why.contains("no tabs please"), "{refused}");
        assert_eq!(scene.head(), scene.base);
        assert_eq!(scene.git(&["diff", "--cached", "--name-only"]), "");
        assert_eq!(scene.read("a.txt").as_deref(), Some("fixed\n"));
    });
}

#[test]
fn a_missing_identity_is_filled_in() {
    everywhere(|scene| {
        let tree = scene.open().fallback_identity("bot", "bot@example.org");
        scene.git(&["config", "--unset", "user.email"]);
        scene.write("a.txt", "x\n");
        tree.commit(&[path("a.txt")], "x\n").expect("commits");
        let who = scene.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>"]);
        assert_eq!(who, "A <bot@example.org> A <bot@example.org>");
    });
}

#[test]
fn pushes_end_in_what_the_remote_says() {
    everywhere(|scene| {
        let tree = scene.open();
        assert_eq!(tree.remote_head().expect("asks"), Some(scene.base.clone()));
        let one = scene.commit("c.txt", "1\n");
        assert_eq!(tree.push(&one).expect("pushes"), Pushed::Done);
        assert_eq!(tree.push(&one).expect("pushes"), Pushed::Done);
        assert_eq!(scene.remote_topic(), one.as_str());

        let theirs = scene.other_pushes("d.txt", "theirs\n");
        let two = scene.commit("c.txt", "2\n");
        assert_eq!(tree.push(&two).expect("pushes"), Pushed::Moved(Some(theirs.clone())));
        assert_eq!(scene.remote_topic(), theirs.as_str());
        assert!(tree.fetch(&theirs).expect("fetches"));
        assert!(!tree.fetch(&unknown()).expect("fetches"));
    });
}

#[test]
fn refused_and_unclear_pushes_are_told_apart() {
    everywhere(|scene| {
        let one = scene.commit("c.txt", "1\n");
        scene.hook(&scene.remote, "pre-receive", "echo 'branch is frozen' >&2; exit 1");
        match scene.open().push(&one).expect("pushes") {
            Pushed::Refused(words) => assert!(words.contains("branch is frozen"), "{words}"),
            other => panic!("{other:?}"),
        }
        std::fs::remove_file(scene.remote.join("hooks/pre-receive")).expect("removes");
        scene.hook(&scene.work.join(".git"), "pre-push", "echo 'run the tests first' >&2; exit 1");
        match scene.open().push(&one).expect("pushes") {
            Pushed::Refused(words) => assert!(words.contains("run the tests first"), "{words}"),
            other => panic!("{other:?}"),
        }
        std::fs::remove_file(scene.work.join(".git/hooks/pre-push")).expect("removes");
        assert_eq!(scene.remote_topic(), scene.base.as_str());
        std::fs::rename(&scene.remote, scene.root.join("away")).expect("moves");
        assert!(matches!(scene.open().push(&one).expect("pushes"), Pushed::Unclear(_)));
        assert!(scene.open().remote_head().is_err(), "unreachable is not absent");
    });
}

#[test]
fn a_branch_that_is_not_there_is_absent() {
    everywhere(|scene| {
        let tree = GitWorktree::open_using(scene.git.as_str(), &scene.work).expect("opens");
        let tree = tree.for_pr("origin", "opic").expect("a remote");
        assert_eq!(tree.remote_head().expect("asks"), None);
        assert_eq!(tree.push(&scene.base).expect("pushes"), Pushed::Done);
        assert_eq!(tree.remote_head().expect("asks"), Some(scene.base.clone()));
        for (remote, branch) in [("-x", "topic"), ("origin", "-x"), ("origin", "a..b"), ("nowhere", "topic")] {
            let tree = GitWorktree::open_using(scene.git.as_str(), &scene.work).expect("opens");
            assert!(tree.for_pr(remote, branch).is_err(), "{remote} {branch}");
        }
    });
}

#[test]
fn fm_32_a_changed_remote_is_not_pushed_to() {
    everywhere(|scene| {
        let tree = scene.open();
        scene.git_in(&scene.root, &["init", "-q", "--bare", "evil.git"]);
        scene.git(&["remote", "set-url", "--push", "origin", "../evil.git"]);
        assert!(tree.push(&scene.base).is_err());
        assert!(tree.remote_head().is_err());
        assert_eq!(scene.git_in(&scene.root.join("evil.git"), &["for-each-ref"]), "");
    });
}

#[test]
fn pushes_ask_the_place_they_push_to() {
    everywhere(|scene| {
        scene.git_in(&scene.root, &["clone", "-q", "--bare", "remote.git", "fork.git"]);
        scene.git(&["remote", "set-url", "--push", "origin", "../fork.git"]);
        let tree = scene.open();
        let one = scene.commit("c.txt", "1\n");
        assert_eq!(tree.push(&one).expect("pushes"), Pushed::Done);
        assert_eq!(tree.remote_head().expect("asks"), Some(one));
        assert_eq!(scene.remote_topic(), scene.base.as_str());
    });
}

#[test]
fn fc_50_our_commits_are_replayed_or_nothing_changes() {
    everywhere(|scene| {
        let tree = scene.open();
        let ours = scene.commit("a.txt", "one\nTWO\nthree\n");
        let theirs = scene.other_pushes("d.txt", "theirs\n");
        assert!(tree.fetch(&theirs).expect("fetches"));
        scene.write("untracked", "stays");
        let Replayed::Clean(new) = tree.replay(&scene.base, &theirs).expect("replays") else { panic!("conflict") };
        assert_eq!((scene.head(), tree.parent(&new).expect("reads")), (new.clone(), Some(theirs)));
        assert_eq!(scene.read("d.txt").as_deref(), Some("theirs\n"));
        assert_eq!(scene.read("a.txt").as_deref(), Some("one\nTWO\nthree\n"));
        assert_eq!(scene.git(&["status", "--porcelain"]), "?? untracked");
        assert_eq!(tree.push(&new).expect("pushes"), Pushed::Done);

        let last = scene.commit("a.txt", "one\nours\nthree\n");
        let theirs = scene.other_pushes("a.txt", "one\ntheirs\nthree\n");
        assert!(tree.fetch(&theirs).expect("fetches"));
        match tree.replay(&new, &theirs).expect("replays") {
            Replayed::Conflict(words) => assert!(words.contains("a.txt"), "{words}"),
            Replayed::Clean(_) => panic!("clean"),
        }
        assert_eq!((scene.head(), scene.git(&["status", "--porcelain"])), (last, String::new()));
        assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
        assert_ne!(scene.head(), ours);
    });
}

#[test]
fn work_is_kept_whole_and_the_worktree_rewound() {
    everywhere(|scene| {
        let tree = scene.open();
        assert_eq!(tree.keep("7/1", &scene.base).expect("keeps"), None);
        scene.hook(&scene.work.join(".git"), "pre-commit", "exit 1");
        scene.write("a.txt", "staged\n");
        scene.git(&["add", "a.txt"]);
        scene.write("a.txt", "half done\n");
        scene.write("new/raw", "untracked\n");
        scene.write("mine", "a person's\n");
        scene.write(".pushback/x", "scratch");
        std::fs::remove_file(scene.work.join("dir/b.txt")).expect("removes");
        let before = scene.git(&["status", "--porcelain"]);
        let kept = tree.keep("7/1", &scene.base).expect("keeps").expect("something");
        assert_eq!(scene.git(&["status", "--porcelain"]), before, "keeping changes nothing");
        assert_eq!(scene.git(&["show", &format!("{kept}:a.txt")]), "half done");
        assert_eq!(scene.git(&["show", &format!("{kept}^2:a.txt")]), "staged");
        assert_eq!(scene.git(&["ls-tree", "-r", "--name-only", kept.as_str()]), "a.txt\nmine\nnew/raw");
        assert_eq!(scene.git(&["rev-parse", "refs/pushback/7/1"]), kept.as_str());
        assert_eq!(tree.keep("7/1", &scene.base).expect("keeps"), Some(kept.clone()), "again is once");
        tree.rewind(&scene.base, &[path("new/raw"), path("a.txt"), path("gone")]).expect("rewinds");
        assert_eq!(scene.read("a.txt").as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(scene.read("dir/b.txt").as_deref(), Some("b\n"));
        assert!(!scene.work.join("new").exists());
        assert_eq!(scene.read("mine").as_deref(), Some("a person's\n"));
        scene.write("a.txt", "other work\n");
        let second = tree.keep("7/1", &scene.base).expect("keeps").expect("something");
        assert_ne!(second, kept);
        assert_eq!(scene.git(&["rev-parse", "refs/pushback/7/1"]), kept.as_str(), "the first is not lost");
        assert!(tree.keep("../x", &scene.base).is_err());
    });
}

#[test]
fn fc_37_commits_of_the_editor_are_kept_when_the_branch_goes_back() {
    everywhere(|scene| {
        let tree = scene.open();
        let theirs = scene.commit("c.txt", "1\n");
        assert_eq!(tree.keep("7/2", &scene.base).expect("keeps"), Some(theirs.clone()));
        tree.rewind(&scene.base, &[]).expect("rewinds");
        assert_eq!(scene.head(), scene.base);
        assert_eq!(scene.git(&["rev-parse", "refs/pushback/7/2"]), theirs.as_str());
        let lost = scene.commit("d.txt", "never kept\n");
        tree.rewind(&scene.base, &[]).expect("rewinds");
        assert!(scene.git(&["for-each-ref", "--contains", lost.as_str()]).contains("refs/pushback/set-aside/"));
    });
}

#[test]
fn removals_stay_inside_the_worktree() {
    everywhere(|scene| {
        let tree = scene.open();
        std::fs::create_dir(scene.root.join("outside")).expect("mkdir");
        std::fs::write(scene.root.join("outside/f"), "x").expect("writes");
        symlink("../outside", scene.work.join("way out")).expect("links");
        for bad in ["../outside/f", "/etc/passwd", "a/../../outside/f", ".git/config", "x/.GIT/config", ""] {
            assert!(tree.put_back(&scene.base, &[path(bad)]).is_err(), "{bad}");
            assert!(tree.rewind(&scene.base, &[path(bad)]).is_err(), "{bad}");
        }
        tree.rewind(&scene.base, &[path("way out/f")]).expect("rewinds");
        assert!(scene.root.join("outside/f").exists());
        tree.rewind(&scene.base, &[path("way out")]).expect("rewinds");
        assert!(scene.root.join("outside/f").exists() && !scene.work.join("way out").is_symlink());
    });
}

#[test]
fn frozen_paths_are_put_back_in_the_worktree_alone() {
    everywhere(|scene| {
        let tree = scene.open();
        scene.commit("a.txt", "weakened\n");
        scene.write("dir/b.txt", "weakened\n");
        scene.write("dir/new test", "x\n");
        scene.write("a.txt", "weaker\n");
        let frozen: Vec<RepoPath> = ["a.txt", "dir/b.txt", "dir/new test", "dir/nowhere"].map(path).to_vec();
        tree.put_back(&scene.base, &frozen).expect("puts back");
        assert_eq!(scene.read("a.txt").as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(scene.git(&["status", "--porcelain"]), " M a.txt");
    });
}

#[test]
fn r28_scripts_that_husky_starts_are_hooks() {
    everywhere(|scene| {
        let husky = scene.work.join(".husky");
        std::fs::create_dir_all(husky.join("_")).expect("makes");
        std::fs::write(husky.join("pre-push"), "exit 0\n").expect("writes");
        scene.git(&["config", "core.hooksPath", ".husky/_"]);
        let tree = scene.open();
        let before = tree.picture().expect("takes");
        std::fs::write(husky.join("pre-push"), "env >/tmp/x\n").expect("writes");
        assert_ne!(tree.picture().expect("takes").hooks, before.hooks);
        std::fs::write(husky.join("pre-push"), "exit 0\n").expect("writes");
        assert_eq!(tree.picture().expect("takes").hooks, before.hooks);
    });
}

#[test]
fn fm_32_refs_branch_config_and_hooks_are_put_back() {
    everywhere(|scene| {
        scene.hook(&scene.work.join(".git"), "pre-push", "exit 0");
        scene.git(&["branch", "other"]);
        let tree = scene.open();
        let before = tree.picture().expect("takes");
        let made = scene.commit("c.txt", "1\n");
        scene.git(&["checkout", "-q", "-b", "evil"]);
        scene.git(&["branch", "-f", "other", "HEAD"]);
        scene.git(&["branch", "-D", "main"]);
        scene.git(&["branch", "main/sub"]);
        scene.git(&["remote", "set-url", "origin", "../evil.git"]);
        scene.git(&["config", "alias.x", "!true"]);
        scene.hook(&scene.work.join(".git"), "pre-push", "curl evil");
        scene.hook(&scene.work.join(".git"), "post-commit", "curl evil");
        scene.git(&["update-index", "--assume-unchanged", "a.txt"]);
        tree.put_back_refs(&before).expect("puts back");
        tree.rewind(&scene.base, &[]).expect("rewinds");
        assert_eq!(tree.picture().expect("takes"), before);
        assert!(scene.git(&["for-each-ref", "--contains", made.as_str()]).contains("refs/pushback/set-aside/"));

        scene.git(&["config", "alias.x", "!true"]);
        let stranger = scene.open().put_back_refs(&before).expect_err("no copy");
        assert!(stranger.to_string().contains("no copy"), "{stranger}");
    });
}

#[test]
fn fm_31_what_an_editor_configures_does_not_run() {
    everywhere(|scene| {
        let tree = scene.open();
        let before = tree.picture().expect("takes");
        let ran = scene.root.join("ran");
        let trap = format!("touch '{ran}'; cat");
        scene.git(&["config", "filter.tr=ap.clean", &trap]);
        scene.git(&["config", "core.fsmonitor", &trap]);
        scene.write(".gitattributes", "* filter=tr=ap\n");
        scene.write("a.txt", "one\ntwo\nThree\n");
        let after = tree.picture().expect("takes");
        assert_ne!(after.config, before.config);
        assert_eq!(tree.picture().expect("takes"), after, "seen twice is not trusted");
        assert!(after.files.contains_key(&path("a.txt")));
        tree.put_back_refs(&before).expect("puts back");
        tree.keep("7/1", &scene.base).expect("keeps");
        tree.rewind(&scene.base, &[path(".gitattributes")]).expect("rewinds");
        assert!(!ran.exists());
        assert_eq!(tree.picture().expect("takes"), before);

        scene.write(".git/config", "[broken\n");
        assert!(tree.picture().is_err());
        tree.put_back_refs(&before).expect("puts back");
        assert_eq!(tree.picture().expect("takes"), before);
    });
}

#[test]
fn fm_31_a_worktree_that_was_led_elsewhere_is_seen() {
    everywhere(|scene| {
        scene.git(&["worktree", "add", "-q", "-b", "linked", "../linked"]);
        let linked = scene.root.join("linked");
        let tree = scene.open_at(&linked);
        let before = tree.picture().expect("takes");
        scene.git(&["worktree", "add", "-q", "-b", "decoy", "../decoy"]);
        std::fs::copy(scene.root.join("decoy/.git"), linked.join(".git")).expect("copies");
        assert_ne!(tree.picture().expect("takes").config, before.config);
        tree.put_back_refs(&before).expect("puts back");
        assert_eq!(tree.picture().expect("takes"), before);
    });
}

#[test]
fn fc_46_a_detached_head_is_put_back_on_its_branch() {
    everywhere(|scene| {
        let tree = scene.open();
        let before = tree.picture().expect("takes");
        scene.git(&["checkout", "-q", "--detach"]);
        let made = scene.commit("c.txt", "1\n");
        tree.put_back_refs(&before).expect("puts back");
        tree.rewind(&scene.base, &[]).expect("rewinds");
        assert_eq!(tree.picture().expect("takes"), before);
        assert!(scene.git(&["for-each-ref", "--contains", made.as_str()]).contains("set-aside"));
    });
}

#[test]
fn fc_43_linked_worktrees_share_state_and_mind_their_own_branch() {
    everywhere(|scene| {
        scene.git(&["worktree", "add", "-q", "-b", "linked", "../linked"]);
        let linked = scene.root.join("linked");
        let sub = linked.join("dir");
        let tree = GitWorktree::open_using(scene.git.as_str(), &sub).expect("opens");
        let tree = tree.for_pr("origin", "linked").expect("a remote");
        assert_eq!((tree.toplevel(), tree.common_dir()), (linked.as_path(), scene.work.join(".git").as_path()));
        assert_ne!(tree.git_dir(), tree.common_dir());
        let before = tree.picture().expect("takes");
        let elsewhere = scene.commit("c.txt", "another person's work\n");
        assert_eq!(tree.picture().expect("takes"), before, "other worktrees are at work too");
        tree.put_back_refs(&before).expect("puts back");
        assert_eq!(scene.head(), elsewhere);
        std::fs::write(linked.join("a.txt"), "fixed\n").expect("writes");
        let made = tree.commit(&[path("a.txt")], "x\n").expect("commits");
        assert_eq!(tree.push(&made).expect("pushes"), Pushed::Done);
        assert_eq!(tree.diff_worktree().expect("compares"), []);
    });
}

#[test]
fn submodules_are_seen_and_are_worktrees_of_their_own() {
    everywhere(|scene| {
        let allow = ["-c", "protocol.file.allow=always"];
        let add: Vec<&str> =
            allow.iter().copied().chain(["submodule", "--quiet", "add", "../remote.git", "sub"]).collect();
        scene.git(&add);
        scene.git(&["commit", "-q", "-m", "sub"]);
        let tree = scene.open();
        let clean = tree.picture().expect("takes");
        assert!(clean.files.is_empty());
        scene.write("sub/a.txt", "changed\n");
        let one = tree.picture().expect("takes");
        assert_eq!(one.files.keys().collect::<Vec<_>>(), [&path("sub")]);
        let inside = GitWorktree::open_using(scene.git.as_str(), &scene.work.join("sub")).expect("opens");
        assert_eq!(inside.common_dir(), scene.work.join(".git/modules/sub"));
        assert_eq!(inside.facts().expect("reads").modified, [path("a.txt")]);
    });
}

#[test]
fn temporary_worktrees_come_and_go() {
    everywhere(|scene| {
        scene.hook(&scene.work.join(".git"), "post-checkout", "touch \"$0.ran\"");
        let tree = scene.open();
        let dir = tree.aside(&scene.base).expect("makes");
        assert_eq!(std::fs::read_to_string(dir.join("a.txt")).expect("reads"), "one\ntwo\nthree\n");
        assert!(!dir.starts_with(&scene.work));
        std::fs::write(dir.join("left over"), "x").expect("writes");
        let second = tree.aside(&scene.base).expect("makes");
        assert!(dir.exists(), "a live one is not swept");
        tree.drop_aside(&dir).expect("removes");
        assert!(!dir.exists() && second.exists());
        assert!(tree.drop_aside(&scene.work).is_err());
        drop(tree);
        assert!(!second.exists());
        assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
        assert!(!scene.work.join(".git/hooks/post-checkout.ran").exists());
    });
}

#[test]
fn leftovers_of_killed_runs_are_swept() {
    everywhere(|scene| {
        let root = std::env::temp_dir().join(format!("pushback-aside-left{}", std::process::id()));
        std::fs::create_dir(&root).expect("mkdir");
        std::fs::write(root.join("lock"), "").expect("writes");
        let dir = Utf8PathBuf::from_path_buf(root.join("work")).expect("utf-8");
        scene.git(&["worktree", "add", "-q", "--detach", dir.as_str(), "HEAD"]);
        let tree = scene.open();
        let fresh = tree.aside(&scene.base).expect("makes");
        assert!(!root.exists());
        tree.drop_aside(&fresh).expect("removes");
        assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    });
}

#[test]
fn fm_45_fm_47_no_credential_in_arguments_or_words() {
    everywhere(|scene| {
        scene.git(&["remote", "set-url", "origin", "http://me:canary-in-url@127.0.0.1:9/o/r.git"]);
        let tree = scene.open().with_token("127.0.0.1:9", "canary-token".to_owned().into());
        std::fs::remove_file(scene.root.join("argv")).expect("removes");
        let error = tree.remote_head().expect_err("nobody listens").to_string();
        let pushed = format!("{:?}", tree.push(&scene.base).expect("pushes"));
        let argv = std::fs::read_to_string(scene.root.join("argv")).expect("reads");
        let found = tree.discover().expect("discovers");
        for text in [error, pushed, argv, format!("{found:?}")] {
            assert!(!text.contains("canary"), "{text}");
        }
        std::fs::remove_file(scene.root.join("environment")).expect("removes");
        tree.facts().expect("reads");
        let environment = std::fs::read_to_string(scene.root.join("environment")).expect("reads");
        assert!(!environment.contains("canary") && environment.contains("GIT_TERMINAL_PROMPT='0'"));
        assert!(environment.contains("PUSHBACK_NO_HOOK='1'"));
    });
}

#[test]
fn fc_48_the_remote_of_the_branch_is_found() {
    everywhere(|scene| {
        let tree = GitWorktree::open_using(scene.git.as_str(), &scene.work).expect("opens");
        let target = || match tree.discover().expect("discovers").push {
            PushTarget::One(remote) => remote.name,
            PushTarget::Several(all) => all.iter().map(|r| r.name.as_str()).collect::<Vec<_>>().join("|"),
            PushTarget::None => "none".to_owned(),
        };
        assert_eq!(target(), "origin");
        scene.git(&["remote", "set-url", "origin", "https://cache.corp/o/r"]);
        scene.git(&["update-ref", "-d", "refs/remotes/origin/topic"]);
        scene.git(&["remote", "add", "up", "git@github.com:o/r.git"]);
        assert_eq!(target(), "origin|up");
        scene.git(&["update-ref", "refs/remotes/up/topic", "HEAD"]);
        assert_eq!(target(), "up");
        scene.git(&["config", "branch.topic.remote", "origin"]);
        scene.git(&["config", "branch.topic.merge", "refs/heads/feature"]);
        assert_eq!(target(), "origin");
        assert_eq!(tree.discover().expect("discovers").remote_branch.as_deref(), Some("feature"));
        scene.git(&["config", "remote.pushDefault", "up"]);
        assert_eq!(target(), "up");
        assert_eq!(tree.discover().expect("discovers").remote_branch.as_deref(), Some("topic"));
        scene.git(&["config", "branch.topic.pushRemote", "origin"]);
        assert_eq!(target(), "origin");
        let found = tree.discover().expect("discovers");
        let up = found.remotes.iter().find(|r| r.name == "up").expect("is there");
        assert_eq!(up.host.as_deref(), Some("github.com"));
        assert_eq!(up.slug.as_ref().map(ToString::to_string).as_deref(), Some("o/r"));
        scene.git(&["checkout", "-q", "--detach"]);
        assert_eq!(tree.discover().expect("discovers").head, Head::Detached(scene.base.clone()));
        scene.git(&["checkout", "-q", "--orphan", "fresh"]);
        assert_eq!(tree.discover().expect("discovers").head, Head::Unborn("fresh".to_owned()));
        for remote in ["origin", "up"] {
            scene.git(&["remote", "remove", remote]);
        }
        assert_eq!(target(), "none");
    });
}

#[test]
fn inherited_variables_lead_nowhere_else() {
    // The stand-in for git sees what it would inherit; a child of a hook inherits GIT_DIR.
    for git in gits() {
        let scene = Scene::new(&git);
        let exe = std::env::current_exe().expect("a test binary");
        let run = std::process::Command::new(exe)
            .args(["--exact", "git::child_of_a_hook", "--nocapture"])
            .env("PUSHBACK_TEST_CHILD", format!("{}\n{}", scene.git, scene.work))
            .env("GIT_DIR", "/nowhere")
            .env("GIT_WORK_TREE", "/nowhere")
            .env("GIT_INDEX_FILE", "/nowhere")
            .env("GH_TOKEN", "canary")
            .output()
            .expect("runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        let environment = std::fs::read_to_string(scene.root.join("environment")).expect("reads");
        assert!(!environment.contains("canary"), "local commands run people's hooks");
        assert_eq!(scene.git(&["log", "-1", "--format=%s"]), "from a hook");
    }
}

#[test]
fn child_of_a_hook() {
    let Ok(place) = std::env::var("PUSHBACK_TEST_CHILD") else { return };
    let (git, work) = place.split_once('\n').expect("two lines");
    let tree = GitWorktree::open_using(git, work.into()).expect("opens");
    std::fs::write(format!("{work}/a.txt"), "x\n").expect("writes");
    tree.commit(&[path("a.txt")], "from a hook\n").expect("commits");
}

#[test]
fn formats_that_libgit2_does_not_know_are_read_with_git() {
    for git in gits() {
        for init in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
            let probe = tempfile::tempdir().expect("a folder");
            let known = std::process::Command::new(&git).arg("init").args(init).arg(probe.path()).output();
            if !known.expect("runs").status.success() {
                println!("SKIPPED: {} does not know {}", git.display(), init[0]);
                continue;
            }
            let scene = Scene::with_init(&git, init);
            let tree = scene.open();
            let before = tree.picture().expect("takes");
            scene.write("a.txt", "one\nTWO\nthree\n");
            scene.write("x b/y", "x\n");
            let changed: Vec<RepoPath> = tree.picture().expect("takes").files.keys().cloned().collect();
            let made = tree.commit(&changed, "x\n").expect("commits");
            let files = tree.diff(&scene.base, &made).expect("compares");
            assert_eq!(files.iter().map(|f| f.hunks.len()).collect::<Vec<_>>(), [1, 1]);
            assert_eq!(tree.is_ancestor(&scene.base, &made).expect("reads"), Some(true));
            assert_eq!(tree.is_ancestor(&made, &scene.base).expect("reads"), Some(false));
            assert_eq!(tree.merge_base(&scene.base, &made).expect("reads"), Some(scene.base.clone()));
            assert_eq!(tree.file_at(&made, &path("x b/y")).expect("reads"), Some(b"x\n".to_vec()));
            assert_eq!(tree.file_at(&made, &path("x")).expect("reads"), None);
            assert_eq!(tree.push(&made).expect("pushes"), Pushed::Done);
            tree.put_back_refs(&before).expect("puts back");
            assert_eq!(scene.head(), scene.base);
        }
    }
}

#[test]
fn what_is_no_repository_is_said_in_one_sentence() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = Utf8PathBuf::from_path_buf(dir.path().to_owned()).expect("utf-8");
    let error = GitWorktree::open(&dir).err().expect("no repository").to_string();
    assert!(error.contains("not a git repository"), "{error}");
    let error = GitWorktree::open_using("/nowhere/git", &dir).err().expect("no git").to_string();
    assert!(error.contains("git could not be run"), "{error}");
}

#[test]
fn r15_a_plan_is_never_written_over_something_or_out_of_the_worktree() {
    everywhere(|scene| {
        let tree = scene.open();
        let check = |name: &str, text: &str, expected: bool| {
            assert_eq!(tree.write_new(&path(name), text).expect("asked"), expected, "{name}");
        };
        check("wiki/plans/a.md", "one\n", true);
        assert_eq!(std::fs::read_to_string(scene.work.join("wiki/plans/a.md")).expect("written"), "one\n");
        check("wiki/plans/a.md", "one\n", true);
        check("wiki/plans/a.md", "two\n", false);
        check("wiki/plans/a.md/b.md", "two\n", false);
        check("wiki/plans", "two\n", false);
        check(".pushback/a.md", "two\n", false);
        let outside = scene.work.parent().expect("a parent").join("outside");
        std::fs::create_dir_all(&outside).expect("a folder");
        symlink(&outside, scene.work.join("linked")).expect("a link");
        symlink(outside.join("target.md"), scene.work.join("wiki/plans/dangling.md")).expect("a link");
        check("linked/a.md", "two\n", false);
        check("wiki/plans/dangling.md", "two\n", false);
        assert_eq!(std::fs::read_dir(&outside).expect("a folder").count(), 0, "nothing is written through a link");
        let facts = tree.commit(&[path("wiki/plans/a.md")], "A plan").expect("commits");
        assert_eq!(tree.file_at(&facts, &path("wiki/plans/a.md")).expect("reads").as_deref(), Some(&b"one\n"[..]));
    });
}
