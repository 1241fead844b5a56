//! `next`: the one next thing with all it needs. Looks once, or answers from a reading that is young enough; never waits.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::{consent, show, view};
use crate::cli::args::NextArgs;
use crate::cli::failure::Failure;
use crate::cli::look::Desk;
use crate::cli::place::{self, Place};
use crate::cli::{Context, look, output};
use crate::engine::rounds;
use crate::engine::survey::Survey;
use crate::git::Head;
use crate::hook::script::quoted;
use crate::ports::{Loaded, Store};
use crate::report::json::{Counts, FindingView, NextView};
use crate::report::table;
use crate::review::classify::{below_title, readable};
use crate::review::compose;
use crate::review::decision::Verb;
use crate::review::gate;
use crate::review::ids::{FindingId, PrRef, Sha};
use crate::review::next::{self, Action, Facts, GLANCE_VERSION, Glance, Local, Next, Reviewers};
use crate::review::observation::PrState;
use crate::review::status::Status;
use crate::review::summary::{Entry, Summary};
use crate::review::words::count;
use crate::store::{self, FileStore};

/// When to come back where nothing says it, in seconds.
const LATER: u64 = 60;
/// Longest text of a finding in the form for reading, in lines.
const SHOWN_LINES: usize = 40;

pub(super) fn run(cx: &Context, args: &NextArgs) -> Result<u8, Failure> {
    if let Some(age) = args.max_age
        && let Some(exit) = known(cx, age)?
    {
        return Ok(exit);
    }
    let desk = look::desk(cx, "next")?;
    let (summary, survey) = look::look(cx, &desk)?;
    let glance = glance(cx, &desk, &summary, &survey)?;
    if !cx.global.dry_run {
        desk.store.keep_glance(&glance);
    }
    let local = match &desk.place.found.head {
        Head::Branch { name, sha } if *name == desk.setup(None).branch => {
            rounds::relation(&desk.place.tree, sha, &glance.head)?
        }
        Head::Branch { .. } | Head::Detached(_) | Head::Unborn(_) => Local::Elsewhere,
    };
    // Where nobody has agreed to posts there is nothing that could be done about it.
    let owed = if consent::given(&desk)? {
        rounds::unposted(&desk.setup(None), &summary, &survey).settled
    } else {
        Vec::new()
    };
    let thing = decide(&summary, &glance, local, &owed);
    Ok(answer(cx, &summary, &glance, local, &thing, false))
}

fn decide(summary: &Summary, glance: &Glance, local: Local, unposted: &[FindingId]) -> Next {
    let (state, head, reviewers) = (glance.state, &glance.head, &glance.reviewers);
    next::next(Facts { summary, state, head, local, reviewers, unposted })
}

/// Gathers what the next answers need, while it is at hand.
fn glance(cx: &Context, desk: &Desk, summary: &Summary, survey: &Survey) -> Result<Glance, Failure> {
    let mut around = BTreeMap::new();
    for entry in summary.open_blocking().chain(summary.comments.values().filter(|entry| entry.finding.needs_person)) {
        around.insert(entry.finding.id, rounds::around(&desk.place.tree, survey, entry)?);
    }
    Ok(Glance {
        schema_version: GLANCE_VERSION,
        at: cx.clock.now(),
        head: survey.obs.pr.head.clone(),
        state: survey.obs.pr.state,
        reviewers: Reviewers::of(&survey.reviewers),
        around,
        runs: view::runs(desk),
    })
}

/// Answers from the last reading; `None` where it is too old, where anything here says that more happened since, or where
/// only a reading may give the answer: nothing is ever called done from memory.
fn known(cx: &Context, age: Duration) -> Result<Option<u8>, Failure> {
    let place = place::place(&cx.global)?;
    let Some(store) = state_of(cx, &place)? else { return Ok(None) };
    let (Some(glance), Loaded::Known(summary)) = (store.glance(), store.load(None)?) else { return Ok(None) };
    let now = cx.clock.now();
    let old = Duration::try_from(now.duration_since(glance.at)).unwrap_or(Duration::MAX);
    let Head::Branch { name, sha } = &place.found.head else { return Ok(None) };
    if old > age || summary.pr.head != glance.head || glance.state != PrState::Open || *name != place.branch {
        return Ok(None);
    }
    let Some(local) = unpushed_since(&place, sha, &glance.head)? else { return Ok(None) };
    let thing = decide(&summary, &glance, local, &[]);
    let whole = thing.finding.is_none_or(|id| glance.around.contains_key(&id));
    if thing.action == Action::Done || !whole || thing.until.is_some_and(|until| until <= now) {
        return Ok(None);
    }
    Ok(Some(answer(cx, &summary, &glance, local, &thing, true)))
}

