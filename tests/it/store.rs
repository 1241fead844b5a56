//! State on disk: what a kill, a race, a hostile editor or a newer version may do to it.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Child, Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use pushback::ports::{BriefFiles, Loaded, Store, StoreError};
use pushback::review::ids::{PrNumber, PrRef, RepoSlug, Sha};
use pushback::review::summary::{HeadRecord, PrRecord, SCHEMA_VERSION, Summary, Used};
use pushback::store::{FileStore, consent, give_consent, is_trusted, trust};

use crate::support::ended;

struct Place {
    _temp: tempfile::TempDir,
    common: Utf8PathBuf,
    work: Utf8PathBuf,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("utf-8");
        let (common, work) = (root.join("common.git"), root.join("work"));
        std::fs::create_dir(&common).expect("mkdir");
        std::fs::create_dir(&work).expect("mkdir");
        Self { _temp: temp, common, work }
    }

    fn store(&self) -> FileStore {
        store(&self.common, &self.work, &pr())
    }
}

fn store(common: &Utf8Path, work: &Utf8Path, pr: &PrRef) -> FileStore {
    FileStore::new(common, work, pr.clone(), "pushback run").expect("a store")
}

fn slug(text: &str) -> RepoSlug {
    text.parse().expect("a slug")
}

fn pr() -> PrRef {
    PrRef { host: "github.com".to_owned(), slug: slug("Acme/widget"), number: PrNumber(7) }
}

fn sha(n: u64) -> Sha {
    Sha::parse(&format!("{n:040x}")).expect("a sha")
}

fn summary() -> Summary {
    Summary {
        schema_version: SCHEMA_VERSION,
        pr: PrRecord {
            host: "github.com".to_owned(),
            owner: "Acme".to_owned(),
            repo: "widget".to_owned(),
            number: PrNumber(7),
            url: "https://github.com/Acme/widget/pull/7".to_owned(),
            base: "main".to_owned(),
            head: sha(1),
        },
        account: None,
        round: 3,
        used: Used { rounds: 2, agent_seconds: 9, tokens: 1, cost_usd: 0.5 },
        comments: Default::default(),
        reviewers: Default::default(),
        rounds: Vec::new(),
        outbox: Vec::new(),
        stop_reason: None,
        heads: vec![HeadRecord { sha: sha(1), since: "2026-01-01T00:00:00Z".parse().expect("a time"), ours: true }],
        verified: Vec::new(),
        restored: Vec::new(),
        reset_at_round: 0,
        commands_heard: Vec::new(),
        commands: Vec::new(),
        drafts: Default::default(),
        extra: Default::default(),
    }
}

fn names(dir: &Utf8Path) -> Vec<String> {
    let mut names: Vec<String> =
        dir.read_dir_utf8().expect("reads").flatten().map(|e| e.file_name().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn state_comes_back_as_it_was_saved_and_is_private() {
    let place = Place::new();
    let store = place.store();
    assert_eq!(store.load(None).expect("reads"), Loaded::Absent);
    assert!(names(&place.common).is_empty(), "reading makes nothing");
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    assert_eq!(store.load(None).expect("reads"), Loaded::Known(Box::new(summary())));
    assert_eq!(store.path(), place.common.join("pushback/github.com/Acme/widget/7/summary.json"));
    let mode = |p: &Utf8Path| std::fs::metadata(p).expect("is there").permissions().mode() & 0o777;
    for path in store.path().ancestors().skip(1).take_while(|p| *p != place.common) {
        assert_eq!(mode(path), 0o700, "{path}");
    }
    assert_eq!((mode(&store.path()), mode(&store.dir().join("lock"))), (0o600, 0o600));
    assert_eq!(names(store.dir()), ["lock", "summary.json"]);
}

#[test]
fn r10_nothing_is_written_when_nothing_changed() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    let inode = || std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(store.path()).expect("is there"));
    let before = inode();
    store.save(&held, &summary()).expect("saves");
    assert_eq!(inode(), before);
    store.save(&held, &Summary { round: 4, ..summary() }).expect("saves");
    assert_ne!(inode(), before);
}

