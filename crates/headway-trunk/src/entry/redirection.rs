//! The rules of nftables and of routing that hand connections of hosts to transparent entries (TPROXY).
//!
//! All rules of nftables are in the table `inet headway`, which is replaced in one transaction. What belongs to it in the
//! tables of routing is written into the comments of its rules: so a gateway that was killed leaves a record of what it
//! made, and the next one removes that and nothing else.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

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
    programs: Programs,
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
    Programs::default().nft(&["-c", "-f", "-"], &ruleset(&rules)).map(drop)
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
        self.programs.nft(&["-c", "-f", "-"], &text)?;
        if !self.has_table {
            self.remove_left_over();
        }
        let wanted = routings(&rules);
        let new: Vec<Routing> = wanted.difference(&self.applied).copied().collect();
        if let Err(error) = self.add(&new, &text) {
            // What was there before stays.
            for routing in new {
                if self.applied.remove(&routing) {
                    self.programs.remove(routing);
                }
            }
            return Err(error);
        }
        for routing in self.applied.difference(&wanted) {
            self.programs.remove(*routing);
        }
        self.applied = wanted;
        Ok(())
    }

    /// Adds routing, and replaces the table. What may have been made is recorded before it is.
    fn add(&mut self, new: &[Routing], table: &str) -> Result<(), TrunkError> {
        for routing in new {
            self.applied.insert(*routing);
            // One like it would be a second one.
            let _ = self.programs.ip(&routing.rule("del"));
            self.programs.ip(&routing.rule("add"))?;
            self.programs.ip(&routing.route("replace"))?;
        }
        self.programs.nft(&["-f", "-"], table)?;
        self.has_table = true;
        Ok(())
    }

    /// Removes what a gateway has left that was killed.
    fn remove_left_over(&self) {
        let Ok(listed) = self.programs.nft(&["list", "table", "inet", TABLE], "") else { return };
        let found: BTreeSet<Routing> = listed.lines().filter_map(Routing::find).collect();
        tracing::info!("rules of a gateway that did not end in order are removed");
        found.into_iter().for_each(|routing| self.programs.remove(routing));
        if let Err(error) = self.programs.nft(&["delete", "table", "inet", TABLE], "") {
            tracing::warn!(%error, "old rules of nftables were not removed");
        }
    }

    /// Removes what was made.
    fn remove(&mut self) {
        if std::mem::take(&mut self.has_table)
            && let Err(error) = self.programs.nft(&["delete", "table", "inet", TABLE], "")
        {
            tracing::warn!(%error, "the rules of nftables were not removed");
        }
        std::mem::take(&mut self.applied).into_iter().for_each(|routing| self.programs.remove(routing));
    }
}

impl Drop for Redirection {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Routing {
    fn family(self) -> &'static str {
        if self.is_ipv4 { "-4" } else { "-6" }
    }

    fn rule(self, verb: &str) -> String {
        let Self { mark, table, .. } = self;
        // Its place is that of its table, from 1 to 32,000: after the rule of the local table, 0, and before that of the
        // main one, 32,766.
        let priority = table.saturating_sub(1) % 32_000 + 1;
        format!("{} rule {verb} priority {priority} fwmark {mark} lookup {table}", self.family())
    }

    fn route(self, verb: &str) -> String {
        format!("{} route {verb} local default dev lo table {}", self.family(), self.table)
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

/// The programs that make rules.
#[derive(Debug, Default)]
struct Programs {
    /// Where they are; empty: where the system finds them.
    folder: PathBuf,
}

impl Programs {
    fn nft(&self, words: &[&str], input: &str) -> Result<String, TrunkError> {
        self.run(("nft", "nftables"), words, input)
    }

    fn ip(&self, words: &str) -> Result<String, TrunkError> {
        self.run(("ip", "iproute2"), &words.split(' ').collect::<Vec<_>>(), "")
    }

    fn remove(&self, routing: Routing) {
        for words in [routing.rule("del"), routing.route("del")] {
            if let Err(error) = self.ip(&words) {
                tracing::warn!(%error, "routing");
            }
        }
    }

    /// Runs a program of a package; what it prints.
    fn run(
        &self,
        (program, package): (&'static str, &'static str),
        words: &[&str],
        input: &str,
    ) -> Result<String, TrunkError> {
        let mut command = Command::new(self.folder.join(program));
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TrunkError::MissingProgram { program, package },
            _ => failed(program, words, error.to_string()),
        });
        finish(child?, input).map_err(|got| failed(program, words, got))
    }
}

fn failed(program: &str, words: &[&str], got: String) -> TrunkError {
    let what = format!("`{program} {}`", words.join(" "));
    TrunkError::value(what, got, "to work, as root or with CAP_NET_ADMIN, for `transparent.interfaces`")
}

