//! JSON Schemas of everything the program prints or writes for others, from one short description of their fields.
//! `tests/it/schema.rs` holds real outputs against them, and there no field may be undocumented.
//!
//! A line is `name:type`; `?` after the type means that it can be null, `~` before the name that it can be absent,
//! `[type]` a list, `{type}` an object with any keys. Types: `s n i b any`, a word of `WORDS`, or an object of `OBJECTS`.

use serde_json::{Map, Value, json};

const WORDS: &[(&str, &[&str])] = &[
    ("severity", &["P1", "P2", "P3", "nit"]),
    ("severity_or_none", &["P1", "P2", "P3", "nit", "none"]),
    ("decided_by", &["tagged", "assumed", "unknown_tag"]),
    ("kind", &["bot", "person"]),
    ("channel", &["inline", "review", "conversation"]),
    ("side", &["LEFT", "RIGHT"]),
    (
        "finding_status",
        &["open", "fixed", "argued", "stale", "deferred", "acknowledged", "answered", "withdrawn", "duplicate", "gone"],
    ),
    ("reviewer_state", &["not_started", "running", "finished", "limited", "skipped", "failed", "silent"]),
    ("verdict", &["ready", "blocked", "waiting", "unknown"]),
    ("clause_name", &["head", "pr", "reviewers", "reviews", "checks", "findings", "description", "threads", "spec"]),
    ("verb", &["fix", "argue", "stale", "defer", "answer"]),
    ("tests", &["green", "red", "could_not_run"]),
    ("action", &["fix", "wait", "push", "ask_person", "done"]),
    ("status_state", &["success", "failure", "error", "pending"]),
    ("change", &["create", "update", "none"]),
    (
        "error_kind",
        &[
            "usage",
            "could_not_read",
            "permission",
            "limited",
            "held",
            "needs_person",
            "interrupted",
            "internal",
            "editor",
        ],
    ),
    (
        "stop",
        &[
            "settled",
            "merged",
            "closed",
            "waiting_reviewer",
            "waiting_ci",
            "checks_red",
            "not_mergeable",
            "tests_red",
            "no_progress",
            "repeating_region",
            "contested",
            "budget",
            "needs_person",
            "rejected_round",
            "push_refused",
            "head_moved",
            "editor_unavailable",
            "could_not_read",
            "permission",
            "interrupted",
        ],
    ),
    ("comment_kind", &["finding", "summary", "status", "clean", "rate_limit", "reply", "noise"]),
];

const ENVELOPE: &str = "schema_version:one command:s exit:i pr:pr? next:s retry_after_s:i? error:error?";
const STATUS: &str = "counts:counts findings:[finding] reviewers:[reviewer] gate:gate? used:used notes:[s]";
const FINDING: &str = "id:id severity:severity decided_by:decided_by rule:rule? author:s author_kind:kind channel:channel path:s? \
    line:i? side:side? status:finding_status needs_person:b title:s url:s attempts:i previous:[id] why:s";

