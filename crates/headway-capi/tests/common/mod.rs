//! C and C++ programs, compiled with the header and the library.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use headway_test_fixture::process::say_skipped;

/// The folder of the crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder of this test alone.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capi-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Whether a compiler is there; where not, says that the test is skipped.
pub(crate) fn has(compiler: &str) -> bool {
    let there = Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        say_skipped(compiler, "");
    }
    there
}

/// Compiles `source` with every warning an error.
pub(crate) fn compiler(compiler: &str, standard: &str, source: &Path) -> Command {
    let mut command = Command::new(compiler);
    let language = if compiler.ends_with("++") { "c++" } else { "c" };
    command.args(["-Wall", "-Wextra", "-Werror", "-pedantic", &format!("-std={standard}"), "-x", language]);
    command.arg("-I").arg(crate_folder().join("include")).arg(source);
    command
}

/// What the command printed; it has to succeed. The library is where the program says: among the paths that cargo adds there
/// may be one with an older build.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> String {
    command.env_remove("LD_LIBRARY_PATH");
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("UTF-8")
}

/// Compiles and links a program with the library, which cargo builds beside this test: the shared object, or the static
/// one.
pub(crate) fn program(source: &Path, folder: &Path, is_static: bool) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let libraries = test.parent().expect("a folder");
    let program = folder.join(source.file_stem().expect("a name")).with_extension(if is_static {
        "static"
    } else {
        ""
    });
    let mut command = compiler("cc", "c11", source);
    command.arg("-O1").arg("-o").arg(&program);
    if is_static {
        command.args(["-x", "none"]).arg(libraries.join("libheadway_capi.a")).args([
            "-lpthread",
            "-ldl",
            "-lm",
        ]);
    } else {
        command.arg("-L").arg(libraries).arg("-lheadway_capi");
        command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    }
    succeed(&mut command);
    program
}
