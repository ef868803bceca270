//! Flow-size distributions.
//!
//! One name goes with several distributions in the literature ("Hadoop" means differ 28-fold), so every table here names its
//! source, and users should report [`SizeDistribution::mean`] with their results.

use farloop_engine::RandomStream;
use farloop_units::Bytes;
use std::fmt;

/// The description of one of the tables that come with farloop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// Where its numbers were published.
    pub source: &'static str,
}

/// A distribution of flow sizes: points of the cumulative distribution, linear in size between them.
///
/// The first point carries its probability as a mass at its size, and two points of equal size make a mass there.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeDistribution {
    name: String,
    points: Vec<(Bytes, f64)>,
}

/// Why a user's table is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The problem there.
    pub problem: String,
    /// The accepted form.
    pub expected: &'static str,
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; expected {}", self.file, self.line, self.problem, self.expected)
    }
}
impl std::error::Error for TableError {}

const EXPECTED_ROW: &str = "rows of two columns, size and cumulative probability, such as \"10000,0.15\" or \"10kB,0.15\"; \
     or with a space and in percent, such as \"10000 15\"";
const EXPECTED_SIZE: &str = "a number of bytes, such as \"10000\" or \"10kB\", not below the row before";
const EXPECTED_PROBABILITY: &str =
    "a cumulative probability from 0 to 1, or in percent from 0 to 100 in all rows, not below the row before";
const EXPECTED_END: &str = "a last row with cumulative probability 1, or 100 in percent, and a size of at least 1 byte";

impl SizeDistribution {
    /// The tables that come with farloop.
    pub fn tables() -> impl Iterator<Item = TableInfo> {
        TABLES.iter().map(|table| table.info)
    }

    /// The table with this name; `None` for an unknown one.
    pub fn by_name(name: &str) -> Option<SizeDistribution> {
        let table = TABLES.iter().find(|table| table.info.name == name)?;
        let points = table.points.iter().map(|&(size, p)| (Bytes::new(size), p)).collect();
        Some(SizeDistribution { name: name.to_string(), points })
    }

    /// Every flow has this size, at least 1 byte.
    pub fn constant(size: Bytes) -> SizeDistribution {
        SizeDistribution { name: size.to_string(), points: vec![(size.max(Bytes::new(1)), 1.0)] }
    }

    /// Reads a user's table: two columns, size (bytes, or with a unit) and cumulative probability, separated by a comma, or by spaces as
    /// HPCC's simulator has them. A last probability of 100 says that they are all in percent.
    ///
    /// Empty lines and lines that begin with `#` are skipped, and so is a first row without digits (column names). `file` is
    /// only for messages. Errors name the file and the line.
    pub fn from_table(file: &str, text: &str) -> Result<SizeDistribution, TableError> {
        let fail = |line, problem, expected| Err(TableError { file: file.to_string(), line, problem, expected });
        let rows = rows(file, text)?;
        let Some(&Row { line: last_line, probability: last, .. }) = rows.last() else {
            return fail(1, "the table is empty".to_string(), EXPECTED_END);
        };
        let percent = last.parse() == Ok(100.0);
        let mut points: Vec<(Bytes, f64)> = Vec::with_capacity(rows.len());
        for Row { line, size, probability } in rows {
            let p = match probability.parse::<f64>() {
                Ok(p) if (0.0..=1.0).contains(&p) && !percent => p,
                Ok(p) if (0.0..=100.0).contains(&p) && percent => hundredth(probability, p),
                Ok(p) if p > 1.0 && p <= 100.0 => {
                    let problem =
                        format!("the probability {probability} is above 1, and the last one, {last}, is not 100");
                    return fail(line, problem, EXPECTED_PROBABILITY);
                }
                _ => return fail(line, format!("\"{probability}\" is not a probability"), EXPECTED_PROBABILITY),
            };
            if let Some(&(size_before, p_before)) = points.last() {
                if size < size_before {
                    return fail(line, format!("the size falls from {size_before} to {size}"), EXPECTED_SIZE);
                }
                if p < p_before {
                    return fail(line, format!("the probability falls from {p_before} to {p}"), EXPECTED_PROBABILITY);
                }
            }
            points.push((size, p));
        }
        let problem = match points.last() {
            Some(&(_, p)) if p < 1.0 => format!("the last cumulative probability is {p}"),
            Some(&(Bytes::ZERO, _)) => "all sizes are zero".to_string(),
            _ => return Ok(SizeDistribution { name: file.to_string(), points }),
        };
        fail(last_line, problem, EXPECTED_END)
    }

