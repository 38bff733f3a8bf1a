//! The rules of nftables and of routing that hand connections of hosts to transparent entries (TPROXY).
//!
//! All rules of nftables are in the table `inet headway`, which is replaced in one transaction. What belongs to it in the
//! tables of routing is written into the comments of its rules: so a gateway that was killed leaves a record of what it
//! made, and the next one removes that and nothing else.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::process::{Command, Stdio};

use ipnet::IpNet;

use crate::{Config, TransparentConfig, TrunkError};

/// The name of our table.
const TABLE: &str = "headway";

/// What an entry asks for.
struct Rule<'a> {
    entry: &'a TransparentConfig,
    destinations: Vec<IpNet>,
    routing: Routing,
}

/// Marked packets are delivered to this machine: an `ip rule`, and a route in the table that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Routing {
    is_ipv4: bool,
    mark: u32,
    table: u32,
}

/// The rules that a gateway has made. They are removed when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Redirection {
    applied: BTreeSet<Routing>,
    has_table: bool,
}

/// What `headway trunk rules` prints: the rules that a gateway with this configuration makes, for a shell. Nothing where
/// no entry has `interfaces`.
///
/// # Errors
///
/// A key has a wrong value.
pub fn rules(config: &Config) -> Result<String, TrunkError> {
    let rules = read(config)?;
    let mut text = String::new();
    if rules.is_empty() {
        return Ok(text);
    }
    // Writing to a `String` does not fail.
    let _ = write!(text, "nft -f - <<'END'\n{}END\n", ruleset(&rules));
    for routing in routings(&rules) {
        let _ = writeln!(text, "ip {}\nip {}", routing.rule("add"), routing.route("replace"));
    }
    Ok(text)
}

/// Checks what entries say of rules.
pub(crate) fn check(config: &Config) -> Result<(), TrunkError> {
    read(config).map(drop)
}

/// Asks nftables whether it would take the rules.
pub(crate) fn try_out(config: &Config) -> Result<(), TrunkError> {
    let rules = read(config)?;
    if rules.is_empty() {
        return Ok(());
    }
    nft(&["-c", "-f", "-"], &ruleset(&rules)).map(drop)
}

impl Redirection {
    /// Makes the rules of a configuration, in place of those that are there.
    pub(crate) fn apply(&mut self, config: &Config) -> Result<(), TrunkError> {
        let rules = read(config)?;
        if rules.is_empty() {
            self.remove();
            return Ok(());
        }
        let text = ruleset(&rules);
        nft(&["-c", "-f", "-"], &text)?;
        if !self.has_table {
            remove_left_over();
        }
        let wanted = routings(&rules);
        for routing in wanted.difference(&self.applied) {
            // One like it would be a second one.
            let _ = ip(&routing.rule("del"));
            ip(&routing.rule("add"))?;
            ip(&routing.route("replace"))?;
        }
        let before = std::mem::replace(&mut self.applied, wanted);
        self.has_table = true;
        nft(&["-f", "-"], &text)?;
        before.difference(&self.applied).for_each(Routing::remove);
        Ok(())
    }

    /// Removes what was made.
    fn remove(&mut self) {
        if std::mem::take(&mut self.has_table)
            && let Err(error) = nft(&["delete", "table", "inet", TABLE], "")
        {
            tracing::warn!(%error, "the rules of nftables were not removed");
        }
        std::mem::take(&mut self.applied).iter().for_each(Routing::remove);
    }
}

impl Drop for Redirection {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes what a gateway has left that was killed.
fn remove_left_over() {
    let Ok(listed) = nft(&["list", "table", "inet", TABLE], "") else { return };
    let found: BTreeSet<Routing> = listed.lines().filter_map(Routing::find).collect();
    tracing::info!("rules of a gateway that did not end in order are removed");
    found.iter().for_each(Routing::remove);
    if let Err(error) = nft(&["delete", "table", "inet", TABLE], "") {
        tracing::warn!(%error, "old rules of nftables were not removed");
    }
}

impl Routing {
    fn family(self) -> &'static str {
        if self.is_ipv4 { "-4" } else { "-6" }
    }

    fn rule(self, verb: &str) -> String {
        // Its place is that of its table, before the main one.
        let Self { mark, table, .. } = self;
        format!("{} rule {verb} priority {} fwmark {mark} lookup {table}", self.family(), table % 32_000)
    }

    fn route(self, verb: &str) -> String {
        format!("{} route {verb} local default dev lo table {}", self.family(), self.table)
    }

    fn remove(&self) {
        for words in [self.rule("del"), self.route("del")] {
            if let Err(error) = ip(&words) {
                tracing::warn!(%error, "routing");
            }
        }
    }

    /// What a rule of our table says of itself.
    fn find(line: &str) -> Option<Self> {
        let (_, said) = line.split_once("comment \"headway ")?;
        let mut words = said.split_once('"')?.0.split(' ');
        let is_ipv4 = words.next()? == "-4";
        let mark = words.next()?.strip_prefix("mark=")?.parse().ok()?;
        let table = words.next()?.strip_prefix("table=")?.parse().ok()?;
        Some(Self { is_ipv4, mark, table })
    }
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "headway {} mark={} table={}", self.family(), self.mark, self.table)
    }
}

