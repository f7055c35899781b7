//! What is stored, what is asked for, and what of it fits each type.

/// One kind of field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    /// As a manifest writes it.
    pub(crate) declaration: &'static str,
    /// The operators it admits beside `isNull`.
    pub(crate) operators: &'static [&'static str],
    /// Values to compare with, as JSON.
    pub(crate) given: &'static [&'static str],
    /// The functions it admits beside `count`.
    pub(crate) functions: &'static [&'static str],
    /// Whether it can be sorted and grouped by.
    pub(crate) groups: bool,
    /// Whether rows can be connected by it.
    pub(crate) links: bool,
    /// The stored values that fit, in their order, and what they read as.
    pub(crate) fits: &'static [(&'static str, &'static str)],
}

impl Kind {
    /// Another type whose values can equal this one's.
    pub(crate) fn kin(&self) -> Option<&'static str> {
        match self.declaration {
            "\"int\"" => Some("\"bigint\""),
            "\"bigint\"" => Some("\"int\""),
            enumerated if enumerated.contains("enum") => Some("\"text\""),
            _ => None,
        }
    }
}

/// SQL literals of every storage class, most of which fit one type or none.
pub(crate) const STORED: [&str; 54] = [
    "NULL",
    "0",
    "1",
    "7",
    "-1",
    "2147483648",
    "9223372036854775807",
    "1.5",
    "2.0",
    "1709200800",
    "1709200800.25",
    "'abc'",
    "'ABC'",
    "''",
    "'7'",
    "' 7'",
    "'1.50'",
    "'1.5'",
    "'1e2'",
    "'1e-400'",
    "'0x10'",
    "'NaN'",
    "'Infinity'",
    "'-0'",
    "'true'",
    "'null'",
    "'2024-02-29'",
    "'2023-02-29'",
    "'24-02-29'",
    "'10:00:00'",
    "'10:00:00.5'",
    "'10:00:00.50'",
    "'25:00:00'",
    "'10:00'",
    "'2024-02-29T10:00:00.000000Z'",
    "'2024-02-29T10:00:00Z'",
    "'2024-02-29 10:00:00'",
    "'2024-02-29 10:00:00.5'",
    "'2024-02-30 10:00:00'",
    "'2024-02-29T11:00:00.000000+01:00'",
    "'6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f'",
    "'6F1C1D1E-8A1B-4C3D-9E2F-0A1B2C3D4E5F'",
    "'{\"a\":1}'",
    "'[1,2]'",
    "'[\"a\"]'",
    "'[1'",
    "'\"abc\"'",
    "'\"\\ud800\"'",
    "x'616263'",
    "x''",
    "x'31'",
    "CAST(x'ff61' AS TEXT)",
    "CAST(x'61ff' AS TEXT)",
    "'é'",
];

const EQUAL: &[&str] = &["eq", "ne", "in", "notIn"];
const ORDERED: &[&str] = &["eq", "ne", "in", "notIn", "gt", "gte", "lt", "lte", "between"];
const TEXTUAL: &[&str] = &["eq", "ne", "in", "notIn", "gt", "gte", "lt", "lte", "between", "iLike"];
const MOMENTS: &[&str] = &["\"2024-02-29T10:00:00Z\"", "\"2024-02-29\"", "\"1970-01-01\"", "\"2024-02-29T10:00:00.5Z\"", "null"];
const PLAIN: Kind =
    Kind { declaration: "", operators: ORDERED, given: &[], functions: &["min", "max"], groups: true, links: true, fits: &[] };