    /// The table's name, the user's file, or the constant size.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Mean size in bytes, of the unrounded distribution: rounding to whole bytes and the least size of 1 byte left out.
    pub fn mean(&self) -> f64 {
        let (first, mass) = self.points[0];
        let between = self.points.windows(2).map(|pair| {
            let [(a, p), (b, q)] = [pair[0], pair[1]];
            (q - p) * (a.as_f64() + b.as_f64()) / 2.0
        });
        first.as_f64() * mass + between.sum::<f64>()
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.points[self.points.len() - 1].0
    }

    /// Draws a size by inversion, rounded to whole bytes, at least 1 byte. Takes one number from `random`.
    pub fn sample(&self, random: &mut RandomStream) -> Bytes {
        let u = random.uniform();
        let above = self.points.partition_point(|&(_, p)| p <= u);
        let size = match (above.checked_sub(1).map(|i| self.points[i]), self.points.get(above)) {
            (None, Some(&(first, _))) => first.as_f64(),
            (Some((a, p)), Some(&(b, q))) => a.as_f64() + (b.as_f64() - a.as_f64()) * (u - p) / (q - p),
            (_, None) => self.largest().as_f64(),
        };
        Bytes::from_f64(size + 0.5).clamp(Bytes::new(1), self.largest())
    }
}

/// The inside of a quoted cell, or the cell.
fn unquote(cell: &str) -> &str {
    cell.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map_or(cell, str::trim)
}

/// A row of a user's table: its line, and the values of its columns.
struct Row<'t> {
    line: usize,
    size: Bytes,
    probability: &'t str,
}

/// The rows of a user's table.
fn rows<'t>(file: &str, text: &'t str) -> Result<Vec<Row<'t>>, TableError> {
    let mut rows = Vec::new();
    let mut names = false;
    for (line, row) in (1..).zip(text.trim_start_matches('\u{feff}').lines().map(str::trim)) {
        let fail = |problem, expected| Err(TableError { file: file.to_string(), line, problem, expected });
        if row.is_empty() || row.starts_with('#') {
            continue;
        }
        // Neither column can have a comma, so quotes are decoration.
        let cells: Vec<&str> = match row.contains(',') {
            true => row.split(',').map(|cell| unquote(cell.trim())).collect(),
            false => row.split_whitespace().collect(),
        };
        if rows.is_empty() && !names && cells.len() > 1 && !row.contains(|c: char| c.is_ascii_digit()) {
            names = true;
            continue;
        }
        let [size, probability] = cells[..] else {
            let columns = if cells.len() == 1 { "column" } else { "columns" };
            return fail(format!("\"{row}\" has {} {columns}", cells.len()), EXPECTED_ROW);
        };
        let Some(size) = parse_size(size) else {
            return fail(format!("\"{size}\" is not a size"), EXPECTED_SIZE);
        };
        rows.push(Row { line, size, probability });
    }
    Ok(rows)
}

/// A percentage as a probability, as near to it as if it had been written so.
fn hundredth(text: &str, percent: f64) -> f64 {
    format!("{text}e-2").parse().unwrap_or(percent / 100.0)
}

/// "10000", "10000.0" or "10kB".
fn parse_size(text: &str) -> Option<Bytes> {
    let digits = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|b| b == b'0')).map_or(text, |(all, _)| all);
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if is_number { format!("{digits}B").parse().ok() } else { text.parse().ok() }
}

struct Table {
    info: TableInfo,
    /// Bytes and cumulative probability.
    points: &'static [(u64, f64)],
}

