//! The finished tables: CSV for people and scripts, Parquet for everything else.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use headway_sim::{Value, ValueKind};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use tempfile::NamedTempFile;

use super::Results;
use super::columns::{Column, columns};
use crate::error::LabError;

/// Writes `runs.csv` and `runs.parquet`, each whole or not at all.
pub(crate) fn write_tables(results: &Results, folder: &Path) -> Result<(), LabError> {
    let rows = results.records();
    let path = folder.join("runs.csv");
    write_whole(&path, &csv(&rows).map_err(|problem| LabError::Unwritable { path: path.clone(), problem })?)?;
    let path = folder.join(PARQUET);
    let table = parquet(&rows)
        .map_err(|error| LabError::Unwritable { path: path.clone(), problem: error.to_string() })?;
    write_whole(&path, &table)
}

/// The name of the table for programs.
pub(super) const PARQUET: &str = "runs.parquet";

/// Writes a file beside its place and then puts it there.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let complaint = |problem: String| LabError::Unwritable { path: path.into(), problem };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = NamedTempFile::new_in(folder).map_err(|error| complaint(error.to_string()))?;
    file.write_all(bytes).map_err(|error| complaint(error.to_string()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; results are as readable as anything else the user writes.
        fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))
            .map_err(|error| complaint(error.to_string()))?;
    }
    file.persist(path).map_err(|error| complaint(error.error.to_string()))?;
    Ok(())
}

fn csv(rows: &[Vec<Value>]) -> Result<Vec<u8>, String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let complaint = |error: csv::Error| error.to_string();
    writer.write_record(columns().map(|column| column.name)).map_err(complaint)?;
    for row in rows {
        let cells = row.iter().map(|value| match value {
            Value::Nothing => String::new(),
            Value::Flag(flag) => flag.to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        });
        writer.write_record(cells).map_err(complaint)?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}

/// The rows as a Parquet file.
pub(super) fn parquet(rows: &[Vec<Value>]) -> Result<Vec<u8>, parquet::errors::ParquetError> {
    let fields = columns().map(|column| field(&column).map(Arc::new)).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("headway".into())
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (index, column) in columns().enumerate() {
        let Some(mut writer) = group.next_column()? else { break };
        write_column(&mut writer, column.kind, rows.iter().map(|row| &row[index]))?;
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(column: &Column) -> Result<Type, parquet::errors::ParquetError> {
    let (physical, logical) = match column.kind {
        ValueKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        ValueKind::Integer => (Physical::INT64, Some(LogicalType::integer(64, false))),
        ValueKind::Number => (Physical::DOUBLE, None),
        ValueKind::Flag => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(column.name, physical)
        .with_logical_type(logical)
        .with_repetition(Repetition::OPTIONAL)
        .build()
}

fn write_column<'a>(
    writer: &mut SerializedColumnWriter<'_>,
    kind: ValueKind,
    values: impl Iterator<Item = &'a Value> + Clone,
) -> Result<(), parquet::errors::ParquetError> {
    // 1 where there is a value, 0 where there is none.
    let levels: Vec<i16> = values.clone().map(|value| i16::from(*value != Value::Nothing)).collect();
    match kind {
        ValueKind::Text => {
            let texts: Vec<ByteArray> = values
                .filter_map(|value| match value {
                    Value::Text(text) => Some(ByteArray::from(text.as_str())),
                    _ => None,
                })
                .collect();
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None)?;
        }
        ValueKind::Integer => {
            let numbers: Vec<i64> = values
                .filter_map(|value| match value {
                    // The logical type says that the bits are unsigned.
                    Value::Integer(number) => Some(*number as i64),
                    _ => None,
                })
                .collect();
            writer.typed::<Int64Type>().write_batch(&numbers, Some(&levels), None)?;
        }
        ValueKind::Number => {
            let numbers: Vec<f64> = values
                .filter_map(|value| match value {
                    Value::Number(number) => Some(*number),
                    // JSON does not distinguish integers from other numbers.
                    Value::Integer(number) => Some(*number as f64),
                    _ => None,
                })
                .collect();
            writer.typed::<DoubleType>().write_batch(&numbers, Some(&levels), None)?;
        }
        ValueKind::Flag => {
            let flags: Vec<bool> = values
                .filter_map(|value| match value {
                    Value::Flag(flag) => Some(*flag),
                    _ => None,
                })
                .collect();
            writer.typed::<BoolType>().write_batch(&flags, Some(&levels), None)?;
        }
    }
    Ok(())
}
