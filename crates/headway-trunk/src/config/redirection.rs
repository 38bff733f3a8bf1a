//! What transparent entries with `interfaces` ask of nftables and of routing.

use ipnet::IpNet;

use super::{Config, TransparentConfig};
use crate::TrunkError;

/// What an entry asks for.
pub(crate) struct RedirectionRule<'a> {
    pub(crate) entry: &'a TransparentConfig,
    pub(crate) destinations: Vec<IpNet>,
    pub(crate) routing: Routing,
}

/// Marked packets are delivered to this machine: an `ip rule`, and a route in the table that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Routing {
    pub(crate) is_ipv4: bool,
    pub(crate) mark: u32,
    pub(crate) table: u32,
}

/// Reads what entries ask for. Nothing of it can be anything but a name, an address or a number.
pub(crate) fn redirection_rules(config: &Config) -> Result<Vec<RedirectionRule<'_>>, TrunkError> {
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
        if let Some(bad) = entry.interfaces.iter().find(|name| !is_interface(name)) {
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
        rules.push(RedirectionRule { entry, destinations, routing });
    }
    Ok(rules)
}
/// What Linux allows in names of interfaces, less what nftables could take for something else.
pub(super) fn is_interface(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-@".contains(&byte);
    (1..=15).contains(&name.len()) && name.bytes().all(is_part) && ![".", ".."].contains(&name)
}
