//! Typed parameters: structs whose fields can be listed, documented and set by name.
//!
//! [`params!`](crate::params!) declares one. Each field has a type with a text form, a default and optionally a range of
//! accepted values; the doc comment of a field is its help text. Algorithms declare their parameters with it, scenario
//! sections their keys.

use crate::quantity::{Bytes, Delta, Rate, Time};
use std::borrow::Cow;
use std::fmt;

/// A value as a scenario file writes it.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text: quantities with units, names and choices.
    Text(String),
    /// A list of texts: names.
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x:?}"),
            Value::Text(t) => write!(f, "\"{t}\""),
            Value::List(texts) => {
                let quoted: Vec<String> = texts.iter().map(|t| format!("\"{t}\"")).collect();
                write!(f, "[{}]", quoted.join(", "))
            }
        }
    }
}

/// The kind of a parameter's value: decides its form in the editor schema and in help texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Integer,
    /// A real number.
    Float,
    /// A time with a unit, as text.
    Time,
    /// A size with a unit, as text.
    Bytes,
    /// A rate with a unit, as text.
    Rate,
    /// Free text.
    Text,
    /// One of the listed words.
    Choice(Words),
    /// A list of texts, or one of the listed words instead of a list.
    TextList(Words),
    /// A text, or a list of texts.
    Texts,
}

/// Words that a parameter accepts: those of a declaration, or of a parameter that was made at run time.
#[derive(Clone, Debug)]
pub enum Words {
    /// Of a declaration.
    Declared(&'static [&'static str]),
    /// Made at run time.
    Owned(Vec<String>),
}

impl Words {
    /// The words in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let (declared, owned): (&[&str], &[String]) = match self {
            Words::Declared(words) => (words, &[]),
            Words::Owned(words) => (&[], words),
        };
        declared.iter().copied().chain(owned.iter().map(String::as_str))
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Words) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Words {}

/// One parameter as listed by `farloop explain` and the editor schema.
#[derive(Clone, PartialEq, Debug)]
pub struct ParamSpec {
    /// The key in a scenario file.
    pub name: Cow<'static, str>,
    /// One or two sentences, with source.
    pub doc: String,
    /// The kind of value.
    pub kind: Kind,
    /// True if "none" is accepted.
    pub optional: bool,
    /// The default, `None` where it is derived from the network or left out.
    pub default: Option<Value>,
    /// The accepted values, as text: "0.5 to 1". Empty where the type says it all.
    pub range: String,
    /// The unit of a number, such as "packets". Empty without one, and where the kind says it.
    pub unit: Cow<'static, str>,
    /// The source of the default. Empty where the documentation is enough.
    pub source: Cow<'static, str>,
}

/// Why a parameter could not be set.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamError {
    /// No parameter has this name.
    UnknownName,
    /// The value has the wrong type, unit or form: the problem, and the accepted form.
    BadValue(String),
    /// The value is well formed but outside the accepted range, which is given as text.
    OutOfRange(String),
}

/// A set of named parameters with defaults; made by [`params!`](crate::params!).
pub trait Params: Default + Clone + fmt::Debug + Send + Sync + 'static {
    /// All parameters in declaration order.
    fn specs() -> Vec<ParamSpec>;
    /// The same, made once: a reader of a million tables calls it a million times.
    fn spec_table() -> &'static [ParamSpec];
    /// Sets the parameter `name`; nothing changes on error.
    fn set(&mut self, name: &str, value: &Value) -> Result<(), ParamError>;
    /// The current value of `name`: `None` for an unknown name, `Some(None)` for an optional parameter that is not set.
    fn get(&self, name: &str) -> Option<Option<Value>>;
}

/// No parameters.
#[derive(Clone, Default, Debug)]
pub struct NoParams;

impl Params for NoParams {
    fn specs() -> Vec<ParamSpec> {
        Vec::new()
    }
    fn spec_table() -> &'static [ParamSpec] {
        &[]
    }
    fn set(&mut self, _: &str, _: &Value) -> Result<(), ParamError> {
        Err(ParamError::UnknownName)
    }
    fn get(&self, _: &str) -> Option<Option<Value>> {
        None
    }
}

