//! The numbers of node types (et_def.proto, `NodeType`).

pub const INVALID: i32 = 0;
pub const METADATA: i32 = 1;
pub const MEM_LOAD: i32 = 2;
pub const MEM_STORE: i32 = 3;
pub const COMP: i32 = 4;
pub const COMM_SEND: i32 = 5;
pub const COMM_RECV: i32 = 6;
pub const COMM_COLL: i32 = 7;
