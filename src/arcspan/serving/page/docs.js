"use strict";
// The API's documentation, read from openapi.json: paths, fields, answers. No script from elsewhere.

const make = (name, text = "", ...children) => {
  const element = document.createElement(name);
  element.append(text, ...children);
  return element;
};

let schemas = {};
const named = schema => schema?.$ref ? schemas[schema.$ref.split("/").at(-1)] : schema;

function type(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.anyOf) return schema.anyOf.map(type).join(" or ");
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(" | ");
  if (schema.prefixItems) return `[${schema.prefixItems.map(type).join(", ")}]`;
  if (schema.type === "array") return `list of ${type(schema.items)}`;
  return schema.type ?? "";
}

function fields(schema) {
  const table = make("table");
  for (const [name, field] of Object.entries(named(schema)?.properties ?? {})) {
    const row = make("tr");
    row.append(make("th", name), make("td", type(field)), make("td", field.description ?? ""));
    table.append(row);
  }
  return table;
}

// The schemas that a schema uses, itself first.
function used(schema, found = new Map()) {
  for (const [, name] of JSON.stringify(schema ?? {}).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    if (!found.has(name)) {
      found.set(name, schemas[name]);
      used(schemas[name], found);
    }
  }
  return found;
}

function operation(path, method, what) {
  const card = make("div");
  card.className = "card";
  card.append(make("h2", "", make("code", `${method.toUpperCase()} ${path}`)), make("p", what.description ?? what.summary ?? ""));
  const body = what.requestBody?.content?.["application/json"]?.schema;
  for (const [name, schema] of used(body)) card.append(make("h3", `Request: ${name}`), fields(schema));
  const done = what.responses["200"]?.content?.["application/json"]?.schema;
  for (const [name, schema] of used(done)) card.append(make("h3", `Answer: ${name}`), fields(schema));
  const refusals = Object.entries(what.responses).filter(([status]) => status !== "200");
  if (refusals.length) {
    const table = make("table");
    for (const [status, answer] of refusals) {
      const row = make("tr");
      row.append(make("th", status), make("td", "ErrorAnswer"), make("td", answer.description));
      table.append(row);
    }
    card.append(make("h3", "Refusals"), table, make("pre", '{"error": {"status": 413, "code": "body_too_large", "message": "..."}}'));
  }
  return card;
}

fetch("openapi.json").then(response => response.json()).then(api => {
  schemas = api.components?.schemas ?? {};
  document.getElementById("version").textContent = `version ${api.info.version}`;
  document.getElementById("description").textContent = api.info.description;
  document.getElementById("curl").textContent =
    `curl ${new URL("parse", location.href)} \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text": "Logic plays a maximal role here."}'`;
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, what] of Object.entries(methods)) document.getElementById("paths").append(operation(path, method, what));
  }
});
