//! What the editor is told: the findings with code, hunk, thread and history, the spec, the failing tests.

use std::collections::BTreeMap;

use super::survey::Survey;
use super::{EngineError, Ports, Setup};
use crate::review::anchor::{self, Located, Place};
use crate::review::brief::{Around, FindingsFile, PromptView, TestsView, ThreadLine};
use crate::review::classify;
use crate::review::comment::Side;
use crate::review::compose::{self, Round, Sources};
use crate::review::ids::{FindingId, RepoPath, Sha};
use crate::review::marker;
use crate::review::note::Standing;
use crate::review::step::tests_at;
use crate::review::summary::{Entry, RoundOutcome, Summary, VerifyState, WriteKind};

/// Lines of code shown before and after a place.
const AROUND: u32 = 12;
/// Longest text of one comment.
const TEXT_CAP: usize = 12_000;
/// Longest hunk.
const HUNK_CAP: usize = 6_000;
/// Longest spec.
const SPEC_CAP: usize = 30_000;

/// The spec and whether a stranger wrote it.
pub(super) struct Spec {
    pub(super) text: String,
    pub(super) untrusted: bool,
}

/// Finds the spec: given, from files at the head, else the description and the issues it closes.
pub(super) fn spec(ports: &Ports<'_>, setup: &Setup<'_>, survey: &Survey) -> Result<Spec, EngineError> {
    if let Some(text) = &setup.spec {
        return Ok(Spec { text: cap(text, SPEC_CAP), untrusted: false });
    }
    let mut text = String::new();
    for path in &setup.spec_paths {
        let bad = || {
            EngineError::usage(
                format!("spec file `{path}` is not there at the head"),
                "mend `spec.path` or pass `--spec`",
            )
        };
        let inside = RepoPath::from_outside(path).map_err(|_| bad())?;
        let bytes = ports.tree.file_at(&survey.obs.pr.head, &inside)?.ok_or_else(bad)?;
        text.push_str(&String::from_utf8_lossy(&bytes));
        text.push('\n');
    }
    if !text.is_empty() {
        return Ok(Spec { text: cap(&text, SPEC_CAP), untrusted: false });
    }
    let pr = &survey.obs.pr;
    let author = pr.author.as_ref().map(|author| survey.obs.permission(author));
    let mut untrusted = !matches!(author, Some(crate::review::observation::Permission::Write));
    text =
        format!("# {}\n\n{}\n", classify::plain(&pr.title, 300), classify::plain(&without_block(&pr.body), TEXT_CAP));
    for issue in ports.forge.linked_issues()? {
        untrusted |= !issue.trusted;
        let body = classify::plain(&issue.body, TEXT_CAP);
        text.push_str(&format!("\n## Issue {}: {}\n\n{body}\n", issue.number, classify::plain(&issue.title, 300)));
    }
    Ok(Spec { text: cap(&text, SPEC_CAP), untrusted })
}

fn cap(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= most).last().unwrap_or(0);
    format!("{}\n[… {} more bytes were cut here]\n", &text[..end], text.len() - end)
}

/// Returns the tests as the editor is told of them.
pub(super) fn tests(summary: &Summary, setup: &Setup<'_>, local: &crate::review::ids::Sha) -> TestsView {
    match tests_at(summary, local) {
        None if setup.policy.has_verify => TestsView { state: "not_run".to_owned(), log: String::new() },
        None => TestsView { state: "none".to_owned(), log: String::new() },
        Some(record) => TestsView {
            state: match record.state {
                VerifyState::Green => "green",
                VerifyState::Red => "red",
                VerifyState::CouldNotRun => "could_not_run",
            }
            .to_owned(),
            log: if record.state == VerifyState::Green { String::new() } else { record.log.clone() },
        },
    }
}

/// Gathers code, hunk and thread of one finding.
pub(super) fn around(
    ports_tree: &dyn crate::ports::Worktree,
    survey: &Survey,
    entry: &Entry,
    at: &Sha,
) -> Result<Around, EngineError> {
    let carrier = survey
        .obs
        .comments
        .iter()
        .find(|comment| comment.channel == entry.finding.channel && comment.id == entry.finding.id.carrier());
    let hunk =
        carrier.and_then(|comment| comment.anchor.as_ref()).map(|anchor| anchor.hunk.clone()).unwrap_or_default();
    let code =
        if entry.finding.side == Some(Side::Left) { removed_lines(&hunk) } else { code_at(ports_tree, at, entry)? };
    Ok(Around { code, hunk: cap(&classify::plain(&hunk, TEXT_CAP), HUNK_CAP), thread: thread(survey, entry) })
}