#[test]
fn fm_6_a_file_cut_at_any_byte_is_set_aside() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    let whole = std::fs::read(store.path()).expect("reads");
    for length in 0..whole.trim_ascii_end().len() {
        std::fs::write(store.path(), &whole[..length]).expect("writes");
        match store.load(None).expect("reads") {
            Loaded::Bad { kept, .. } => assert_eq!(kept, store.path(), "without the lock nothing moves"),
            other => panic!("{length}: {other:?}"),
        }
    }
    for n in 1..=3 {
        std::fs::write(store.path(), &whole[..whole.len() / 2]).expect("writes");
        match store.load(Some(&held)).expect("reads") {
            Loaded::Bad { kept, .. } => assert_eq!(kept.file_name(), Some(format!("summary.json.bad-{n}").as_str())),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.load(Some(&held)).expect("reads"), Loaded::Absent);
    }
}

#[test]
fn fm_6_foreign_and_odd_files_are_set_aside_and_newer_ones_refused() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    let good: serde_json::Value = serde_json::from_slice(&std::fs::read(store.path()).expect("reads")).expect("json");
    let with = |key: &str, value: serde_json::Value| {
        let mut changed = good.clone();
        changed[key] = value;
        changed.to_string()
    };
    let mut foreign = good.clone();
    foreign["pr"]["number"] = 8.into();
    for (text, expected) in [
        ("[]".to_owned(), "schema version"),
        ("null".to_owned(), "schema version"),
        ("\0\0\0".to_owned(), "JSON"),
        (String::new(), "empty"),
        (with("schema_version", "1".into()), "schema version"),
        (with("schema_version", 0.into()), "schema version 0"),
        (with("comments", serde_json::json!({"zz": 1})), "not a summary"),
        (foreign.to_string(), "Acme/widget#8"),
    ] {
        std::fs::write(store.path(), &text).expect("writes");
        match store.load(Some(&held)).expect("reads") {
            Loaded::Bad { why, .. } => assert!(why.contains(expected), "{why}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    let newer = with("schema_version", 99.into());
    std::fs::write(store.path(), &newer).expect("writes");
    let refused = |error: StoreError| assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    refused(store.load(Some(&held)).expect_err("refused"));
    refused(store.save(&held, &summary()).expect_err("refused"));
    assert_eq!(std::fs::read_to_string(store.path()).expect("reads"), newer);
}

#[test]
fn fm_6_unknown_fields_survive() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    let mut value: serde_json::Value =
        serde_json::from_slice(&std::fs::read(store.path()).expect("reads")).expect("json");
    value["later"] = serde_json::json!({"a": [1]});
    value["used"]["watts"] = 5.into();
    value["heads"][0]["why"] = "x".into();
    std::fs::write(store.path(), value.to_string()).expect("writes");
    let Loaded::Known(mut known) = store.load(Some(&held)).expect("reads") else { panic!("not read") };
    known.round = 9;
    let second = HeadRecord { sha: sha(2), ..known.heads[0].clone() };
    known.heads.insert(0, second);
    store.save(&held, &known).expect("saves");
    let text = std::fs::read_to_string(store.path()).expect("reads");
    let after: serde_json::Value = serde_json::from_str(&text).expect("json");
    assert_eq!(after["later"], serde_json::json!({"a": [1]}));
    assert_eq!((&after["used"]["watts"], &after["round"]), (&5.into(), &9.into()));
    assert_eq!((&after["heads"][0]["why"], &after["heads"][1]["why"]), (&serde_json::Value::Null, &"x".into()));
    store.save(&held, &known).expect("saves");
    assert_eq!(std::fs::read_to_string(store.path()).expect("reads"), text);
}

#[test]
fn what_could_not_be_read_again_is_not_saved() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    let mut odd = summary();
    odd.used.cost_usd = f64::NAN;
    assert!(store.save(&held, &odd).is_err());
    let mut foreign = summary();
    foreign.pr.number = PrNumber(8);
    assert!(store.save(&held, &foreign).is_err());
    assert_eq!(store.load(None).expect("reads"), Loaded::Known(Box::new(summary())));
}

