//! What git says of an ordinary repository, told without starting it: three of its processes take longer than the rest of a
//! look that finds nothing new. Whatever is out of the ordinary is `None`, and git is asked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use camino::{Utf8Path, Utf8PathBuf};
use git2::{Repository, RepositoryOpenFlags};

use super::discover::Config;
use super::run;

/// Where a git program is that has its system-wide configuration at one of [`SYSTEM`].
const PROGRAMS: [&str; 3] = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"];
const SYSTEM: [&str; 2] = ["/etc/gitconfig", "/usr/local/etc/gitconfig"];
/// Variables of git's that change nothing of what is asked here.
const HARMLESS: [&str; 9] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_TERMINAL_PROMPT",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_ASKPASS",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
];

/// Beginnings of names of such variables: who commits, how to reach a remote, what a prompt shows.
const HARMLESS_STARTS: [&str; 5] = ["GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_", "GIT_HTTP_", "GIT_PS1_"];

/// What git would say.
pub(super) struct Plain {
    /// Top of the worktree.
    pub(super) toplevel: Utf8PathBuf,
    /// git's folder of this worktree.
    pub(super) git_dir: Utf8PathBuf,
    /// Folder shared by all worktrees.
    pub(super) common_dir: Utf8PathBuf,
    /// The whole configuration.
    pub(super) config: Config,
}

/// The environment that git would be started in.
pub(super) struct Around(BTreeMap<OsString, OsString>);

impl Around {
    /// Takes this process's own.
    pub(super) fn process() -> Self {
        Self(std::env::vars_os().collect())
    }

    fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(name.as_ref() as &std::ffi::OsStr)
    }

    /// Tells whether the git that would be started is known, and nothing in the environment speaks to it.
    fn is_ordinary(&self) -> bool {
        let path = self.get("PATH").cloned().unwrap_or_default();
        let program = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|program| program.exists());
        let known = program.is_some_and(|found| PROGRAMS.iter().any(|p| found == Path::new(p)) && is_program(&found));
        let speaks = |name: &OsString| {
            let name = name.to_string_lossy();
            let harmless = HARMLESS.contains(&&*name) || HARMLESS_STARTS.iter().any(|start| name.starts_with(start));
            name.starts_with("GIT_") && !harmless && !run::is_scrubbed(&name)
        };
        cfg!(target_os = "linux") && known && !self.0.keys().any(speaks)
    }

    /// Returns the files above the repository's own, in git's order; `None` where that is not known.
    fn files(&self) -> Option<Vec<PathBuf>> {
        let without_system = match self.get("GIT_CONFIG_NOSYSTEM").map(|value| value.to_string_lossy()).as_deref() {
            Some("1" | "true" | "yes" | "on") => true,
            None | Some("" | "0" | "false" | "no" | "off") => false,
            Some(_) => return None,
        };
        if !without_system && SYSTEM.iter().any(|path| Path::new(path).symlink_metadata().is_ok()) {
            return None;
        }
        if let Some(only) = self.get("GIT_CONFIG_GLOBAL") {
            return (!only.is_empty()).then(|| vec![PathBuf::from(only)]);
        }
        let home = self.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)?;
        let base = self.get("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty());
        let base = base.map_or_else(|| home.join(".config"), PathBuf::from);
        Some(vec![base.join("git/config"), home.join(".gitconfig")])
    }
}

/// Tells whether a file is a program itself: neither a link nor a script that starts another one.
fn is_program(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
    is_file
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
        && magic == *b"\x7fELF"
}

/// Looks at the repository that holds a folder.
pub(super) fn look(dir: &Utf8Path, around: &Around) -> Option<Plain> {
    if !around.is_ordinary() {
        return None;
    }
    let files = around.files()?;
    let none: [&str; 0] = [];
    let repo = Repository::open_ext(dir, RepositoryOpenFlags::empty(), none).ok()?;
    let folder = |path: &Path| Utf8PathBuf::from_path_buf(path.canonicalize().ok()?).ok();
    let (toplevel, git_dir, common_dir) = (folder(repo.workdir()?)?, folder(repo.path())?, folder(repo.commondir())?);
    let here = dir.canonicalize_utf8().ok().filter(|here| here.is_dir())?;
    // Git refuses what belongs to somebody else, unless it is told to trust it.
    let user = rustix::process::geteuid().as_raw();
    let entry = toplevel.join(".git");
    let ours =
        [&toplevel, &git_dir, &common_dir, &entry].iter().all(|path| path.metadata().is_ok_and(|m| m.uid() == user));
    if repo.is_bare() || !ours || !here.starts_with(&toplevel) || here.starts_with(&entry) {
        return None;
    }
    let own = common_dir.join("config").into_std_path_buf();
    let mut config = Config::default();
    for file in files.iter().chain([&own]) {
        take(&mut config, file)?;
    }
    is_plain(&config).then_some(Plain { toplevel, git_dir, common_dir, config })
}

