//! One row for each end that each program is known to come to, in the shape of its output.

use jiff::Timestamp;

use super::aider::Aider;
use super::claude::Claude;
use super::codex::Codex;
use super::drive::Dialect;
use super::opencode::Opencode;
use super::transcript::{Answered, Facts, Transcript, judge};
use crate::ports::AgentOutcome;
use crate::process::{Ended, Why};

/// One run: how its process ended, and what it printed.
#[derive(Clone, Copy)]
struct Run<'a> {
    why: Why,
    code: Option<i32>,
    signal: Option<i32>,
    stdout: &'a str,
    stderr: &'a str,
}

const fn exit(code: i32, stdout: &str) -> Run<'_> {
    Run { why: Why::Exit, code: Some(code), signal: None, stdout, stderr: "" }
}

fn read(dialect: &dyn Dialect, stdout: &str) -> Transcript {
    let mut seen = Transcript::default();
    for line in stdout.lines() {
        dialect.hear(&mut seen, line);
    }
    seen
}

fn outcome(dialect: &dyn Dialect, run: Run<'_>) -> AgentOutcome {
    let seen = read(dialect, run.stdout);
    let ended = Ended {
        why: run.why,
        code: run.code,
        signal: run.signal,
        swept: 0,
        clean: true,
        thorough: true,
        cut: 0,
        stored: true,
        stdout_path: "/o".into(),
        stderr_path: "/e".into(),
        seconds: 1.0,
    };
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let answered = Answered::by(seen.decisions().as_ref());
    judge(&seen, &Facts { ended: &ended, answered, stderr: run.stderr, wall: 60, now })
}

fn word(outcome: &AgentOutcome) -> &'static str {
    match outcome {
        AgentOutcome::Completed => "completed",
        AgentOutcome::Refused(_) => "refused",
        AgentOutcome::AuthFailed(_) => "auth",
        AgentOutcome::RateLimited { .. } => "limited",
        AgentOutcome::Overloaded(_) => "overloaded",
        AgentOutcome::LimitHit(_) => "own limit",
        AgentOutcome::Denied(_) => "denied",
        AgentOutcome::Cancelled => "cancelled",
        AgentOutcome::TimedOut(_) => "timed out",
        AgentOutcome::Crashed(_) => "crashed",
        AgentOutcome::Unparseable(_) => "unparseable",
        AgentOutcome::Missing(_) => "missing",
    }
}

fn check(dialect: &dyn Dialect, what: &str, run: Run<'_>, wanted: &str) {
    let found = outcome(dialect, run);
    assert_eq!(word(&found), wanted, "{} {what}: {found:?}", dialect.name());
}

fn retry_at(dialect: &dyn Dialect, run: Run<'_>) -> Option<Timestamp> {
    match outcome(dialect, run) {
        AgentOutcome::RateLimited { retry_at, .. } => retry_at,
        other => panic!("{other:?}"),
    }
}

/// A last event of Claude Code with these fields changed.
fn claude_result(changes: &str) -> String {
    let mut event = serde_json::json!({
        "is_error": false, "type": "result", "subtype": "success", "result": "Done.", "stop_reason": "end_turn",
        "session_id": "0b9c-77", "total_cost_usd": 0.0425, "num_turns": 3, "permission_denials": [],
        "usage": { "input_tokens": 1000, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 300, "output_tokens": 50 },
    });
    let changes: serde_json::Value = serde_json::from_str(changes).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        event[key] = value.clone();
    }
    format!(
        "{}\n{}\n{event}\n",
        r#"{"type":"system","subtype":"init","session_id":"0b9c-77","tools":["Read","Edit"]}"#,
        r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Looking."}]}}"#,
    )
}