#[test]
fn fm_4_a_failed_write_names_the_file_and_leaves_the_old_state() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    store.save(&held, &summary()).expect("saves");
    if rustix::process::geteuid().is_root() {
        // Nothing is read-only for root; a file in the folder's place stops everybody.
        let away = place.common.join("away");
        std::fs::rename(store.dir(), &away).expect("moves");
        std::fs::write(store.dir(), "").expect("writes");
        let error = store.save(&held, &summary()).expect_err("no folder").to_string();
        assert!(error.contains(store.dir().as_str()), "{error}");
        std::fs::remove_file(store.dir()).expect("removes");
        std::fs::rename(&away, store.dir()).expect("moves");
        assert_eq!(store.load(None).expect("reads"), Loaded::Known(Box::new(summary())));
        return;
    }
    std::fs::set_permissions(store.dir(), std::fs::Permissions::from_mode(0o500)).expect("mode");
    let error = store.save(&held, &Summary { round: 4, ..summary() }).expect_err("read-only").to_string();
    std::fs::set_permissions(store.dir(), std::fs::Permissions::from_mode(0o700)).expect("mode");
    assert!(error.contains("summary.json") && error.contains("ermission denied"), "{error}");
    assert_eq!(store.load(None).expect("reads"), Loaded::Known(Box::new(summary())));
}

#[test]
fn fm_7_a_held_lock_names_its_holder_and_dies_with_it() {
    let place = Place::new();
    let held = place.store().lock().expect("locks");
    let error = place.store().lock().err().expect("held").to_string();
    assert!(error.contains(&format!("process {}", std::process::id())) && error.contains("pushback run"), "{error}");
    assert!(error.contains("since 20"), "{error}");
    let mut other = pr();
    other.number = PrNumber(8);
    assert!(store(&place.common, &place.work, &other).lock().is_ok(), "another pull request is free");
    drop(held);
    drop(place.store().lock().expect("free again"));

    let mut child = worker(&place, "hold");
    let line = read_line(&mut child);
    assert_eq!(line, "locked");
    match place.store().lock().err().expect("held") {
        StoreError::Held { holder } => assert!(holder.contains(&format!("process {}", child.id())), "{holder}"),
        other => panic!("{other}"),
    }
    std::fs::write(place.store().dir().join(".pushback-tmp-x"), "half").expect("writes");
    child.kill().expect("kills");
    child.wait().expect("ends");
    let held = place.store().lock().expect("a dead holder holds nothing");
    assert_eq!(names(place.store().dir()), ["lock"], "what it was writing is swept");
    drop(held);
}

#[test]
fn fm_7_of_eight_at_once_one_gets_the_lock() {
    let place = Place::new();
    let mut children: Vec<Child> = (0..8).map(|_| worker(&place, "hold")).collect();
    let mut lines: Vec<String> = children.iter_mut().map(read_line).collect();
    for child in &mut children {
        child.kill().expect("kills");
        child.wait().expect("ends");
    }
    lines.sort();
    assert_eq!(lines.iter().filter(|l| *l == "locked").count(), 1, "{lines:?}");
    assert_eq!(lines.iter().filter(|l| l.starts_with("held")).count(), 7, "{lines:?}");
}

#[test]
fn fc_65_twenty_writers_lose_nothing() {
    let place = Place::new();
    let held = place.store().lock().expect("locks");
    place.store().save(&held, &summary()).expect("saves");
    drop(held);
    let children: Vec<Child> = (0..20).map(|n| worker(&place, &format!("add {n}"))).collect();
    for mut child in children {
        assert!(ended(&mut child, "a writer").success());
    }
    let Loaded::Known(known) = place.store().load(None).expect("reads") else { panic!("not read") };
    let mut heard = known.commands_heard;
    heard.sort_unstable();
    assert_eq!(heard, (0..20).collect::<Vec<u64>>());
    assert_eq!(names(place.store().dir()), ["lock", "summary.json"]);
}