fn routings(rules: &[Rule<'_>]) -> BTreeSet<Routing> {
    rules.iter().map(|rule| rule.routing).collect()
}

/// Reads what entries ask for. Nothing of it can be anything but a name, an address or a number.
fn read(config: &Config) -> Result<Vec<Rule<'_>>, TrunkError> {
    let mut rules = Vec::new();
    for entry in &config.transparent {
        let of = |key: &str| format!("transparent {}: {key}", entry.listen);
        let is_ipv4 = entry.listen.is_ipv4();
        let destinations = entry.to.iter().map(|text| {
            let prefix = text.parse().ok().filter(|net: &IpNet| matches!(net, IpNet::V4(_)) == is_ipv4);
            prefix.ok_or_else(|| {
                let expected = "a prefix of the family of `listen`, such as 10.0.0.0/8";
                TrunkError::value(of("to"), text, expected)
            })
        });
        let destinations = destinations.collect::<Result<Vec<IpNet>, _>>()?;
        if entry.interfaces.is_empty() {
            if !destinations.is_empty() {
                return Err(TrunkError::value(of("to"), entry.to.join(", "), "`interfaces` with it"));
            }
            continue;
        }
        // What Linux allows in names, less what nftables could take for something else.
        let is_good = |name: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-@".contains(&byte);
            (1..=15).contains(&name.len()) && name.bytes().all(is_part)
        };
        if let Some(bad) = entry.interfaces.iter().find(|name| !is_good(name)) {
            return Err(TrunkError::value(of("interfaces"), bad, "names of interfaces, such as lan0"));
        }
        if entry.listen.port() == 0 {
            return Err(TrunkError::value(of("listen"), "port 0", "a port, with `interfaces`"));
        }
        for (key, number) in [("mark", entry.mark), ("table", entry.table)] {
            // 253 to 255 are the kernel's own tables.
            if number == 0 || key == "table" && (253..=255).contains(&number) {
                return Err(TrunkError::value(
                    of(key),
                    number.to_string(),
                    "another number than 0 or the kernel's own",
                ));
            }
        }
        let routing = Routing { is_ipv4, mark: entry.mark, table: entry.table };
        rules.push(Rule { entry, destinations, routing });
    }
    Ok(rules)
}

/// A transaction that replaces our table, whether it is there or not.
fn ruleset(rules: &[Rule<'_>]) -> String {
    let lines: String = rules.iter().map(|rule| format!("        {rule}\n")).collect();
    format!(
        "add table inet {TABLE}\n\
         delete table inet {TABLE}\n\
         table inet {TABLE} {{\n    \
             chain divert {{\n        \
                 type filter hook prerouting priority mangle; policy accept;\n        \
                 fib daddr type local accept\n\
         {lines}    }}\n\
         }}\n"
    )
}

impl fmt::Display for Rule<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted: Vec<String> = self.entry.interfaces.iter().map(|name| format!("\"{name}\"")).collect();
        let (family, keyword) = if self.routing.is_ipv4 { ("ipv4", "ip") } else { ("ipv6", "ip6") };
        write!(f, "iifname {{ {} }} meta nfproto {family} ", quoted.join(", "))?;
        if !self.destinations.is_empty() {
            let prefixes: Vec<String> = self.destinations.iter().map(|net| net.trunc().to_string()).collect();
            write!(f, "{keyword} daddr {{ {} }} ", prefixes.join(", "))?;
        }
        write!(
            f,
            "meta l4proto tcp tproxy {keyword} to {} meta mark set {} accept comment \"{}\"",
            self.entry.listen, self.routing.mark, self.routing
        )
    }
}

fn nft(words: &[&str], input: &str) -> Result<String, TrunkError> {
    run("nft", words, input)
}

fn ip(words: &str) -> Result<String, TrunkError> {
    run("ip", &words.split(' ').collect::<Vec<_>>(), "")
}

/// Runs a program; what it prints.
fn run(program: &str, words: &[&str], input: &str) -> Result<String, TrunkError> {
    let failed = |got: String| {
        let what = format!("`{program} {}`", words.join(" "));
        TrunkError::value(what, got, "to work, as root or with CAP_NET_ADMIN, for `transparent.interfaces`")
    };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has ended says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(said.lines().next().unwrap_or("nothing").to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_rule_says_of_itself_is_read_again() {
        for is_ipv4 in [true, false] {
            let routing = Routing { is_ipv4, mark: 7, table: 100 };
            // As nftables lists it.
            let line = format!("\t\tiifname \"lan0\" meta mark set 0x00000007 accept comment \"{routing}\"");
            assert_eq!(Routing::find(&line), Some(routing));
        }
        for line in [
            "table inet headway {",
            "accept comment \"other -4 mark=1 table=2\"",
            "comment \"headway -4 mark=x\"",
        ] {
            assert_eq!(Routing::find(line), None);
        }
    }
}
