//! The command line as typed. Doc comments are the help text.

use camino::Utf8PathBuf;
use clap::{Args, CommandFactory, Parser, Subcommand};

/// Settles review feedback: every open P1/P2 comment on a pull request is a failing test.
///
/// Run it in the git worktree of a pushed branch with an open pull request.
#[derive(Debug, Parser)]
#[command(
    name = "pushback",
    version,
    max_term_width = 100,
    after_help = EXIT_CODES,
    after_long_help = concat!("Examples:\n",
        "  pushback status                 what is open, who has reviewed, what the gate says\n",
        "  pushback run --dry-run          what a run would post, word for word\n",
        "  pushback run --wait 30m         settle everything, wait for reviewers up to 30 minutes\n",
        "  pushback gate --json            the verdict for a script\n",
        "  pushback show c1234             one finding with its code, hunk and thread\n\n",
        "Exit codes: see `docs/exit-codes.md` or the short list of `pushback -h`.")
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How `--help` lists the commands: those that people use first, the others under headings.
const LISTED: [(&str, &[&str]); 4] = [
    ("Commands", &["init", "run", "status", "triage", "next", "resolve", "gate", "doctor"]),
    ("One finding", &["show", "explain"]),
    ("Set-up and hooks", &["hook", "trust", "config", "completions", "man"]),
    ("Offline", &["classify"]),
];

/// Returns the command line with its help in order.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let mut list = String::new();
    for (heading, names) in LISTED {
        list.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default().replace(['{', '}'], "");
            list.push_str(&format!("  {name:<12} {about}\n"));
        }
        list.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}Options:\n{{options}}{{after-help}}"
    ))
}

/// Returns the command line for completions: without what only hooks call, for clap_complete offers hidden commands too.
pub fn completed() -> clap::Command {
    command().disable_help_subcommand(true).mut_subcommand("hook", |hook| {
        let shown = hook.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
        let bare = clap::Command::new("hook").args(hook.get_arguments().cloned()).subcommands(shown);
        bare.about(hook.get_about().cloned().unwrap_or_default())
    })
}

/// Returns the command of this name.
pub(crate) fn known(word: &str) -> Option<&'static str> {
    LISTED.iter().flat_map(|(_, names)| names.iter()).find(|name| **name == word).copied()
}

