//! Schemas of types that are read from external JSON, and descriptions of the faults of a value.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Maximum number of faults that are named for one value.
const MAX_FAULTS: usize = 3;
/// Maximum number of entries of a reply whose faults are named.
const MAX_NAMED: usize = 5;

/// The schema of a type, with which values are compared before they are read.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

impl Schema {
    /// Returns the schema of `T`.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let mut schema = schema_of::<T>();
        list_constants(&mut schema);
        Self::from_json(&schema)
    }

    /// Reads a schema, which was derived from a type.
    pub(crate) fn from_json(schema: &Value) -> Self {
        Self(jsonschema::validator_for(schema).expect("the schema derives from a type"))
    }

    /// Describes the faults of a value: the field, the fault and the values that would be accepted, without the value
    /// itself, which may be private. Of a long choice, only the first values are named.
    pub(crate) fn faults(&self, value: &Value) -> Vec<String> {
        self.describe(value, MAX_FAULTS, |fault| fault.masked().to_string())
    }

    /// Describes the faults of a value like [`faults`](Self::faults), for a program that can correct all of them at once:
    /// more faults, and every value of a choice.
    pub(crate) fn all_faults(&self, value: &Value) -> Vec<String> {
        self.describe(value, 4 * MAX_FAULTS, |fault| match fault.kind() {
            ValidationErrorKind::Enum { options } => format!("value is not one of {options}"),
            _ => fault.masked().to_string(),
        })
    }

    fn describe(&self, value: &Value, most: usize, fault: impl Fn(&ValidationError<'_>) -> String) -> Vec<String> {
        let faults = self.0.iter_errors(value).take(most);
        faults.map(|one| format!("{} {}", one.instance_path(), fault(&one)).trim().to_owned()).collect()
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The faults, if the value does not match.
    pub(crate) fn read<T: DeserializeOwned>(&self, value: Value) -> Result<T, String> {
        let faults = self.faults(&value);
        if !faults.is_empty() {
            return Err(faults.join(", "));
        }
        // The error from serde is not printed, because it may quote the value.
        serde_json::from_value(value).map_err(|_| "a value is not of the asked form".to_owned())
    }

    /// Reads the entries of a model's reply, and warns about the entries that do not match, which are `None` in the
    /// result. `what` is the subject of the reply.
    pub(crate) fn entries<T: DeserializeOwned>(&self, entries: &[Value], what: &str) -> Vec<Option<T>> {
        let read: Vec<Result<T, String>> = entries.iter().map(|entry| self.read(entry.clone())).collect();
        let wrong = (1..).zip(&read).filter_map(|(place, one)| Some(format!("entry {place}: {}", one.as_ref().err()?)));
        let wrong: Vec<String> = wrong.collect();
        if !wrong.is_empty() {
            let named = wrong[..wrong.len().min(MAX_NAMED)].join("; ");
            tracing::warn!("{} of {} {what} in a reply are not used: {named}", wrong.len(), entries.len());
        }
        read.into_iter().map(Result::ok).collect()
    }
}

/// Returns the schema of a type, without references.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns the values of the alternatives of a documented enum, each of which is a constant.
pub(crate) fn constants(variants: &Value) -> Vec<&Value> {
    variants.as_array().into_iter().flatten().filter_map(|one| one.get("const")).collect()
}

/// Writes documented enums as lists of values, so that a fault names the values that would be accepted.
fn list_constants(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(list_constants);
            let listed = fields.get("oneOf").map(|variants| json!(constants(variants)));
            let listed = listed.filter(|values| values.as_array().is_some_and(|values| !values.is_empty()));
            if let Some(values) = listed {
                *schema = json!({"type": "string", "enum": values});
            } else if let Some([one, null]) = fields.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
                && null["type"] == "null"
                && let Some(values) = one["enum"].as_array()
            {
                let values: Vec<&Value> = values.iter().chain([&Value::Null]).collect();
                *schema = json!({"enum": values});
            }
        }
        Value::Array(parts) => parts.iter_mut().for_each(list_constants),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Shown {
        number: usize,
        kind: Option<Kind>,
    }

    /// A documented enum.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        /// One.
        One,
        /// Other.
        Other,
    }

    #[test]
    fn a_fault_names_the_field_and_what_is_accepted_but_not_the_value() {
        let schema = Schema::of::<Shown>();
        let read = |value: Value| schema.read::<Shown>(value);
        assert_eq!(read(json!({"number": 1})), Ok(Shown { number: 1, kind: None }));
        assert_eq!(read(json!({"number": 1, "kind": "other"})), Ok(Shown { number: 1, kind: Some(Kind::Other) }));
        let fault = read(json!({"number": "private", "kind": "secret"})).unwrap_err();
        assert!(fault.contains("/number value is not of type \"integer\""), "{fault}");
        assert!(
            fault.contains("/kind value is not one of") && fault.contains("one") && fault.contains("other"),
            "{fault}"
        );
        assert!(!fault.contains("private") && !fault.contains("secret"), "{fault}");
        assert!(read(json!({})).unwrap_err().contains("\"number\" is a required property"));
        let entries = schema.entries::<Shown>(&[json!({"number": -1}), json!({"number": 2})], "numbers");
        assert_eq!(entries, [None, Some(Shown { number: 2, kind: None })], "the rest is kept");
    }
}
