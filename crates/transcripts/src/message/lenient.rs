//! Field types that take what they understand and pass over the rest, so that a wrong type never costs a record.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::MessageTime;

/// What a type makes of each JSON shape; by default nothing.
pub trait Shape<'de>: Default {
    fn from_text(_text: &str) -> Self {
        Self::default()
    }
    fn from_flag(_flag: bool) -> Self {
        Self::default()
    }
    fn from_number(_number: i64) -> Self {
        Self::default()
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

pub struct Any<T>(pub PhantomData<T>);

impl<'de, T: Shape<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_bool<E>(self, flag: bool) -> Result<T, E> {
        Ok(T::from_flag(flag))
    }
    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::from_number(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(i64::try_from(number).map_or_else(|_| T::default(), T::from_number))
    }
    fn visit_i128<E>(self, _number: i128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_u128<E>(self, _number: u128) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _number: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

/// Makes types deserialise from any value by their [`Shape`].
macro_rules! deserialize_by_shape {
    ($($name:ty),*) => {$(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::lenient::Any(std::marker::PhantomData))
            }
        }
    )*};
}
deserialize_by_shape!(Text, Flag, Number, Nothing);
pub(crate) use deserialize_by_shape;

/// A string, or nothing; an empty string is nothing.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Text(pub Option<String>);

impl Text {
    pub fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// Reads it as the RFC 3339 time of a message.
    pub fn time(&self) -> Option<MessageTime> {
        let (at, offset) = crate::parse_rfc3339(self.0.as_deref()?)?;
        Some(MessageTime { offset_seconds: Some(offset), ..MessageTime::logged(at) })
    }
}

impl Shape<'_> for Text {
    fn from_text(text: &str) -> Self {
        Self((!text.is_empty()).then(|| text.to_owned()))
    }
}

/// `true`, or anything else.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Flag(pub bool);

impl Shape<'_> for Flag {
    fn from_flag(flag: bool) -> Self {
        Self(flag)
    }
}

/// A whole number, or nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Number(pub Option<i64>);

impl Shape<'_> for Number {
    fn from_number(number: i64) -> Self {
        Self(Some(number))
    }
}

/// Whatever stands there, passed over.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Nothing;

impl Shape<'_> for Nothing {}

/// An object read as `T`, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Shape<'de> for Object<T> {
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::{Output, Target};
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Sample {
        text: Text,
        flag: Flag,
        number: Number,
        target: Target,
        output: Output,
        object: Object<Part>,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(default)]
    struct Part {
        text: Text,
    }

    #[test]
    fn a_wrong_type_reads_as_nothing_whatever_it_is() {
        for wrong in ["null", "1.5", "99999999999999999999", "[1,[2]]", r#"{"x":{"y":[]}}"#] {
            let json = format!(
                r#"{{"text":{wrong},"flag":{wrong},"number":{wrong},"target":{wrong},"output":{wrong},"object":{{"text":{wrong}}}}}"#
            );
            let expected = Sample { object: Object(Some(Part::default())), ..Sample::default() };
            assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), expected, "{wrong}");
        }
    }
}
