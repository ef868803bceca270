//! Chakra execution traces: a file per rank, of protobuf messages each behind its length as a varint: GlobalMetadata, then a Node after the
//! other (mlcommons/chakra, schema/protobuf/et_def.proto and src/third_party/utils/protolib.py, at 21585d8).

mod convert;
mod frames;
mod order;
pub mod schema;
mod write;

pub use convert::read;
pub use frames::{Frames, copy};
pub use write::write_rank;
