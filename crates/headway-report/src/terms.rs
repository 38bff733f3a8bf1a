//! The words of the field that results use, each explained in a line: in pages on hover, tap and focus, in text as a
//! foot-note.

use maud::{Markup, html};

/// A word that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    Oracle,
    Bound,
    SpecialAck,
    HeaderHit,
}

impl Term {
    const ALL: [Self; 4] = [Self::Oracle, Self::Bound, Self::SpecialAck, Self::HeaderHit];

    const fn name(self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Bound => "bound",
            Self::SpecialAck => "special ACK",
            Self::HeaderHit => "header hit",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::Oracle => {
                "a simulated sender that knows of every hit at once, starts with 10 segments and holds one \
                 bandwidth-delay product"
            }
            Self::Bound => {
                "the most for senders of whole packets: rate less headers and damaged packets; partial recovery can exceed it"
            }
            Self::SpecialAck => {
                "an ACK that reports a corrupted segment: its sender retransmits it without slowing down"
            }
            Self::HeaderHit => {
                "the share of damaged packets with a damaged header: unless it is repaired, no special ACK reports them"
            }
        }
    }

    /// How the word stands in results.
    const fn spellings(self) -> &'static [&'static str] {
        match self {
            Self::Oracle => &["oracle"],
            Self::Bound => &["bound"],
            Self::SpecialAck => &["special ACKs", "special ACK", "special-acks"],
            Self::HeaderHit => &["header hit", "header-hit", "in the header"],
        }
    }

    /// Where the word stands in a text, and how long it is there.
    fn find(self, text: &str) -> Option<(usize, usize)> {
        let spelt = |spelling: &&str| Some((text.find(spelling)?, spelling.len()));
        self.spellings().iter().find_map(spelt)
    }

    fn id(self) -> String {
        format!("term-{}", self.name().replace(' ', "-"))
    }
}

/// The foot-notes of the words that stand in these texts.
pub fn foot_notes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    // A name of two lines is a name all the same.
    let text = texts.into_iter().collect::<Vec<_>>().join("\u{0}").replace('\n', " ");
    let used = Term::ALL.into_iter().filter(|term| term.find(&text).is_some());
    used.map(|term| format!("{}: {}", term.name(), term.meaning())).collect()
}

/// The text, its first word of the field as a button that explains it.
pub(crate) fn explained(text: &str) -> Markup {
    let first = Term::ALL
        .into_iter()
        .filter_map(|term| Some((term, term.find(text)?)))
        .min_by_key(|(_, place)| place.0);
    let Some((term, (start, len))) = first else { return html! { (text) } };
    let (before, rest) = text.split_at(start);
    let (word, after) = rest.split_at(len);
    html! {
        (before)
        // The title is for those who hover; tap and keys open the explanation.
        button.term type="button" popovertarget=(term.id()) title=(term.meaning()) { (word) }
        (explained(after))
    }
}

/// What the buttons in `body` open.
pub(crate) fn explanations(body: &str) -> Markup {
    let used =
        Term::ALL.into_iter().filter(|term| body.contains(&format!("popovertarget=\"{}\"", term.id())));
    html! {
        @for term in used {
            div.explanation popover id=(term.id()) { b { (term.name()) } ": " (term.meaning()) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_every_spelling() {
        let notes = foot_notes(["of\noracle", "special\nACKs", "header-hit"]);
        let names: Vec<&str> = notes.iter().filter_map(|note| note.split(':').next()).collect();
        assert_eq!(names, ["oracle", "special ACK", "header hit"]);
        assert!(foot_notes(["time", "goodput"]).is_empty());
        let notes = foot_notes(["bound", "oracle", "special ACKs", "header hit"]);
        assert!(
            notes.len() == 4 && notes.iter().all(|note| note.len() <= 121),
            "each in a line of a terminal: {notes:?}"
        );
    }

    #[test]
    fn every_button_has_something_to_open() {
        let body = explained("share of the bound, or of the oracle").into_string();
        assert_eq!(body.matches("<button").count(), 2);
        assert!(body.starts_with("share of the <button"), "{body}");
        let opened = explanations(&body).into_string();
        for term in [Term::Bound, Term::Oracle] {
            assert_eq!(opened.matches(&format!("id=\"{}\"", term.id())).count(), 1);
        }
        assert_eq!(opened.matches("popover").count(), 2);
        assert_eq!(explained("time").into_string(), "time");
    }
}