/// A type that a parameter can have.
pub trait ParamType: Sized + Clone {
    /// Its kind.
    const KIND: Kind;
    /// True if "none" is accepted.
    const OPTIONAL: bool = false;
    /// Reads a value; the error names the problem and the accepted form.
    fn from_value(value: &Value) -> Result<Self, String>;
    /// The value as a scenario file would write it; `None` where it is not set.
    fn to_value(&self) -> Option<Value>;
}

pub(crate) fn mismatch<T>(value: &Value, wanted: &str) -> Result<T, String> {
    let kind = match value {
        Value::Bool(_) => "a boolean",
        Value::Int(_) => "a whole number",
        Value::Float(_) => "a real number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
    };
    Err(format!("{value} is {kind}; expected {wanted}"))
}

impl ParamType for bool {
    const KIND: Kind = Kind::Bool;
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Bool(b) => Ok(*b),
            other => mismatch(other, "true or false"),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Bool(*self))
    }
}

impl ParamType for f64 {
    const KIND: Kind = Kind::Float;
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Float(x) if x.is_finite() => Ok(*x),
            Value::Float(x) => Err(format!("{x} is not finite; expected a real number")),
            Value::Int(i) => Ok(*i as f64),
            other => mismatch(other, "a real number, such as 0.95"),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Float(*self))
    }
}

macro_rules! integer {
    ($($t:ty),*) => {$(
        impl ParamType for $t {
            const KIND: Kind = Kind::Integer;
            fn from_value(value: &Value) -> Result<Self, String> {
                match value {
                    Value::Int(i) => <$t>::try_from(*i)
                        .map_err(|_| format!("{i} is outside {} to {}; expected a whole number", <$t>::MIN, <$t>::MAX)),
                    other => mismatch(other, "a whole number"),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::Int(i64::try_from(*self).unwrap_or(i64::MAX)))
            }
        }
    )*};
}
integer!(u8, u16, u32, u64);

impl ParamType for String {
    const KIND: Kind = Kind::Text;
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(t) => Ok(t.clone()),
            other => mismatch(other, "a text in quotes"),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.clone()))
    }
}

impl ParamType for Vec<String> {
    const KIND: Kind = Kind::TextList(Words::Declared(&[]));
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::List(texts) => Ok(texts.clone()),
            other => mismatch(other, "a list of texts, such as [\"a\", \"b\"]"),
        }
    }
    fn to_value(&self) -> Option<Value> {
        Some(Value::List(self.clone()))
    }
}

macro_rules! quantity {
    ($t:ident, $kind:expr, $wanted:expr) => {
        impl ParamType for $t {
            const KIND: Kind = $kind;
            fn from_value(value: &Value) -> Result<Self, String> {
                match value {
                    Value::Text(t) => t.parse().map_err(|e: crate::ParseQuantityError| e.to_string()),
                    other => mismatch(other, $wanted),
                }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::Text(self.to_string()))
            }
        }
    };
}
quantity!(Time, Kind::Time, "a time with its unit, such as \"25ms\"");
quantity!(Delta, Kind::Time, "a time with its unit, such as \"25ms\"");
quantity!(Bytes, Kind::Bytes, "a size with its unit, such as \"10MB\"");
quantity!(Rate, Kind::Rate, "a rate with its unit, such as \"100Gbps\"");

impl<T: ParamType> ParamType for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    fn from_value(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(t) if t == "none" => Ok(None),
            other => T::from_value(other).map(Some).map_err(|e| format!("{e}, or \"none\"")),
        }
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(T::to_value)
    }
}

