// Holds recorded exchanges and our GraphQL documents against GitHub's published descriptions.
// conformance.js MODULES RECORDS QUERIES: folders of the npm packages, the *.jsonl records, the *.graphql documents.
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const [modules, records, queries] = process.argv.slice(2).map((p) => path.resolve(p));
const need = (name) => require(require.resolve(name, { paths: [modules] }));
const Ajv = need("ajv").default;
const formats = need("ajv-formats").default;
const graphql = need("graphql");
const description = structuredClone(need("@octokit/openapi").schemas["api.github.com"]);
const sdl = fs.readFileSync(path.join(modules, "node_modules/@octokit/graphql-schema/schema.graphql"), "utf8");

// ---- where the description is known to differ from what GitHub sends ----
// `at` leads to a property from components/schemas; `nullable` or `values` is what the service does beyond it.
const PATCHES = [
  { at: "pull-request-review-comment/line", nullable: true, why: "null on outdated and on file comments" },
  { at: "pull-request-review-comment/position", nullable: true, why: "null on outdated comments" },
  { at: "pull-request-review-comment/original_line", nullable: true, why: "null on file comments" },
  { at: "pull-request-review-comment/original_position", nullable: true, why: "null on file comments" },
  { at: "check-run/conclusion", values: ["stale", "startup_failure"], why: "both are set by GitHub itself" },
];
// What the fake leaves out on purpose, because nobody who uses it reads it: links to other resources.
const LEFT_OUT = /(^|_)urls?$|^_links$|^gravatar_id$/;
// Paths that GitHub serves and the description does not list.
const ALIASES = [[/^\/repositories\/\d+(?=\/|$)/, "/repos/o/r"]];

const problems = new Map();
const problem = (kind, where) => {
  const seen = problems.get(kind) ?? { count: 0, where };
  seen.count += 1;
  problems.set(kind, seen);
};

const schemas = description.components.schemas;
const property = (at) => at.split("/").reduce((s, name, n) => (n === 0 ? schemas[name] : s?.properties?.[name]), null);
const resolve = (s) => (s && s.$ref ? s.$ref.slice(2).split("/").reduce((o, k) => o[k], description) : s);
const mayBeNull = (s) => {
  const own = resolve(s);
  return !!own && (own.nullable === true || (own.anyOf ?? own.oneOf ?? []).some(mayBeNull));
};
for (const patch of PATCHES) {
  const found = property(patch.at);
  const missing = (patch.values ?? []).filter((v) => !found?.enum?.includes(v));
  if (!found) problem(`patch ${patch.at}: there is no such property any more`, "patches");
  else if (patch.nullable && mayBeNull(found)) problem(`patch ${patch.at}: no longer necessary`, "patches");
  else if (patch.values && missing.length === 0) problem(`patch ${patch.at}: no longer necessary`, "patches");
}
// The description before the patches, to see which of them an exchange really needs.
const unpatched = structuredClone(description);
for (const patch of PATCHES) {
  const owner = patch.at.split("/").slice(0, -1).join("/");
  const name = patch.at.split("/").pop();
  const holder = property(owner).properties;
  if (patch.values) holder[name].enum.push(...patch.values);
  if (patch.nullable) holder[name] = holder[name].$ref ? { nullable: true, allOf: [holder[name]] } : { ...holder[name], nullable: true };
}

