//! The licences of installed packages.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::error::LibrariesError;

/// The names, versions and licences of all packages in a `node_modules`, in the order of their names.
pub(super) fn of_all(installed: &Path) -> Result<String, LibrariesError> {
    let mut text = String::from(
        "The libraries of this page, the packages that they are built from, and their licences.\n",
    );
    for package in packages(installed)? {
        let path = package.join("package.json");
        let about =
            fs::read_to_string(&path).map_err(|source| LibrariesError::Unreadable { path, source })?;
        let about: Value = serde_json::from_str(&about).unwrap_or_default();
        let word = |name: &str| about[name].as_str().unwrap_or_default().to_owned();
        text.push_str(&format!("\n{} {}, {}\n", word("name"), word("version"), word("license")));
        let is_licence = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().to_uppercase().starts_with("LICEN"))
        };
        for path in entries(&package)?.into_iter().filter(is_licence) {
            let licence =
                fs::read_to_string(&path).map_err(|source| LibrariesError::Unreadable { path, source })?;
            text.push_str(&format!("\n{}\n", licence.trim()));
        }
    }
    Ok(text)
}

/// The folders of the packages: those of a scope are one level further down.
fn packages(installed: &Path) -> Result<Vec<PathBuf>, LibrariesError> {
    let mut folders = Vec::new();
    for folder in entries(installed)? {
        let is_scope = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('@'));
        folders.extend(if is_scope { entries(&folder)? } else { vec![folder] });
    }
    folders.retain(|folder| folder.join("package.json").is_file());
    Ok(folders)
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, LibrariesError> {
    let unreadable = |source| LibrariesError::Unreadable { path: folder.into(), source };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    Ok(paths)
}
