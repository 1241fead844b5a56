//! The text of the installed hooks. They answer irrelevant calls with nothing but the shell's own words, hand on to the
//! hook that was there, start the program in the background with nothing of the caller's open, and never fail a push.

use camino::{Utf8Path, Utf8PathBuf};

/// Lines of a transaction that may be a push.
pub const MOVED: &str = "PUSHBACK_HOOK_MOVED";
/// `push` when the command that moved the refs calls itself so.
pub const CALLER: &str = "PUSHBACK_HOOK_CALLER";
/// Lines that git handed to `pre-push`.
pub const ANNOUNCED: &str = "PUSHBACK_HOOK_ANNOUNCED";
/// Remote or address that is pushed to.
pub const TARGET: &str = "PUSHBACK_HOOK_TARGET";
/// Process of the push.
pub const PROCESS: &str = "PUSHBACK_HOOK_PROCESS";
/// The script itself.
pub const FILE: &str = "PUSHBACK_HOOK_FILE";
/// Terminal of the push, set by the first process of ours.
pub const TERMINAL: &str = "PUSHBACK_HOOK_TERMINAL";
/// Every variable of ours that a detached run does not get.
pub const VARIABLES: &[&str] = &[MOVED, CALLER, ANNOUNCED, TARGET, PROCESS, FILE, TERMINAL];

/// What is appended to the name of a hook that was there.
pub const KEPT: &str = ".before-pushback";
/// Folder with the kept hooks under their own names.
pub const NAMED: &str = "before-pushback.d";
const MARK: &str = "# pushback:hook 1 ";
const FOR: &str = "# for: ";
const PROGRAM: &str = "program=";
const MADE: &str = "# made this folder";

/// The hook that a script stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// After refs moved.
    ReferenceTransaction,
    /// Before a push.
    PrePush,
}

impl Event {
    /// Both, the important one first.
    pub const ALL: [Self; 2] = [Self::ReferenceTransaction, Self::PrePush];

    /// Returns git's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReferenceTransaction => "reference-transaction",
            Self::PrePush => "pre-push",
        }
    }
}

/// What a script carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Hook.
    pub event: Event,
    /// This program.
    pub program: Utf8PathBuf,
    /// Common folders of the repositories it is for.
    pub repositories: Vec<Utf8PathBuf>,
    /// Remotes whose pushes leave no trace.
    pub blind: Vec<String>,
    /// True when its folder was not there before.
    pub made_folder: bool,
}

/// Quotes a word for the shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the line for a hook that is part of the project's files, where nothing is written.
pub fn line() -> &'static str {
    "[ \"$1\" != committed ] || [ -n \"$PUSHBACK_NO_HOOK\" ] || ! command -v pushback >/dev/null || pushback hook pushed || :"
}

impl Script {
    /// Writes it out.
    pub fn text(&self) -> String {
        let mut text = format!(
            "#!/bin/sh\n# Starts pushback after a push. `pushback hook uninstall` removes it.\n{MARK}{}\n",
            self.event.name()
        );
        for repository in &self.repositories {
            text.push_str(&format!("{FOR}{repository}\n"));
        }
        if self.made_folder {
            text.push_str(&format!("{MADE}\n"));
        }
        let first = match self.event {
            Event::ReferenceTransaction => FIRST.to_owned(),
            Event::PrePush => FIRST_PUSH.replace("@BLIND@", &self.blind_cases("")),
        };
        text.push_str(&first.replace("@NAME@", self.event.name()).replace("@KEPT@", KEPT));
        text.push_str(&HAND_ON.replace("@NAME@", self.event.name()).replace("@KEPT@", KEPT).replace("@NAMED@", NAMED));
        // Git does not ask how a hook ends that hears of what is done: the shell becomes the program, and a start is saved.
        let (body, exec) = match self.event {
            Event::ReferenceTransaction => (TRANSACTION.to_owned(), "exec "),
            Event::PrePush => (PRE_PUSH.replace("@BLIND@", &self.blind_cases("wanted=1 ")), ""),
        };
        let body = body.replace("@CHAIN@", CHAIN).replace("@MOST@", MOST);
        text.push_str(
            &body
                .replace("@START@", START)
                .replace("@EXEC@", exec)
                .replace("@PROGRAM@", &quoted(self.program.as_str())),
        );
        text
    }