#[test]
fn fc_40_every_end_of_claude() {
    let check = |what: &str, code: i32, changes: &str, wanted: &str| {
        check(&Claude, what, exit(code, &claude_result(changes)), wanted);
    };
    check("done", 0, "{}", "completed");
    check("done with an answer only", 0, r#"{"result":"","structured_output":{"decisions":[]}}"#, "completed");
    let error = |status: u16| {
        format!(
            r#"{{"is_error":true,"api_error_status":{status},"terminal_reason":"api_error","result":"API Error: {status}","stop_reason":null}}"#
        )
    };
    check("401", 1, &error(401), "auth");
    check("403", 1, &error(403), "auth");
    check("429", 1, &error(429), "limited");
    check("500", 1, &error(500), "overloaded");
    check("529", 1, &error(529), "overloaded");
    check("400", 1, &error(400), "crashed");
    check("not logged in", 1, r#"{"is_error":true,"result":"Not logged in · Please run /login"}"#, "auth");
    check(
        "no credit",
        1,
        r#"{"is_error":true,"api_error_status":400,"result":"Credit balance is too low"}"#,
        "limited",
    );
    check(
        "subscription limit",
        1,
        r#"{"is_error":true,"result":"Claude AI usage limit reached|1767330000"}"#,
        "limited",
    );
    check("limit as a success", 0, r#"{"result":"You've hit your usage limit."}"#, "limited");
    check(
        "no network",
        1,
        r#"{"is_error":true,"result":"API Error: Unable to connect to API (ConnectionRefused)"}"#,
        "overloaded",
    );
    check("refusal", 1, r#"{"is_error":true,"stop_reason":"refusal","result":"I cannot."}"#, "refused");
    check("turn limit", 1, r#"{"is_error":true,"subtype":"error_max_turns","result":null}"#, "own limit");
    check("budget", 1, r#"{"is_error":true,"subtype":"error_max_budget_usd"}"#, "own limit");
    let denied = r#""permission_denials":[{"tool_name":"Bash","tool_input":{"command":"git push"}}]"#;
    check("denied", 0, &format!("{{{denied}}}"), "denied");
    check(
        "denied, but answered",
        0,
        &format!(r#"{{{denied},"structured_output":{{"decisions":[{{}}]}}}}"#),
        "completed",
    );
    check(
        "denied, and answered nothing",
        0,
        &format!(r#"{{{denied},"structured_output":{{"decisions":[]}}}}"#),
        "denied",
    );
    check("stream cut", 0, r#"{"result":""}"#, "unparseable");
    check("stream cut, without text", 0, r#"{"result":null}"#, "unparseable");
    check("interrupted", 0, r#"{"is_error":true,"subtype":"error_during_execution"}"#, "cancelled");
    let broken = r#"{"is_error":true,"subtype":"error_during_execution","num_turns":0,"result":null}"#;
    check("an unknown session", 1, broken, "crashed");
    check("schema not met", 1, r#"{"is_error":true,"subtype":"error_max_structured_output_retries"}"#, "crashed");
    check("good words and a bad exit", 3, "{}", "crashed");
}

#[test]
fn claude_without_a_last_event() {
    let start = r#"{"type":"system","subtype":"init","session_id":"x"}"#;
    check(&Claude, "TERM", exit(143, ""), "crashed");
    check(&Claude, "exit 0", exit(0, start), "unparseable");
    check(&Claude, "exit 1", exit(1, start), "crashed");
    check(&Claude, "nothing", exit(0, ""), "unparseable");
    check(&Claude, "no JSON", exit(0, "All good!\n{not json}\n[1]\n\"text\"\n"), "unparseable");
    check(&Claude, "login on stderr", Run { stderr: "Invalid API key · Please run /login", ..exit(1, "") }, "auth");
    let killed = Run { code: None, signal: Some(9), ..exit(0, start) };
    check(&Claude, "killed", killed, "crashed");
}

#[test]
fn the_time_when_a_limit_of_claude_ends() {
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1767330000,"rateLimitType":"five_hour"}}"#;
    let allowed = rejected.replace("rejected", "allowed_warning");
    let limited = claude_result(r#"{"is_error":true,"api_error_status":429,"result":"API Error: 429"}"#);
    let at: Option<Timestamp> = Some("2026-01-02T05:00:00Z".parse().unwrap());
    assert_eq!(retry_at(&Claude, exit(1, &format!("{rejected}\n{limited}"))), at);
    assert_eq!(retry_at(&Claude, exit(1, &format!("{allowed}\n{limited}"))), None);
    let said = claude_result(r#"{"is_error":true,"result":"Claude AI usage limit reached|1767330000"}"#);
    assert_eq!(retry_at(&Claude, exit(1, &said)), at);
}

#[test]
fn what_claude_tells_besides() {
    let edit = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]},"tool_use_result":{"filePath":"/w/a","structuredPatch":[]}}"#;
    let denied = claude_result(r#"{"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"ls"}}]}"#);
    let seen = read(&Claude, &format!("{edit}\n{denied}"));
    assert_eq!((seen.tokens, seen.session.as_deref(), seen.edited), (1370, Some("0b9c-77"), true));
    assert!((seen.cost_usd - 0.0425).abs() < 1e-9);
    assert_eq!(seen.denied, ["Bash ls"]);
    // Denied once, and still at work: the tree and the tests say what came of it.
    check(&Claude, "denied and edited", exit(0, &format!("{edit}\n{denied}")), "completed");
    let doing = |line: &str| Claude.doing(line);
    let tool = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":"src/a.rs","old_string":"x"}}]}}"#;
    assert_eq!(doing(tool).as_deref(), Some("Edit src/a.rs"));
    let cut = &tool.replace("\"x\"", &format!("\"{}", "x".repeat(3000)))[..2048];
    assert_eq!(doing(cut).as_deref(), Some("Edit src/a.rs"));
    assert_eq!(doing(r#"{"type":"system"}"#), None);
    assert_eq!(doing("no json"), None);
}

const THREAD: &str = r#"{"type":"thread.started","thread_id":"019a-77"}
{"type":"turn.started"}
"#;

fn codex(events: &str) -> String {
    format!("{THREAD}{events}\n")
}

const CODEX_DONE: &str =
    r#"{"type":"turn.completed","usage":{"input_tokens":1000,"cached_input_tokens":400,"output_tokens":50}}"#;

fn codex_failed(message: &str) -> String {
    let retry = r#"{"type":"error","message":"Reconnecting... 5/5"}"#;
    let failed = serde_json::json!({ "type": "turn.failed", "error": { "message": message } });
    codex(&format!("{retry}\n{failed}"))
}

#[test]
fn fc_40_every_end_of_codex() {
    let message = r#"{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"Fixed."}}"#;
    let check = |what: &str, code: i32, out: &str, wanted: &str| check(&Codex, what, exit(code, out), wanted);
    check("done", 0, &codex(&format!("{message}\n{CODEX_DONE}")), "completed");
    check("refusal", 0, &codex(CODEX_DONE), "refused");
    let thought = r#"{"type":"item.completed","item":{"type":"reasoning","text":"Hm."}}"#;
    check("refusal after a thought", 0, &codex(&format!("{thought}\n{CODEX_DONE}")), "refused");
    check("401", 1, &codex_failed("unexpected status 401 Unauthorized: {\"error\":{}}"), "auth");
    check("429", 1, &codex_failed("exceeded retry limit, last status: 429 Too Many Requests"), "limited");
    check("plan limit", 1, &codex_failed("You've hit your usage limit. Try again in 3 hours 5 minutes."), "limited");
    check("529", 1, &codex_failed("exceeded retry limit, last status: 529 <unknown status code>"), "overloaded");
    check("500", 1, &codex_failed("unexpected status 500 Internal Server Error: no"), "overloaded");
    check("stream cut", 1, &codex_failed("stream disconnected before completion: stream closed"), "overloaded");
    check("no network", 1, &codex_failed("error sending request for url (http://127.0.0.1:1/)"), "overloaded");
    check("other failure", 1, &codex_failed("context window exceeded"), "crashed");
    let command = |status: &str, text: &str| {
        let item = serde_json::json!({ "type": "item.completed", "item": { "type": "command_execution",
            "command": "git commit", "aggregated_output": text, "exit_code": 128, "status": status } });
        format!("{item}\n{message}\n{CODEX_DONE}")
    };
    check("denied", 0, &codex(&command("failed", "index.lock: Read-only file system")), "denied");
    check("declined", 0, &codex(&command("declined", "")), "denied");
    check("a red test is no denial", 0, &codex(&command("failed", "1 failed")), "completed");
    let edit = r#"{"type":"item.completed","item":{"type":"file_change","status":"completed","changes":[{"path":"a","kind":"update"}]}}"#;
    check("work without a word", 0, &codex(&format!("{edit}\n{CODEX_DONE}")), "unparseable");
    let held = r#"{"type":"item.completed","item":{"type":"agent_message","text":"{\"schema_version\":1,\"decisions\":[{}]}"}}"#;
    check(
        "denied, but answered",
        0,
        &codex(&format!("{}\n{held}\n{CODEX_DONE}", command("declined", ""))),
        "completed",
    );
    check("INT", 1, THREAD, "crashed");
    check("nothing", 0, "", "unparseable");
    let killed = Run { code: None, signal: Some(15), ..exit(0, THREAD) };
    super::table::check(&Codex, "TERM", killed, "crashed");
    let home = Run { stderr: "Error: CODEX_HOME points to a path that does not exist", ..exit(1, "") };
    super::table::check(&Codex, "no home", home, "crashed");
}

#[test]
fn what_codex_tells_besides() {
    let edit = r#"{"type":"item.completed","item":{"type":"file_change","status":"completed","changes":[{"path":"a.rs"},{"path":"b.rs"}]}}"#;
    let seen = read(&Codex, &codex(&format!("{edit}\n{CODEX_DONE}")));
    assert_eq!((seen.tokens, seen.session.as_deref(), seen.edited), (1050, Some("019a-77"), true));
    assert_eq!(Codex.doing(edit).as_deref(), Some("edits a.rs, b.rs"));
    let at = retry_at(&Codex, exit(1, &codex_failed("You've hit your usage limit. Try again in 2 hours.")));
    assert!(at.is_some());
}

fn opencode(events: &[&str]) -> String {
    let start = r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"type":"step-start"}}"#;
    format!("{start}\n{}\n", events.join("\n"))
}

#[test]
fn fc_40_every_end_of_opencode() {
    let said = r#"{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"Done."}}"#;
    let stop = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","cost":0.01,"tokens":{"input":900,"output":50,"reasoning":5,"cache":{"read":40,"write":5}}}}"#;
    let check = |what: &str, code: i32, events: &[&str], wanted: &str| {
        check(&Opencode, what, exit(code, &opencode(events)), wanted);
    };
    let error = |name: &str, data: &str| {
        format!(r#"{{"type":"error","sessionID":"ses_1","error":{{"name":"{name}","data":{data}}}}}"#)
    };
    let api = |status: u16| {
        error("APIError", &format!(r#"{{"message":"status {status}","statusCode":{status},"isRetryable":true}}"#))
    };
    check("done", 0, &[said, stop], "completed");
    check("401", 1, &[&api(401)], "auth");
    check("403", 1, &[&api(403)], "auth");
    check("429", 1, &[&api(429)], "limited");
    check("529", 1, &[&api(529)], "overloaded");
    check("503", 1, &[&api(503)], "overloaded");
    check("no key", 1, &[&error("ProviderAuthError", r#"{"message":"no key"}"#)], "auth");
    check("no network", 1, &[&error("UnknownError", r#"{"message":"fetch failed"}"#)], "overloaded");
    check("refusal", 1, &[&error("ContentFilterError", r#"{"message":"no"}"#)], "refused");
    check("other", 1, &[&error("UnknownError", r#"{"message":"boom"}"#)], "crashed");
    let denied = r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","state":{"status":"error","input":{"command":"git push"},"error":"The user has specified a rule which prevents you from using this tool"}}}"#;
    check("denied", 0, &[denied, stop], "denied");
    let failed = denied.replace("a rule which prevents you from", "nothing");
    check("a failed tool is no denial", 0, &[&failed, stop], "unparseable");
    check("cut", 0, &[said], "unparseable");
    check("INT", 130, &[said], "crashed");
    let broken = r#"{"type":"step_finish","part":{"reason":"unknown","tokens":{"input":0,"output":0}}}"#;
    let late = |events: &[&str], wanted: &str| {
        let text = opencode(events);
        super::table::check(&Opencode, "our clock", Run { why: Why::Wall, ..exit(0, &text) }, wanted);
    };
    late(&[broken, broken], "overloaded");
    late(&[broken, &stop.replace("\"stop\"", "\"tool-calls\"")], "timed out");
    let seen = read(&Opencode, &opencode(&[said, stop]));
    assert_eq!((seen.tokens, seen.session.as_deref()), (1000, Some("ses_1")));
    assert!((seen.cost_usd - 0.01).abs() < 1e-9);
    assert_eq!(Opencode.doing(denied).as_deref(), Some("bash git push"));
}

#[test]
fn fc_40_every_end_of_aider() {
    let spent = "Tokens: 1.2k sent, 50 received. Cost: $0.0012 message, $0.03 session.\n";
    let check = |what: &str, out: &str, wanted: &str| check(&Aider, what, exit(0, out), wanted);
    check("done", &format!("I renamed it.\n{spent}Applied edit to app.py\n"), "completed");
    check("401", "litellm.AuthenticationError: AuthenticationError: OpenAIException - bad key\n", "auth");
    check("429", "litellm.RateLimitError: RateLimitError: slow down\nRetrying in 0.2 seconds...\n", "limited");
    check("500", "litellm.InternalServerError: boom\n", "overloaded");
    check("no network", "litellm.APIConnectionError: Connection error.\n", "overloaded");
    check("refusal", "litellm.ContentPolicyViolationError: no\n", "refused");
    check("529", "litellm.APIError: APIError: OpenAIException - overloaded\n", "overloaded");
    let empty = format!("Empty response received from LLM. Check your provider account?\n\n{spent}");
    check("refusal without a word", &empty, "refused");
    check("an empty answer, and a better one", &format!("{empty}Done.\n{spent}"), "completed");
    check("bad request", "litellm.BadRequestError: no such model\n", "crashed");
    check("a retry that worked", &format!("litellm.RateLimitError: wait\nOK.\n{spent}"), "completed");
    check("nothing", "Aider v0.86.2\n", "unparseable");
    check("empty", "", "unparseable");
    let waiting = "litellm.RateLimitError: slow down\nRetrying in 32 seconds...\n";
    super::table::check(
        &Aider,
        "backs off for ever",
        Run { why: Why::Wall, code: None, ..exit(0, waiting) },
        "limited",
    );
    let seen = read(&Aider, &format!("{spent}Tokens: 800 sent, 1,000 cache hit, 1M received.\n"));
    assert_eq!(seen.tokens, 1_200 + 50 + 800 + 1_000_000);
    assert!((seen.cost_usd - 0.03).abs() < 1e-9);
}

#[test]
fn fc_57_a_question_that_nobody_answers_is_named() {
    let check = |dialect: &dyn Dialect, stdout: &str, stderr: &str, asked: bool| {
        for why in [Why::Silence, Why::Wall] {
            let found = outcome(dialect, Run { why, code: None, signal: Some(15), stdout, stderr });
            let AgentOutcome::TimedOut(why) = &found else { panic!("{found:?}") };
            assert_eq!(why.contains("asked a question"), asked, "{why}");
        }
    };
    check(&Codex, THREAD, "Allow command `git push`? [y/N]", true);
    check(&Aider, "Run shell command? (Y)es/(N)o [Yes]: \n", "", true);
    check(&Claude, "", "Do you want to proceed?\n", true);
    check(&Opencode, "", "Permission required: bash\n", true);
    check(&Codex, THREAD, "compiling (1/2)", false);
    check(&Aider, "I changed what it may do.\n", "", false);
}

#[test]
fn fm_27_clocks_and_signals_are_told_apart_from_ends() {
    let done = claude_result("{}");
    let check = |why: Why, out: &str, wanted: &str| check(&Claude, "", Run { why, code: None, ..exit(0, out) }, wanted);
    check(Why::Wall, "", "timed out");
    check(Why::Silence, &done, "timed out");
    check(Why::FirstOutput, "", "timed out");
    check(Why::Interrupted, &done, "cancelled");
    check(Why::Lifeline, &done, "cancelled");
    // FC-55: it said its last word and stayed.
    check(Why::Quiet, &done, "completed");
    check(Why::Quiet, &claude_result(r#"{"result":""}"#), "unparseable");
    let limited = codex_failed("exceeded retry limit, last status: 429 Too Many Requests");
    super::table::check(&Codex, "", Run { why: Why::Silence, code: None, ..exit(0, &limited) }, "limited");
}

#[test]
fn fm_30_unknown_events_and_noise_change_nothing() {
    let noise =
        "npm warn something\n{\"type\":\"new.kind\",\"x\":[1,2]}\n{\"type\":7}\n{\"half\":\n\u{1b}[31mred\u{1b}[0m\n";
    for (dialect, out) in [
        (&Claude as &dyn Dialect, claude_result("{}")),
        (
            &Codex,
            codex(&format!(
                "{}\n{CODEX_DONE}",
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"x"}}"#
            )),
        ),
    ] {
        check(dialect, "noise before", exit(0, &format!("{noise}{out}")), "completed");
        check(dialect, "noise after", exit(0, &format!("{out}{noise}")), "completed");
    }
}
