//! Scripted misbehaviour: which request is struck, and how the true answer is spoiled. Knows nothing about the resources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::http::{Mode, Reply, Req};
use super::scene::Action;
use super::state::State;

/// A fault and the requests it strikes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// `GET`, `POST` … or `*`.
    #[serde(default = "any")]
    pub method: String,
    /// The path without `/api/v3`; `*` stands for any text.
    #[serde(default = "any")]
    pub path: String,
    /// Text that query string or body must hold (the operation name for GraphQL).
    #[serde(default)]
    pub holds: Option<String>,
    /// The first matching request that is struck, from 1.
    #[serde(default = "one")]
    pub nth: u32,
    /// How many are struck; 0 = all from then on.
    #[serde(default = "one")]
    pub times: u32,
    #[serde(rename = "do")]
    pub what: What,
}

fn any() -> String {
    "*".into()
}

fn one() -> u32 {
    1
}

fn half() -> f64 {
    0.5
}

impl Fault {
    /// Strikes the first matching request.
    pub fn new(method: &str, path: &str, what: What) -> Self {
        Self { method: method.into(), path: path.into(), holds: None, nth: 1, times: 1, what }
    }

    /// Strikes from the n-th matching request on.
    pub fn nth(self, nth: u32) -> Self {
        Self { nth, ..self }
    }

    /// Strikes so many times; 0 = for ever.
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    /// Strikes only where the query string or body holds this text.
    pub fn holding(self, text: &str) -> Self {
        Self { holds: Some(text.into()), ..self }
    }
}

/// What goes wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum What {
    /// This status instead; with `after_effect` the request has been carried out all the same.
    Status {
        code: u16,
        #[serde(default)]
        after_effect: bool,
        #[serde(default)]
        body: Option<Value>,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// The connection breaks after so many bytes of the body.
    Reset {
        #[serde(default)]
        bytes: usize,
        #[serde(default)]
        before_effect: bool,
    },
    /// Nothing for a while, then the true answer; a caller who goes away meanwhile has changed nothing, unless `after_effect`.
    Delay {
        ms: u64,
        #[serde(default)]
        after_effect: bool,
    },
    /// The JSON ends early, with a matching length.
    Truncate {
        #[serde(default = "half")]
        keep: f64,
    },
    /// An HTML page with 200.
    Html {},
    /// 200 and no byte.
    Empty {},
    /// `Content-Encoding: gzip` and bytes that are none.
    BadGzip {},
    /// A small gzip body that unpacks to so many MiB of spaces.
    GzipBomb {
        mib: u64,
    },
    /// The secondary rate limit.
    Secondary {
        #[serde(default)]
        retry_after: Option<u64>,
        #[serde(default)]
        code: Option<u16>,
    },
    /// The primary rate limit; 200 with an error entry for GraphQL.
    Primary {
        reset_in_s: i64,
    },
    Unauthorized {},
    Forbidden {
        #[serde(default)]
        message: Option<String>,
    },
    NotFound {},
    /// The answer this URL gave last time.
    Stale {},
    /// Lists lack their newest items.
    HideNewest {
        items: usize,
    },
    /// `reverse`, `duplicate_first`, `drop_first`, `drop_last`, `swap` (first and last).
    Items {
        op: String,
    },
    /// JSON pointers and what stands there instead.
    Set {
        at: BTreeMap<String, Value>,
    },
    /// Takes keys out of the answer.
    Remove {
        at: Vec<String>,
    },
    Redirect {
        code: u16,
        location: String,
    },
    /// `next`: a URL, `same` (this page again) or `endless` (a further page for ever).
    Link {
        next: String,
    },
    /// Blanks before the body, so many bytes.
    Huge {
        bytes: u64,
    },
    /// The body in small pieces.
    Trickle {
        bytes: usize,
        every_ms: u64,
    },
    /// Error entries; data stays, minus what `null` points to, unless `keep_data` is false.
    GraphqlErrors {
        message: String,
        #[serde(default, rename = "type")]
        kind: Option<String>,
        #[serde(default)]
        keep_data: bool,
        #[serde(default)]
        null: Vec<String>,
    },
    /// Somebody acts right before (or after) the request is carried out.
    Act {
        actions: Vec<Action>,
        #[serde(default)]
        after: bool,
        #[serde(default)]
        repo: Option<String>,
        #[serde(default)]
        pull: Option<u64>,
    },
    /// Another answer altogether.
    Reply {
        body: String,
        content_type: String,
    },
}

impl What {
    /// Returns its name for the log.
    pub fn name(&self) -> String {
        let text = serde_json::to_value(self).unwrap_or_default();
        text.as_object().and_then(|o| o.keys().next().cloned()).unwrap_or_default()
    }
}

/// A fault and how many requests matched so far.
#[derive(Debug, Clone)]
pub struct Armed {
    pub fault: Fault,
    pub seen: u32,
}

