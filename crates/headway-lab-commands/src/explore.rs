//! `headway lab explore`: the folder in which a browser explores the runs of experiments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use headway_command::{OutputError, notice, output};
use headway_lab::Results;
use headway_libraries::{Libraries, Library};
use headway_report::explorer::{self, File, LIBRARIES, Runs};

use super::error::ExperimentsError;
use super::report;

pub(super) const EXAMPLES: &str = "\
Examples:
  headway lab run my.toml && headway lab explore results/my
      Writes results/my/explorer; open its index.html in a browser. It needs no server and no network.
  headway lab explore results --out /tmp/all
      All experiments of a folder in one explorer, the newest first.
  headway lab explore results/my --sequences 100
      With the time sequences of the median runs of 100 cells, which are made again.

Every choice in the page is in its address, after the #: send the folder and an address, and one sees the same. \
The page uses hyparquet, Observable Plot and D3: npm fetches them once into the user's cache folder, and \
checks their hashes.";

/// What is explored, and where the folder goes.
#[derive(Args)]
pub(super) struct ExploreOptions {
    /// The results of an experiment, or a folder that holds several
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write the folder here [default: DIR/explorer]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Make up to N runs of each experiment again, the median runs of its cells, to show their time sequences
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = parse_sequences)]
    sequences: usize,
}

/// Each is a page of up to a megabyte.
fn parse_sequences(input: &str) -> Result<usize, String> {
    const MOST: usize = 1000;
    match input.parse() {
        Ok(sequences) if sequences <= MOST => Ok(sequences),
        _ => Err(format!("expected 0 to {MOST}")),
    }
}

/// The file to which an experiment's runs are added.
const JOURNAL: &str = "runs.jsonl";
/// The file that names all files of an explorer, a line each.
const FILES: &str = "files.txt";

/// Writes the folder, and says where it is.
pub(super) fn write(options: &ExploreOptions) -> Result<String, ExperimentsError> {
    let mut runs = Vec::new();
    for folder in report::folders(&options.folder)? {
        let results = Results::load(&folder)?;
        warn(&results);
        let table = results.table(&folder)?;
        let journal = folder.join(JOURNAL);
        let unreadable = |source| ExperimentsError::Input { path: journal.clone(), source };
        let changed = journal.metadata().and_then(|about| about.modified()).map_err(unreadable)?;
        runs.push((changed, Runs { results, table }));
    }
    // Who has just run an experiment wants to see that one.
    runs.sort_by(|(changed, one), (other_changed, other)| {
        other_changed.cmp(changed).then_with(|| one.results.manifest.name.cmp(&other.results.manifest.name))
    });
    let runs: Vec<Runs> = runs.into_iter().map(|(_, runs)| runs).collect();
    let out = options.out.clone().unwrap_or_else(|| options.folder.join("explorer"));
    let earlier = earlier(&out)?;
    let libraries = Libraries::find()?;
    let mut files = explorer::files(&runs, options.sequences)?;
    debug_assert!(
        LIBRARIES.iter().all(|name| Library::EXPLORER.iter().any(|library| library.file() == *name))
    );
    for library in Library::EXPLORER {
        let path = format!("libraries/{}", library.file());
        files.insert(0, File { path, text: libraries.text(library)? });
    }
    put(&out, &files, &earlier)?;
    let count: usize = runs.iter().flat_map(|runs| &runs.results.rows).map(Vec::len).sum();
    Ok(format!("{count} runs: open {} in a browser\n", out.join("index.html").display()))
}

/// Says what the page cannot show as it should.
fn warn(results: &Results) {
    let name = &results.manifest.name;
    if results.missing() > 0 {
        notice!("{name}: {} of {} runs are missing", results.missing(), results.wanted());
    }
    if results.outdated > 0 {
        notice!("{name}: {} runs were made by other code; commands may give other numbers", results.outdated);
    }
}

/// The files of the explorer that is there already. Nothing that is no explorer's is overwritten.
fn earlier(out: &Path) -> Result<Vec<PathBuf>, ExperimentsError> {
    let unreadable = |source| ExperimentsError::Input { path: out.into(), source };
    let occupied =
        |found: &Path| ExperimentsError::Occupied { folder: out.into(), found: found.display().to_string() };
    let mut there = match below(out, Path::new("")) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    there.sort();
    let listed = fs::read_to_string(out.join(FILES)).unwrap_or_default();
    let listed: Vec<PathBuf> = listed.lines().map(PathBuf::from).chain([FILES.into()]).collect();
    match there.iter().find(|path| !listed.contains(path)) {
        Some(found) => Err(occupied(found)),
        None => Ok(there),
    }
}

/// The paths of all files in a folder, from `root`.
fn below(root: &Path, folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            paths.extend(below(root, &path)?);
        } else {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Writes the files, each whole, and removes those of an earlier explorer that are not among them. What belongs to an
/// explorer is written down first, so that one that was interrupted can be written again.
fn put(out: &Path, files: &[File], earlier: &[PathBuf]) -> Result<(), OutputError> {
    output::create_directory(out)?;
    let new: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let old = earlier
        .iter()
        .filter(|path| !new.iter().any(|new| Path::new(new) == *path) && *path != Path::new(FILES));
    let mut all: Vec<String> = new.iter().map(|&path| path.to_owned()).collect();
    all.extend(old.clone().map(|path| path.display().to_string()));
    output::write(&out.join(FILES), all.join("\n") + "\n")?;
    for file in files {
        let path = out.join(&file.path);
        output::create_directory(path.parent().unwrap_or(out))?;
        output::write(&path, &file.text)?;
    }
    for path in old {
        let path = out.join(path);
        fs::remove_file(&path).map_err(|source| OutputError::File { path, source })?;
    }
    output::write(&out.join(FILES), new.join("\n") + "\n")
}
