//! CPU time of threads of this process.

use crate::Error;

/// The name of the stack's thread.
pub(crate) const STACK: &str = "headway-stack";

/// The threads of that name, in the order of creation.
pub(crate) fn threads(name: &str) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task")? {
        let path = entry?.path();
        if std::fs::read_to_string(path.join("comm"))?.trim() == name {
            found.extend(path.file_name().and_then(|tid| tid.to_str()?.parse::<u32>().ok()));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The CPU time of a thread in nanoseconds, kernel included.
pub(crate) fn of_thread(tid: u32) -> Result<u64, Error> {
    let path = format!("/proc/self/task/{tid}/schedstat");
    let text = std::fs::read_to_string(&path)?;
    let first = text.split_whitespace().next().and_then(|word| word.parse().ok());
    first.ok_or_else(|| format!("{path}: {text:?}: expected a number of nanoseconds").into())
}
