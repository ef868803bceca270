//! Chakra's messages, declared with all fields of et_def.proto, so that a trace that was read can be written again.

use prost::{Message, Oneof};

/// Metadata of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct GlobalMetadata {
    /// Version of the schema; empty in traces of generators.
    #[prost(string, tag = "1")]
    pub version: String,
    /// Anything else.
    #[prost(message, repeated, tag = "2")]
    pub attr: Vec<Attribute>,
}

/// A node: an operation of a rank.
#[derive(Clone, PartialEq, Message)]
pub struct Node {
    /// Its id, by which others depend on it.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its kind: see [`kind`].
    #[prost(int32, tag = "3")]
    pub kind: i32,
    /// Nodes that control lets come before.
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    /// Nodes whose results it takes.
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    /// When it began in the recorded run.
    #[prost(uint64, tag = "6")]
    pub start_time_micros: u64,
    /// Its duration there.
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    /// Its inputs.
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<IoInfo>,
    /// Its outputs.
    #[prost(message, optional, tag = "9")]
    pub outputs: Option<IoInfo>,
    /// Anything else.
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

/// Values of [`Node::kind`].
#[allow(missing_docs)]
pub mod kind;

/// Tensors of a node, as text.
#[derive(Clone, PartialEq, Message)]
pub struct IoInfo {
    /// Their values.
    #[prost(string, tag = "1")]
    pub values: String,
    /// Their shapes.
    #[prost(string, tag = "2")]
    pub shapes: String,
    /// Their types.
    #[prost(string, tag = "3")]
    pub types: String,
}

/// A named value.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its meaning.
    #[prost(string, tag = "2")]
    pub doc_string: String,
    /// Its value.
    #[prost(
        oneof = "Value",
        tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32"
    )]
    pub value: Option<Value>,
}

macro_rules! lists {
    ($($name:ident $kind:ident $type:ty;)*) => {
        $(
            /// A list of values.
            #[derive(Clone, PartialEq, Message)]
            pub struct $name {
                /// The values.
                #[prost($kind, repeated, tag = "1")]
                pub values: Vec<$type>,
            }
        )*
    };
}

lists! {
    DoubleList double f64;
    FloatList float f32;
    Int32List int32 i32;
    Int64List int64 i64;
    Uint32List uint32 u32;
    Uint64List uint64 u64;
    Sint32List sint32 i32;
    Sint64List sint64 i64;
    Fixed32List fixed32 u32;
    Fixed64List fixed64 u64;
    Sfixed32List sfixed32 i32;
    Sfixed64List sfixed64 i64;
    BoolList bool bool;
    StringList string String;
}

/// A list of byte strings.
#[derive(Clone, PartialEq, Message)]
pub struct BytesList {
    /// The values.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub values: Vec<Vec<u8>>,
}

/// A value of any of protobuf's types.
#[derive(Clone, PartialEq, Oneof)]
#[allow(missing_docs)]
pub enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(message, tag = "4")]
    DoubleList(DoubleList),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(message, tag = "6")]
    FloatList(FloatList),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(message, tag = "8")]
    Int32List(Int32List),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(message, tag = "10")]
    Int64List(Int64List),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(message, tag = "12")]
    Uint32List(Uint32List),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(message, tag = "14")]
    Uint64List(Uint64List),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(message, tag = "16")]
    Sint32List(Sint32List),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(message, tag = "18")]
    Sint64List(Sint64List),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(message, tag = "20")]
    Fixed32List(Fixed32List),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(message, tag = "22")]
    Fixed64List(Fixed64List),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(message, tag = "24")]
    Sfixed32List(Sfixed32List),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(message, tag = "26")]
    Sfixed64List(Sfixed64List),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    BoolList(BoolList),
    #[prost(string, tag = "29")]
    Text(String),
    #[prost(message, tag = "30")]
    StringList(StringList),
    #[prost(bytes = "vec", tag = "31")]
    Bytes(Vec<u8>),
    #[prost(message, tag = "32")]
    BytesList(BytesList),
}

impl Attribute {
    /// An attribute of that name and value.
    pub fn new(name: &str, value: Value) -> Attribute {
        Attribute { name: name.to_string(), doc_string: String::new(), value: Some(value) }
    }

    /// Its value as an integer, whatever type of integers (or booleans) it has.
    pub fn integer(&self) -> Option<i128> {
        Some(match self.value.as_ref()? {
            Value::Int32(v) | Value::Sint32(v) | Value::Sfixed32(v) => (*v).into(),
            Value::Int64(v) | Value::Sint64(v) | Value::Sfixed64(v) => (*v).into(),
            Value::Uint32(v) | Value::Fixed32(v) => (*v).into(),
            Value::Uint64(v) | Value::Fixed64(v) => (*v).into(),
            Value::Bool(v) => (*v).into(),
            _ => return None,
        })
    }

    /// Its value as text: a string, or digits of an integer.
    pub fn text(&self) -> Option<String> {
        match self.value.as_ref()? {
            Value::Text(text) => Some(text.clone()),
            _ => self.integer().map(|v| v.to_string()),
        }
    }
}

impl Node {
    /// The attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attr.iter().find(|a| a.name == name)
    }
}
