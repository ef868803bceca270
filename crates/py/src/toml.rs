//! TOML files for Python: values, and the lines of keys.

use farloop_scenario::{TomlError, TomlFile, TomlKey, TomlValue};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pyo3::create_exception!(
    _native,
    InvalidTomlError,
    PyException,
    "A text that is no TOML, or has what nobody needs. Its arguments: line, problem, and true if it is no TOML."
);

/// A TOML file; `expected` says in errors what kind of file is accepted.
#[pyclass(name = "TomlFile", module = "farloop._native", frozen)]
pub struct PyTomlFile(TomlFile);

#[derive(FromPyObject)]
enum Key {
    Element(usize),
    Name(String),
}

#[pymethods]
impl PyTomlFile {
    #[new]
    fn new(text: &str, expected: &str) -> PyResult<PyTomlFile> {
        TomlFile::parse(text, expected).map(PyTomlFile).map_err(to_py_error)
    }

    /// Its tables as dictionaries; dates and times are those of `datetime`.
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, self.0.value())
    }

    /// The line, from 1, on which a key or its nearest table stands; 1 where there is none.
    fn line(&self, way: Vec<Key>) -> usize {
        let key = |key| match key {
            Key::Element(number) => TomlKey::Element(number),
            Key::Name(name) => TomlKey::Name(name),
        };
        self.0.line(&way.into_iter().map(key).collect::<Vec<_>>())
    }

    /// The text with one of its tables as the whole, on the same lines.
    fn part(&self, table: &str) -> PyResult<String> {
        self.0.part(table).map_err(to_py_error)
    }
}

fn to_py_error(error: TomlError) -> PyErr {
    InvalidTomlError::new_err((error.line, error.problem, error.is_syntax))
}

fn object(py: Python<'_>, value: TomlValue) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        TomlValue::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        TomlValue::Int(value) => value.into_pyobject(py)?.into_any(),
        TomlValue::Float(value) => value.into_pyobject(py)?.into_any(),
        TomlValue::Text(value) => value.into_pyobject(py)?.into_any(),
        // A leap second stays a text: Python has none.
        TomlValue::Datetime(value) => datetime(py, &value).or_else(|_| value.into_pyobject(py).map(Bound::into_any))?,
        TomlValue::List(elements) => {
            let objects = elements.into_iter().map(|element| object(py, element)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, objects)?.into_any()
        }
        TomlValue::Table(entries) => {
            let made = PyDict::new(py);
            for (key, value) in entries {
                made.set_item(key, object(py, value)?)?;
            }
            made.into_any()
        }
    })
}

fn datetime<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = match (text.contains('-'), text.contains(':')) {
        (true, false) => "date",
        (false, _) => "time",
        _ => "datetime",
    };
    py.import("datetime")?.getattr(class)?.call_method1("fromisoformat", (text,))
}