// ---- OpenAPI 3.0 schemas as JSON Schema ----
function converted(s) {
  if (Array.isArray(s)) return s.map(converted);
  if (s === null || typeof s !== "object") return s;
  const out = {};
  for (const [key, value] of Object.entries(s)) {
    if (["example", "examples", "discriminator", "xml", "externalDocs", "description", "nullable", "deprecated"].includes(key) && typeof value !== "object") continue;
    if (["example", "examples", "discriminator", "xml", "externalDocs"].includes(key) && !("type" in (value ?? {}))) continue;
    if (key === "properties") {
      out.properties = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, converted(inner)]));
    } else if (key === "required" && Array.isArray(value)) out.required = value.filter((name) => !LEFT_OUT.test(name));
    else if (["enum", "default", "const"].includes(key)) out[key] = value;
    else if (key === "format" && !["date-time", "uri", "date"].includes(value)) continue;
    else out[key] = converted(value);
  }
  if (s.nullable !== true) return out;
  return { anyOf: [out, { type: "null" }] };
}
function validators(from) {
  const ajv = new Ajv({ strict: false, allErrors: false, validateSchema: false });
  formats(ajv);
  ajv.addSchema({ $id: "github", components: { schemas: converted(from.components.schemas) } });
  const made = new Map();
  return (schema) => {
    const key = JSON.stringify(schema);
    if (!made.has(key)) {
      const own = JSON.parse(JSON.stringify(converted(schema)).replaceAll('"#/components/', '"github#/components/'));
      made.set(key, ajv.compile(own));
    }
    return made.get(key);
  };
}
const compile = validators(description);
const compileUnpatched = validators(unpatched);
let neededPatch = 0;

// ---- which operation is meant ----
const operations = [];
for (const [template, item] of Object.entries(description.paths)) {
  const parts = template.split("/").slice(1);
  // Only these may hold slashes.
  const open = ["{path}", "{ref}", "{branch}", "{basehead}"];
  const source = parts.map((p) => (open.includes(p) ? "(.+)" : p.startsWith("{") ? "([^/]+)" : p.replace(/[.*+?^$()|[\]\\]/g, "\\$&"))).join("/");
  operations.push({ template, item, regex: new RegExp(`^/${source}$`), literal: parts.filter((p) => !p.startsWith("{")).length, open: parts.some((p) => open.includes(p)) });
}
operations.sort((a, b) => b.literal - a.literal || a.open - b.open);
function operation(method, asked) {
  const name = ALIASES.reduce((p, [from, to]) => p.replace(from, to), asked);
  const fits = operations.filter((o) => o.regex.test(name));
  const found = fits.find((o) => o.item[method.toLowerCase()]);
  return found && { template: found.template, of: found.item[method.toLowerCase()], shared: found.item.parameters ?? [] };
}

/** All property names that a schema knows at its top; null when it takes any. */
function known(schema, depth = 0) {
  const s = resolve(schema);
  if (!s || depth > 6 || (s.additionalProperties && s.additionalProperties !== false)) return null;
  const names = new Set(Object.keys(s.properties ?? {}));
  for (const part of [...(s.allOf ?? []), ...(s.anyOf ?? []), ...(s.oneOf ?? [])]) {
    const inner = known(part, depth + 1);
    if (inner === null) continue;
    inner.forEach((n) => names.add(n));
  }
  return names.size ? names : null;
}
function unknownNames(schema, value) {
  const s = resolve(schema);
  if (Array.isArray(value)) return value.slice(0, 3).flatMap((v) => unknownNames(s?.items, v));
  if (value === null || typeof value !== "object") return [];
  const names = known(s);
  if (!names) return [];
  return Object.keys(value).flatMap((n) => (names.has(n) ? unknownNames(s.properties?.[n], value[n]).map((i) => `${n}.${i}`) : [n]));
}

function errors(schema, value) {
  const check = compile(schema);
  if (!check(value)) return check.errors.map((e) => `${e.instancePath.replace(/\/\d+/g, "/*") || "the whole"} ${e.message}`).slice(0, 1);
  return [];
}