const EXIT_CODES: &str = "\
Exit codes:
   0  nothing open, settled, ready     14  only a person can help
   1  internal error                   15  not ready for another clause
   2  usage or config                  20  could not read
  10  P2 open                          21  auth or permission
  11  P1 open                          22  editor unavailable
  12  waiting, time alone can help     75  another run holds this pull request
  13  spec tests red                128+n  ended by signal n";

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Pull request, by number or URL; found by the branch otherwise.
    #[arg(long, global = true, value_name = "N|URL")]
    pub pr: Option<String>,
    /// Repository; found by the branch's remote otherwise.
    #[arg(long, global = true, value_name = "OWNER/REPO")]
    pub repo: Option<String>,
    /// Works in this folder.
    #[arg(short = 'C', global = true, value_name = "DIR")]
    pub dir: Option<Utf8PathBuf>,
    /// Prints one JSON object on stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// Prints every planned write with its exact text and does nothing.
    #[arg(long, global = true)]
    pub dry_run: bool,
    /// Tells warnings only.
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Tells more; the editor's output too.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// REST API base, for example `https://ghe.example/api/v3`.
    #[arg(long, global = true, value_name = "URL")]
    pub api_url: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Writes a `.pushback.toml` that fits, after showing it.
    ///
    /// Finds tests, editors and reviewers; what it writes is trusted in this clone.
    #[command(after_help = "Example: pushback init --agent-skill --dry-run")]
    Init(InitArgs),
    /// Runs rounds until nothing P1/P2 is open, or a named stop.
    Run(RunArgs),
    /// Shows findings, reviewers and gate; writes nothing.
    ///
    /// One look; nothing is written to the forge.
    Status(StatusArgs),
    /// Lets a person decide at the keyboard, finding by finding.
    ///
    /// Nothing is posted before everything was shown word for word and confirmed once; leaving keeps what is decided.
    ///
    /// Example: `pushback triage`, or `pushback triage --dry-run` to see what would be posted.
    Triage,
    /// Says the one next thing to do, with all it needs.
    Next(NextArgs),
    /// Answers findings for an agent that edits and pushes itself.
    Resolve(ResolveArgs),
    /// Judges whether the pull request may be merged.
    Gate(GateArgs),
    /// Shows one finding with its code, hunk, thread and history.
    Show(IdArgs),
    /// Says which rule gave a finding its severity, and on which text.
    Explain(IdArgs),
    /// The post-push hook, and answers to a coding agent's hooks.
    #[command(disable_help_subcommand = true)]
    Hook(HookArgs),
    /// Classifies review comments from stdin, offline.
    #[command(after_help = "Takes a JSON array, or one JSON object a line, as the API lists comments:\n  \
                             {\"id\":1,\"user\":{\"login\":\"cursor[bot]\"},\"body\":\"...\",\"path\":\"src/a.rs\"}\n\
                             Example: gh api repos/O/R/pulls/N/comments | pushback classify")]
    Classify,
    /// Says what a run needs and lacks, and how to mend it.
    ///
    /// Token and its rights, remote, pull request, git, hook, editors, reviewers, clock, disk.
    #[command(
        after_help = "Exit codes: 0 nothing has to be mended, 2 something has, 1 internal error. Example: pushback doctor --json"
    )]
    Doctor,
    /// Lets this worktree's `.pushback.toml` apply as it is now.
    ///
    /// Shows the file first; a later change has to be trusted again.
    #[command(after_help = "Example: pushback trust --dry-run")]
    Trust(TrustArgs),
    /// Shows the configuration in force.
    #[command(disable_help_subcommand = true)]
    Config(ConfigArgs),
    /// Prints a completion script.
    #[command(after_help = "bash:  pushback completions bash > ~/.local/share/bash-completion/completions/pushback\n\
                             zsh:   pushback completions zsh > \"${fpath[1]}/_pushback\"\n\
                             fish:  pushback completions fish > ~/.config/fish/completions/pushback.fish")]
    Completions {
        /// Shell.
        shell: clap_complete::Shell,
    },
    /// Prints the man page.
    #[command(after_help = "Example: pushback man > ~/.local/share/man/man1/pushback.1")]
    Man,
}

/// Options of `run`.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// Goes on until CI is green and the pull request can be merged too.
    #[arg(long, value_name = "ready")]
    pub until: Option<Until>,
    /// Waits for reviewers and CI at most this long; without a terminal the default is not at all.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<std::time::Duration>,
    /// Allows this many rounds beyond the limit.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub more: u32,
    /// Consents to posting in this repository.
    #[arg(long)]
    pub yes: bool,
    /// Takes the spec from this file.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<Utf8PathBuf>,
}

/// What `run` goes on until.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Until {
    /// The gate's CI and merge clauses too.
    Ready,
}

/// Options of `status`.
#[derive(Debug, Clone, Default, Args)]
pub struct StatusArgs {
    /// Reads inline comments from a file, as `gh api repos/O/R/pulls/N/comments` prints them; `-` is stdin.
    #[arg(long, value_name = "FILE|-")]
    pub comments: Option<Utf8PathBuf>,
}

/// Options of `next`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "\
Examples:
  pushback next                        what to do now, for reading
  pushback next --json                 the same for an agent: action, finding, the commands that answer it
  pushback next --json --max-age 10m   without asking the forge when the last reading is young enough")]
pub struct NextArgs {
    /// Answers from the last reading if that is younger than this, without asking the forge; says how old it is.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub max_age: Option<std::time::Duration>,
}

/// Options of `resolve`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
`fix` is recorded as a claim and proved at the next reading: its commit is on the remote and touches the place. Every other \
answer is judged and posted at once. Giving the same answer twice does nothing the second time.

Examples:
  pushback resolve c1234 fix --commit HEAD
  pushback resolve c1234 argue --reason 'The list in src/pay.sh is fixed, so splitting on words is wanted.' --dry-run
  pushback resolve c1234 r77.1 stale
  pushback resolve c1234 defer --reason TEXT --plan-title 'Parse prices as decimals' --step 'Write a test'")]