const TABLES: &[Table] = &[
    Table {
        info: TableInfo {
            name: "websearch",
            summary: "web search cluster, mean 1.71 MB",
            source: "Alizadeh et al. (DCTCP), SIGCOMM 2010",
        },
        points: &[
            (0, 0.0),
            (10_000, 0.15),
            (20_000, 0.2),
            (30_000, 0.3),
            (50_000, 0.4),
            (80_000, 0.53),
            (200_000, 0.6),
            (1_000_000, 0.7),
            (2_000_000, 0.8),
            (5_000_000, 0.9),
            (10_000_000, 0.97),
            (30_000_000, 1.0),
        ],
    },
    Table {
        info: TableInfo {
            name: "fb_hadoop",
            summary: "Hadoop cluster, mean 120 kB",
            source: "Roy et al., SIGCOMM 2015, as tabulated for HPCC (Li et al., SIGCOMM 2019)",
        },
        points: &[
            (0, 0.0),
            (100, 0.01),
            (200, 0.02),
            (300, 0.05),
            (350, 0.15),
            (400, 0.2),
            (500, 0.3),
            (600, 0.4),
            (700, 0.5),
            (1_000, 0.6),
            (2_000, 0.67),
            (7_000, 0.7),
            (30_000, 0.72),
            (50_000, 0.82),
            (80_000, 0.87),
            (120_000, 0.9),
            (300_000, 0.95),
            (1_000_000, 0.975),
            (2_000_000, 0.99),
            (10_000_000, 1.0),
        ],
    },
    Table {
        info: TableInfo {
            name: "data_mining",
            summary: "data mining cluster, mean 12.7 MB",
            source: "Greenberg et al. (VL2), SIGCOMM 2009, as tabulated in HKUST's TrafficGenerator (VL2_CDF.txt)",
        },
        points: &[
            (0, 0.0),
            (180, 0.1),
            (216, 0.2),
            (560, 0.3),
            (900, 0.4),
            (1_100, 0.5),
            (1_870, 0.6),
            (3_160, 0.7),
            (10_000, 0.8),
            (400_000, 0.9),
            (3_160_000, 0.95),
            (100_000_000, 0.98),
            (1_000_000_000, 1.0),
        ],
    },
    Table {
        info: TableInfo {
            name: "ali_storage",
            summary: "storage cluster, mean 41 kB",
            source: "Alibaba storage traffic, 2019, as published with the HPCC simulator (AliStorage2019.txt)",
        },
        points: &[
            (0, 0.0),
            (4_000, 0.2293),
            (8_000, 0.6921),
            (16_000, 0.8061),
            (32_000, 0.9047),
            (64_000, 0.9353),
            (128_000, 0.9677),
            (256_000, 0.9753),
            (2_000_000, 1.0),
        ],
    },
    Table {
        info: TableInfo {
            name: "inter_dc",
            summary: "traffic between datacenters, mean 64 MB",
            source: "Alibaba inter-datacenter traffic, 2021, as published with Uno, SC 2025 (AliInterDC2021.txt)",
        },
        points: &[
            (0, 0.0),
            (1_056_444, 0.0238),
            (2_992_438, 0.0947),
            (7_000_286, 0.1407),
            (12_230_868, 0.1649),
            (17_461_450, 0.1787),
            (22_692_031, 0.1927),
            (27_922_613, 0.2067),
            (33_153_195, 0.2125),
            (38_383_776, 0.2201),
            (43_614_358, 0.2272),
            (48_153_292, 0.2443),
            (51_697_984, 0.6702),
            (97_267_446, 0.6939),
            (99_418_551, 0.8493),
            (104_954_816, 0.8763),
            (146_086_208, 0.8856),
            (149_177_006, 0.9533),
            (154_407_588, 0.9627),
            (196_252_241, 0.9777),
            (201_482_822, 0.991),
            (245_340_314, 0.9994),
            (300_000_000, 1.0),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use farloop_test_support::cases;
    use proptest::prelude::*;

    impl SizeDistribution {
        /// The probability of a size of at most `size`.
        fn cdf(&self, size: Bytes) -> f64 {
            // The last point at or below `size`, so that masses count in full.
            let above = self.points.partition_point(|&(s, _)| s <= size);
            match (above.checked_sub(1).map(|i| self.points[i]), self.points.get(above)) {
                (None, _) => 0.0,
                (Some((_, p)), None) => p,
                (Some((a, p)), Some(&(b, q))) => p + (q - p) * (size - a).as_f64() / (b - a).as_f64(),
            }
        }
    }

    fn table(name: &str) -> SizeDistribution {
        SizeDistribution::by_name(name).expect("a table of farloop")
    }

    #[test]
    fn means_are_those_of_the_published_points() {
        // Computed apart, in exact fractions.
        let exact = [
            ("websearch", 1_711_250.0),
            ("fb_hadoop", 120_420.75),
            ("data_mining", 12_658_198.6),
            ("ali_storage", 40_869.8),
            ("inter_dc", 63_957_661.441_55),
        ];
        assert_eq!(SizeDistribution::tables().count(), exact.len());
        for (name, mean) in exact {
            assert!((table(name).mean() / mean - 1.0).abs() < 1e-9, "{name}: {}", table(name).mean());
        }
        assert_eq!(SizeDistribution::by_name("hadoop"), None);
    }

    #[test]
    fn tables_begin_with_no_flow_of_no_byte() {
        // As every published table does, so that sizes below the first one spread evenly and are no mass at it.
        for info in SizeDistribution::tables() {
            let table = table(info.name);
            assert_eq!(table.points[0], (Bytes::ZERO, 0.0), "{}", info.name);
            assert!(table.points[1].0 > Bytes::ZERO && table.points[1].1 > 0.0, "{}", info.name);
            let mut random = RandomStream::new(5, "sizes", 0);
            let smallest = (0..100_000).map(|_| table.sample(&mut random)).min().expect("draws");
            assert!(smallest >= Bytes::new(1) && smallest < table.points[1].0, "{}: {smallest}", info.name);
        }
    }

    #[test]
    fn tables_pass_the_checks_of_user_tables() {
        for info in SizeDistribution::tables() {
            let table = table(info.name);
            let csv: String = table.points.iter().map(|(size, p)| format!("{},{p}\n", size.get())).collect();
            assert_eq!(SizeDistribution::from_table("t.csv", &csv).expect(info.name).points, table.points);
        }
    }

    #[test]
    fn samples_follow_the_distribution() {
        // Kolmogorov-Smirnov: the largest distance of 20,000 draws stays below its 1 % critical value, 1.63/√n.
        let n = 20_000;
        for info in SizeDistribution::tables() {
            let table = table(info.name);
            let mut random = RandomStream::new(1, "sizes", 0);
            let mut draws: Vec<Bytes> = (0..n).map(|_| table.sample(&mut random)).collect();
            draws.sort();
            let mut distance: f64 = 0.0;
            for (i, size) in draws.iter().enumerate() {
                // Only the last of equal draws is the empirical distribution's value there.
                if draws.get(i + 1) != Some(size) {
                    distance = distance.max(((i + 1) as f64 / f64::from(n) - table.cdf(*size)).abs());
                }
            }
            assert!(distance < 1.63 / f64::from(n).sqrt(), "{}: {distance}", info.name);
        }
    }

    #[test]
    fn sample_means_come_out() {
        for (name, tolerance) in [("websearch", 0.01), ("fb_hadoop", 0.02), ("ali_storage", 0.01), ("inter_dc", 0.005)]
        {
            let (table, mut random) = (table(name), RandomStream::new(3, "sizes", 0));
            let n = 300_000;
            let sum: f64 = (0..n).map(|_| table.sample(&mut random).as_f64()).sum();
            let ratio = sum / f64::from(n) / table.mean();
            assert!((ratio - 1.0).abs() < tolerance, "{name}: {ratio}");
        }
    }

    #[test]
    fn the_first_point_carries_mass_and_sizes_interpolate() {
        let d = SizeDistribution::from_table("t.csv", "100,0.5\n300,1").expect("valid");
        assert_eq!(d.mean(), 150.0);
        let at = |size| d.cdf(Bytes::new(size));
        assert_eq!([at(99), at(100), at(200), at(300), at(301)], [0.0, 0.5, 0.75, 1.0, 1.0]);
        let mut random = RandomStream::new(1, "sizes", 0);
        let mass = (0..10_000).filter(|_| d.sample(&mut random) == Bytes::new(100)).count();
        assert!((4_800..5_200).contains(&mass), "{mass}");
    }

    #[test]
    fn constant_sizes_are_constant() {
        let mut random = RandomStream::new(1, "sizes", 0);
        let d = SizeDistribution::constant(Bytes::new(64_000));
        assert_eq!((d.sample(&mut random), d.mean()), (Bytes::new(64_000), 64_000.0));
    }

    #[test]
    fn user_tables_may_have_comments_names_and_units() {
        let d = SizeDistribution::from_table("t.csv", "# mine\nsize, cdf\n\n1000, 0.25\n 2kB , 1\n").expect("valid");
        assert_eq!(d.points, [(Bytes::new(1000), 0.25), (Bytes::new(2000), 1.0)]);
        assert_eq!(d.name(), "t.csv");
    }

    #[test]
    fn tables_of_other_simulators_are_read() {
        // HPCC's files: spaces, and percent. The built-in table has the same points.
        let text = "0 0\n4000 22.93\n8000 69.21\n16000 80.61\n32000 90.47\n64000 93.53\n128000 96.77\n256000 97.53\n2000000 100\n";
        assert_eq!(SizeDistribution::from_table("t.txt", text).expect("valid").points, table("ali_storage").points);
        // TrafficGenerator's files: columns of spaces, and probabilities. Sizes may be written as decimals.
        let d = SizeDistribution::from_table("t.txt", "0   0\n180\t0.1\n 1000.0 1.0\n").expect("valid");
        assert_eq!(d.points, [(Bytes::ZERO, 0.0), (Bytes::new(180), 0.1), (Bytes::new(1000), 1.0)]);
        let named = SizeDistribution::from_table("t.txt", "# mine\nsize cdf\n2kB 100\n").expect("valid");
        assert_eq!(named.points, [(Bytes::new(2000), 1.0)]);
        let percent = SizeDistribution::from_table("t.csv", "100,0.5\n200,1e2").expect("valid");
        assert_eq!(percent.points, [(Bytes::new(100), 0.005), (Bytes::new(200), 1.0)]);
    }

    #[test]
    fn bad_tables_are_refused_with_file_and_line() {
        let message = |text: &str| SizeDistribution::from_table("my.csv", text).expect_err("must fail").to_string();
        for (text, start) in [
            ("", "my.csv:1: the table is empty; expected a last row"),
            ("100,0.5\n200", "my.csv:2: \"200\" has 1 column; expected rows"),
            ("1 1 0.5\n7 1 1", "my.csv:1: \"1 1 0.5\" has 3 columns"),
            ("411.4\n100 0.5\n200 1", "my.csv:1: \"411.4\" has 1 column"),
            ("100;0.5\n200;1", "my.csv:1: \"100;0.5\" has 1 column"),
            ("size cdf\nsize cdf\n100 1", "my.csv:2: \"size\" is not a size"),
            ("0.5 100\n1 200", "my.csv:1: \"0.5\" is not a size"),
            ("100,0.5,7", "my.csv:1: \"100,0.5,7\" has 3 columns"),
            ("100,0.5\n# x\n50,1", "my.csv:3: the size falls from 100B to 50B"),
            ("100,0.5\n200,0.4", "my.csv:2: the probability falls from 0.5 to 0.4"),
            ("100,50\n200,99.9", "my.csv:1: the probability 50 is above 1, and the last one, 99.9, is not 100"),
            ("100,0.5\n200,50", "my.csv:2: the probability 50 is above 1"),
            ("100,50\n200,1\n300,100", "my.csv:2: the probability falls from 0.5 to 0.01"),
            ("100,150\n200,100", "my.csv:1: \"150\" is not a probability"),
            ("100,0.5\n200,0.9", "my.csv:2: the last cumulative probability is 0.9"),
            ("-5,1", "my.csv:1: \"-5\" is not a size"),
            ("5 furlongs,1", "my.csv:1: \"5 furlongs\" is not a size"),
            ("99999999999999999999999,1", "my.csv:1: \"99999999999999999999999\" is not a size"),
            ("5,NaN", "my.csv:1: \"NaN\" is not a probability"),
            ("5,-0.5", "my.csv:1: \"-0.5\" is not a probability"),
            ("0,1", "my.csv:1: all sizes are zero"),
        ] {
            assert!(message(text).starts_with(start), "{text:?}: {}", message(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(256)))]
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-zA-Z,.# \n-]{0,80}", seed in any::<u64>()) {
            if let Ok(d) = SizeDistribution::from_table("t.csv", &text) {
                let size = d.sample(&mut RandomStream::new(seed, "sizes", 0));
                prop_assert!(size >= Bytes::new(1) && size <= d.largest());
            }
        }
    }
}
