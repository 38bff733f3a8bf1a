//! The time in which a run takes place.

use std::str::FromStr;

/// The time in which a run takes place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Clock {
    /// The simulator's time.
    #[default]
    Virtual,
    /// That of this machine: real packets between network namespaces.
    Real,
}

impl Clock {
    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

impl FromStr for Clock {
    type Err = String;

    fn from_str(input: &str) -> Result<Self, String> {
        [Self::Virtual, Self::Real]
            .into_iter()
            .find(|clock| clock.name() == input)
            .ok_or_else(|| format!("{input:?}: expected virtual or real"))
    }
}