    /// Returns the case of the remotes whose pushes move no remote-tracking branch, and what is done then.
    fn blind_cases(&self, then: &str) -> String {
        if self.blind.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self.blind.iter().map(|name| quoted(name)).collect();
        format!("{}) {then};;\n", names.join(" | "))
    }

    /// Reads a script of ours back; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let value = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
        let name = value(MARK)?;
        let event = Event::ALL.into_iter().find(|event| event.name() == name)?;
        let program = value(PROGRAM).map(|word| word.trim_matches('\'').replace(r"'\''", "'")).unwrap_or_default();
        let repositories = text.lines().filter_map(|line| line.strip_prefix(FOR)).map(Utf8PathBuf::from).collect();
        let blind = text.lines().find_map(|line| line.strip_suffix(") wanted=1 ;;").filter(|l| l.starts_with('\'')));
        let blind = blind.map(|line| line.split(" | ").map(unquoted).collect()).unwrap_or_default();
        let made_folder = text.lines().any(|line| line == MADE);
        Some(Self { event, program: program.into(), repositories, blind, made_folder })
    }

    /// Tells whether it is for this repository.
    pub fn is_for(&self, common_dir: &Utf8Path) -> bool {
        self.repositories.iter().any(|known| known == common_dir)
    }
}

fn unquoted(word: &str) -> String {
    let inner = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')).unwrap_or(word);
    inner.replace(r"'\''", "'")
}

/// Every change of a ref comes by here twice; the first time is nobody's business but of a hook that was there.
const FIRST: &str = r#"[ "$1" = committed ] || [ -x "${0%/*}/@NAME@@KEPT@" ] || exit 0
"#;

/// Most pushes move a remote-tracking branch and are the other hook's business: that is told before the rest is read.
const FIRST_PUSH: &str = r#"case $1 in
*/* | *:*) ;;
@BLIND@*) [ -x "${0%/*}/@NAME@@KEPT@" ] || exit 0 ;;
esac
"#;

/// How the hook that was there is called. It may ask for its own name and place, as that of husky does: a shell script is
/// read under the name that it had. Called by pre-commit, which took our place, its own hook is not called once more.
const HAND_ON: &str = r##"kept=${0%/*}/@NAME@@KEPT@
case $0 in
*.legacy) ! cmp -s "$kept" "${0%.legacy}" || kept= ;;
esac
hand_on() {
  first=
  { IFS= read -r first <"$kept"; } 2>/dev/null
  first=${first#"#!"}
  first=${first# }
  case ${first%% -*} in
  */sh | */bash | */dash | */ksh | *" sh" | *" bash" | *" dash" | *" ksh")
    exec $first -c 'kept=$1; shift; . "$kept"' "$0" "$kept" "$@"
    ;;
  esac
  [ ! -x "${0%/*}/@NAMED@/@NAME@" ] || kept=${0%/*}/@NAMED@/@NAME@
  exec "$kept" "$@"
}
"##;

/// Hands the lines of the caller to the hook that was there, then to us. They go through a file: a push of very many refs
/// would take a shell too long.
const CHAIN: &str = r#"if [ -x "$kept" ]; then
  lines=$(mktemp "${TMPDIR:-/tmp}/pushback-hook.XXXXXX") || hand_on "$@"
  cat >"$lines"
  (hand_on "$@") <"$lines"
  code=$?
  exec <"$lines"
  rm -f "$lines"
fi
"#;
/// Most bytes of lines that are passed on: a variable cannot be longer on Linux than 128 KiB.
const MOST: &str = "100000";

/// The end of both scripts. The program returns as soon as it has left the caller's session; in the background it could
/// be ended with the caller before. Nothing of the caller's stays open: no pipe, no descriptor.
const START: &str = r#"program=@PROGRAM@
[ -x "$program" ] || program=$(command -v pushback) || {
  echo "pushback is not there any more, so nothing was started after this push (remove $0)" >&2
  exit "$code"
}
PUSHBACK_HOOK_FILE=$0
export PUSHBACK_HOOK_FILE
@EXEC@"$program" hook pushed </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
exit "$code"
"#;

/// Commits, fetches and all the rest end in the first lines. The words of the caller are read where the system shows them.
const TRANSACTION: &str = r#"relevant=
by=
if [ "$1" = committed ] && [ -z "$PUSHBACK_NO_HOOK$PUSHBACK_RUN_ID" ]; then
  { IFS= read -r by <"/proc/$PPID/cmdline"; } 2>/dev/null
  case $by in
  gitfetch* | gitpull* | gitclone* | gitcommit* | gitrebase*) ;;
  git*push* | */git*push*) relevant=push ;;
  git* | */git-core/git* | */bin/git*) ;;
  *) relevant=maybe ;;
  esac