/// Takes the values of one file; `None` where it cannot be read.
fn take(config: &mut Config, file: &Path) -> Option<()> {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(()),
        Ok(meta) if meta.is_file() => {}
        // Where people want no file at all they name this one.
        Ok(_) if file == Path::new("/dev/null") => return Some(()),
        Ok(_) | Err(_) => return None,
    }
    // Where a line goes on is told in two ways: a comment that ends with this sign ends for git only.
    if std::fs::read(file).ok()?.contains(&b'\\') {
        return None;
    }
    let read = git2::Config::open(file).ok()?;
    let mut entries = read.entries(None).ok()?;
    while let Some(entry) = entries.next() {
        let entry = entry.ok()?;
        let value =
            if entry.has_value() { String::from_utf8_lossy(entry.value_bytes()).into_owned() } else { String::new() };
        config.add(String::from_utf8_lossy(entry.name_bytes()).into_owned(), value);
    }
    Some(())
}

/// Tells whether a configuration names no other file, and nothing that moves the repository or gives it another form.
fn is_plain(config: &Config) -> bool {
    let odd = |key: &str| {
        key.starts_with("include.")
            || key.starts_with("includeif.")
            || key.starts_with("extensions.")
            || key == "core.worktree"
    };
    let version = config.all("core.repositoryformatversion").iter().all(|version| version == "0");
    version && !config.keys().any(odd)
}

/// Returns the address that pushes to a remote go to; `None` where several answers are possible.
pub(super) fn push_url(config: &Config, remote: &str) -> Option<String> {
    let urls = config.all(&format!("remote.{remote}.url"));
    let pushed = config.all(&format!("remote.{remote}.pushurl"));
    let (only, instead) = (urls.first()?, |kind| config.instead_of(kind));
    if urls.iter().chain(pushed).any(String::is_empty) {
        return None;
    }
    let by_push = instead(".pushinsteadof");
    if let Some(url) = pushed.first() {
        return rewritten(url, &instead(".insteadof"));
    }
    if urls.len() > 1 && !by_push.is_empty() {
        return None;
    }
    let url = rewritten(only, &by_push)?;
    if url == *only { rewritten(only, &instead(".insteadof")) } else { Some(url) }
}

