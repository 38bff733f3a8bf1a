//! `runs.parquet` read again: it must hold the rows of the journal, each value of them.

use std::io;
use std::path::Path;

use bytes::Bytes;
use headway_sim::{Value, ValueKind};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::Results;
use super::columns::columns;
use super::manifest;
use super::tables::{PARQUET, parquet};
use crate::error::LabError;

/// The table of `results` in `folder`; of a sweep that is not finished, or has no table, one of the rows that are there.
pub(super) fn read(results: &Results, folder: &Path) -> Result<Vec<u8>, LabError> {
    let path = folder.join(PARQUET);
    let rows = results.records();
    are_complete(&rows)
        .map_err(|problem| LabError::BadTable { path: folder.join(manifest::FILE), problem })?;
    let bad = |problem: String| LabError::BadTable { path: path.clone(), problem };
    let made = || parquet(&rows).map_err(|error| bad(error.to_string()));
    if results.missing() > 0 {
        return made();
    }
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return made(),
        Err(source) => return Err(LabError::Unreadable { path, source }),
    };
    // Nearly always this version wrote the same bytes.
    if made()? != bytes {
        check(&bytes, &rows).map_err(bad)?;
    }
    Ok(bytes)
}

/// Whether each row has a value for each column: descriptions by other versions may have more or fewer parameters.
fn are_complete(rows: &[Vec<Value>]) -> Result<(), String> {
    let kinds: Vec<ValueKind> = columns().map(|column| column.kind).collect();
    let is_one = |(value, kind): (&Value, &ValueKind)| match value {
        Value::Nothing => true,
        Value::Text(_) => *kind == ValueKind::Text,
        Value::Integer(_) => matches!(kind, ValueKind::Integer | ValueKind::Number),
        Value::Number(_) => *kind == ValueKind::Number,
        Value::Flag(_) => *kind == ValueKind::Flag,
    };
    match rows.iter().find(|row| row.len() != kinds.len() || !row.iter().zip(&kinds).all(is_one)) {
        Some(row) => Err(format!(
            "written by another version: expected values for {} columns, found {}, or others",
            kinds.len(),
            row.len()
        )),
        None => Ok(()),
    }
}

/// Whether a file that other code wrote holds the same.
fn check(bytes: &[u8], rows: &[Vec<Value>]) -> Result<(), String> {
    let damaged = |error: ParquetError| format!("damaged, or no Parquet file: {error}");
    let file = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).map_err(damaged)?;
    let fields: Vec<String> = file
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|c| c.name().to_owned())
        .collect();
    if let Some(column) = columns().find(|column| !fields.iter().any(|field| field == column.name)) {
        return Err(format!("written by another version: expected a column {}", column.name));
    }
    if fields.len() != columns().count() {
        return Err(format!(
            "written by another version: expected {} columns, found {}",
            columns().count(),
            fields.len()
        ));
    }
    let count = file.metadata().file_metadata().num_rows();
    if count != rows.len() as i64 {
        return Err(format!("expected the {} rows of runs.jsonl, found {count}", rows.len()));
    }
    for (place, column) in columns().enumerate() {
        let Some(field) = fields.iter().position(|field| field == column.name) else { continue };
        let mut row = 0;
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group).map_err(damaged)?;
            let reader = group.get_column_reader(field).map_err(damaged)?;
            let values =
                values(reader, group.metadata().num_rows().unsigned_abs() as usize).map_err(damaged)?;
            for value in values {
                let expected = rows.get(row).and_then(|row| row.get(place));
                if !expected.is_some_and(|expected| is_same(expected, &value, column.kind)) {
                    return Err(format!("row {}: {}: expected what runs.jsonl holds", row + 1, column.name));
                }
                row += 1;
            }
        }
    }
    Ok(())
}

/// JSON does not distinguish integers from other numbers.
fn is_same(expected: &Value, found: &Value, kind: ValueKind) -> bool {
    expected == found
        || (kind == ValueKind::Number && expected.number().is_some() && expected.number() == found.number())
}

/// The values of a column.
fn values(reader: ColumnReader, rows: usize) -> Result<Vec<Value>, ParquetError> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => typed(reader, rows, |flag| Ok(Value::Flag(*flag))),
        // The logical type says that the bits are unsigned.
        ColumnReader::Int64ColumnReader(reader) => {
            typed(reader, rows, |number| Ok(Value::Integer(*number as u64)))
        }
        ColumnReader::DoubleColumnReader(reader) => typed(reader, rows, |number| Ok(Value::Number(*number))),
        ColumnReader::ByteArrayColumnReader(reader) => {
            typed(reader, rows, |text| Ok(Value::Text(text.as_utf8()?.to_owned())))
        }
        _ => Err(ParquetError::General("a column of another type".into())),
    }
}

fn typed<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    value: impl Fn(&T::T) -> Result<Value, ParquetError>,
) -> Result<Vec<Value>, ParquetError> {
    let (mut levels, mut there) = (Vec::new(), Vec::new());
    loop {
        let (records, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut there)?;
        if records == 0 {
            break;
        }
    }
    let mut there = there.iter();
    let next = |level: &i16| match *level {
        0 => Ok(Value::Nothing),
        _ => value(there.next().ok_or_else(|| ParquetError::EOF("fewer values than rows".into()))?),
    };
    levels.iter().map(next).collect()
}