/// Returns the state of the pull request that the branch had last time.
fn state_of(cx: &Context, place: &Place) -> Result<Option<FileStore>, Failure> {
    let common = place.tree.common_dir();
    let (slug, number) = match place::named(place, &cx.global)? {
        Some(meant) => (meant.slug, meant.number),
        None => match store::recall_pull(common, &place.host, &place.remote_branch) {
            Some(known) => known,
            None => return Ok(None),
        },
    };
    let pr = PrRef { host: place.host.clone(), slug, number };
    Ok(Some(FileStore::new(common, &place.found.toplevel, pr, "next")?))
}

/// Tells how HEAD stands to a head read earlier; `None` where the remote's branch has moved since, or may have.
fn unpushed_since(place: &Place, here: &Sha, head: &Sha) -> Result<Option<Local>, Failure> {
    match place.tree.tracked(&place.remote, &place.remote_branch) {
        Some(tracked) if tracked != *head => Ok(None),
        None if here != head => Ok(None),
        Some(_) | None => Ok(Some(rounds::relation(&place.tree, here, head)?)),
    }
}

fn answer(cx: &Context, summary: &Summary, glance: &Glance, local: Local, thing: &Next, cached: bool) -> u8 {
    let exit = if glance.state == PrState::Open { exit_of(summary, glance) } else { 0 };
    let entry = thing.finding.and_then(|id| summary.comments.get(&id));
    let group: Vec<&Entry> =
        thing.finding.iter().chain(&thing.also).filter_map(|id| summary.comments.get(id)).collect();
    let may = compose::may(&group);
    let commands = Ways { cx, summary, thing, entry, may: &may, local, runs: glance.runs }.commands();
    let finding = entry.map(|entry| {
        let around = glance.around.get(&entry.finding.id).cloned().unwrap_or_default();
        FindingView::of(entry, around, &thing.also, &may)
    });
    if !cx.global.json {
        output::shown(&text(cx, summary, glance, thing, finding.as_ref(), &commands, cached));
        return exit;
    }
    let more = NextView {
        action: thing.action,
        pending: thing.action == Action::Wait,
        why: thing.why.clone(),
        counts: Counts::of(summary, 0),
        finding,
        commands: commands.iter().map(|(name, line)| (*name, line.clone())).collect(),
        as_of: glance.at,
        cached,
    };
    let next = commands.first().map(|(_, line)| line.clone()).unwrap_or_default();
    let mut whole = view::envelope("next", (exit, next), summary, more);
    whole.retry_after_s = retry_after(thing, cx.clock.now());
    output::json(&whole);
    exit
}

/// The reviewers' part of the code is as the reading left it, the findings' part as the state says now.
fn exit_of(summary: &Summary, glance: &Glance) -> u8 {
    let seen = &glance.reviewers;
    let verdict = crate::review::verdict::ReviewersVerdict {
        each: Vec::new(),
        finished: seen.finished,
        why: String::new(),
        until: seen.until,
        stuck: seen.stuck,
        remedy: String::new(),
        nudges: Vec::new(),
    };
    gate::status_code(summary, &verdict)
}

fn retry_after(thing: &Next, now: Timestamp) -> Option<u64> {
    (thing.action == Action::Wait).then(|| {
        let due = thing.until.map(|until| until.duration_since(now).as_secs().clamp(1, 600));
        due.and_then(|due| u64::try_from(due).ok()).unwrap_or(LATER)
    })
}

/// What the commands that go on from here depend on.
struct Ways<'a> {
    cx: &'a Context,
    summary: &'a Summary,
    thing: &'a Next,
    entry: Option<&'a Entry>,
    may: &'a [Verb],
    local: Local,
    runs: bool,
}

