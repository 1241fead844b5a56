//! Runs GraphQL documents over the state: exactly the selected fields come back, unknown ones are an error and a violation.
//! The fields themselves are in `graph`.

use std::collections::{BTreeMap, HashMap};

use graphql_parser::query::{
    Definition, Document, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet, Type, TypeCondition,
    Value as Literal, VariableDefinition, parse_query,
};
use serde_json::{Map, Value, json};

use super::graph::{Args, Graph, Node, Out};
use super::http::{Caller, Reply, Req};
use super::rest_pulls;
use super::schema::Check;
use super::state::{State, iso};

type Set<'a> = SelectionSet<'a, String>;

/// Answers a POST to `/graphql`.
pub fn answer(st: &mut State, req: &Req, me: &Caller) -> Reply {
    if req.method != "POST" {
        return Reply::json(404, &json!({"message": "Not Found"}));
    }
    let Ok(body) = serde_json::from_slice::<Value>(&req.body) else {
        return Reply::json(400, &json!({"message": "Problems parsing JSON"}));
    };
    let text = body["query"].as_str().unwrap_or_default().to_owned();
    let json = match parse_query::<String>(&text) {
        Ok(document) => run(st, me, &document, &body),
        Err(why) => {
            st.violation(format!("GraphQL does not parse: {why}"));
            json!({"errors": [{"message": format!("Parse error: {why}")}]})
        }
    };
    Reply::json(200, &json)
}

fn refused(st: &mut State, message: String) -> Value {
    st.violation(format!("GraphQL: {message}"));
    json!({"errors": [{"message": message}]})
}

fn run<'d>(st: &mut State, me: &Caller, document: &'d Document<'d, String>, body: &Value) -> Value {
    let mut fragments = BTreeMap::new();
    let mut operations = Vec::new();
    for definition in &document.definitions {
        match definition {
            Definition::Fragment(f) => {
                fragments.insert(f.name.clone(), f);
            }
            Definition::Operation(op) => operations.push(op),
        }
    }
    let wanted = body["operationName"].as_str();
    let named = |op: &OperationDefinition<'_, String>| match op {
        OperationDefinition::Query(q) => q.name.clone(),
        OperationDefinition::Mutation(m) => m.name.clone(),
        _ => None,
    };
    let found = match wanted {
        Some(name) => operations.iter().find(|op| named(op).as_deref() == Some(name)),
        None if operations.len() == 1 => operations.first(),
        None => None,
    };
    let Some(operation) = found else { return refused(st, "No operation of that name".into()) };
    if named(operation).is_none() {
        st.violation("GraphQL: an operation without a name");
    }
    let (set, variables, writes) = match operation {
        OperationDefinition::Query(q) => (&q.selection_set, q.variable_definitions.as_slice(), false),
        OperationDefinition::Mutation(m) => (&m.selection_set, m.variable_definitions.as_slice(), true),
        OperationDefinition::SelectionSet(s) => (s, [].as_slice(), false),
        OperationDefinition::Subscription(_) => return refused(st, "No subscriptions".into()),
    };
    let text = body["query"].as_str().unwrap_or_default();
    if let Some(unused) = variables.iter().find(|v| uses(text, &v.name) < 2) {
        return refused(st, format!("Variable ${} is declared but not used", unused.name));
    }
    let stray = names(text).find(|n| !variables.iter().any(|v| v.name == *n));
    if let Some(name) = stray.filter(|_| operations.len() == 1) {
        return refused(st, format!("Variable ${name} is used but not declared"));
    }
    let variables = match bind(variables, &body["variables"]) {
        Ok(bound) => bound,
        Err(why) => return refused(st, why),
    };
    let mut check = Check::new(&fragments);
    check.set(if writes { "Mutation" } else { "Query" }, set);
    if !check.wrong.is_empty() {
        let entries: Vec<Value> = check.wrong.iter().map(|w| json!({"message": w})).collect();
        check.wrong.iter().for_each(|w| st.violation(format!("GraphQL: {w}")));
        return json!({"errors": entries});
    }
    advance_heads(st, &variables, writes);
    let mut walker = Walker {
        graph: Graph { st, me, places: HashMap::new() },
        fragments,
        variables,
        errors: Vec::new(),
        wrong: Vec::new(),
    };
    let root = if writes { Node::Mutation } else { Node::Query };
    let data = walker.select(&root, set, &mut Vec::new());
    let (errors, wrong) = (walker.errors, walker.wrong);
    for text in &wrong {
        st.violation(format!("GraphQL: {text}"));
    }
    if !wrong.is_empty() {
        // A document that does not validate is not run at all; GitHub sends no data then.
        let entries: Vec<Value> = wrong.iter().map(|w| json!({"message": w})).collect();
        return json!({"errors": entries});
    }
    match errors.is_empty() {
        true => json!({"data": data}),
        false => json!({"data": data, "errors": errors}),
    }
}

