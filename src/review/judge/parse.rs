//! The shape of `decisions.json`. A bad item is unanswered; the others stand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::review::decision::{Decision, PlanDraft, SCHEMA_VERSION, Verb};
use crate::review::ids::FindingId;

/// Longest reason, in characters.
pub(super) const MAX_REASON: usize = 2_000;

/// Most places one answer may name.
const MAX_PLACES: usize = 50;

/// What is wrong with the file or with one item of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ItemProblem {
    /// The finding, where it can be told.
    pub id: Option<FindingId>,
    /// What is wrong, in one sentence.
    pub why: String,
}

/// The answers whose shape is right, and what is wrong with the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedDecisions {
    /// Answers, one at most for each finding.
    pub decisions: Vec<Decision>,
    /// Problems.
    pub problems: Vec<ItemProblem>,
}

impl ParsedDecisions {
    fn nothing(why: impl Into<String>) -> Self {
        Self { decisions: Vec::new(), problems: vec![ItemProblem { id: None, why: why.into() }] }
    }
}

/// Reads the decisions file. Unknown fields are ignored.
pub fn parse(bytes: &[u8]) -> ParsedDecisions {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let first = match documents.next() {
        None => return ParsedDecisions::nothing("the decisions file is empty"),
        Some(Err(error)) => return ParsedDecisions::nothing(format!("the decisions file is not JSON: {error}")),
        Some(Ok(value)) => value,
    };
    if documents.next().is_some() {
        return ParsedDecisions::nothing("the decisions file holds more than one document");
    }
    let Value::Object(file) = first else {
        return ParsedDecisions::nothing("the decisions file is not a JSON object");
    };
    if file.get("schema_version").is_some_and(|version| version.as_u64() != Some(u64::from(SCHEMA_VERSION))) {
        return ParsedDecisions::nothing(format!("the decisions file's schema_version is not {SCHEMA_VERSION}"));
    }
    match file.get("decisions") {
        Some(Value::Array(items)) => items_of(items),
        Some(_) => ParsedDecisions::nothing("`decisions` is not a list"),
        None => ParsedDecisions::nothing("`decisions` is missing"),
    }
}

fn items_of(items: &[Value]) -> ParsedDecisions {
    let mut parsed = ParsedDecisions::default();
    let mut seen: BTreeMap<FindingId, usize> = BTreeMap::new();
    for (n, item) in items.iter().enumerate() {
        let id = item.get("id").and_then(Value::as_str).and_then(|id| id.parse::<FindingId>().ok());
        let Some(id) = id else {
            parsed.problems.push(ItemProblem { id: None, why: format!("item {} names no finding", n + 1) });
            continue;
        };
        *seen.entry(id).or_default() += 1;
        match item.as_object().map(|fields| decision(id, fields)) {
            Some(Ok(decision)) => parsed.decisions.push(decision),
            Some(Err(why)) => parsed.problems.push(ItemProblem { id: Some(id), why }),
            None => parsed.problems.push(ItemProblem { id: Some(id), why: "its answer is not an object".to_owned() }),
        }
    }
    let twice: BTreeSet<FindingId> = seen.into_iter().filter(|(_, times)| *times > 1).map(|(id, _)| id).collect();
    parsed.decisions.retain(|decision| !twice.contains(&decision.id));
    parsed.problems.retain(|problem| problem.id.is_none_or(|id| !twice.contains(&id)));
    let void = |id| ItemProblem { id: Some(id), why: "it was answered more than once, so no answer counts".to_owned() };
    parsed.problems.extend(twice.into_iter().map(void));
    parsed
}

fn decision(id: FindingId, fields: &Map<String, Value>) -> Result<Decision, String> {
    let verb = match fields.get("decision").and_then(Value::as_str) {
        Some("fix") => Verb::Fix,
        Some("argue") => Verb::Argue,
        Some("stale") => Verb::Stale,
        Some("defer") => Verb::Defer,
        Some("answer") => Verb::Answer,
        Some(_) => return Err("its decision is not one of fix, argue, stale, defer, answer".to_owned()),
        None => return Err("its decision is missing".to_owned()),
    };
    let reason = match fields.get("reason") {
        Some(Value::String(reason)) => reason.clone(),
        Some(Value::Null) | None => String::new(),
        Some(_) => return Err("its reason is not a text".to_owned()),
    };
    if reason.chars().nth(MAX_REASON).is_some() {
        return Err(format!("its reason is longer than {MAX_REASON} characters"));
    }
    if reason.to_ascii_lowercase().contains("<!-- pushback:") {
        return Err("its reason holds one of our own markers".to_owned());
    }
    Ok(Decision { id, decision: verb, reason, places: places(fields.get("places"))?, plan: plan(fields.get("plan"))? })
}

fn texts(value: Option<&Value>, name: &str) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let text =
                |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| format!("its {name} are not texts"));
            items.iter().map(text).collect()
        }
        Some(_) => Err(format!("its {name} are not a list")),
    }
}

fn places(value: Option<&Value>) -> Result<Vec<String>, String> {
    let places = texts(value, "places")?;
    if places.len() > MAX_PLACES || places.iter().any(|place| place.len() > 4096) {
        return Err("it names too many places".to_owned());
    }
    Ok(places)
}

fn plan(value: Option<&Value>) -> Result<Option<PlanDraft>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => {
            let Some(title) = fields.get("title").and_then(Value::as_str) else {
                return Err("its plan has no title".to_owned());
            };
            Ok(Some(PlanDraft { title: title.to_owned(), steps: texts(fields.get("steps"), "steps")? }))
        }
        Some(_) => Err("its plan is not an object".to_owned()),
    }
}