impl Ways<'_> {
    /// The commands, the likeliest first; placeholders are in capitals.
    fn commands(&self) -> Vec<(&'static str, String)> {
        let Self { cx, summary, thing, entry, may, local, runs } = *self;
        let flags = look::passed_on(cx);
        let ours = |words: &str| format!("pushback{flags} {words}");
        let mut list = Vec::new();
        match (thing.action, entry) {
            (Action::Fix, Some(entry)) => {
                let ids: Vec<String> =
                    std::iter::once(&entry.finding.id).chain(&thing.also).map(ToString::to_string).collect();
                let ids = ids.join(" ");
                for verb in may {
                    let rest = match verb {
                        Verb::Fix => "--commit SHA",
                        Verb::Argue | Verb::Answer => "--reason TEXT",
                        Verb::Stale => "",
                        Verb::Defer => "--reason TEXT --plan-title TITLE --step STEP",
                    };
                    list.push((verb.as_str(), ours(format!("resolve {ids} {} {rest}", verb.as_str()).trim_end())));
                }
                list.push(("show", ours(&format!("show {}", entry.finding.id))));
                if matches!(local, Local::Behind | Local::Diverged) {
                    list.push(("pull", "git pull --rebase".to_owned()));
                }
            }
            (Action::Push, _) => {
                if local == Local::Diverged {
                    list.push(("pull", "git pull --rebase".to_owned()));
                }
                let plans: Vec<String> = summary.comments.values().filter_map(next::uncommitted_plan).collect();
                if !plans.is_empty() {
                    let files = plans.join(" ");
                    list.push(("commit", format!("git add {files} && git commit -m 'Plan follow-ups' -- {files}")));
                }
                list.push(("push", "git push".to_owned()));
            }
            (Action::AskPerson, Some(entry)) => {
                list.push(("triage", ours("triage")));
                list.push(("show", ours(&format!("show {}", entry.finding.id))));
            }
            (Action::AskPerson, None) => list.push(("status", ours("status"))),
            (Action::Wait, entry) if thing.unposted => {
                if let Some(words) = entry.and_then(again) {
                    list.push(("post", ours(&words)));
                }
                list.extend(runs.then(|| ("run", ours("run"))));
            }
            (Action::Wait, _) => {
                list.push(("again", ours("next --json")));
                list.push(("wait", ours(if runs { "run --wait 30m" } else { "gate --wait 30m" })));
            }
            (Action::Done, _) => {
                list.push(("gate", ours("gate")));
                list.extend(runs.then(|| ("run", ours("run"))));
            }
            (Action::Fix, None) => list.push(("status", ours("status"))),
        }
        list
    }
}

fn text(
    cx: &Context,
    summary: &Summary,
    glance: &Glance,
    thing: &Next,
    finding: Option<&FindingView>,
    commands: &[(&'static str, String)],
    cached: bool,
) -> String {
    let mut out = format!("{}: {}\n", thing.action.as_str().replace('_', " "), thing.why);
    if cached {
        let age = cx.clock.now().duration_since(glance.at).as_secs().max(0);
        out.push_str(&format!("as of {} ({age} s ago), the forge was not asked\n", glance.at.strftime("%H:%M:%SZ")));
    }
    if let Some(view) = finding {
        let shown = &view.finding;
        out.push_str(&format!("\n{} {} by {} at {}\n", shown.id, shown.severity, shown.author, table::place(shown)));
        out.push_str(&format!("{}\n", shown.title));
        let most = |text: &str| {
            let lines: Vec<&str> = text.lines().take(SHOWN_LINES).collect();
            let cut = text.lines().count().saturating_sub(SHOWN_LINES);
            let rest = if cut > 0 {
                format!("\n… {} more: `pushback show {}`", count(cut, "line"), shown.id)
            } else {
                String::new()
            };
            format!("{}{rest}", lines.join("\n"))
        };
        out.push_str(&show::section("What was said", &most(&below_title(&view.body, &shown.title))));
        out.push_str(&show::section(&format!("Code at {}", glance.head.short()), &view.code));
        let thread: Vec<String> =
            view.thread.iter().map(|line| format!("{}: {}", line.author, readable(&line.text))).collect();
        out.push_str(&show::section("Thread", &most(&thread.join("\n"))));
    }
    if let (Action::Fix, (p1, p2)) = (thing.action, next::open_for_work(summary)) {
        out.push_str(&format!("\nopen for work: {p1} P1, {p2} P2\n"));
    }
    out.push('\n');
    for (name, line) in commands {
        out.push_str(&format!("{name:>7}  {line}\n"));
    }
    out
}

/// The same answer once more posts what is still owed on it, and nothing that was posted.
fn again(entry: &Entry) -> Option<String> {
    let id = entry.finding.id;
    match (entry.finding.status, entry.pending.as_ref()) {
        (Status::Fixed, _) => return Some(format!("resolve {id} fix")),
        (Status::Stale, _) => return Some(format!("resolve {id} stale")),
        (_, _) => {}
    }
    let pending = entry.pending.as_ref()?;
    let mut words = format!("resolve {} {}", entry.finding.id, pending.verb.as_str());
    if !matches!(pending.verb, Verb::Fix | Verb::Stale) {
        words.push_str(&format!(" --reason {}", quoted(&pending.reason)));
    }
    if let Some(plan) = &pending.plan {
        words.push_str(&format!(" --plan-title {}", quoted(&plan.title)));
        plan.steps.iter().for_each(|step| words.push_str(&format!(" --step {}", quoted(step))));
    }
    Some(words)
}
