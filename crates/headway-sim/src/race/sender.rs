//! Who takes part in a race.

use std::fmt;
use std::str::FromStr;

use headway_tcp::Variant;
use headway_tcp::congestion::Algorithm;

use super::unknown_name::UnknownName;

/// A TCP sender: a variant, and the congestion controller where it is not the profile's own.
///
/// Written `headway` or `headway:bbr`. A controller alone is that of [`Variant::Modern`]: `cubic` is `modern:cubic`, and `reno`
/// `modern:newreno`, since `newreno` is the papers' sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TcpSender {
    /// The variant.
    pub variant: Variant,
    /// The controller; `None` is the profile's own.
    pub congestion: Option<Algorithm>,
}

/// What can be raced: written as a [`TcpSender`] or `oracle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entrant {
    /// A TCP.
    Tcp(TcpSender),
    /// The measure for all of them; see [`oracle`](super::oracle).
    Oracle,
}

impl Entrant {
    /// The TCP; `None` for the oracle.
    pub fn tcp(self) -> Option<TcpSender> {
        match self {
            Self::Tcp(sender) => Some(sender),
            Self::Oracle => None,
        }
    }

    /// With `congestion` as the controller where it has none of its own.
    #[must_use]
    pub fn with_congestion(self, congestion: Option<Algorithm>) -> Self {
        match self {
            Self::Tcp(sender) => {
                Self::Tcp(TcpSender { congestion: sender.congestion.or(congestion), ..sender })
            }
            Self::Oracle => self,
        }
    }
}

impl From<Variant> for TcpSender {
    fn from(variant: Variant) -> Self {
        Self { variant, congestion: None }
    }
}

impl From<Variant> for Entrant {
    fn from(variant: Variant) -> Self {
        Self::Tcp(variant.into())
    }
}

impl From<TcpSender> for Entrant {
    fn from(sender: TcpSender) -> Self {
        Self::Tcp(sender)
    }
}

impl fmt::Display for TcpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.congestion {
            Some(congestion) => f.pad(&format!("{}:{}", self.variant, congestion_name(congestion))),
            None => self.variant.fmt(f),
        }
    }
}

impl fmt::Display for Entrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(sender) => sender.fmt(f),
            Self::Oracle => f.pad(ORACLE),
        }
    }
}

const ORACLE: &str = "oracle";

impl FromStr for TcpSender {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, UnknownName> {
        let (name, congestion) = match input.split_once(':') {
            Some((name, congestion)) => (name, Some(parse_congestion(congestion)?)),
            None => (input, None),
        };
        if let Some(variant) = Variant::ALL.into_iter().find(|variant| variant.name() == name) {
            return Ok(Self { variant, congestion });
        }
        let Ok(congestion) = parse_congestion(input) else {
            let names = Variant::ALL.into_iter().map(Variant::name);
            let senders = format!(
                "one of {}, perhaps with a congestion controller: headway:cubic; or {}",
                names.clone().collect::<Vec<_>>().join(", "),
                controllers("reno")
            );
            return Err(UnknownName::new(input, senders).among(names.chain(controller_names())));
        };
        Ok(Self { variant: Variant::Modern, congestion: Some(congestion) })
    }
}

impl FromStr for Entrant {
    type Err = UnknownName;

    fn from_str(input: &str) -> Result<Self, UnknownName> {
        if input == ORACLE { Ok(Self::Oracle) } else { input.parse().map(Self::Tcp) }
    }
}

/// A congestion controller by its name. `custom`, which options do not offer, is that of the program
/// ([`Scenario::custom`](super::Scenario::custom)).
///
/// # Errors
///
/// No sender has this name.
pub fn parse_congestion(input: &str) -> Result<Algorithm, UnknownName> {
    // RFC 5681 has no other name for it, and `newreno` is also a sender of the papers.
    let name = if input == "reno" { "newreno" } else { input };
    let known = Algorithm::NAMES.into_iter().chain([CUSTOM]).find(|(known, _)| *known == name);
    known.map(|(_, algorithm)| algorithm).ok_or_else(|| {
        UnknownName::new(input, format!("a congestion controller: {}", controllers("reno (or newreno)")))
            .among(controller_names())
    })
}

const CUSTOM: (&str, Algorithm) = ("custom", Algorithm::Custom);

fn controller_names() -> impl Iterator<Item = &'static str> {
    Algorithm::NAMES.into_iter().map(|(name, _)| name)
}

/// All of them as one would say it, with `reno` for `newreno`.
fn controllers(reno: &str) -> String {
    let names: Vec<&str> =
        controller_names().map(|name| if name == "newreno" { reno } else { name }).collect();
    let (last, others) = names.split_last().unwrap_or((&reno, &[]));
    format!("{} or {last}", others.join(", "))
}

/// The name of a congestion controller.
pub fn congestion_name(algorithm: Algorithm) -> &'static str {
    let mut names = Algorithm::NAMES.into_iter().chain([CUSTOM]);
    names.find(|(_, known)| *known == algorithm).map_or("linux22", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for variant in Variant::ALL {
            let entrant = Entrant::from(variant);
            assert_eq!(entrant.to_string().parse(), Ok(entrant));
            for (_, algorithm) in Algorithm::NAMES {
                let entrant = entrant.with_congestion(Some(algorithm));
                assert_eq!(entrant.to_string().parse(), Ok(entrant));
                assert_eq!(entrant.with_congestion(Some(Algorithm::Reno)), entrant, "its own stays");
            }
        }
        assert_eq!("oracle".parse(), Ok(Entrant::Oracle));
        assert_eq!(Entrant::Oracle.to_string(), "oracle");
        assert_eq!("reno".parse::<Entrant>().expect("RFC 5681's").to_string(), "modern:newreno");
        for (name, _) in Algorithm::NAMES.into_iter().chain([CUSTOM]).filter(|(name, _)| *name != "newreno") {
            assert_eq!(name.parse::<Entrant>().expect(name).to_string(), format!("modern:{name}"));
        }
        for (input, expected) in [
            ("tahoe", "\"tahoe\": expected one of newreno,"),
            (
                "modern:vegas",
                "\"vegas\": expected a congestion controller: reno (or newreno), cubic, bbr, draft-bbr, copa or vivace",
            ),
            ("haedway", "\"haedway\" (did you mean headway?): expected one of"),
            ("cubci", "\"cubci\" (did you mean cubic?): expected one of"),
            ("oracle:bbr", "\"oracle:bbr\": expected one of"),
            ("modern:", "\"\": expected a congestion controller"),
        ] {
            let error = input.parse::<Entrant>().expect_err(input).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