/// Declares an enum whose variants are written as words in scenario files.
///
/// ```
/// farloop_units::choice! {
///     /// Where the queue term's time horizon comes from.
///     pub enum Horizon { /// The round-trip time inside a datacenter.
///         Irtt = "irtt", /// The flow's own round-trip time.
///         Own = "own" }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $crate::ParamType for $name {
            const KIND: $crate::Kind = $crate::Kind::Choice($crate::Words::Declared(&[$($word),+]));
            fn from_value(value: &$crate::Value) -> Result<Self, String> {
                match value {
                    $($crate::Value::Text(t) if t == $word => Ok($name::$variant),)+
                    other => Err(format!("{other} is not one of {}", [$(concat!("\"", $word, "\"")),+].join(", "))),
                }
            }
            fn to_value(&self) -> Option<$crate::Value> {
                Some($crate::Value::Text(match self { $($name::$variant => $word),+ }.to_string()))
            }
        }
    };
}

/// Returns the text of a reference; nothing in a browser, whose module shows no sources and has to be small.
pub const fn reference_text(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

/// Declares a struct of parameters: `name: type = default, in lowest => highest, unit "text", from "source of the default";`.
/// Range, unit and source may be left out.
///
/// ```
/// use farloop_units::{params, Params, Delta, Value};
/// params! {
///     /// Parameters of an example.
///     pub struct Example {
///         /// Target utilisation.
///         eta: f64 = 0.95, in 0.5 => 1.0, from "HPCC, SIGCOMM 2019, §3.3";
///         /// How long to wait.
///         patience: Delta = Delta::from_ms(5);
///         /// Additive increase; derived from the path where it is not given.
///         step: Option<u32> = None;
///     }
/// }
/// let mut p = Example::default();
/// p.set("patience", &Value::Text("2us".into())).unwrap();
/// assert_eq!(p.patience, Delta::from_us(2));
/// assert!(p.set("eta", &Value::Float(1.5)).is_err());
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $doc:literal])* $field:ident : $t:ty = $default:expr
            $(, in $low:expr => $high:expr)? $(, unit $unit:literal)? $(, from $source:literal)? ;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[doc = $doc])* pub $field: $t,)* }

        impl Default for $name {
            fn default() -> Self { $name { $($field: $default,)* } }
        }

        impl $crate::Params for $name {
            fn specs() -> Vec<$crate::ParamSpec> {
                let defaults = Self::default();
                let _ = &defaults;
                vec![$({
                    #[allow(unused_mut, unused_assignments)]
                    let mut range = String::new();
                    $(range = $crate::params::range_text::<$t>(&$low, &$high);)?
                    $crate::ParamSpec {
                        name: stringify!($field).into(),
                        doc: [$($doc.trim()),*].join(" "),
                        kind: <$t as $crate::ParamType>::KIND,
                        optional: <$t as $crate::ParamType>::OPTIONAL,
                        default: $crate::ParamType::to_value(&defaults.$field),
                        range,
                        unit: concat!($($unit)?).into(),
                        source: const { $crate::params::reference_text(concat!($($source)?)) }.into(),
                    }
                },)*]
            }
            fn spec_table() -> &'static [$crate::ParamSpec] {
                static SPECS: std::sync::OnceLock<Vec<$crate::ParamSpec>> = std::sync::OnceLock::new();
                SPECS.get_or_init(Self::specs)
            }
            fn set(&mut self, name: &str, value: &$crate::Value) -> Result<(), $crate::ParamError> {
                match name {
                    $(stringify!($field) => {
                        let new = <$t as $crate::ParamType>::from_value(value).map_err($crate::ParamError::BadValue)?;
                        $($crate::params::check_range::<$t>(&new, &$low, &$high).map_err($crate::ParamError::OutOfRange)?;)?
                        self.$field = new;
                        Ok(())
                    })*
                    _ => { let _ = value; Err($crate::ParamError::UnknownName) }
                }
            }
            fn get(&self, name: &str) -> Option<Option<$crate::Value>> {
                match name {
                    $(stringify!($field) => Some($crate::ParamType::to_value(&self.$field)),)*
                    _ => None,
                }
            }
        }
    };
}