pub(crate) const KINDS: [Kind; 15] = [
    Kind {
        declaration: "\"bool\"",
        operators: EQUAL,
        given: &["true", "false", "null"],
        functions: &[],
        fits: &[("0", "false"), ("1", "true")],
        ..PLAIN
    },
    Kind {
        declaration: "\"int\"",
        given: &["0", "7", "-1", "1", "100", "null"],
        functions: &["min", "max", "sum", "avg"],
        fits: &[("0", "0"), ("1", "1"), ("7", "7"), ("-1", "-1"), ("1709200800", "1709200800")],
        ..PLAIN
    },
    Kind {
        declaration: "\"bigint\"",
        given: &["0", "7", "2147483648", "9223372036854775807", "-1", "null"],
        functions: &["min", "max", "sum", "avg"],
        fits: &[
            ("0", "0"),
            ("1", "1"),
            ("7", "7"),
            ("-1", "-1"),
            ("2147483648", "2147483648"),
            ("9223372036854775807", "9223372036854775807"),
            ("1709200800", "1709200800"),
        ],
        ..PLAIN
    },
    Kind {
        declaration: "\"float\"",
        given: &["0", "1.5", "7", "-1", "1e300", "null"],
        functions: &["min", "max"],
        fits: &[
            ("0", "0"),
            ("1", "1"),
            ("7", "7"),
            ("-1", "-1"),
            ("2147483648", "2147483648"),
            ("9223372036854775807", "9.223372036854776e+18"),
            ("1.5", "1.5"),
            ("2.0", "2"),
            ("1709200800", "1709200800"),
            ("1709200800.25", "1709200800.25"),
        ],
        ..PLAIN
    },
    Kind {
        declaration: "\"decimal\"",
        given: &["0", "\"1.5\"", "7", "-1", "100", "\"1.50\"", "null"],
        functions: &["min", "max", "sum", "avg"],
        fits: &[
            ("0", "\"0\""),
            ("1", "\"1\""),
            ("7", "\"7\""),
            ("-1", "\"-1\""),
            ("2147483648", "\"2147483648\""),
            ("9223372036854775807", "\"9223372036854775807\""),
            ("1.5", "\"1.5\""),
            ("2.0", "\"2\""),
            ("1709200800", "\"1709200800\""),
            ("1709200800.25", "\"1709200800.25\""),
            ("'7'", "\"7\""),
            ("'1.50'", "\"1.50\""),
            ("'1.5'", "\"1.5\""),
            ("'1e2'", "\"100\""),
            ("'-0'", "\"0\""),
        ],
        ..PLAIN
    },
    Kind {
        declaration: "\"text\"",
        operators: TEXTUAL,
        given: &["\"abc\"", "\"\"", "\"7\"", "\"1\"", "\"a\"", "\"é\"", "null"],
        fits: TEXTS,
        ..PLAIN
    },
    Kind {
        declaration: "\"uuid\"",
        given: &[
            "\"6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f\"",
            "\"00000000-0000-0000-0000-000000000000\"",
            "\"ffffffff-ffff-ffff-ffff-ffffffffffff\"",
            "null",
        ],
        fits: &[("'6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f'", "\"6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f\"")],
        ..PLAIN
    },
    Kind {
        declaration: "\"date\"",
        given: &["\"2024-02-29\"", "\"0001-01-01\"", "\"9999-12-31\"", "null"],
        fits: &[("'2024-02-29'", "\"2024-02-29\"")],
        ..PLAIN
    },
    Kind {
        declaration: "\"time\"",
        given: &["\"10:00:00\"", "\"10:00:00.5\"", "\"00:00:00\"", "\"23:59:59.999999\"", "null"],
        fits: &[("'10:00:00'", "\"10:00:00\""), ("'10:00:00.5'", "\"10:00:00.5\""), ("'10:00:00.50'", "\"10:00:00.5\"")],
        ..PLAIN
    },
    Kind { declaration: "\"timestamp\"", given: MOMENTS, fits: &[("'2024-02-29T10:00:00.000000Z'", "\"2024-02-29T10:00:00Z\"")], ..PLAIN },
    Kind {
        declaration: "{ type = \"timestamp\", stored = \"datetime\" }",
        given: MOMENTS,
        fits: &[
            ("'2024-02-29'", "\"2024-02-29T00:00:00Z\""),
            ("'2024-02-29T10:00:00.000000Z'", "\"2024-02-29T10:00:00Z\""),
            ("'2024-02-29T10:00:00Z'", "\"2024-02-29T10:00:00Z\""),
            ("'2024-02-29 10:00:00'", "\"2024-02-29T10:00:00Z\""),
            ("'2024-02-29 10:00:00.5'", "\"2024-02-29T10:00:00.5Z\""),
            ("'2024-02-29T11:00:00.000000+01:00'", "\"2024-02-29T10:00:00Z\""),
        ],
        ..PLAIN
    },
    Kind {
        declaration: "{ type = \"timestamp\", stored = \"unix\" }",
        given: MOMENTS,
        fits: &[
            ("0", "\"1970-01-01T00:00:00Z\""),
            ("1", "\"1970-01-01T00:00:01Z\""),
            ("7", "\"1970-01-01T00:00:07Z\""),
            ("-1", "\"1969-12-31T23:59:59Z\""),
            ("2147483648", "\"2038-01-19T03:14:08Z\""),
            ("1.5", "\"1970-01-01T00:00:01.5Z\""),
            ("2.0", "\"1970-01-01T00:00:02Z\""),
            ("1709200800", "\"2024-02-29T10:00:00Z\""),
            ("1709200800.25", "\"2024-02-29T10:00:00.25Z\""),
        ],
        ..PLAIN
    },
    Kind {
        declaration: "\"json\"",
        operators: &["eq", "ne", "in", "notIn", "contains", "overlap"],
        given: &["1", "\"abc\"", "true", "7", "1.5", "2"],
        functions: &[],
        groups: false,
        links: false,
        fits: &[
            ("0", "0"),
            ("1", "1"),
            ("7", "7"),
            ("-1", "-1"),
            ("2147483648", "2147483648"),
            ("9223372036854775807", "9223372036854775807"),
            ("1.5", "1.5"),
            ("2.0", "2"),
            ("1709200800", "1709200800"),
            ("1709200800.25", "1709200800.25"),
            ("'7'", "7"),
            ("' 7'", "7"),
            ("'1.50'", "1.5"),
            ("'1.5'", "1.5"),
            ("'1e2'", "100.0"),
            ("'1e-400'", "0.0"),
            ("'-0'", "-0.0"),
            ("'true'", "true"),
            ("'{\"a\":1}'", "{\"a\":1}"),
            ("'[1,2]'", "[1,2]"),
            ("'[\"a\"]'", "[\"a\"]"),
            ("'\"abc\"'", "\"abc\""),
        ],
    },
    Kind {
        declaration: "\"text[]\"",
        operators: &["contains", "overlap"],
        given: &["\"a\"", "\"b\"", "\"1\"", "null"],
        functions: &[],
        groups: false,
        links: false,
        fits: &[("'[1,2]'", "[null,null]"), ("'[\"a\"]'", "[\"a\"]")],
    },
    Kind {
        declaration: "{ type = \"enum\", values = [\"abc\", \"7\", \"é\", \"it's\", 'a\\b'] }",
        operators: TEXTUAL,
        given: &["\"abc\"", "\"7\"", "\"é\"", "\"it's\"", "\"a\\\\b\"", "null"],
        fits: &[("'abc'", "\"abc\""), ("'7'", "\"7\""), ("'é'", "\"é\"")],
        ..PLAIN
    },
];

