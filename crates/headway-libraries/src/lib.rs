//! The JavaScript libraries of pages: hyparquet, and Observable Plot with D3, for the explorer; uPlot for live pages.
//!
//! They are not part of this repository: npm fetches them once into the user's cache folder, and compares them with
//! the hashes of the lock file, `package-lock.json`. `headway libraries` writes them into a folder.
#![forbid(unsafe_code)]

mod arguments;
mod error;
mod licences;
mod modules;
mod npm;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use headway_command::notice;
use sha2::{Digest as _, Sha256};

pub use arguments::Arguments;
pub use error::LibrariesError;

const PACKAGE: &str = include_str!("../package.json");
const LOCK: &str = include_str!("../package-lock.json");

/// A file that pages load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// D3, which Observable Plot builds on.
    D3,
    /// Observable Plot.
    Plot,
    /// hyparquet, such that `import("hyparquet")` gives it.
    Hyparquet,
    /// uPlot.
    UPlot,
    /// The style sheet of uPlot.
    UPlotStyle,
    /// The licences of all of them.
    Licences,
}

impl Library {
    /// All of them.
    const ALL: [Self; 6] =
        [Self::D3, Self::Plot, Self::Hyparquet, Self::UPlot, Self::UPlotStyle, Self::Licences];

    /// Those of the explorer, in the order in which its page loads them.
    pub const EXPLORER: [Self; 4] = [Self::D3, Self::Plot, Self::Hyparquet, Self::Licences];

    /// What the file is called.
    pub const fn file(self) -> &'static str {
        match self {
            Self::D3 => "d3.min.js",
            Self::Plot => "plot.umd.min.js",
            Self::Hyparquet => "hyparquet.js",
            Self::UPlot => "uPlot.iife.min.js",
            Self::UPlotStyle => "uPlot.min.css",
            Self::Licences => "LICENCES.txt",
        }
    }

    /// Its text, from the folder that npm installed packages in.
    fn text(self, installed: &Path) -> Result<String, LibrariesError> {
        let read = |path: &str| {
            let path = installed.join(path);
            fs::read_to_string(&path).map_err(|source| LibrariesError::Unreadable { path, source })
        };
        match self {
            Self::D3 => read("d3/dist/d3.min.js"),
            Self::Plot => read("@observablehq/plot/dist/plot.umd.min.js"),
            Self::Hyparquet => modules::script("hyparquet", &|name| read(&format!("hyparquet/src/{name}"))),
            Self::UPlot => read("uplot/dist/uPlot.iife.min.js"),
            Self::UPlotStyle => read("uplot/dist/uPlot.min.css"),
            Self::Licences => licences::of_all(installed),
        }
    }
}

/// Writes them where the arguments say.
pub fn run(arguments: &Arguments) -> Result<(), LibrariesError> {
    Libraries::find()?.put(arguments.folder())
}

/// The file that says which libraries a folder holds.
const VERSION: &str = "version";

/// What a folder with exactly these libraries is known by.
static HASH: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new_with_prefix(LOCK);
    // What makes the files of the packages counts too.
    digest.update([2]);
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
});

/// Where the libraries are.
pub struct Libraries {
    folder: PathBuf,
}

impl Libraries {
    /// Those that came with the program, or those in the user's cache folder; where they are not, npm is asked for them.
    pub fn find() -> Result<Self, LibrariesError> {
        if let Some(folder) = folder_of_package().filter(|folder| is_whole(folder)) {
            return Ok(Self { folder });
        }
        let cache = cache_folder().ok_or(LibrariesError::NoCacheFolder)?;
        let folder = cache.join(format!("pages-{}", *HASH));
        if !is_whole(&folder) {
            notice!(
                "fetching hyparquet, Observable Plot, D3 and uPlot with npm, once, into {}",
                folder.display()
            );
            install(&folder)?;
        }
        Ok(Self { folder })
    }

    /// Writes them into a folder, for a package or for a machine without npm.
    pub fn put(&self, folder: &Path) -> Result<(), LibrariesError> {
        let names = Library::ALL.map(Library::file);
        let unwritable = |source| LibrariesError::Unwritable { path: folder.into(), source };
        fs::create_dir_all(folder).map_err(unwritable)?;
        // The version comes last: without it the folder is not whole.
        for name in names.into_iter().chain([VERSION]) {
            fs::copy(self.folder.join(name), folder.join(name)).map_err(unwritable)?;
        }
        Ok(())
    }

    /// The text of one of them.
    pub fn text(&self, library: Library) -> Result<String, LibrariesError> {
        let path = self.folder.join(library.file());
        fs::read_to_string(&path).map_err(|source| LibrariesError::Unreadable { path, source })
    }
}

/// Where a package puts them: /usr/share/headway/libraries for /usr/bin/headway.
fn folder_of_package() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join("share/headway/libraries"))
}

/// The XDG Base Directory Specification: paths in these variables must be absolute.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("headway"))
}

/// Whether all is there, of this version.
fn is_whole(folder: &Path) -> bool {
    let version = fs::read_to_string(folder.join(VERSION));
    version.is_ok_and(|version| version.trim() == *HASH)
        && Library::ALL.iter().all(|library| folder.join(library.file()).is_file())
}

/// Makes the folder, whole or not at all.
fn install(folder: &Path) -> Result<(), LibrariesError> {
    let unwritable = |source| LibrariesError::Unwritable { path: folder.into(), source };
    let parent = folder.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(unwritable)?;
    let work = tempfile::Builder::new().prefix("installing-").tempdir_in(parent).map_err(unwritable)?;
    npm::install(work.path(), PACKAGE, LOCK)?;
    let made = work.path().join("made");
    fs::create_dir(&made).map_err(unwritable)?;
    for library in Library::ALL {
        let text = library.text(&work.path().join("node_modules"))?;
        fs::write(made.join(library.file()), text).map_err(unwritable)?;
    }
    fs::write(made.join(VERSION), format!("{}\n", *HASH)).map_err(unwritable)?;
    // One that is not whole, or of another program that was as fast.
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(unwritable)?;
    }
    fs::rename(&made, folder).or_else(|error| if is_whole(folder) { Ok(()) } else { Err(unwritable(error)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_a_hash_and_none_names_a_registry() {
        let lock: serde_json::Value = serde_json::from_str(LOCK).expect("JSON");
        let packages = lock["packages"].as_object().expect("packages");
        for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
            let hash = package["integrity"].as_str().expect(name);
            assert!(hash.starts_with("sha512-"), "{name}: {hash}");
            assert!(package.get("resolved").is_none(), "{name}");
        }
        let package: serde_json::Value = serde_json::from_str(PACKAGE).expect("JSON");
        for (name, version) in package["dependencies"].as_object().expect("dependencies") {
            assert_eq!(packages[&format!("node_modules/{name}")]["version"], *version, "{name}");
        }
    }
}