/// Counts where a variable stands in a document.
fn uses(text: &str, name: &str) -> usize {
    names(text).filter(|n| *n == name).count()
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    text.split('$').skip(1).filter_map(move |part| part.split(|c| !word(c)).next())
}

/// A read of the pull request counts for a lagging head and for a withheld `mergeable`.
fn advance_heads(st: &mut State, variables: &Map<String, Value>, writes: bool) {
    let number = variables.values().find_map(Value::as_u64).filter(|_| !writes);
    let Some(number) = number else { return };
    let mut found = st.repos.iter_mut().flat_map(|r| r.pulls.iter_mut()).filter(|p| p.number == number);
    if let Some(left) = found.find_map(|p| p.lag_left.as_mut()) {
        *left = left.saturating_sub(1);
    }
}

fn bind(wanted: &[VariableDefinition<'_, String>], given: &Value) -> Result<Map<String, Value>, String> {
    let mut out = Map::new();
    for definition in wanted {
        let name = &definition.name;
        let value = match given.get(name) {
            Some(value) => value.clone(),
            None => definition.default_value.as_ref().map_or(Value::Null, |d| literal(d, &Map::new())),
        };
        let required = matches!(definition.var_type, Type::NonNullType(_));
        let fits = fits(&definition.var_type, &value);
        if (required && value.is_null()) || !fits {
            return Err(format!("Variable ${name} of type {} was provided invalid value", definition.var_type));
        }
        out.insert(name.clone(), value);
    }
    Ok(out)
}

fn fits(kind: &Type<'_, String>, value: &Value) -> bool {
    match (kind, value) {
        (Type::NonNullType(inner), value) => !value.is_null() && fits(inner, value),
        (_, Value::Null) => true,
        (Type::ListType(inner), Value::Array(items)) => items.iter().all(|i| fits(inner, i)),
        (Type::ListType(inner), one) => fits(inner, one),
        (Type::NamedType(name), value) => match name.as_str() {
            "Int" => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            "String" => value.is_string(),
            "ID" => value.is_string() || value.is_u64(),
            "Boolean" => value.is_boolean(),
            _ => true,
        },
    }
}

fn literal(value: &Literal<'_, String>, variables: &Map<String, Value>) -> Value {
    match value {
        Literal::Variable(name) => variables.get(name).cloned().unwrap_or(Value::Null),
        Literal::Int(n) => json!(n.as_i64()),
        Literal::Float(f) => json!(f),
        Literal::String(s) => json!(s),
        Literal::Boolean(b) => json!(b),
        Literal::Null => Value::Null,
        Literal::Enum(word) => json!(word),
        Literal::List(items) => items.iter().map(|i| literal(i, variables)).collect(),
        Literal::Object(map) => map.iter().map(|(k, v)| (k.clone(), literal(v, variables))).collect(),
    }
}

struct Walker<'s, 'd> {
    graph: Graph<'s>,
    fragments: BTreeMap<String, &'d FragmentDefinition<'d, String>>,
    variables: Map<String, Value>,
    errors: Vec<Value>,
    /// What a validator would refuse.
    wrong: Vec<String>,
}

impl Walker<'_, '_> {
    fn select(&mut self, node: &Node, set: &Set<'_>, path: &mut Vec<Value>) -> Value {
        let mut out = Map::new();
        self.select_into(node, set, path, &mut out);
        Value::Object(out)
    }

    fn select_into(&mut self, node: &Node, set: &Set<'_>, path: &mut Vec<Value>, out: &mut Map<String, Value>) {
        for item in &set.items {
            match item {
                Selection::Field(field) => {
                    let key = field.alias.clone().unwrap_or_else(|| field.name.clone());
                    path.push(json!(key));
                    let value = self.field(node, field, path);
                    path.pop();
                    match (out.get_mut(&key), value) {
                        (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
                        (_, value) => {
                            out.insert(key, value);
                        }
                    }
                }
                Selection::InlineFragment(fragment) => {
                    let fits = fragment.type_condition.as_ref().is_none_or(|TypeCondition::On(t)| node.is(t));
                    if fits {
                        self.select_into(node, &fragment.selection_set, path, out);
                    }
                }
                Selection::FragmentSpread(spread) => match self.fragments.get(&spread.fragment_name).copied() {
                    Some(fragment) => {
                        let TypeCondition::On(name) = &fragment.type_condition;
                        if node.is(name) {
                            self.select_into(node, &fragment.selection_set, path, out);
                        }
                    }
                    None => self.wrong.push(format!("Fragment {} was used, but not defined", spread.fragment_name)),
                },
            }
        }
    }

    fn args(&mut self, field: &Field<'_, String>) -> Args {
        const KNOWN: [&str; 15] = [
            "first",
            "last",
            "after",
            "before",
            "owner",
            "name",
            "number",
            "input",
            "oid",
            "expression",
            "id",
            "login",
            "pullRequestNumber",
            "pullRequestId",
            "followRenames",
        ];
        for (name, _) in &field.arguments {
            if !KNOWN.contains(&name.as_str()) {
                self.wrong.push(format!("Field '{}' doesn't accept argument '{name}'", field.name));
            }
        }
        Args(field.arguments.iter().map(|(name, value)| (name.clone(), literal(value, &self.variables))).collect())
    }

    fn field(&mut self, node: &Node, field: &Field<'_, String>, path: &mut Vec<Value>) -> Value {
        if field.name == "__typename" {
            return json!(node.type_name());
        }
        let args = self.args(field);
        let set = &field.selection_set;
        let found = match self.graph.field(node, &field.name, &args) {
            Ok(found) => found,
            Err(Some(error)) => {
                let mut entry = json!({"type": error.kind, "message": error.message, "path": path});
                entry["locations"] = json!([{"line": field.position.line, "column": field.position.column}]);
                self.errors.push(entry);
                return Value::Null;
            }
            Err(None) => {
                self.wrong.push(format!("Field '{}' doesn't exist on type '{}'", field.name, node.type_name()));
                return Value::Null;
            }
        };
        let leaf = matches!(found, Out::Leaf(_));
        if leaf != set.items.is_empty() && !matches!(found, Out::Null) {
            let text = if leaf { "must not have a selection" } else { "must have selections" };
            self.wrong.push(format!("Field '{}' {text}", field.name));
            return Value::Null;
        }
        match found {
            Out::Leaf(value) => value,
            Out::Null => Value::Null,
            Out::One(node) => self.select(&node, set, path),
            Out::Plain(nodes) => {
                let items = nodes.iter().enumerate();
                items.map(|(n, node)| self.indexed(node, set, path, n)).collect()
            }
            Out::Connection(nodes) => self.connection(&field.name, &nodes, &args, set, path),
        }
    }

    fn indexed(&mut self, node: &Node, set: &Set<'_>, path: &mut Vec<Value>, n: usize) -> Value {
        path.push(json!(n));
        let value = self.select(node, set, path);
        path.pop();
        value
    }

    fn connection(&mut self, name: &str, nodes: &[Node], args: &Args, set: &Set<'_>, path: &mut Vec<Value>) -> Value {
        let size = |key: &str| args.0.get(key).and_then(Value::as_u64);
        let (first, last) = (size("first"), size("last"));
        let Some(count) = first.or(last) else {
            let text =
                format!("You must provide a `first` or `last` value to properly paginate the `{name}` connection.");
            self.wrong.push(text);
            return Value::Null;
        };
        if !(1..=100).contains(&count) {
            self.wrong.push(format!(
                "Requesting {count} records on the `{name}` connection exceeds the `first` limit of 100 records."
            ));
            return Value::Null;
        }
        let cursor = |key: &str| {
            args.0.get(key).and_then(Value::as_str).and_then(|c| c.strip_prefix("c:")?.parse::<usize>().ok())
        };
        let low = cursor("after").map_or(0, |n| n + 1).min(nodes.len());
        let high = cursor("before").map_or(nodes.len(), |n| n.min(nodes.len())).max(low);
        let (low, high) = match first {
            Some(_) => (low, (low + count as usize).min(high)),
            None => (high.saturating_sub(count as usize).max(low), high),
        };
        let mut out = Map::new();
        for item in &set.items {
            let Selection::Field(field) = item else {
                self.wrong.push(format!("Fragments on the `{name}` connection are not supported by this fake"));
                continue;
            };
            let key = field.alias.clone().unwrap_or_else(|| field.name.clone());
            path.push(json!(key));
            let value = match field.name.as_str() {
                "totalCount" => json!(nodes.len()),
                "__typename" => json!("Connection"),
                "nodes" => {
                    let items = nodes[low..high].iter().enumerate();
                    items.map(|(n, node)| self.indexed(node, &field.selection_set, path, n)).collect()
                }
                "edges" => {
                    let items = nodes[low..high].iter().enumerate();
                    items
                        .map(|(n, node)| {
                            self.select(&Node::Edge(low + n, Box::new(node.clone())), &field.selection_set, path)
                        })
                        .collect()
                }
                "pageInfo" => {
                    let page = Node::PageInfo { low, high, total: nodes.len() };
                    self.select(&page, &field.selection_set, path)
                }
                other => {
                    self.wrong.push(format!("Field '{other}' doesn't exist on the `{name}` connection"));
                    Value::Null
                }
            };
            path.pop();
            out.insert(key, value);
        }
        Value::Object(out)
    }
}

/// Returns what is left of the points.
pub fn rate(st: &State, login: &str) -> (i64, i64, String) {
    let quota = st.quotas.get(&format!("graphql:{login}"));
    let used = quota.map_or(0, |q| q.used) + 1;
    let reset = quota.map_or(st.clock.now() + 3_600_000, |q| q.reset);
    (st.settings.graphql_limit, used, iso(reset))
}

/// Returns whether a branch rule or protection asks for this check.
pub fn required(st: &State, repo: usize, branch: &str, context: &str, app: Option<u64>) -> bool {
    let repo = &st.repos[repo];
    let rules = repo.rules.get(branch).into_iter().flatten().filter(|r| r["type"] == "required_status_checks");
    let by_rule = rules.flat_map(|r| r["parameters"]["required_status_checks"].as_array().into_iter().flatten());
    let by_protection = repo.protection.get(branch).and_then(|p| p["checks"].as_array()).into_iter().flatten();
    by_rule.chain(by_protection).any(|c| {
        let source = c["integration_id"].as_u64().or_else(|| c["app_id"].as_u64());
        c["context"] == context && (source.is_none() || app.is_none() || source == app)
    })
}

/// Returns the roll-up word of a commit, `None` when nothing has reported.
pub fn rollup(st: &State, repo: usize, sha: &str) -> Option<&'static str> {
    let checks = rest_pulls::latest_checks(&st.repos[repo], sha, false);
    let statuses = rest_pulls::latest_statuses(&st.repos[repo], sha);
    if checks.is_empty() && statuses.is_empty() {
        return None;
    }
    let bad = |c: &&super::state::Check| {
        c.conclusion.as_deref().is_some_and(|w| !matches!(w, "success" | "neutral" | "skipped"))
    };
    let word = if statuses.is_empty() { "success" } else { rest_pulls::overall(&statuses) };
    Some(match word {
        _ if checks.iter().any(bad) => "FAILURE",
        "failure" => "FAILURE",
        _ if checks.iter().any(|c| c.status != "completed") => "PENDING",
        "pending" => "PENDING",
        _ => "SUCCESS",
    })
}