// ---- REST ----
const used = new Map();
function rest(x) {
  const label = `${x.method} ${x.path}`;
  const op = operation(x.method, x.path);
  // Requests that a test made up are the test's business; so is the server's end that it brought about.
  const ours = (x.agent ?? "").startsWith("pushback");
  const fine = x.status < 400;
  if (!op) {
    if (ours) problem(`request: ${x.method} ${x.path.replace(/\d+/g, "N")} is not described`, label);
    return;
  }
  const at = `${x.method} ${op.template}`;
  used.set(at, (used.get(at) ?? 0) + 1);
  if (ours) {
    const parameters = [...op.shared, ...(op.of.parameters ?? [])].map(resolve).filter((p) => p.in === "query");
    for (const [name, value] of new URLSearchParams(x.query)) {
      const p = parameters.find((q) => q.name === name);
      if (!p) {
        // The description forgets paging where a list has it all the same.
        problem(`request: ${at}: query parameter \`${name}\` is not described`, label);
        continue;
      }
      const type = resolve(p.schema)?.type;
      const typed = type === "integer" ? Number(value) : type === "boolean" ? value === "true" : value;
      for (const e of errors(p.schema, typed)) problem(`request: ${at}: \`${name}\` ${e}`, label);
    }
    const schema = resolve(op.of.requestBody)?.content?.["application/json"]?.schema;
    if (x.body !== null && schema) {
      // Beside `in_reply_to` GitHub ignores what else the description calls required.
      const whole = x.body.in_reply_to ? { commit_id: "", path: "", ...x.body } : x.body;
      for (const e of errors(schema, whole)) problem(`request: ${at}: body: ${e}`, label);
      for (const n of unknownNames(schema, x.body)) problem(`request: ${at}: body field \`${n}\` is not described`, label);
    } else if (x.body !== null) problem(`request: ${at}: takes no body`, label);
    else if (resolve(op.of.requestBody)?.required) problem(`request: ${at}: wants a body`, label);
  }
  if (x.faults.length || x.status >= 500) return;
  const response = resolve(op.of.responses[x.status]);
  // Every operation may answer these.
  const common = [301, 304, 307, 401, 403, 404, 422, 429];
  if (!response) {
    if (!common.includes(x.status)) problem(`answer: ${at}: status ${x.status} is not described`, label);
    return;
  }
  const schema = response.content?.["application/json"]?.schema;
  const type = x.type ?? "";
  if (!schema || x.answer === null || !type.includes("json") || type.includes(".raw")) return;
  for (const e of errors(schema, x.answer)) problem(`answer: ${at} ${x.status}: ${e}`, label);
  const before = compileUnpatched(schema);
  if (!before(x.answer)) neededPatch += 1;
  if (fine) for (const n of unknownNames(schema, x.answer)) problem(`answer: ${at}: field \`${n}\` is not described`, label);
}

