//! The description of the interface: an `OpenAPI` 3.1 document, made from the table of operations.

use std::sync::OnceLock;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::{Map, Value, json};

use super::problem::{self, Problem};
use super::routes::{Access, Endpoint, ROUTES, Run};
use crate::serve::mcp::tool::simplify;

/// The path of the interface.
pub(crate) const BASE: &str = "/api/v1";

/// Returns the document.
pub(super) fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(make)
}

fn make() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let settings = settings.with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let (mut paths, mut bodies) = (Map::new(), Map::new());
    for route in ROUTES {
        let answer = (route.answer)(&mut generator);
        let body = route.verb.has_body().then(|| body_of(route));
        let operation = operation(route, &json!(answer), body.is_some());
        if let Some(body) = body {
            bodies.insert(body_name(route), body);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.verb.as_str().to_ascii_lowercase()] = operation;
    }
    let problem = generator.subschema_for::<Problem>();
    let mut schemas = generator.take_definitions(false);
    for schema in schemas.values_mut() {
        if let Ok(schema) = schema.try_into() {
            RecursiveTransform(simplify).transform(schema);
        }
    }
    schemas.extend(bodies);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "afterthought",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Memories learnt from conversations: search, store, review and undo.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {
                "namespace": {
                    "name": "namespace", "in": "query", "schema": {"type": "string"},
                    "description": "Only this namespace of those that the server serves, such as project/shop",
                },
                "exact": {
                    "name": "exact", "in": "query", "schema": {"type": "boolean", "default": false},
                    "description": "Return texts exactly as they are stored, for programs; by default, marks that a \
                                    model could take for structure are replaced",
                },
                "version": {
                    "name": "If-Match", "in": "header", "schema": {"type": "string"},
                    "description": "ETag of the memory that the change is based on",
                },
            },
            "responses": {
                "problem": {
                    "description": "The request failed; `detail` names the object and the remedy",
                    "content": {problem::CONTENT_TYPE: {"schema": problem}},
                },
            },
        },
    })
}

/// Returns the name of the schema of a route's body.
fn body_name(route: &Endpoint) -> String {
    let words = route.id.split('_').map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
    words.collect::<String>() + "Body"
}

/// Returns the arguments that are in the body.
fn body_of(route: &Endpoint) -> Value {
    let mut input = (route.input)();
    input.insert("title".to_owned(), json!(body_name(route)));
    for name in route.in_path() {
        without(&mut input, name);
    }
    Value::Object(input)
}

fn without(input: &mut JsonObject, name: &str) {
    if let Some(properties) = input.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(name);
    }
    if let Some(required) = input.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|one| one != name);
    }
}

fn operation(route: &Endpoint, answer: &Value, has_body: bool) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    let input = (route.input)();
    let required: Vec<&str> =
        input.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, schema) in input.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let in_path = route.in_path().any(|one| one == name);
        if !in_path && has_body {
            continue;
        }
        let (mut schema, place) = (schema.clone(), if in_path { "path" } else { "query" });
        never_null(&mut schema);
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let is_required = in_path || required.contains(&name.as_str());
        parameters.push(json!({
            "name": name, "in": place, "required": is_required, "description": description, "schema": schema,
        }));
    }
    parameters.push(json!({"$ref": "#/components/parameters/namespace"}));
    if matches!(route.run, Run::Answer(_)) {
        parameters.push(json!({"$ref": "#/components/parameters/exact"}));
    }
    if route.takes_version() {
        parameters.push(json!({"$ref": "#/components/parameters/version"}));
    }
    let owner = if route.access == Access::Owner { " Only on a server that was started with --owner." } else { "" };
    let kind = match route.run {
        Run::Answer(_) => "application/json",
        Run::Export => "application/x-ndjson",
    };
    let mut operation = json!({
        "operationId": route.id,
        "summary": route.title,
        "description": format!("{}{owner}", route.description),
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done", "content": {kind: {"schema": answer}}},
            "default": {"$ref": "#/components/responses/problem"},
        },
    });
    if has_body {
        let body = json!({"$ref": format!("#/components/schemas/{}", body_name(route))});
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": body}}});
    }
    operation
}

/// Removes null from a schema: a parameter of a URL is left out instead.
fn never_null(schema: &mut Value) {
    if let Some(kinds) = schema.get("type").and_then(Value::as_array) {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        schema["type"] = kind.unwrap_or_default();
    }
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, value| name != "default" || !value.is_null());
    }
    if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        words.retain(|word| !word.is_null());
    }
}