/// Gathers code, hunks and threads for the entries that are sent.
pub(super) fn lookups(
    ports: &Ports<'_>,
    survey: &Survey,
    entries: &[&Entry],
    at: &Sha,
) -> Result<BTreeMap<FindingId, Around>, EngineError> {
    let mut found = BTreeMap::new();
    for entry in entries {
        found.insert(entry.finding.id, around(ports.tree, survey, entry, at)?);
    }
    Ok(found)
}

fn removed_lines(hunk: &str) -> String {
    let removed: Vec<&str> = hunk.lines().filter(|line| line.starts_with('-')).collect();
    format!("removed here:\n{}\n", removed.join("\n"))
}

fn code_at(tree: &dyn crate::ports::Worktree, head: &Sha, entry: &Entry) -> Result<String, EngineError> {
    let Some(path) = entry.finding.path.as_deref().and_then(|path| RepoPath::from_outside(path).ok()) else {
        return Ok(String::new());
    };
    let Some(bytes) = tree.file_at(head, &path)? else { return Ok(String::new()) };
    let text = String::from_utf8_lossy(&bytes);
    let Some(line) = entry.finding.line else { return Ok(String::new()) };
    let (from, to) = (entry.start_line.unwrap_or(line).min(line).saturating_sub(AROUND).max(1), line + AROUND);
    let shown = text.lines().enumerate().filter_map(|(at, text)| {
        let n = u32::try_from(at + 1).ok()?;
        (from <= n && n <= to).then(|| format!("{n:>5} {}\n", classify::plain(text, 400)))
    });
    Ok(shown.collect())
}

fn thread(survey: &Survey, entry: &Entry) -> Vec<ThreadLine> {
    let Some(root) = entry.thread else { return Vec::new() };
    let mut replies: Vec<_> = survey.obs.comments.iter().filter(|comment| comment.in_reply_to == Some(root)).collect();
    replies.sort_by_key(|comment| comment.id);
    let trusted = |id: u64| {
        let note =
            survey.notes.iter().find(|note| note.id == id && note.channel == crate::review::comment::Channel::Inline);
        note.is_some_and(|note| note.standing != Standing::Untrusted)
    };
    let lines = replies.into_iter().filter(|comment| trusted(comment.id)).map(|comment| ThreadLine {
        author: comment.author.as_ref().map_or_else(|| "ghost".to_owned(), |author| author.login.to_string()),
        text: classify::plain(&comment.body, TEXT_CAP),
    });
    lines.collect()
}

/// Everything one brief needs that is known before the scratchpad is written.
pub(super) struct Draft {
    pub(super) file: FindingsFile,
    pub(super) hash: String,
    pub(super) spec: Spec,
}

