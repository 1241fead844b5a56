//! `config show`: every value in force and where it comes from.

use std::collections::BTreeMap;

use crate::cli::args::{ConfigArgs, ConfigCommand};
use crate::cli::failure::Failure;
use crate::cli::{Context, look, output};
use crate::config::keys::KEYS;
use crate::config::layers::Layers;
use crate::report::json::{ConfigValue, ConfigView, Envelope, SCHEMA_VERSION};

pub(super) fn run(cx: &Context, args: &ConfigArgs) -> Result<u8, Failure> {
    let ConfigCommand::Show { origin } = args.command;
    let (layers, notes) = look::config(cx)?;
    let values = values(&layers);
    if cx.global.json {
        output::json(&Envelope {
            schema_version: SCHEMA_VERSION,
            command: "config",
            exit: 0,
            pr: None,
            next: String::new(),
            retry_after_s: None,
            error: None,
            more: ConfigView { config: values },
        });
        return Ok(0);
    }
    let mut text = String::new();
    for (name, value) in &values {
        let shown = if value.value.is_null() { "(unset)".to_owned() } else { value.value.to_string() };
        if origin {
            text.push_str(&format!("{name} = {shown}  # {}\n", value.origin));
        } else {
            text.push_str(&format!("{name} = {shown}\n"));
        }
    }
    for note in notes {
        text.push_str(&format!("# note: {note}\n"));
    }
    output::shown(&text);
    Ok(0)
}

fn values(layers: &Layers) -> BTreeMap<String, ConfigValue> {
    let mut values = BTreeMap::new();
    for key in KEYS {
        let (value, origin) = match layers.get(key.name) {
            Some((value, origin)) => (json(value), origin.as_str()),
            None => (serde_json::Value::Null, "built-in"),
        };
        values.insert(key.name.to_owned(), ConfigValue { value, origin });
    }
    for (reviewer, table) in &layers.reviewers {
        for (key, (value, origin)) in table {
            let name = format!("reviewers.{reviewer}.{key}");
            values.insert(name, ConfigValue { value: json(value.clone()), origin: origin.as_str() });
        }
    }
    for (n, (rule, origin)) in layers.rules.iter().enumerate() {
        let value = serde_json::json!({ "author": rule.author, "pattern": rule.pattern, "level": rule.level });
        values.insert(format!("severity.rule.{}", n + 1), ConfigValue { value, origin: origin.as_str() });
    }
    values
}

fn json(value: toml::Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}
