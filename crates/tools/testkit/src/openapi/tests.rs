use std::panic::catch_unwind;

use serde_json::{Value, json};

use super::Document;

const TEXT: &str = r##"{
  "paths": {
    "/": {"get": {"responses": {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}}},
    "/things/{id}": {"get": {"responses": {
      "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
      "404": {"$ref": "#/components/responses/404"}
    }}},
    "/things/all": {"get": {"responses": {
      "200": {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "integer", "minimum": 2}}}}}
    }}},
    "/things/{id}.txt": {"get": {"responses": {"200": {"content": {"text/plain": {}}}}}}
  },
  "components": {
    "responses": {"404": {"content": {"application/json": {"schema": {"type": "string"}}}}},
    "schemas": {"Thing": {
      "type": "object",
      "properties": {
        "name": {"type": ["string", "null"]},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2}
      },
      "required": ["name"],
      "additionalProperties": false
    }}
  }
}"##;

fn check(path: &str, status: u16, body: &Value) -> bool {
    let document = Document::parse(TEXT);
    catch_unwind(|| document.check("GET", path, status, body)).is_ok()
}

#[test]
fn responses_agree_with_their_schema_or_not() {
    for (path, status, body, is_right) in [
        ("/", 200, json!({"a": 1}), true),
        ("/", 200, json!([]), false),
        ("/", 404, json!({}), false),
        ("/things/1", 200, json!({"name": null}), true),
        (
            "/things/1",
            200,
            json!({"name": "n", "kind": "b", "pair": ["x", 1.5]}),
            true,
        ),
        ("/things/1", 200, json!({"kind": "b"}), false),
        ("/things/1", 200, json!({"name": 1}), false),
        ("/things/1", 200, json!({"name": "n", "kind": "c"}), false),
        ("/things/1", 200, json!({"name": "n", "pair": ["x"]}), false),
        (
            "/things/1",
            200,
            json!({"name": "n", "pair": [1, "x"]}),
            false,
        ),
        ("/things/1", 200, json!({"name": "n", "other": 1}), false),
        ("/things/1", 404, json!("text"), true),
        ("/things/1", 404, json!(1), false),
        ("/things/all", 200, json!([2, 3]), true),
        ("/things/all", 200, json!([1]), false),
        ("/things/all", 200, json!([2.5]), false),
        ("/things/1/2", 200, json!({"name": null}), false),
        ("/things/1.txt", 200, json!({}), false),
    ] {
        assert_eq!(
            check(path, status, &body),
            is_right,
            "{path} {status} {body}"
        );
    }
}

#[test]
fn operations_are_named() {
    let document = Document::parse(TEXT);
    let mut operations = document.operations();
    operations.sort();
    let expected = [
        "GET /",
        "GET /things/all",
        "GET /things/{id}",
        "GET /things/{id}.txt",
    ];
    assert_eq!(operations, expected);
    let name = document.check("GET", "/things/7", 404, &json!(""));
    assert_eq!(name, "GET /things/{id}");
}