// ---- GraphQL ----
const schema = graphql.buildSchema(sdl, { assumeValid: true, assumeValidSDL: true });
const parsed = new Map();
function document(text, where) {
  if (!parsed.has(text)) {
    let doc = null;
    try {
      doc = graphql.parse(text);
      for (const e of graphql.validate(schema, doc)) problem(`document: ${e.message}`, where);
    } catch (e) {
      problem(`document: ${e.message}`, where);
    }
    parsed.set(text, doc);
  }
  return parsed.get(text);
}
function answered(doc, type, set, value, at) {
  for (const node of set.selections) {
    if (node.kind === "FragmentSpread" || node.kind === "InlineFragment") {
      const fragment = node.kind === "InlineFragment" ? node : doc.definitions.find((d) => d.kind === "FragmentDefinition" && d.name.value === node.name.value);
      const on = fragment.typeCondition ? schema.getType(fragment.typeCondition.name.value) : type;
      const made = value.__typename ? schema.getType(value.__typename) : null;
      const applies = made ? on === made || (graphql.isAbstractType(on) && schema.isSubType(on, made)) : Object.keys(value).length > 0;
      if (applies && fragment.selectionSet.selections.some((s) => s.kind === "Field" && (s.alias ?? s.name).value in value)) answered(doc, on, fragment.selectionSet, value, at);
      continue;
    }
    const key = (node.alias ?? node.name).value;
    const name = node.name.value;
    if (name === "__typename") continue;
    const field = type.getFields()[name];
    if (!(key in value)) problem(`graphql answer: ${type.name}.${key} is missing`, at);
    else if (field) one(doc, field.type, node, value[key], `${type.name}.${name}`, at);
  }
}
function one(doc, type, node, value, label, at) {
  if (graphql.isNonNullType(type)) {
    if (value === null) return problem(`graphql answer: ${label} must not be null`, at);
    type = type.ofType;
  }
  if (value === null) return;
  if (graphql.isListType(type)) {
    if (!Array.isArray(value)) return problem(`graphql answer: ${label} must be a list`, at);
    value.forEach((v) => one(doc, type.ofType, node, v, label, at));
  } else if (graphql.isEnumType(type)) {
    if (!type.getValue(value)) problem(`graphql answer: ${label}: ${value} is no ${type.name}`, at);
  } else if (graphql.isScalarType(type)) {
    const want = { Int: "number", Float: "number", Boolean: "boolean" }[type.name] ?? "string";
    if (typeof value !== want) problem(`graphql answer: ${label}: ${typeof value} for ${type.name}`, at);
  } else if (typeof value !== "object") problem(`graphql answer: ${label} must be an object`, at);
  else answered(doc, type, node.selectionSet, value, at);
}
let documents = 0;
function graph(x) {
  const ours = (x.agent ?? "").startsWith("pushback");
  // A document of the fake's own tests may be wrong on purpose.
  if (typeof x.body?.query !== "string" || (!ours && x.answer?.errors)) return;
  const doc = document(x.body.query, "a request");
  if (!doc) return;
  documents += 1;
  const op = doc.definitions.find((d) => d.kind === "OperationDefinition" && (!x.body.operationName || d.name?.value === x.body.operationName));
  if (!op) return problem("graphql request: no such operation in the document", x.body.operationName);
  const { errors: bad } = graphql.getVariableValues
    ? graphql.getVariableValues(schema, op.variableDefinitions ?? [], x.body.variables ?? {})
    : require(require.resolve("graphql/execution/values", { paths: [modules] })).getVariableValues(schema, op.variableDefinitions ?? [], x.body.variables ?? {});
  for (const e of bad ?? []) problem(`graphql request: ${e.message}`, op.name?.value);
  if (x.faults.length || !x.answer?.data || x.answer.errors) return;
  const root = op.operation === "mutation" ? schema.getMutationType() : schema.getQueryType();
  answered(doc, root, op.selectionSet, x.answer.data, op.name?.value ?? "an operation");
}

async function main() {
  const files = fs.readdirSync(queries).filter((f) => f.endsWith(".graphql"));
  for (const file of files) document(fs.readFileSync(path.join(queries, file), "utf8"), file);
  let count = 0;
  for (const file of fs.readdirSync(records).filter((f) => f.endsWith(".jsonl"))) {
    const lines = readline.createInterface({ input: fs.createReadStream(path.join(records, file)), crlfDelay: Infinity });
    for await (const line of lines) {
      let x;
      try {
        x = JSON.parse(line);
      } catch {
        continue; // a process that was killed in the middle of its last line
      }
      count += 1;
      x.path === "/graphql" ? graph(x) : rest(x);
    }
  }
  if (count === 0) problem("nothing was recorded", records);
  console.log(`${count} exchanges (${documents} of GraphQL) over ${used.size} described operations; ${files.length} documents; ${PATCHES.length} patches, needed by ${neededPatch} answers`);
  for (const [kind, { count, where }] of [...problems].sort()) console.log(`  ${String(count).padStart(6)} x ${kind}   [${where}]`);
  console.log(`${problems.size === 0 ? 1 : 0} passed, ${problems.size} failed`);
  process.exitCode = problems.size === 0 ? 0 : 1;
}
main();