/// Text of a value for ranges; used by [`params!`](crate::params!).
fn bound_text<T: ParamType>(value: &T) -> String {
    match value.to_value() {
        Some(Value::Text(t)) => t,
        Some(other) => other.to_string(),
        None => "none".to_string(),
    }
}

/// "lowest to highest"; used by [`params!`](crate::params!).
pub fn range_text<T: ParamType>(low: &T, high: &T) -> String {
    format!("{} to {}", bound_text(low), bound_text(high))
}

/// Checks `low <= value <= high`, where an optional value that is not set always passes; used by
/// [`params!`](crate::params!). The error is the accepted range as text.
pub fn check_range<T: ParamType + PartialOrd>(value: &T, low: &T, high: &T) -> Result<(), String> {
    if value.to_value().is_none() || (value >= low && value <= high) { Ok(()) } else { Err(range_text(low, high)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::choice! {
        /// A choice.
        pub enum Colour { /// Red.
            Red = "red", /// Blue.
            Blue = "blue" }
    }
    crate::params! {
        /// All kinds of parameters.
        pub struct Sample {
            /// Target utilisation
            /// (HPCC §3.2).
            eta: f64 = 0.95, in 0.5 => 1.0;
            /// A count.
            stages: u32 = 5, in 0 => 100;
            /// A time.
            wait: Delta = Delta::from_us(32), in Delta::from_us(1) => Delta::from_secs(1);
            /// An optional rate.
            step: Option<Rate> = None, in Some(Rate::from_mbps(1)) => Some(Rate::from_gbps(1));
            /// A word.
            colour: Colour = Colour::Red;
            /// Names.
            names: Vec<String> = Vec::new();
        }
    }

    #[test]
    fn sets_by_name_within_range() {
        let mut p = Sample::default();
        assert_eq!(p.set("eta", &Value::Int(1)), Ok(()));
        assert_eq!(p.set("eta", &Value::Float(1.5)), Err(ParamError::OutOfRange("0.5 to 1.0".into())));
        assert_eq!(p.set("step", &Value::Text("10Mbps".into())), Ok(()));
        assert_eq!(p.set("step", &Value::Text("none".into())), Ok(()));
        assert!(matches!(p.set("step", &Value::Text("10Gbps".into())), Err(ParamError::OutOfRange(_))));
        assert_eq!(p.set("nope", &Value::Int(1)), Err(ParamError::UnknownName));
        assert!(matches!(p.set("stages", &Value::Int(-1)), Err(ParamError::BadValue(_))));
        assert!(matches!(p.set("wait", &Value::Int(3)), Err(ParamError::BadValue(m)) if m.contains("25ms")));
        assert!(
            matches!(p.set("colour", &Value::Text("green".into())), Err(ParamError::BadValue(m)) if m.contains("\"blue\""))
        );
        assert_eq!((p.eta, p.stages, p.colour), (1.0, 5, Colour::Red));
        let names = Value::List(vec!["a".into(), "b".into()]);
        assert_eq!(p.set("names", &names), Ok(()));
        assert_eq!((p.get("names"), names.to_string()), (Some(Some(names)), "[\"a\", \"b\"]".into()));
        assert!(
            matches!(p.set("names", &Value::Text("a".into())), Err(ParamError::BadValue(m)) if m.contains("a list"))
        );
    }

    #[test]
    fn specs_carry_docs_defaults_and_ranges() {
        let specs = Sample::specs();
        assert_eq!(specs[0].doc, "Target utilisation (HPCC §3.2).");
        assert_eq!(specs[2].range, "1us to 1s");
        assert_eq!(specs[2].default, Some(Value::Text("32us".into())));
        assert!(specs[3].optional && specs[3].default.is_none());
        assert_eq!(specs[4].kind, Kind::Choice(Words::Declared(&["red", "blue"])));
        assert_eq!(specs[4].kind, Kind::Choice(Words::Owned(vec!["red".into(), "blue".into()])));
    }
}
