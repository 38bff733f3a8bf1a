//! Aims, from several files to the report of all.

use std::fs;

use tempfile::tempdir;

use super::program::SMALL;
use crate::HEADWAY;
use headway_test_fixture::experiment::with;

/// The small experiment with an aim that is met and one that is missed.
fn aims() -> String {
    let claims = SMALL.find("[[claim]]").expect("a claim");
    format!(
        "{}[[claim]]\nsays = \"Some of it arrives\"\nat-least = 0.001\n\n\
         [[claim]]\nsays = \"HACK is no faster\"\nof = {{ variant = \"hack+sack\" }}\n\
         over = {{ variant = \"sack\" }}\nat-most = 0.5\n",
        &SMALL[..claims]
    )
}

/// The small experiment with enough runs to decide an order, a claim that rests on a fitted number, and one
/// that does not hold.
fn fitted() -> String {
    let claims = "[[claim]]\nsays = \"It is as it was made to be\"\nof = { variant = \"sack\" }\npaper = 50\n\
                  tolerance = 0.99\nfitted = \"the number to the result\"\n\n\
                  [[claim]]\nsays = \"Equal is not more\"\nof = { variant = \"sack\" }\norder = [2, 2]\n\
                  axis = \"length\"\nmeasure = \"goodput\"\n";
    format!("{}\n{claims}", with(&SMALL, "runs = 3", "runs = 8"))
}

#[test]
fn several_files_are_run_and_their_aims_reported() {
    let directory = tempdir().expect("a directory");
    let root = directory.path();
    fs::write(root.join("one.toml"), aims()).expect("written");
    fs::write(root.join("two.toml"), fitted()).expect("written");
    fs::write(root.join("three.toml"), &*SMALL).expect("written");
    let told = HEADWAY.succeed(root, &["lab", "run", "one.toml", "two.toml", "three.toml"]);
    let line =
        |start: &str| told.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{told}"));
    let met = line("one            met ");
    assert!(
        met.contains("Some of it arrives (aim \u{2265} 0.001, ours ") && met.contains("met in 4 of 4 cells")
    );
    let missed = line("one            missed ");
    assert!(missed.contains("HACK is no faster (aim \u{2264} 0.5, ours "), "{missed}");
    assert!(missed.contains("met in 0 of 2 cells; worst: length "), "{missed}");
    assert!(told.contains("two            reproduced "), "{told}");
    assert!(told.contains("two            fitted          It is as it was made to be ("), "{told}");
    assert!(
        told.contains("two            not reproduced  Equal is not more (in 0 % of the places)"),
        "{told}"
    );
    assert!(
        told.contains("three          undecided       HACK | SACK "),
        "three runs decide nothing: {told}"
    );

    let words = ["lab", "report", "results", "--html", "page.html", "--markdown", "claims.md"];
    let said = HEADWAY.succeed(root, &words);
    assert!(
        said.contains(
            ": 1 reproduced, 1 fitted, 2 direction only, 1 undecided, 1 not reproduced, 1 met, 1 missed"
        ),
        "{said}"
    );
    let table = fs::read_to_string(root.join("claims.md")).expect("a table");
    assert!(table.contains("| experiment | claim | paper or aim | ours |"), "{table}");
    let row = table.lines().find(|line| line.contains("| It is as it was made to be |")).expect("a row");
    assert!(row.contains("| fitted | ") && row.ends_with("; fitted: the number to the result |"), "{row}");
    assert!(table.contains("| HACK is no faster | \u{2264} 0.5\u{d7} | "), "{table}");
    let (_, missing) = table.split_once("\n## Cells that miss their aim\n").expect("a section");
    let row = missing.lines().find(|line| line.contains("| HACK is no faster |")).expect("a row");
    assert!(row.contains("length ") && row.matches("\u{d7}").count() == 3, "the aim, and two cells: {row}");
    let page = fs::read_to_string(root.join("page.html")).expect("a page");
    assert!(
        page.contains("<b>fitted</b>") && page.contains(">1 fitted<") && page.contains(">1 undecided<"),
        "totals tell what was fitted apart"
    );
    assert!(
        page.contains("<b>met</b>") && page.contains(">1 missed<"),
        "what it means, and that there is one"
    );
}