fi
if [ -z "$relevant" ]; then
  [ ! -x "$kept" ] || hand_on "$@"
  exit 0
fi
code=0
@CHAIN@newline='
'
moved=
while read -r old new ref; do
  case $ref in
  refs/remotes/*)
    case $old in
    *[!0]*) ;;
    *)
      case $new in
      *[!0]*) [ ${#moved} -gt @MOST@ ] || moved=$moved$old' '$new' '$ref$newline ;;
      esac
      ;;
    esac
    ;;
  esac
done
[ -n "$moved" ] || exit "$code"
PUSHBACK_HOOK_MOVED=$moved PUSHBACK_HOOK_CALLER=$relevant
export PUSHBACK_HOOK_MOVED PUSHBACK_HOOK_CALLER
@START@"#;

/// Pushes that move a remote-tracking branch are the other hook's business.
const PRE_PUSH: &str = r#"wanted=
case $1 in
*/* | *:*) wanted=1 ;;
@BLIND@esac
[ -z "$PUSHBACK_NO_HOOK$PUSHBACK_RUN_ID" ] || wanted=
if [ -z "$wanted" ]; then
  [ ! -x "$kept" ] || hand_on "$@"
  exit 0
fi
code=0
@CHAIN@[ "$code" = 0 ] || exit "$code"
newline='
'
all=
while IFS= read -r line; do
  [ ${#all} -gt @MOST@ ] || all=$all$line$newline
done
[ -n "$all" ] || exit 0
PUSHBACK_HOOK_ANNOUNCED=$all PUSHBACK_HOOK_TARGET=$1 PUSHBACK_HOOK_PROCESS=$PPID
export PUSHBACK_HOOK_ANNOUNCED PUSHBACK_HOOK_TARGET PUSHBACK_HOOK_PROCESS
@START@"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn script(event: Event) -> Script {
        Script {
            event,
            program: "/opt/it's here/pushback".into(),
            repositories: vec!["/srv/a b/.git".into(), "/srv/c/.git".into()],
            blind: if event == Event::PrePush { vec!["mirror".into(), "o'dd".into()] } else { Vec::new() },
            made_folder: true,
        }
    }

    #[test]
    fn a_script_is_read_back_as_it_was_written() {
        for event in Event::ALL {
            let script = script(event);
            assert_eq!(Script::parse(&script.text()), Some(script.clone()), "{}", script.text());
        }
        assert_eq!(Script::parse("#!/bin/sh\nexit 0\n"), None);
    }

    #[test]
    fn every_shell_accepts_the_scripts() {
        for shell in ["sh", "dash", "bash", "zsh"] {
            for event in Event::ALL {
                let text = script(event).text();
                let check = std::process::Command::new(shell).args(["-n", "-c", &text]).output();
                let Ok(check) = check else { continue };
                assert!(check.status.success(), "{shell}: {}\n{text}", String::from_utf8_lossy(&check.stderr));
            }
        }
    }
}