pub struct ResolveArgs {
    /// Finding ids, for example `c1234`; one answer serves all of them.
    #[arg(value_name = "ID", required = true, num_args = 1..)]
    pub ids: Vec<String>,
    /// The answer.
    #[arg(value_name = "ANSWER")]
    pub answer: Answer,
    /// Why, in 40 to 2,000 characters that speak of the finding; `-` reads it from stdin.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The commit that fixes it; HEAD otherwise.
    #[arg(long, value_name = "SHA")]
    pub commit: Option<String>,
    /// Another place that the fix changed, for example `src/a.rs:10-14`; may be repeated.
    #[arg(long, value_name = "PATH:LINES")]
    pub place: Vec<String>,
    /// Title of the follow-up plan.
    #[arg(long, value_name = "TITLE")]
    pub plan_title: Option<String>,
    /// A first step of the plan; may be repeated.
    #[arg(long, value_name = "TEXT")]
    pub step: Vec<String>,
    /// Consents to posting in this repository.
    #[arg(long)]
    pub yes: bool,
}

/// What a finding is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Answer {
    /// The code was changed.
    Fix,
    /// It is wrong or not worth it; P2 only.
    Argue,
    /// Its place is provably gone.
    Stale,
    /// Out of scope: a follow-up plan is written for you to commit.
    Defer,
    /// It asks a question, and this is the answer.
    Answer,
}

/// Options of `gate`.
#[derive(Debug, Clone, Default, Args)]
pub struct GateArgs {
    /// Waits at most this long while time alone can help.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<std::time::Duration>,
    /// Runs the verify commands when this head was not verified here.
    #[arg(long)]
    pub verify: bool,
    /// Publishes the verdict as a commit status (`gate.status`) on the judged commit, so that a branch rule can require it.
    #[arg(long)]
    pub publish: bool,
}

/// Options of `init`.
#[derive(Debug, Clone, Default, Args)]
pub struct InitArgs {
    /// Agrees without being asked.
    #[arg(long)]
    pub yes: bool,
    /// Installs the post-push hook too, as `pushback hook install` does.
    #[arg(long)]
    pub hook: bool,
    /// Writes a skill for coding agents too, and a paragraph in AGENTS.md.
    #[arg(long)]
    pub agent_skill: bool,
}

/// Options of `trust`.
#[derive(Debug, Clone, Default, Args)]
pub struct TrustArgs {
    /// Agrees without being asked.
    #[arg(long)]
    pub yes: bool,
}

/// A finding.
#[derive(Debug, Clone, Args)]
pub struct IdArgs {
    /// Finding id, for example `c1234`.
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Options of `hook`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  pushback hook install        from now on every push of a branch is followed by a look at its reviews
  pushback hook status         where it is installed, which runs there were, where their logs are
  pushback hook uninstall      everything is as it was before

`hook.mode` says what happens after a push: notify, status or run. `docs/hooks.md` explains all of it.")]
pub struct HookArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: HookCommand,
}

/// Commands of `hook`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum HookCommand {
    /// Installs the post-push hook in this repository; hooks that are there are chained.
    Install,
    /// Removes the post-push hook and everything it kept; hooks that were there before are put back.
    Uninstall,
    /// Shows where the hook is installed and the runs it started, with their logs.
    Status,
    /// Answers a hook call of Claude Code or Codex on stdin: exit 2 shows the findings after a push; on Stop it keeps the agent going once.
    Agent,
    /// A push may have happened. Called by the installed hook.
    #[command(hide = true)]
    Pushed,
    /// Decides whether it did, away from the push.
    #[command(hide = true)]
    Decide,
    /// The detached run after a push.
    #[command(hide = true)]
    After,
}

/// Options of `config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// Commands of `config`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Shows every value.
    Show {
        /// Shows where each value comes from.
        #[arg(long)]
        origin: bool,
    },
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    crate::config::layers::duration(text).ok_or_else(|| "give a duration such as 90s, 15m or 2h".to_owned())
}