/// Gives a program its input, and waits for its end. What it prints, or why it failed.
fn finish(mut child: Child, input: &str) -> Result<String, String> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program that has ended says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().next().unwrap_or("nothing").to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    /// A program in `folder` that writes down what it is asked, and fails where that contains `bad`.
    fn script(folder: &Path, name: &str, bad: &str) {
        let path = folder.join(name);
        let log = folder.join("log");
        let text = format!(
            "#!/bin/sh\necho {name} \"$@\" >> {}\ncat > /dev/null\ncase \"[$*\" in *'{bad}'*) exit 1;; esac\n",
            log.display()
        );
        fs::write(&path, text).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }

    /// The transparent entries of a configuration, each with its table of routing.
    fn config(tables: &[u32]) -> Config {
        let entry = |table| {
            format!(
                "[[transparent]]\nlisten = '127.0.0.1:{table}'\ninterfaces = ['lan0']\ntable = {table}\nmark = {table}\n"
            )
        };
        let entries: String = tables.iter().map(entry).collect();
        Config::parse(&format!("gateway.key-file = 'key'\n{entries}"), Path::new("x"))
            .expect("a configuration")
    }

    /// Rules of routing that were added and not removed since.
    fn left(folder: &Path) -> Vec<String> {
        let mut left = Vec::new();
        for line in fs::read_to_string(folder.join("log")).expect("a log").lines() {
            if let Some((family, rule)) = line.split_once(" rule add ") {
                left.push(format!("{family} {rule}"));
            } else if let Some((family, rule)) = line.split_once(" rule del ") {
                left.retain(|there| *there != format!("{family} {rule}"));
            }
        }
        left
    }

    #[test]
    fn rules_that_are_made_half_way_are_removed() {
        for (program, bad) in [("ip", "replace local default dev lo table 8"), ("nft", "[-f")] {
            let folder = tempfile::tempdir().expect("a folder");
            let folder = folder.path();
            script(folder, "ip", "nothing");
            script(folder, "nft", "list");
            let programs = Programs { folder: folder.into() };
            let mut redirection = Redirection::default();
            redirection.programs = programs;
            redirection.apply(&config(&[7])).expect("rules");
            assert_eq!(left(folder), ["ip -4 priority 7 fwmark 7 lookup 7"]);
            script(folder, program, bad);
            redirection.apply(&config(&[7, 8, 9])).expect_err("half-way");
            assert_eq!(left(folder), ["ip -4 priority 7 fwmark 7 lookup 7"], "what was there stays");
            script(folder, program, "list");
            redirection.apply(&config(&[8])).expect("rules");
            assert_eq!(left(folder), ["ip -4 priority 8 fwmark 8 lookup 8"]);
            drop(redirection);
            assert_eq!(left(folder), [""; 0]);
        }
    }

    #[test]
    fn rules_that_a_killed_gateway_has_left_are_removed_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        for name in ["ip", "nft"] {
            script(folder, name, "nothing");
        }
        let left = Routing { is_ipv4: false, mark: 5, table: 6 };
        let lists = format!("#!/bin/sh\necho 'accept comment \"{left}\"'\n",);
        let nft = fs::read_to_string(folder.join("nft")).expect("a script").replace("#!/bin/sh\n", &lists);
        fs::write(folder.join("nft"), nft).expect("a script");
        let mut redirection = Redirection::default();
        redirection.programs = Programs { folder: folder.into() };
        let made = |redirection: &mut Redirection| {
            fs::write(folder.join("log"), "").expect("a log");
            redirection.apply(&config(&[7])).expect("rules");
            fs::read_to_string(folder.join("log")).expect("a log")
        };
        let first = made(&mut redirection);
        let expected = "nft -c -f -\nnft list table inet headway\nip -6 rule del priority 6 fwmark 5 lookup 6\n\
                        ip -6 route del local default dev lo table 6\nnft delete table inet headway\n";
        assert!(first.starts_with(expected), "{first}");
        assert!(!made(&mut redirection).contains("list"), "the table is its own");
    }

    #[test]
    fn every_rule_of_routing_is_after_the_local_table_and_before_the_main_one() {
        for (table, priority) in [
            (1, 1),
            (18_519, 18_519),
            (31_999, 31_999),
            (32_000, 32_000),
            (32_001, 1),
            (64_000, 32_000),
            (u32::MAX, u32::MAX % 32_000),
        ] {
            let rule = Routing { is_ipv4: true, mark: 1, table }.rule("add");
            assert_eq!(rule, format!("-4 rule add priority {priority} fwmark 1 lookup {table}"));
        }
    }

    #[test]
    fn the_rules_that_are_printed_name_interfaces_and_destinations() {
        let of = |entries: &str| {
            let text = format!("gateway.key-file = 'key'\n{entries}");
            rules(&Config::parse(&text, Path::new("x")).expect("a configuration")).expect("rules")
        };
        let unused = "[[transparent]]\nlisten = '127.0.0.1:1'\n";
        assert_eq!(of(unused), "");
        let used = "[[transparent]]\nlisten = '127.0.0.1:2'\ninterfaces = ['lan0', 'lan1']\n\
                    to = ['10.1.2.3/8', '192.0.2.0/24']\nmark = 3\ntable = 4\n\
                    [[transparent]]\nlisten = '[::1]:5'\ninterfaces = ['lan0']\nmark = 6\ntable = 7\n";
        let expected = r#"nft -f - <<'END'
add table inet headway
delete table inet headway
table inet headway {
    chain divert {
        type filter hook prerouting priority mangle; policy accept;
        fib daddr type local accept
        iifname { "lan0", "lan1" } meta nfproto ipv4 ip daddr { 10.0.0.0/8, 192.0.2.0/24 } meta l4proto tcp tproxy ip to 127.0.0.1:2 meta mark set 3 accept comment "headway -4 mark=3 table=4"
        iifname { "lan0" } meta nfproto ipv6 meta l4proto tcp tproxy ip6 to [::1]:5 meta mark set 6 accept comment "headway -6 mark=6 table=7"
    }
}
END
ip -6 rule add priority 7 fwmark 6 lookup 7
ip -6 route replace local default dev lo table 7
ip -4 rule add priority 4 fwmark 3 lookup 4
ip -4 route replace local default dev lo table 4
"#;
        assert_eq!(of(&format!("{unused}{used}")), expected);
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs { folder: folder.path().into() };
        let mut redirection = Redirection::default();
        redirection.programs = programs;
        let error = redirection.apply(&config(&[7])).expect_err("no nft").to_string();
        assert!(error.starts_with("nft was not found (Debian: apt install nftables)"), "{error}");
    }

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