/// Returns the findings with their lines as they are in the worktree, where commits wait that the forge does not have.
fn as_here(
    ports: &Ports<'_>,
    summary: &Summary,
    survey: &Survey,
    ask: &super::edit::Ask<'_>,
) -> Result<Vec<Entry>, EngineError> {
    let mut entries: Vec<Entry> = ask.findings.iter().filter_map(|id| summary.comments.get(id)).cloned().collect();
    let head = &survey.obs.pr.head;
    if head == ask.local {
        return Ok(entries);
    }
    let diff = ports.tree.diff(head, ask.local)?;
    let text = |sha: &Sha, path: &RepoPath| -> Result<Option<String>, EngineError> {
        Ok(ports.tree.file_at(sha, path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    for entry in entries.iter_mut().filter(|entry| entry.finding.side != Some(Side::Left)) {
        let Some(path) = entry.finding.path.as_deref().and_then(|path| RepoPath::from_outside(path).ok()) else {
            continue;
        };
        let (start_line, line, whole_file) = (entry.start_line, entry.finding.line, entry.whole_file);
        let place = Place { path: path.clone(), start_line, line, side: Side::Right, whole_file };
        let renamed = diff.iter().filter(|file| file.old_path.as_ref() == Some(&path));
        let mut now = BTreeMap::new();
        for path in renamed.filter_map(|file| file.new_path.clone()).chain([path.clone()]) {
            let content = text(ask.local, &path)?;
            now.insert(path, content);
        }
        let then = text(head, &path)?;
        if let Located::There { path, line, start_line, .. } =
            anchor::locate(&place, &diff, then.as_deref(), |path| now.get(path).cloned().flatten())
        {
            (entry.finding.path, entry.finding.line, entry.start_line) = (Some(path.to_string()), line, start_line);
        }
    }
    Ok(entries)
}

/// Drafts the findings file of a round.
pub(super) fn draft(
    ports: &Ports<'_>,
    setup: &Setup<'_>,
    summary: &Summary,
    survey: &Survey,
    ask: &super::edit::Ask<'_>,
) -> Result<Draft, EngineError> {
    let here = as_here(ports, summary, survey, ask)?;
    let entries: Vec<&Entry> = here.iter().collect();
    let spec = spec(ports, setup, survey)?;
    let lookups = lookups(ports, survey, &entries, ask.local)?;
    let of = |entry: &Entry| lookups.get(&entry.finding.id).cloned().unwrap_or_default();
    let tests = tests(summary, setup, ask.local);
    let round = Round {
        n: ask.round,
        head: ask.local,
        summary,
        entries: &entries,
        tests: &tests,
        spec: &spec.text,
        bytes: setup.policy.limits.prompt_bytes,
    };
    let sources = Sources { code: &|e| of(e).code, hunk: &|e| of(e).hunk, thread: &|e| of(e).thread };
    let file = compose::findings_file(round, sources);
    let words = last_round(summary).unwrap_or_default();
    let hash = marker::key(WriteKind::Review, "brief", &format!("{} {words}", compose::brief_hash(&file)));
    Ok(Draft { file, hash, spec })
}

/// Says what was wrong with the last round in which the editor worked: a limit of its service takes nothing of that back.
pub(super) fn last_round(summary: &Summary) -> Option<String> {
    let round = summary.rounds.iter().rfind(|round| round.outcome != RoundOutcome::Environment)?;
    let words = match round.outcome {
        RoundOutcome::Red => "your last change left the spec tests red; it is in the tree, go on from it",
        RoundOutcome::NoChange => "your last run neither changed anything nor gave an accepted answer",
        RoundOutcome::Failed => "your last run ended badly and its changes were taken out",
        RoundOutcome::Rejected => "your last run was put aside",
        RoundOutcome::Editing
        | RoundOutcome::Committed
        | RoundOutcome::Pushed
        | RoundOutcome::Answered
        | RoundOutcome::Environment
        | RoundOutcome::CutOff
        | RoundOutcome::Kept => return None,
    };
    Some(if round.why.is_empty() { words.to_owned() } else { format!("{words}: {}", round.why) })
}

/// Builds the view that the prompt is rendered from; nobody outside can know `seed`.
pub(super) fn view(setup: &Setup<'_>, summary: &Summary, draft: &Draft, paths: [String; 3], seed: &str) -> PromptView {
    let [findings_path, decisions_path, spec_path] = paths;
    PromptView {
        nonce: nonce(seed),
        pr: setup.pr.to_string(),
        findings: draft.file.clone(),
        findings_path,
        decisions_path,
        spec_path,
        spec_untrusted: draft.spec.untrusted,
        verify_commands: setup.verify_commands.clone(),
        settled: settled_lines(summary),
        protected: setup.policy.gate.protected.clone(),
        frozen: setup.frozen.clone(),
        last_round: last_round(summary),
    }
}

/// Returns a word that frames outside text; nobody who wrote such text could know it.
fn nonce(seed: &str) -> String {
    marker::key(WriteKind::Review, "frame", seed)
}

/// What earlier rounds and reviews decided, so that nobody undoes it.
fn settled_lines(summary: &Summary) -> Vec<String> {
    let settled =
        summary.comments.values().filter(|entry| entry.finding.status.settled() && entry.finding.severity.blocks());
    let line = |entry: &Entry| {
        let finding = &entry.finding;
        let place = finding.path.clone().unwrap_or_default();
        classify::plain(
            &format!("{} {} {}: {} ({})", finding.id, finding.status, place, finding.title, finding.why),
            300,
        )
    };
    settled.map(line).collect()
}

/// Returns the description without our block.
fn without_block(body: &str) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for line in body.lines() {
        match line.trim() {
            "<!-- pushback:begin 1 -->" => inside = true,
            "<!-- pushback:end -->" => inside = false,
            _ if inside => {}
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}