const OBJECTS: &[(&str, &str, &str)] = &[
    ("pr", "The pull request.", "host:s owner:s repo:s number:i url:s base:s head:sha"),
    ("error", "What went wrong, and the mend.", "kind:error_kind message:s hint:s"),
    ("counts", "Open findings.", "p1:i p2:i p3:i nit:i needs_person:i untrusted:i"),
    ("finding", "One claim that asks for something.", FINDING),
    (
        "next_finding",
        "The finding that `next` is about, with all that is known of it.",
        "id:id severity:severity decided_by:decided_by rule:rule? author:s author_kind:kind channel:channel path:s? line:i? \
         side:side? status:finding_status needs_person:b title:s url:s attempts:i previous:[id] why:s body:s hunk:s \
         code:s thread:[said] history:[move] also:[id] may:[verb]",
    ),
    ("answer", "One answer and how far it is.", "id:id decision:verb state:s status:finding_status why:s"),
    ("rule", "The rule that decided.", "file:s name:s matched:s"),
    (
        "reviewer",
        "One reviewer on the head.",
        "name:s required:b awaited:b state:reviewer_state head:sha findings:i evidence:s since:time? until:time?",
    ),
    ("gate", "The merge verdict.", "verdict:verdict head:sha? clauses:[clause]"),
    (
        "clause",
        "One clause; `ok` is null where it could not be read.",
        "clause:clause_name ok:b? waiting:b reason:s remedy:s",
    ),
    ("used", "What was spent.", "rounds:i agent_seconds:i tokens:i cost_usd:n"),
    (
        "round",
        "One round.",
        "n:i head_before:sha head_after:sha? sent:[id] outcome:s why:s verify:tests? seconds:i tokens:i cost_usd:n",
    ),
    ("planned_file", "A follow-up plan that a dry run shows.", "path:s text:s findings:[id]"),
    ("planned", "A write that a dry run shows.", "kind:s target:any body:s findings:[id]"),
    (
        "published",
        "The commit status that stands for the verdict.",
        "sha:sha context:s state:status_state description:s written:b why:s",
    ),
    ("said", "One line of a thread.", "author:s text:s"),
    ("move", "One change of status.", "at:time from:finding_status? to:finding_status why:s round:i"),
    ("value", "A value and where it comes from.", "value:any origin:s"),
    ("check", "One thing that was looked at; `ok` is null where it cannot be told.", "check:s ok:b? found:s mend:s"),
    ("agent", "An editor on the PATH.", "name:s version:s? login:s?"),
    ("test", "A test command.", "command:s because:s"),
    ("file", "A file that is to be written.", "path:s change:change diff:s"),
    ("classified", "One finding of a comment.", "severity:severity decided_by:decided_by title:s path:s? line:i?"),
    ("spec_tests", "Tests at the head.", "state:s log:s"),
    ("past", "What an earlier round did.", "round:i decision:s reason:s commit:sha?"),
    (
        "item",
        "One finding, or several at one place.",
        "id:id also:[id] severity:severity author:s path:s? line:i? end_line:i? side:s? code:s hunk:s text:s thread:[said] \
         history:[past] may:[verb]",
    ),
    ("plan", "First steps of a follow-up.", "title:s ~steps:[s]"),
    ("decision", "One answer.", "id:id decision:verb ~reason:s? ~places:[s]? ~plan:plan?"),
];

/// Every format: file, what it is, fields. A dot before the fields leaves the object open: more may be in it.
const FORMATS: &[(&str, &str, &[&str])] = &[
    ("status", "`pushback status --json`", &[ENVELOPE, STATUS]),
    (
        "run",
        "`pushback run --json`",
        &[
            ENVELOPE,
            STATUS,
            "stop_reason:stop? why:s rounds:[round] ~planned:[planned] ~plans:[planned_file] summary:s",
        ],
    ),
    ("gate", "`pushback gate --json`", &[ENVELOPE, STATUS, "published:published?"]),
    (
        "next",
        "`pushback next --json`",
        &[
            ENVELOPE,
            "action:action pending:b why:s counts:counts finding:next_finding? commands:{s} as_of:time cached:b",
        ],
    ),
    (
        "resolve",
        "`pushback resolve ID ... --json`",
        &[ENVELOPE, "answers:[answer] findings:[finding] planned:[planned] ~plans:[planned_file] notes:[s]"],
    ),
    (
        "show",
        "`pushback show ID --json`",
        &[ENVELOPE, "finding:finding body:s hunk:s code:s thread:[said] tried:[s] history:[move]"],
    ),
    ("explain", "`pushback explain ID --json`", &[ENVELOPE, "finding:finding explanation:[s]"]),
    ("config", "`pushback config show --json`", &[ENVELOPE, "config:{value}"]),
    ("doctor", "`pushback doctor --json`", &[ENVELOPE, "checks:[check] agents:[agent]"]),
    (
        "init",
        "`pushback init --json`",
        &[
            ENVELOPE,
            "repository:s? pull_request:s? base:s? tests:[test] agents:[agent] reviewers:[s]? files:[file] written:b trusted:b \
             notes:[s]",
        ],
    ),
    ("trust", "`pushback trust --json`", &[ENVELOPE, "path:s hash:s trusted:b ignored:[s]"]),
    ("hook", "`pushback hook ... --json`", &[".", ENVELOPE, "hook:any"]),
    ("error", "Any command with `--json` that ends without an answer", &[ENVELOPE]),
    (
        "classify",
        "One line of `pushback classify`",
        &["id:any severity:severity_or_none decided_by:decided_by? rule:s? kind:comment_kind findings:[classified]"],
    ),
    (
        "findings",
        "`.pushback/findings.json`, for the editor",
        &["schema_version:one round:i head:sha spec:s tests:spec_tests review_findings:[item] left_out:i"],
    ),
    ("decisions", "`.pushback/decisions.json`, by the editor", &[".", "schema_version:one decisions:[decision]"]),
    (
        "summary",
        "`summary.json`, the state of one pull request",
        &[
            ".",
            "schema_version:one pr:pr account:s? round:i used:used comments:{any} reviewers:{any} rounds:[any] outbox:[any] \
             stop_reason:stop?",
        ],
    ),
];