impl State {
    /// Arms a fault.
    pub fn arm(&mut self, fault: Fault) -> Result<(), String> {
        self.faults.push(Armed { fault, seen: 0 });
        Ok(())
    }

    /// Counts the request and returns the faults that strike it.
    pub fn struck(&mut self, req: &Req) -> Vec<What> {
        let mut out = Vec::new();
        for armed in &mut self.faults {
            let fault = &armed.fault;
            let body = || String::from_utf8_lossy(&req.body).into_owned();
            let holds = fault.holds.as_ref().is_none_or(|t| req.query_text.contains(t) || body().contains(t.as_str()));
            if !(fault.method == "*" || fault.method == req.method) || !glob(&fault.path, &req.path) || !holds {
                continue;
            }
            armed.seen += 1;
            let last = if fault.times == 0 { u32::MAX } else { fault.nth + fault.times - 1 };
            if (fault.nth..=last).contains(&armed.seen) {
                out.push(fault.what.clone());
            }
        }
        out
    }
}

/// Compares a text with a pattern in which `*` stands for any text.
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Answers in place of the server, before anything is carried out.
pub fn before(st: &State, req: &Req, what: &What) -> Option<Reply> {
    let error =
        |code: u16, message: &str| Some(Reply::json(code, &json!({"message": message, "status": code.to_string()})));
    match what {
        What::Status { after_effect: false, .. } | What::Reset { before_effect: true, .. } => Some(instead(what)),
        What::Secondary { retry_after, code } => {
            let text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
            let mut reply = error(code.unwrap_or(403), text)?;
            if let Some(seconds) = retry_after {
                reply.set("retry-after", seconds.to_string());
            }
            Some(reply)
        }
        What::Primary { reset_in_s } => {
            let text = "API rate limit exceeded for user.";
            let mut reply = match req.path == "/graphql" {
                true => Reply::json(200, &json!({"errors": [{"type": "RATE_LIMITED", "message": text}]})),
                false => error(403, text)?,
            };
            reply.set("x-ratelimit-remaining", "0");
            reply.set("x-ratelimit-reset", (st.clock.now() / 1000 + reset_in_s).to_string());
            Some(reply)
        }
        What::Unauthorized {} => error(401, "Bad credentials"),
        What::Forbidden { message } => {
            error(403, message.as_deref().unwrap_or("Resource not accessible by personal access token"))
        }
        What::NotFound {} => error(404, "Not Found"),
        What::Redirect { code, location } => {
            let mut reply = error(*code, "Moved Permanently")?;
            reply.set("location", location.clone());
            Some(reply)
        }
        What::Reply { body, content_type } => {
            let mut reply = Reply::json(200, &Value::Null);
            reply.body = body.clone().into_bytes();
            reply.set("content-type", content_type.clone());
            Some(reply)
        }
        _ => None,
    }
}

fn instead(what: &What) -> Reply {
    match what {
        What::Status { code, body, headers, .. } => {
            let body = body.clone().unwrap_or_else(|| json!({"message": "Server Error"}));
            let mut reply = Reply::json(*code, &body);
            for (name, value) in headers {
                reply.set(name, value.clone());
            }
            reply
        }
        _ => {
            let mut reply = Reply::json(200, &Value::Null);
            reply.body = vec![b' '; 64];
            reply.mode = Mode::Break(0);
            reply
        }
    }
}