/// Applies the longest fitting prefix; `None` where two are equally long, or one is empty.
fn rewritten(url: &str, rules: &[(&str, &str)]) -> Option<String> {
    if rules.iter().any(|(_, prefix)| prefix.is_empty()) {
        return None;
    }
    let fits = || rules.iter().filter(|(_, prefix)| url.starts_with(prefix));
    let Some(longest) = fits().map(|(_, prefix)| prefix.len()).max() else { return Some(url.to_owned()) };
    let mut longest = fits().filter(|(_, prefix)| prefix.len() == longest);
    match (longest.next(), longest.next()) {
        (Some((base, prefix)), None) => Some(format!("{base}{}", url.strip_prefix(prefix)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    struct Place {
        _temp: tempfile::TempDir,
        root: Utf8PathBuf,
        around: Around,
    }

    impl Place {
        fn new() -> Self {
            let temp = tempfile::tempdir().expect("a folder");
            let root = Utf8PathBuf::from_path_buf(temp.path().canonicalize().expect("a path")).expect("UTF-8");
            let home = root.join("home");
            std::fs::create_dir_all(home.join(".config/git")).expect("folders");
            let env = [
                ("PATH", std::env::var("PATH").unwrap_or_default()),
                ("HOME", home.into()),
                ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ];
            let around = Around(env.into_iter().map(|(name, value)| (name.into(), value.into())).collect());
            let place = Self { _temp: temp, root, around };
            place.git(&place.root, &["init", "-q", "-b", "main", "work"]).expect("a repository");
            place
        }

        fn git(&self, dir: &Utf8Path, args: &[&str]) -> Option<Vec<u8>> {
            let done = Command::new("git").args(args).current_dir(dir).env_clear().envs(&self.around.0).output();
            done.ok().filter(|done| done.status.success()).map(|done| done.stdout)
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.root.join(file), text).expect("a file");
        }

        fn look(&self, dir: &str) -> Option<Plain> {
            look(&self.root.join(dir), &self.around)
        }

        /// Proves that what is told is what git says; tells whether anything was told.
        fn same(&self, dir: &str) -> bool {
            let Some(plain) = self.look(dir) else { return false };
            let dir = self.root.join(dir);
            let says = Config::parse(&self.git(&dir, &["config", "--list", "-z"]).expect("a configuration"));
            assert_eq!(plain.config, says);
            let places = self.git(
                &dir,
                &["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"],
            );
            let places = String::from_utf8(places.expect("a worktree")).expect("UTF-8");
            let told = [&plain.toplevel, &plain.git_dir, &plain.common_dir].map(|path| format!("{path}\n")).concat();
            assert_eq!(told, places);
            for remote in says.remote_names() {
                let url = self.git(&dir, &["remote", "get-url", "--push", "--", &remote]);
                let url = url.map(|url| String::from_utf8_lossy(&url).trim_end().to_owned());
                if let Some(told) = push_url(&plain.config, &remote) {
                    assert_eq!(Some(told), url, "{remote}: {says:?}");
                }
            }
            true
        }
    }

    const ORIGIN: &str = "[remote \"origin\"]\n\turl = https://github.com/o/r.git\n";

    #[test]
    fn an_ordinary_repository_is_told_as_git_tells_it() {
        let place = Place::new();
        if !place.around.is_ordinary() {
            return;
        }
        std::fs::create_dir_all(place.root.join("work/a/b")).expect("folders");
        let own =
            |text: &str| place.write("work/.git/config", &format!("[core]\n\trepositoryformatversion = 0\n{text}"));
        for text in [
            "",
            ORIGIN,
            "[remote \"o\"]\nurl=git@h:a/b\npushurl=x:c\npushurl=y:d\n[branch \"Main.x\"]\n remote = o\n merge = refs/heads/main\n",
            "[Remote \"O\"] URL = a ; b\n[remote \"p\"]\n\tprune\n\turl = \" a # b\" # c\n",
            "[url \"ssh://h/\"]\ninsteadOf = https://github.com/\n[remote \"origin\"]\nurl = https://github.com/o/r.git\n",
            "[url \"ssh://h/\"]\npushInsteadOf = https://github.com/\n[url \"x:\"]\ninsteadOf = ssh\n[remote \"q\"]\nurl = https://github.com/o/r\n",
            "[url \"a:\"]\ninsteadOf = h\n[url \"b:\"]\ninsteadOf = ht\n[remote \"q\"]\nurl = http://o\npushurl = hx\n",
        ] {
            own(text);
            assert!(place.same("work") && place.same("work/a/b"), "{text}");
        }
        place.write("home/.gitconfig", "[user]\n\tname = Ann B # c\n[push]\n\tdefault = current\n");
        place.write("home/.config/git/config", "[remote]\n\tpushDefault = origin\n[url \"g:\"]\n\tinsteadOf = gh:\n");
        assert!(place.same("work"));
        place
            .git(&place.root.join("work"), &["-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"])
            .expect("a commit");
        place.git(&place.root.join("work"), &["worktree", "add", "-q", "../other"]).expect("a worktree");
        assert!(place.same("other"), "a linked worktree");
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_left_to_git() {
        let place = Place::new();
        let own = |text: &str| {
            place.write("work/.git/config", &format!("[core]\n\trepositoryformatversion = 0\n{ORIGIN}{text}"))
        };
        own("");
        assert_eq!(place.look("work").is_some(), place.around.is_ordinary());
        for text in [
            "[include]\n\tpath = other\n",
            "[includeIf \"gitdir:/\"]\n\tpath = other\n",
            "[extensions]\n\tworktreeConfig = true\n",
            "[core]\n\tworktree = ..\n",
            "[core]\n\trepositoryformatversion = 1\n",
            "[core]\n\tbare = true\n",
            "[broken\n",
            "[user]\n\tname = a ; b\\\n\temail = c\n",
        ] {
            own(text);
            assert!(place.look("work").is_none(), "{text}");
        }
        own("");
        place.write("work/file", "");
        assert!(["work/.git", "work/file", "work/none", "home"].iter().all(|dir| place.look(dir).is_none()));
        let with = |name: &str, value: &str| {
            let mut env = place.around.0.clone();
            env.insert(name.into(), value.into());
            look(&place.root.join("work"), &Around(env))
        };
        assert!(with("GIT_CONFIG_COUNT", "0").is_none() && with("GIT_CONFIG_SYSTEM", "/x").is_none());
        assert!(with("GIT_CONFIG_NOSYSTEM", "maybe").is_none() && with("PATH", place.root.as_str()).is_none());
        let program = place.root.join("git");
        place.write("git", "#!/bin/sh\n");
        assert!(!is_program(program.as_std_path()));
        let no = Vec::<(&str, &str)>::new();
        assert_eq!(rewritten("a", &no).as_deref(), Some("a"));
        assert_eq!(rewritten("abc", &[("x", "ab"), ("y", "ab")]), None, "which one is for git to say");
        assert_eq!(rewritten("abc", &[("x", "")]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_file_that_is_read_is_read_as_git_reads_it(
            lines in proptest::collection::vec("(\\[(remote|url|branch|a\\.B|core) ?(\"[aB:/. \\]\\\\]{0,4}\")?\\])?[ \t]{0,2}(url|pushUrl|insteadOf|pushInsteadOf|x-1)?( ?= ?[ab:/\"#; \\\\nt]{0,9})?", 0..7),
        ) {
            let place = Place::new();
            place.write("work/.git/config", &format!("[core]\n\trepositoryformatversion = 0\n{}\n", lines.join("\n")));
            if place.git(&place.root.join("work"), &["config", "--list", "-z"]).is_some() {
                place.same("work");
            }
        }
    }
}