fn plain(name: &str) -> Option<Value> {
    Some(match name {
        "s" => json!({ "type": "string" }),
        "n" => json!({ "type": "number" }),
        "i" => json!({ "type": "integer", "minimum": 0 }),
        "b" => json!({ "type": "boolean" }),
        "any" => json!({}),
        "one" => json!({ "const": 1 }),
        "id" => json!({ "type": "string", "pattern": "^(c[0-9]+|[ri][0-9]+\\.[0-9]+)$" }),
        "sha" => json!({ "type": "string", "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$" }),
        "time" => json!({ "type": "string", "format": "date-time" }),
        _ => return None,
    })
}

/// Returns the schema of a type, and notes the objects it needs.
fn of_type(text: &str, wanted: &mut Vec<String>) -> Value {
    if let Some(inner) = text.strip_suffix('?') {
        return json!({ "anyOf": [of_type(inner, wanted), { "type": "null" }] });
    }
    if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return json!({ "type": "array", "items": of_type(inner, wanted) });
    }
    if let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return json!({ "type": "object", "additionalProperties": of_type(inner, wanted) });
    }
    if let Some(value) = plain(text) {
        return value;
    }
    if let Some((_, words)) = WORDS.iter().find(|(name, _)| *name == text) {
        return json!({ "enum": words });
    }
    wanted.push(text.to_owned());
    json!({ "$ref": format!("#/$defs/{text}") })
}

fn object(lines: &[&str], wanted: &mut Vec<String>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in lines.iter().filter(|line| **line != ".").flat_map(|line| line.split_whitespace()) {
        let Some((name, kind)) = field.split_once(':') else { continue };
        match name.strip_prefix('~') {
            Some(name) => drop(properties.insert(name.to_owned(), of_type(kind, wanted))),
            None => {
                required.push(name.to_owned());
                properties.insert(name.to_owned(), of_type(kind, wanted));
            }
        }
    }
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Returns every schema: name and text.
pub(crate) fn all() -> Result<Vec<(String, String)>, String> {
    FORMATS.iter().map(|(name, what, lines)| Ok(((*name).to_owned(), one(name, what, lines)?))).collect()
}

fn one(name: &str, what: &str, lines: &[&str]) -> Result<String, String> {
    let mut wanted = Vec::new();
    let mut schema = object(lines, &mut wanted);
    let mut defs = Map::new();
    while let Some(next) = wanted.pop() {
        if defs.contains_key(&next) {
            continue;
        }
        let known = OBJECTS.iter().find(|(name, ..)| *name == next);
        let Some((_, about, fields)) = known else { return Err(format!("schema {name}: no type `{next}`")) };
        let mut def = object(&[fields], &mut wanted);
        def["description"] = json!(about);
        defs.insert(next, def);
    }
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(format!("urn:pushback:schema:1:{name}"));
    schema["title"] = json!(what);
    schema["description"] =
        json!("Version 1. Fields may be added without a new version; none is taken away and none changes its meaning.");
    if lines.contains(&".") {
        schema["$comment"] = json!("open: only the fields that others may rely on are listed");
    }
    if !defs.is_empty() {
        schema["$defs"] = Value::Object(defs);
    }
    serde_json::to_string_pretty(&schema).map(|text| format!("{text}\n")).map_err(|error| error.to_string())
}
