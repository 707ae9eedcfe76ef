//! Check of JSON responses against an OpenAPI 3.1 document.
//!
//! Only the keywords in [`KEYWORDS`] and [`REMARKS`] are known. The check panics if a schema has
//! another keyword. If it ignored such a keyword, a part of the document would not be checked.

use serde_json::{Map, Value};

/// Keywords of schemas that the check evaluates.
const KEYWORDS: [&str; 11] = [
    "$ref",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "enum",
    "minimum",
];
/// Keywords of schemas that the check ignores.
const REMARKS: [&str; 3] = ["description", "format", "maximum"];

/// Parsed OpenAPI document.
#[derive(Clone, Debug)]
pub struct Document(Value);

impl Document {
    /// Parses the document.
    ///
    /// # Panics
    /// If the text is not JSON.
    #[must_use]
    pub fn parse(text: &str) -> Document {
        Document(serde_json::from_str(text).expect("the document is JSON"))
    }

    /// Returns all operations, such as `GET /albums/{id}`: the method in upper case, and the path
    /// with its placeholders.
    #[must_use]
    pub fn operations(&self) -> Vec<String> {
        let paths = self.0["paths"].as_object().into_iter().flatten();
        let operations = paths.flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(move |(method, _)| format!("{} {path}", method.to_uppercase()))
        });
        operations.collect()
    }

    /// Checks the JSON response to a request. `path` is relative to the server's URL and has no
    /// query. Returns the name of the operation, in the form of [`Document::operations`].
    ///
    /// # Panics
    /// If the document lacks the operation or the status, or if the body contradicts its schema.
    pub fn check(&self, method: &str, path: &str, status: u16, body: &Value) -> String {
        let paths = self.0["paths"].as_object().expect("the document has paths");
        let fits = paths
            .iter()
            .filter(|(template, _)| is_path_of(template, path));
        // A path without placeholders takes precedence over a path with placeholders.
        let found = fits.min_by_key(|(template, _)| template.matches('{').count());
        let (template, methods) = found.unwrap_or_else(|| panic!("{path} is not documented"));
        let name = format!("{method} {template}");
        let operation = &methods[method.to_lowercase()];
        let response = self.resolved(&operation["responses"][status.to_string()]);
        let content = response["content"].as_object();
        let content = content.unwrap_or_else(|| panic!("{name} has no status {status}"));
        let schema = content.get("application/json").map(|it| &it["schema"]);
        let schema = schema.unwrap_or_else(|| panic!("{name} {status} is not JSON"));
        let mut faults = Vec::new();
        self.compare(schema, body, "", &mut faults);
        assert!(faults.is_empty(), "{name} {status}: {faults:#?}\n{body:#}");
        name
    }

    /// Returns the value to which a reference points, or `value` itself if it is not a reference.
    fn resolved<'v>(&'v self, value: &'v Value) -> &'v Value {
        let Some(target) = value.get("$ref").and_then(Value::as_str) else {
            return value;
        };
        let target = target.strip_prefix('#').expect("references are local");
        let found = self.0.pointer(target);
        found.unwrap_or_else(|| panic!("{target} is missing"))
    }

    /// Adds a line to `faults` for each contradiction between `value` and its schema. `at` is the
    /// position of `value` in the body.
    fn compare(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let schema = self
            .resolved(schema)
            .as_object()
            .expect("a schema is an object");
        for keyword in schema.keys().map(String::as_str) {
            let is_known = KEYWORDS.contains(&keyword) || REMARKS.contains(&keyword);
            assert!(is_known, "keyword {keyword} is not checked");
        }
        let mut fault = |text: &str| faults.push(format!("{at}: {text}"));
        if let Some(types) = schema.get("type") {
            let named = |name: &Value| is_of_type(name.as_str().unwrap_or_default(), value);
            let is_one = match types {
                Value::Array(types) => types.iter().any(named),
                name => named(name),
            };
            if !is_one {
                fault(&format!("{value} is not of type {types}"));
            }
        }
        if let Some(Value::Array(listed)) = schema.get("enum")
            && !listed.contains(value)
        {
            fault(&format!("{value} is not one of the values in the enum"));
        }
        if let (Some(min), Some(number)) = (schema.get("minimum"), value.as_f64())
            && number < min.as_f64().unwrap_or(f64::NAN)
        {
            fault(&format!("{number} is below the minimum"));
        }
        match value {
            Value::Object(members) => self.compare_members(schema, members, at, faults),
            Value::Array(items) => self.compare_items(schema, items, at, faults),
            _ => {}
        }
    }

    fn compare_members(
        &self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        at: &str,
        faults: &mut Vec<String>,
    ) {
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                faults.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, member) in members {
            let at = format!("{at}/{name}");
            let known = schema.get("properties").and_then(|known| known.get(name));
            match known.or(schema.get("additionalProperties")) {
                None | Some(Value::Bool(true)) => {}
                Some(Value::Bool(false)) => {
                    faults.push(format!("{at}: this member is not documented"))
                }
                Some(schema) => self.compare(schema, member, &at, faults),
            }
        }
    }

    fn compare_items(
        &self,
        schema: &Map<String, Value>,
        items: &[Value],
        at: &str,
        faults: &mut Vec<String>,
    ) {
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        let count = items.len() as u64;
        if count < bound("minItems").unwrap_or(0) || bound("maxItems").unwrap_or(count) < count {
            faults.push(format!(
                "{at}: the array has {count} items, fewer or more than documented"
            ));
        }
        let first = schema.get("prefixItems").and_then(Value::as_array);
        for (index, item) in items.iter().enumerate() {
            let own = first.and_then(|schemas| schemas.get(index));
            if let Some(schema) = own.or(schema.get("items")) {
                self.compare(schema, item, &format!("{at}/{index}"), faults);
            }
        }
    }
}

/// Returns whether `path` matches `template`. A placeholder stands for a segment or for the
/// beginning of a segment.
fn is_path_of(template: &str, path: &str) -> bool {
    let (expected, found) = (template.split('/'), path.trim_end_matches('/').split('/'));
    let (expected, found): (Vec<_>, Vec<_>) = (expected.collect(), found.collect());
    let fits = |(expected, found): (&&str, &&str)| match expected.split_once('}') {
        Some((_, end)) => found.len() > end.len() && found.ends_with(end),
        None => expected == found,
    };
    let is_root = template == "/" && path.trim_end_matches('/').is_empty();
    is_root || expected.len() == found.len() && expected.iter().zip(&found).all(fits)
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("type {name} is unknown"),
    }
}

#[cfg(test)]
mod tests;