/// Spoils the true answer.
pub fn after(req: &Req, reply: &mut Reply, what: &What) {
    match what {
        What::Status { after_effect: true, .. } => *reply = instead(what),
        What::Reset { bytes, before_effect: false } => reply.mode = Mode::Break(*bytes),
        What::Truncate { keep } => {
            let size = (reply.body.len() as f64 * keep) as usize;
            reply.body.truncate(size);
        }
        What::Html {} => {
            reply.status = 200;
            reply.body = b"<!DOCTYPE html><html><body><h1>Unicorn!</h1></body></html>".to_vec();
            reply.set("content-type", "text/html; charset=utf-8");
        }
        What::Empty {} => {
            reply.status = 200;
            reply.body.clear();
        }
        What::BadGzip {} => {
            reply.body = b"this is not gzip".to_vec();
            reply.set("content-encoding", "gzip");
        }
        What::GzipBomb { mib } => {
            reply.body = bomb(*mib);
            reply.set("content-encoding", "gzip");
        }
        What::HideNewest { items } => edit_list(reply, |list| {
            for _ in 0..*items {
                let newest = (0..list.len()).max_by_key(|i| list[*i]["id"].as_u64());
                newest.map(|i| list.remove(i));
            }
        }),
        What::Items { op } => edit_list(reply, |list| rearrange(list, op)),
        What::Set { at } => edit_json(reply, |json| {
            for (pointer, value) in at {
                put(json, pointer, value.clone());
            }
        }),
        What::Remove { at } => edit_json(reply, |json| {
            for pointer in at {
                let Some((parent, key)) = pointer.rsplit_once('/') else { continue };
                if let Some(object) = json.pointer_mut(parent).and_then(Value::as_object_mut) {
                    object.remove(key);
                }
            }
        }),
        What::Link { next } => {
            let url = format!("{}{}", req.base, req.raw_path_and_query());
            let page: u64 = req.query("page").and_then(|p| p.parse().ok()).unwrap_or(1);
            let joint = if url.contains('?') { '&' } else { '?' };
            let target = match next.as_str() {
                "same" => url,
                "endless" => format!("{}{joint}page={}", url.replace(&format!("&page={page}"), ""), page + 1),
                other => other.to_owned(),
            };
            reply.set("link", format!("<{target}>; rel=\"next\""));
        }
        What::Huge { bytes } => reply.mode = Mode::Blanks(*bytes),
        What::Trickle { bytes, every_ms } => reply.mode = Mode::Trickle(*bytes, *every_ms),
        What::GraphqlErrors { message, kind, keep_data, null } => edit_json(reply, |json| {
            for pointer in null {
                put(json, pointer, Value::Null);
            }
            if !keep_data && null.is_empty() {
                json["data"] = Value::Null;
            }
            let mut entry = json!({"message": message, "path": []});
            if let Some(kind) = kind {
                entry["type"] = json!(kind);
            }
            json["errors"] = json!([entry]);
        }),
        _ => {}
    }
}

fn put(json: &mut Value, pointer: &str, value: Value) {
    if let Some(place) = json.pointer_mut(pointer) {
        *place = value;
    } else if let Some((parent, key)) = pointer.rsplit_once('/')
        && let Some(object) = json.pointer_mut(parent).and_then(Value::as_object_mut)
    {
        object.insert(key.to_owned(), value);
    }
}

fn rearrange(list: &mut Vec<Value>, op: &str) {
    let last = list.len().saturating_sub(1);
    match op {
        _ if list.is_empty() => {}
        "reverse" => list.reverse(),
        "duplicate_first" => list.push(list[0].clone()),
        "drop_first" => drop(list.remove(0)),
        "drop_last" => drop(list.pop()),
        "swap" => list.swap(0, last),
        _ => {}
    }
}

fn edit_json(reply: &mut Reply, change: impl FnOnce(&mut Value)) {
    if let Ok(mut json) = serde_json::from_slice(&reply.body) {
        change(&mut json);
        reply.body = json.to_string().into_bytes();
    }
}

fn edit_list(reply: &mut Reply, change: impl FnOnce(&mut Vec<Value>)) {
    edit_json(reply, |json| {
        let inner = match json {
            Value::Object(map) => map.values_mut().find(|v| v.is_array()),
            other => Some(other),
        };
        if let Some(Value::Array(list)) = inner {
            change(list);
        }
    });
}

/// Writes a gzip stream of blanks: one literal, then copies of 258 bytes from distance one, in fixed codes.
fn bomb(mib: u64) -> Vec<u8> {
    let total = mib * 1024 * 1024;
    let copies = (total - 1) / 258;
    let left = (total - 1) % 258;
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let (mut bits, mut filled) = (0u64, 0u32);
    let mut push = |out: &mut Vec<u8>, code: u64, size: u32, huffman: bool| {
        for n in 0..size {
            let bit = if huffman { code >> (size - 1 - n) } else { code >> n } & 1;
            bits |= bit << filled;
            filled += 1;
            if filled == 8 {
                out.push(bits as u8);
                (bits, filled) = (0, 0);
            }
        }
    };
    push(&mut out, 1, 1, false);
    push(&mut out, 1, 2, false);
    push(&mut out, 0x30 + 0x20, 8, true);
    for _ in 0..copies {
        push(&mut out, 0b1100_0101, 8, true);
        push(&mut out, 0, 5, true);
    }
    for _ in 0..left {
        push(&mut out, 0x30 + 0x20, 8, true);
    }
    push(&mut out, 0, 7, true);
    push(&mut out, 0, 7, false);
    let crc = crc_of_blanks(total);
    out.extend(crc.to_le_bytes());
    out.extend((total as u32).to_le_bytes());
    out
}

fn crc_of_blanks(count: u64) -> u32 {
    let mut table = [0u32; 256];
    for (n, slot) in table.iter_mut().enumerate() {
        *slot = (0..8).fold(n as u32, |c, _| if c & 1 == 1 { 0xedb8_8320 ^ (c >> 1) } else { c >> 1 });
    }
    !(0..count).fold(u32::MAX, |c, _| table[((c ^ 0x20) & 0xff) as usize] ^ (c >> 8))
}
