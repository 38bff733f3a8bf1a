//! Tables of values as Arrow, handed over by the Arrow PyCapsule interface.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use headway_sim::{Value, ValueKind};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::failure;

/// <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>
const STREAM: &CStr = c"arrow_array_stream";

/// A table that `pyarrow.table`, `polars.from_arrow` and others take.
#[pyclass(frozen, module = "headway._native")]
pub(crate) struct Arrow(RecordBatch);

#[pymethods]
impl Arrow {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The consumer casts: "the producer should [...] return the data in its own schema" where it cannot.
        drop(requested_schema);
        let schema = self.0.schema();
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], schema);
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }
}

/// A table in the making.
pub(crate) struct Table {
    fields: Vec<Field>,
    columns: Vec<Builder>,
}

enum Builder {
    Text(StringBuilder),
    Integer(UInt64Builder),
    Number(Float64Builder),
    Flag(BooleanBuilder),
}

impl Table {
    /// A table with columns of these names and kinds.
    pub(crate) fn new<'a>(columns: impl IntoIterator<Item = (&'a str, ValueKind)>) -> Self {
        let (fields, columns) = columns
            .into_iter()
            .map(|(name, kind)| {
                let (data, builder) = match kind {
                    ValueKind::Text => (DataType::Utf8, Builder::Text(StringBuilder::new())),
                    ValueKind::Integer => (DataType::UInt64, Builder::Integer(UInt64Builder::new())),
                    ValueKind::Number => (DataType::Float64, Builder::Number(Float64Builder::new())),
                    ValueKind::Flag => (DataType::Boolean, Builder::Flag(BooleanBuilder::new())),
                };
                (Field::new(name, data, true), builder)
            })
            .unzip();
        Self { fields, columns }
    }

    /// One with the columns of `headway lab`, of these rows.
    pub(crate) fn of_records(rows: Vec<Vec<Value>>) -> PyResult<Arrow> {
        let mut table = Self::new(headway_lab::columns().map(|column| (column.name, column.kind)));
        rows.into_iter().for_each(|row| table.push(row));
        table.finish()
    }

    /// Adds a row. What is missing at its end, or is of another kind than its column, is null.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let mut row = row.into_iter();
        for column in &mut self.columns {
            column.push(row.next().unwrap_or(Value::Nothing));
        }
    }

    pub(crate) fn finish(self) -> PyResult<Arrow> {
        let columns = self.columns.into_iter().map(Builder::finish).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(self.fields)), columns);
        Ok(Arrow(batch.map_err(|error: ArrowError| failure(error))?))
    }
}

impl Builder {
    fn push(&mut self, value: Value) {
        match self {
            Self::Text(texts) => match value {
                Value::Text(text) => texts.append_value(text),
                _ => texts.append_null(),
            },
            Self::Integer(numbers) => match value {
                Value::Integer(number) => numbers.append_value(number),
                _ => numbers.append_null(),
            },
            Self::Number(numbers) => match value {
                Value::Number(number) => numbers.append_value(number),
                // JSON does not distinguish integers from other numbers.
                Value::Integer(number) => numbers.append_value(number as f64),
                _ => numbers.append_null(),
            },
            Self::Flag(flags) => match value {
                Value::Flag(flag) => flags.append_value(flag),
                _ => flags.append_null(),
            },
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Text(mut texts) => Arc::new(texts.finish()),
            Self::Integer(mut numbers) => Arc::new(numbers.finish()),
            Self::Number(mut numbers) => Arc::new(numbers.finish()),
            Self::Flag(mut flags) => Arc::new(flags.finish()),
        }
    }
}
