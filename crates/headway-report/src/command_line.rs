//! The command line that gave results, as pages show it.

use crate::shell_words::quoted;

/// Options that say where results go, with how many values each takes: the results are the same
/// without them, so the page is too.
const OUTPUT: [(&str, usize); 6] =
    [("--json", 0), ("--pace", 1), ("--pcap", 1), ("--pcap-split", 0), ("--qlog", 1), ("--report", 1)];
/// One more, whose value may be left out.
const WATCH: &str = "--watch";

/// The command that gives these results, as one would type it. `words` are the words of the command
/// line after the name of the program.
pub fn command_line(words: &[String]) -> String {
    let mut line = String::from("headway");
    let mut words = words.iter().peekable();
    let mut options_ended = false;
    while let Some(word) = words.next() {
        if !options_ended {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            if name == WATCH {
                if name == word {
                    words.next_if(|value| !value.starts_with('-'));
                }
                continue;
            }
            if let Some((_, values)) = OUTPUT.iter().find(|(option, _)| *option == name) {
                if name == word {
                    words.by_ref().take(*values).for_each(drop);
                }
                continue;
            }
            options_ended = word == "--";
        }
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> String {
        command_line(&words.iter().map(|&word| word.into()).collect::<Vec<_>>())
    }

    #[test]
    fn where_results_go_is_left_out() {
        assert_eq!(of(&["race"]), "headway race");
        assert_eq!(
            of(&["race", "--report", "a.html", "--runs", "3", "--json", "--pcap=out", "file"]),
            "headway race --runs 3 file"
        );
        assert_eq!(of(&["race", "--pcap", "out", "--", "--json"]), "headway race -- --json");
        assert_eq!(of(&["race", "--watch", "--qlog", "out", "--runs", "3"]), "headway race --runs 3");
        assert_eq!(of(&["race", "--watch", "8080", "--watch=8080", "--watch"]), "headway race");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(of(&["race", "my file"]), "headway race 'my file'");
        assert_eq!(of(&["race", "it's", ""]), r"headway race 'it'\''s' ''");
        assert_eq!(of(&["race", "--damage", "burst:5%:5"]), "headway race --damage burst:5%:5");
    }
}
