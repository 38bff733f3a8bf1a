//! No command writes to a file that it reads, or twice to one file.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, absolute};

use crate::BadOption;

/// An option, or the name of an argument, and the file that it was given.
pub type Named<'a> = (&'static str, Option<&'a Path>);

/// Refuses a command that would write to one of the files `read`, or twice to one of those `written`. Devices and pipes may be
/// given several times, and `-` is no file.
pub fn require_distinct<'a>(
    read: impl IntoIterator<Item = Named<'a>>,
    written: impl IntoIterator<Item = Named<'a>>,
) -> Result<(), BadOption> {
    let present = |(name, path): Named<'a>| Some((name, path.filter(|path| *path != Path::new("-"))?));
    let mut taken: Vec<(&str, &Path)> = read.into_iter().filter_map(present).collect();
    for (option, path) in written.into_iter().filter_map(present) {
        if let Some((other, _)) = taken.iter().find(|(_, other)| is_same_file(path, other)) {
            let expected = format!("expected another file than that of {other}");
            return Err(BadOption::new(option, path.display().to_string(), expected));
        }
        taken.push((option, path));
    }
    Ok(())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let found = |path| fs::metadata(path).ok();
    match (found(one), found(other)) {
        (Some(one), Some(other)) => {
            let identity = |found: &Metadata| (found.dev(), found.ino());
            one.is_file() && identity(&one) == identity(&other)
        }
        // Where a file is still to be made, its name decides.
        (None, None) => absolute(one).is_ok_and(|one| absolute(other).is_ok_and(|other| one == other)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_links_of_one_file_are_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link, new] = ["file", "link", "new"].map(|name| folder.path().join(name));
        fs::write(&file, "text").expect("a file");
        fs::hard_link(&file, &link).expect("a link");
        let refuses = |read: &Path, written: &[&Path]| {
            let written = written.iter().map(|path| ("--out", Some(*path)));
            require_distinct([("FILE", Some(read))], written).is_err()
        };
        assert!(refuses(&file, &[&link]) && refuses(&file, &[&folder.path().join(".").join("file")]));
        assert!(refuses(&file, &[&new, &folder.path().join("./new")]), "twice");
        assert!(!refuses(&file, &[&new]) && !refuses(&new, &[&file]));
        let [null, standard] = ["/dev/null", "-"].map(Path::new);
        assert!(!refuses(null, &[null, null]) && !refuses(standard, &[standard, standard]));
    }
}
