//! Declarations of columns, metrics and totals: what one has, and the macros that make lists and tables of them.

use farloop_net::result::{Cause, Gear};

/// The gears that have a column, a metric or a total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gears {
    /// All of them.
    All,
    /// The one of packets alone.
    Packets,
    /// Those with queues: all but the one of plain max-min fair rates.
    Queues,
    /// Those that look at flows now and then: all but the one of packets, whose tables do not name it.
    Looks,
}

impl Gears {
    /// Returns true if a gear is among them.
    pub const fn has(self, gear: Gear) -> bool {
        match self {
            Gears::All => true,
            Gears::Packets => matches!(gear, Gear::Packets),
            Gears::Queues => !matches!(gear, Gear::MaxMin),
            Gears::Looks => !matches!(gear, Gear::Packets),
        }
    }

    /// These instead.
    pub(crate) const fn only(self, others: Gears) -> Gears {
        others
    }
}

/// The gears that lose packets for a cause: with fluid queues what finds no room in a buffer, in full packets.
pub(crate) const fn gears_of_cause(cause: Cause) -> Gears {
    match cause {
        Cause::Buffer => Gears::Queues,
        _ => Gears::Packets,
    }
}

/// A column of values.
#[derive(Clone, PartialEq, Debug)]
pub enum Column {
    /// Signed integers.
    I64(Vec<i64>),
    /// Signed integers, or nothing where there is no such number.
    OptionalI64(Vec<Option<i64>>),
    /// Unsigned 32-bit integers.
    U32(Vec<u32>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Indices into a list of words.
    Dictionary(Vec<u32>, Vec<String>),
    /// Nothing in any row, where another gear has values of this kind ([`Declared::kind`]); the number of rows.
    Nothing(&'static str, usize),
}

/// A table: columns with their names, all of the same length.
pub type Table = Vec<(&'static str, Column)>;

/// A column, a metric or a total as it is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// The unit of its values; "text", "count", "number", "0 or 1" or "1" (a fraction) where there is none.
    pub unit: &'static str,
    /// Its meaning, as Markdown.
    pub meaning: &'static str,
    /// Type of its values: "i64", "u32", "f64", or "dict" for texts.
    pub kind: &'static str,
    /// True if a value can be missing; the meaning says when.
    pub nullable: bool,
    /// The gears that have it; with the others all values are missing.
    pub gears: Gears,
}

impl Declared {
    /// Nothing, to begin a list with.
    pub(crate) const NONE: Declared =
        Declared { name: "", unit: "", meaning: "", kind: "", nullable: false, gears: Gears::All };
}

/// Texts: indices into a list of them.
pub(crate) struct Words(pub Vec<u32>, pub Vec<String>);

/// A type of values that a declaration can name.
pub(crate) trait Values {
    const KIND: &'static str;
    const NULLABLE: bool = false;
    /// Number of values.
    fn rows(&self) -> usize;
}

/// A cell of a table's columns: what stands for values of a kind that the gear does not have.
pub(crate) trait Cell {
    fn nothing(kind: &'static str, rows: usize) -> Self;
}

impl Cell for Column {
    fn nothing(kind: &'static str, rows: usize) -> Column {
        Column::Nothing(kind, rows)
    }
}

impl Cell for serde_json::Value {
    fn nothing(_: &'static str, _: usize) -> serde_json::Value {
        serde_json::Value::Null
    }
}

macro_rules! values {
    ($($type:ty => $kind:literal, $nullable:literal, |$values:ident| $rows:expr;)+) => {
        $(impl Values for $type {
            const KIND: &'static str = $kind;
            const NULLABLE: bool = $nullable;
            fn rows(&self) -> usize {
                let $values = self;
                $rows
            }
        })+
    };
}

values! {
    Vec<i64> => "i64", false, |values| values.len();
    Vec<Option<i64>> => "i64", true, |values| values.len();
    Vec<u32> => "u32", false, |values| values.len();
    Vec<f64> => "f64", false, |values| values.len();
    Words => "dict", false, |words| words.0.len();
    u64 => "i64", false, |_one| 1;
    f64 => "f64", false, |_one| 1;
}

impl From<Vec<i64>> for Column {
    fn from(values: Vec<i64>) -> Column {
        Column::I64(values)
    }
}

impl From<Vec<Option<i64>>> for Column {
    fn from(values: Vec<Option<i64>>) -> Column {
        Column::OptionalI64(values)
    }
}

impl From<Vec<u32>> for Column {
    fn from(values: Vec<u32>) -> Column {
        Column::U32(values)
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Column {
        Column::F64(values)
    }
}

impl From<Words> for Column {
    fn from(Words(indices, words): Words) -> Column {
        Column::Dictionary(indices, words)
    }
}

/// Declares columns, and a struct with a field for each, of the column's type: who fills it can leave none out.
macro_rules! declare {
    (
        $(#[doc = $about:literal])+
        $list:ident: $struct:ident as $what:ident {
            $($(#[doc = $meaning:literal])+ $name:ident: $values:ty, $unit:literal $(, of $gears:ident)?;)+
        }
    ) => {
        $(#[doc = $about])+
        pub const $list: &[Declared] = &[$(Declared {
            name: stringify!($name),
            unit: $unit,
            meaning: concat!($($meaning),+).trim_ascii_start(),
            kind: <$values as Values>::KIND,
            nullable: <$values as Values>::NULLABLE,
            gears: Gears::All$(.only(Gears::$gears))?,
        }),+];

        $(#[doc = $about])+
        pub(crate) struct $struct {
            $(pub $name: $values,)+
        }

        declare!(@ $what $list $struct $($name)+);
    };
    (@ Table $list:ident $struct:ident $($name:ident)+) => {
        impl $struct {
            /// In the order of their declaration.
            pub fn table(self) -> Table {
                vec![$((stringify!($name), self.$name.into())),+]
            }
        }
    };
    (@ metrics $list:ident $struct:ident $($name:ident)+) => {
        impl $struct {
            /// In the order of their declaration.
            pub fn values(&self) -> [f64; $list.len()] {
                [$(self.$name),+]
            }
        }
    };
}

pub(crate) use declare;

/// Declares columns, each with the expression that computes its values from `$of`, and a function that computes all of them, in the
/// order of their declaration. After a group of columns, a column for each of several causes of loss can stand.
///
/// After its unit a column can name the [`Gears`] that have it: with another one nothing is in its rows. Those of [`Gears::Looks`] are left
/// out instead, so that what packets give stays as it is.
macro_rules! declare_table {
    (
        $(#[doc = $about:literal])+
        $list:ident: $table:ident($of:ident: $from:ty) -> $cell:ty
        $(
            {
                $($(#[doc = $meaning:literal])+ $name:ident: $values:ty, $unit:literal $(, of $gears:ident)? = $value:expr;)+
            }
            $(for $cause:ident in $causes:expr, $meaning_of_cause:expr, of $gears_of_cause:expr => $drops:expr;)?
        )+
    ) => {
        $(#[doc = $about])+
        pub const $list: &[Declared] = {
            const LISTS: &[&[Declared]] = &[$(
                &[$(Declared {
                    name: stringify!($name),
                    unit: $unit,
                    meaning: concat!($($meaning),+).trim_ascii_start(),
                    kind: <$values as Values>::KIND,
                    nullable: <$values as Values>::NULLABLE,
                    gears: Gears::All$(.only(Gears::$gears))?,
                }),+],
                $({
                    const COLUMNS: [Declared; $causes.len()] = {
                        let mut columns = [Declared::NONE; $causes.len()];
                        let mut i = 0;
                        while i < columns.len() {
                            let $cause = $causes[i];
                            let (name, unit) = ($cause.column(), Cause::UNIT);
                            let (meaning, gears) = ($meaning_of_cause, $gears_of_cause);
                            columns[i] = Declared { name, unit, meaning, kind: "i64", nullable: false, gears };
                            i += 1;
                        }
                        columns
                    };
                    &COLUMNS
                },)?
            )+];
            &$crate::columns::declaration::join::<{ $crate::columns::declaration::total_length(LISTS) }>(LISTS)
        };

        $(#[doc = $about])+
        pub(crate) fn $table($of: $from) -> Vec<(&'static str, $cell)> {
            let gear = $of.gear();
            let mut columns: Vec<(&'static str, $cell)> = Vec::with_capacity($list.len());
            $(
                $({
                    let values: $values = $value;
                    let gears = Gears::All$(.only(Gears::$gears))?;
                    if gears.has(gear) {
                        columns.push((stringify!($name), values.into()));
                    } else if gears != Gears::Looks {
                        let rows = Values::rows(&values);
                        columns.push((stringify!($name), Cell::nothing(<$values as Values>::KIND, rows)));
                    }
                })+
                $(columns.extend($causes.iter().map(|cause| {
                    let $cause = *cause;
                    let drops = $drops;
                    if $gears_of_cause.has(gear) {
                        ($cause.column(), <$cell>::from(drops))
                    } else {
                        ($cause.column(), Cell::nothing("i64", Values::rows(&drops)))
                    }
                }));)?
            )+
            columns
        }
    };
}
pub(crate) use declare_table;

/// Number of items of all lists.
pub(crate) const fn total_length(lists: &[&[Declared]]) -> usize {
    let (mut sum, mut i) = (0, 0);
    while i < lists.len() {
        sum += lists[i].len();
        i += 1;
    }
    sum
}

/// One list of several.
pub(crate) const fn join<const N: usize>(lists: &[&[Declared]]) -> [Declared; N] {
    let mut joined = [Declared::NONE; N];
    let (mut next, mut list) = (0, 0);
    while list < lists.len() {
        let mut i = 0;
        while i < lists[list].len() {
            joined[next] = lists[list][i];
            next += 1;
            i += 1;
        }
        list += 1;
    }
    joined
}