const TEXTS: &[(&str, &str)] = &[
    ("'abc'", "\"abc\""),
    ("'ABC'", "\"ABC\""),
    ("''", "\"\""),
    ("'7'", "\"7\""),
    ("' 7'", "\" 7\""),
    ("'1.50'", "\"1.50\""),
    ("'1.5'", "\"1.5\""),
    ("'1e2'", "\"1e2\""),
    ("'1e-400'", "\"1e-400\""),
    ("'0x10'", "\"0x10\""),
    ("'NaN'", "\"NaN\""),
    ("'Infinity'", "\"Infinity\""),
    ("'-0'", "\"-0\""),
    ("'true'", "\"true\""),
    ("'null'", "\"null\""),
    ("'2024-02-29'", "\"2024-02-29\""),
    ("'2023-02-29'", "\"2023-02-29\""),
    ("'24-02-29'", "\"24-02-29\""),
    ("'10:00:00'", "\"10:00:00\""),
    ("'10:00:00.5'", "\"10:00:00.5\""),
    ("'10:00:00.50'", "\"10:00:00.50\""),
    ("'25:00:00'", "\"25:00:00\""),
    ("'10:00'", "\"10:00\""),
    ("'2024-02-29T10:00:00.000000Z'", "\"2024-02-29T10:00:00.000000Z\""),
    ("'2024-02-29T10:00:00Z'", "\"2024-02-29T10:00:00Z\""),
    ("'2024-02-29 10:00:00'", "\"2024-02-29 10:00:00\""),
    ("'2024-02-29 10:00:00.5'", "\"2024-02-29 10:00:00.5\""),
    ("'2024-02-30 10:00:00'", "\"2024-02-30 10:00:00\""),
    ("'2024-02-29T11:00:00.000000+01:00'", "\"2024-02-29T11:00:00.000000+01:00\""),
    ("'6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f'", "\"6f1c1d1e-8a1b-4c3d-9e2f-0a1b2c3d4e5f\""),
    ("'6F1C1D1E-8A1B-4C3D-9E2F-0A1B2C3D4E5F'", "\"6F1C1D1E-8A1B-4C3D-9E2F-0A1B2C3D4E5F\""),
    ("'{\"a\":1}'", "\"{\\\"a\\\":1}\""),
    ("'[1,2]'", "\"[1,2]\""),
    ("'[\"a\"]'", "\"[\\\"a\\\"]\""),
    ("'[1'", "\"[1\""),
    ("'\"abc\"'", "\"\\\"abc\\\"\""),
    ("'\"\\ud800\"'", "\"\\\"\\\\ud800\\\"\""),
    ("'é'", "\"é\""),
];
