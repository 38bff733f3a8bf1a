//! What the parser does not know, and has a place elsewhere: keys of other tables, and configurations of WireGuard.

use serde_json::Value;

use super::file::schema;

/// What to do about a file that is no configuration, if that is known.
pub(crate) fn advice(text: &str, message: &str) -> Option<String> {
    let is_of_wireguard = |line: &str| ["[Interface]", "[Peer]"].contains(&line.trim());
    if let Some(line) = text.lines().position(is_of_wireguard) {
        return Some(format!(
            "line {} is of a configuration of WireGuard: expected [gateway] and [[peer]]; keys of WireGuard are made \
             anew: `headway trunk invite` at the far end, `headway trunk join` at the near one",
            line + 1
        ));
    }
    let key = message.strip_prefix("unknown field `")?.split_once('`')?.0;
    let places = places_of(key);
    (!places.is_empty()).then(|| format!("`{key}` belongs in {}", places.join(" or ")))
}

/// The tables that have a key.
fn places_of(key: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&schema()).unwrap_or_default();
    let has_key = |table: &Value| {
        // A table is referred to by itself, in a list, or as one of two possibilities.
        let references = [&table["$ref"], &table["items"]["$ref"], &table["anyOf"][0]["$ref"]];
        let name = references.into_iter().find_map(|reference| reference.as_str()?.rsplit('/').next());
        name.is_some_and(|name| !schema["$defs"][name]["properties"][key].is_null())
    };
    let tables = schema["properties"].as_object().into_iter().flatten();
    let named = |(name, table): (&String, &Value)| {
        if table["items"].is_null() { format!("[{name}]") } else { format!("[[{name}]]") }
    };
    tables.filter(|(_, table)| has_key(table)).map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_of_a_key_are_found() {
        assert_eq!(places_of("own-path"), ["[gateway]"]);
        assert_eq!(places_of("endpoint"), ["[[peer]]"]);
        assert_eq!(places_of("deadline"), ["[tun]"]);
        assert_eq!(places_of("kiss"), ["[modem]"]);
        assert!(places_of("mtu").len() == 3 && places_of("nonsense").is_empty());
    }
}
