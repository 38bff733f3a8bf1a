//! The explorer: the runs of experiments in a folder of files, which a browser opens without a server.
//!
//! The page reads the bytes of `runs.parquet` with hyparquet and draws them with Observable Plot; both libraries are
//! the caller's to put beside it, in [`LIBRARIES`]. A page that is opened as a file may not fetch others, so
//! everything that it reads is a script.

mod data;
mod page;
mod sequences;

use headway_lab::{LabError, Results};

use crate::again::Recordings;

/// The files that the page loads from the folder `libraries`, in this order.
pub const LIBRARIES: [&str; 3] = ["d3.min.js", "plot.umd.min.js", "hyparquet.js"];

/// The results of an experiment, and its runs as the bytes of a Parquet file ([`Results::table`]).
pub struct Runs {
    /// The results.
    pub results: Results,
    /// The table.
    pub table: Vec<u8>,
}

/// A file of the explorer's folder.
pub struct File {
    /// Its path from the folder, such as `data/0.js`.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// All files of an explorer except for the libraries. At most `sequences` runs of each experiment are made again, for
/// their time sequences; `index.html` is the last file.
///
/// # Errors
///
/// A run cannot be made again.
pub fn files(runs: &[Runs], sequences: usize) -> Result<Vec<File>, LabError> {
    let mut files = Vec::new();
    for (number, Runs { results, table }) in runs.iter().enumerate() {
        let places = sequences::chosen(results, sequences);
        let pages = sequences::pages(results, &places)?;
        let path = |row: usize| format!("sequences/{number}-{row}.html");
        files.extend(places.iter().zip(pages).map(|(place, text)| File { path: path(place.row), text }));
        let recordings = Recordings::of(&results.manifest, number);
        files.extend(recordings.files(&results.manifest).map(|(path, text)| File { path, text }));
        let sequences: Vec<(usize, String)> =
            places.iter().map(|place| (place.row, path(place.row))).collect();
        let text = data::script(number, &data::experiment(results, &recordings, &sequences), table);
        files.push(File { path: format!("data/{number}.js"), text });
    }
    let names: Vec<&Results> = runs.iter().map(|runs| &runs.results).collect();
    files.push(File { path: "index.html".into(), text: page::page(&names) });
    Ok(files)
}