fn worker(place: &Place, task: &str) -> Child {
    Command::new(std::env::current_exe().expect("a test binary"))
        .args(["--exact", "store::worker_process", "--nocapture", "-q"])
        .env("PUSHBACK_TEST_WORKER", format!("{}\n{}\n{task}", place.common, place.work))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// Reads the worker's own line among those of the test program.
fn read_line(child: &mut Child) -> String {
    use std::io::BufRead;
    let stdout = child.stdout.as_mut().expect("piped");
    let lines = std::io::BufReader::new(stdout).lines().map_while(Result::ok);
    lines.filter_map(|l| l.strip_prefix("worker: ").map(str::to_owned)).next().expect("a line")
}

#[test]
fn worker_process() {
    let Ok(task) = std::env::var("PUSHBACK_TEST_WORKER") else { return };
    let mut lines = task.lines();
    let (common, work) = (lines.next().expect("a folder"), lines.next().expect("a folder"));
    let store = store(common.into(), work.into(), &pr());
    let task = lines.next().expect("a task");
    if let Some(n) = task.strip_prefix("add ") {
        let held = loop {
            match store.lock() {
                Ok(held) => break held,
                Err(StoreError::Held { .. }) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        };
        let Loaded::Known(mut known) = store.load(Some(&held)).expect("reads") else { panic!("not read") };
        known.commands_heard.push(n.parse().expect("a number"));
        store.save(&held, &known).expect("saves");
        return;
    }
    let lock = store.lock();
    match &lock {
        Ok(_) => println!("\nworker: locked"),
        Err(StoreError::Held { holder }) => println!("\nworker: held by {holder}"),
        Err(other) => println!("\nworker: {other}"),
    }
    // Until the other side ends it.
    let _ = std::io::stdin().read_line(&mut String::new());
    drop(lock);
}

#[test]
fn names_of_folders_hold_no_tricks_and_case_is_one() {
    let place = Place::new();
    for (host, owner, name) in
        [("..", "o", "r"), ("a/b", "o", "r"), ("h", "..", "r"), ("h", "o", "."), ("", "o", "r"), ("h\n", "o", "r")]
    {
        let slug = RepoSlug { owner: owner.to_owned(), name: name.to_owned() };
        let pr = PrRef { host: host.to_owned(), slug, number: PrNumber(1) };
        assert!(FileStore::new(&place.common, &place.work, pr, "x").is_err(), "{host:?} {owner} {name}");
    }
    let held = place.store().lock().expect("locks");
    place.store().save(&held, &summary()).expect("saves");
    let other = PrRef { host: "GitHub.com".to_owned(), slug: slug("acme/Widget"), number: PrNumber(7) };
    let other = store(&place.common, &place.work, &other);
    assert_eq!(other.path(), place.store().path());
    assert!(matches!(other.lock().err(), Some(StoreError::Held { .. })));
    assert!(matches!(other.load(None).expect("reads"), Loaded::Known(_)));
}

#[test]
fn links_in_place_of_folders_are_refused() {
    let place = Place::new();
    let outside = place.work.join("outside");
    std::fs::create_dir(&outside).expect("mkdir");
    symlink(&outside, place.common.join("pushback")).expect("links");
    let error = place.store().lock().err().expect("refused").to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert!(names(&outside).is_empty());
}

fn brief() -> BriefFiles {
    BriefFiles { findings_md: "# f\n".to_owned(), findings_json: "{}\n".to_owned(), spec: "s\n".to_owned() }
}

#[test]
fn the_scratchpad_is_written_and_the_answer_read() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    assert_eq!(store.read_decisions().expect("reads"), None);
    let (findings, decisions, spec) = store.write_brief(&held, &brief()).expect("writes");
    assert_eq!(std::fs::read_to_string(&findings).expect("reads"), "{}\n");
    assert_eq!(std::fs::read_to_string(&spec).expect("reads"), "s\n");
    assert_eq!(names(&place.work.join(".pushback")), ["findings.json", "findings.md", "spec.md"]);
    assert_eq!(std::fs::read_to_string(place.common.join("info/exclude")).expect("reads"), "/.pushback/\n");
    std::fs::write(&decisions, "answer").expect("writes");
    assert_eq!(store.read_decisions().expect("reads"), Some(b"answer".to_vec()));
    store.write_brief(&held, &brief()).expect("writes");
    assert_eq!(store.read_decisions().expect("reads"), None, "an old answer is no answer");
    std::fs::write(&decisions, vec![b' '; 3 << 20]).expect("writes");
    assert_eq!(store.read_decisions().expect("reads").map(|d| d.len()), Some(1 << 20));
    std::fs::write(place.common.join("info/exclude"), "*.o").expect("writes");
    store.write_brief(&held, &brief()).expect("writes");
    store.write_brief(&held, &brief()).expect("writes");
    assert_eq!(std::fs::read_to_string(place.common.join("info/exclude")).expect("reads"), "*.o\n/.pushback/\n");
}

#[test]
fn fm_38_tricks_in_the_scratchpad_reach_nothing_outside() {
    let place = Place::new();
    let store = place.store();
    let held = store.lock().expect("locks");
    let secret = place.common.join("secret");
    std::fs::write(&secret, "secret").expect("writes");
    let pad = place.work.join(".pushback");
    std::fs::create_dir(&pad).expect("mkdir");
    for name in ["findings.md", "findings.json", "spec.md", "decisions.json"] {
        symlink(&secret, pad.join(name)).expect("links");
    }
    let error = store.read_decisions().expect_err("refused").to_string();
    assert!(error.contains("symbolic link") && error.contains("decisions.json"), "{error}");
    store.write_brief(&held, &brief()).expect("writes");
    assert_eq!(std::fs::read_to_string(&secret).expect("reads"), "secret");
    assert_eq!(names(&pad), ["findings.json", "findings.md", "spec.md"]);
    std::fs::create_dir_all(pad.join("decisions.json/x")).expect("mkdir");
    assert!(store.read_decisions().is_err());
    store.write_brief(&held, &brief()).expect("writes");
    assert_eq!(store.read_decisions().expect("reads"), None);
    let made = Command::new("mkfifo").arg(pad.join("decisions.json")).status();
    if made.is_ok_and(|s| s.success()) {
        assert!(store.read_decisions().is_err(), "a pipe is not waited for");
    }
    std::fs::remove_dir_all(&pad).expect("removes");
    symlink(&place.common, &pad).expect("links");
    assert!(store.write_brief(&held, &brief()).is_err() && store.read_decisions().is_err());
    assert!(!place.common.join("findings.md").exists());
}

#[test]
fn r26_consent_is_given_once_a_repository() {
    let place = Place::new();
    let ask = |repo: &str| consent(&place.common, "github.com", &slug(repo)).expect("reads").is_some();
    assert!(!ask("o/r"));
    let at = "2026-01-01T00:00:00Z".parse().expect("a time");
    give_consent(&place.common, "github.com", &slug("o/r"), at).expect("writes");
    assert!(ask("o/r") && ask("O/R") && !ask("o/other"));
    std::fs::write(place.common.join("pushback/github.com/o/r/consent.json"), "{").expect("writes");
    assert!(!ask("o/r"), "an unreadable record is no consent");
}

#[test]
fn r29_exactly_the_trusted_content_is_trusted() {
    let place = Place::new();
    let ask = |text: &str| is_trusted(&place.common, text.as_bytes()).expect("reads");
    assert!(!ask("a"));
    trust(&place.common, b"a").expect("writes");
    trust(&place.common, b"b").expect("writes");
    assert!(ask("a") && ask("b") && !ask("c") && !ask("a\n"));
    std::fs::write(place.common.join("pushback/trust.json"), "[]").expect("writes");
    assert!(!ask("a"));
}

#[test]
fn run_logs_are_private_and_few() {
    let place = Place::new();
    let store = place.store();
    for n in 0..30 {
        let at = format!("2026-01-01T00:00:{n:02}Z").parse().expect("a time");
        let (_, path) = store.run_log(at).expect("opens");
        assert_eq!(std::fs::metadata(path).expect("is there").permissions().mode() & 0o777, 0o600);
    }
    let logs = names(&store.log_dir().expect("a folder"));
    assert_eq!(logs.len(), 20);
    assert!(logs.iter().any(|l| l.contains("T000029")) && !logs.iter().any(|l| l.contains("T000000")));
}
