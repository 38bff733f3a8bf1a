//! Completions for shells and manual pages, made from the definition of the command line.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use headway_command::{OutputError, output};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  headway completions bash > ~/.local/share/bash-completion/completions/headway
  headway completions zsh > \"${fpath[1]}/_headway\"
  headway completions fish > ~/.config/fish/completions/headway.fish";

/// Print the completions of this command for a shell.
#[derive(Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Write a manual page for each command.
#[derive(Args)]
#[command(after_help = "Examples:\n  headway man ~/.local/share/man/man1 && man headway-race")]
pub(crate) struct ManArguments {
    /// The folder for headway.1, headway-race.1 and the others; made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn print_completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> Result<(), OutputError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "headway", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

pub(crate) fn write_pages(arguments: &ManArguments, command: Command) -> Result<(), OutputError> {
    output::create_directory(&arguments.folder)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages);
    for page in pages {
        let path = arguments.folder.join(page.get_filename());
        let mut text = Vec::new();
        page.render(&mut text).map_err(|source| OutputError::file(&path, source))?;
        output::write(&path, with_examples(&String::from_utf8_lossy(&text)))?;
    }
    Ok(())
}

/// A page whose examples have the heading of manual pages (man-pages(7)), in the place of the generator's. Commands are
/// neither hyphenated nor justified.
fn with_examples(page: &str) -> String {
    page.replacen(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n.nh\n.ad l\n", 1)
}

/// The pages of a command and of those below it.
fn collect(command: &Command, pages: &mut Vec<Man>) {
    pages.push(Man::new(command.clone()));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
}
