//! A world that fails, with as little in it as it fails with.

use crate::{Case, Feature, Features};

/// Runs at most: what is left then is small enough.
const MOST_RUNS: u32 = 300;
/// No world has more connections, or hosts.
const MOST_FLOWS: usize = 8;
const MOST_HOSTS: usize = 6;

/// What is left of a world that fails.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The world.
    pub case: Case,
    /// How it fails.
    pub what: String,
    /// The features without which it does not.
    pub needs: Features,
    /// Runs that it took.
    pub runs: u32,
}

/// Leaves out of `case`, which fails with `what`, features, connections, hosts and time, as long as it fails. `run` runs a world and
/// says how it fails, if it does; it gives an error when there is no time left.
pub fn shrink(case: &Case, what: String, run: impl Fn(&Case) -> Result<Option<String>, Late>) -> Shrunk {
    let mut shrunk = Shrunk { case: case.clone(), what, needs: Features::NONE, runs: 0 };
    loop {
        let before = shrunk.case.clone();
        let result = shrunk.leave_out(&run);
        if result.is_err() || shrunk.case == before {
            shrunk.needs = shrunk.case.features();
            return shrunk;
        }
    }
}

/// There is no time left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late;

impl Shrunk {
    fn leave_out(&mut self, run: &impl Fn(&Case) -> Result<Option<String>, Late>) -> Result<(), Late> {
        self.time(run)?;
        self.flows(run)?;
        self.hosts(run)?;
        self.features(run)
    }

    /// Keeps `case` if it fails too.
    fn keep(
        &mut self,
        case: Case,
        run: &impl Fn(&Case) -> Result<Option<String>, Late>,
    ) -> Result<bool, Late> {
        if self.runs >= MOST_RUNS {
            return Err(Late);
        }
        self.runs += 1;
        let Some(what) = run(&case)? else { return Ok(false) };
        self.case = case;
        self.what = what;
        Ok(true)
    }

    fn features(&mut self, run: &impl Fn(&Case) -> Result<Option<String>, Late>) -> Result<(), Late> {
        for &feature in Feature::ALL {
            if self.case.features().has(feature) {
                let without = self.case.without.with(feature);
                let with = self.case.with.without(Features::NONE.with(feature));
                self.keep(Case { with, without, ..self.case.clone() }, run)?;
            }
        }
        Ok(())
    }

    /// One connection, or all but some.
    fn flows(&mut self, run: &impl Fn(&Case) -> Result<Option<String>, Late>) -> Result<(), Late> {
        let all = self.case.flows.clone().unwrap_or_else(|| (0..MOST_FLOWS).collect());
        for &flow in &all {
            if all.len() > 1 && self.keep(Case { flows: Some(vec![flow]), ..self.case.clone() }, run)? {
                return Ok(());
            }
        }
        for flow in all {
            let mut rest = self.case.flows.clone().unwrap_or_else(|| (0..MOST_FLOWS).collect());
            rest.retain(|&other| other != flow);
            if !rest.is_empty() {
                self.keep(Case { flows: Some(rest), ..self.case.clone() }, run)?;
            }
        }
        Ok(())
    }

    fn hosts(&mut self, run: &impl Fn(&Case) -> Result<Option<String>, Late>) -> Result<(), Late> {
        for hosts in 2..MOST_HOSTS.min(self.case.hosts) {
            if self.keep(Case { hosts, ..self.case.clone() }, run)? {
                break;
            }
        }
        Ok(())
    }

    fn time(&mut self, run: &impl Fn(&Case) -> Result<Option<String>, Late>) -> Result<(), Late> {
        for _ in 0..4 {
            let time = self.case.time / 2;
            if time == 0 || !self.keep(Case { time, ..self.case.clone() }, run)? {
                break;
            }
        }
        Ok(())
    }
}
