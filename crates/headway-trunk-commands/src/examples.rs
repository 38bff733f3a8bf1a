//! The examples in the help of the gateway's commands.

pub(super) const ALL: &str = "\
Examples:
  headway trunk keygen /etc/headway/trunk.key
      Make a key; its public part, which the other gateway needs, is printed.
  headway trunk check /etc/headway/trunk.toml
      Read a configuration and the files that it names, and say what is wrong.
  headway trunk run /etc/headway/trunk.toml
      Run the gateway until SIGINT or SIGTERM.
  headway trunk run /etc/headway/trunk.toml --watch 127.0.0.1:8080
      The same, with a live page of goodput, window, round-trip time, and losses by cause, for browsers.
  curl --socks5-hostname 127.0.0.1:1080 http://10.0.0.5/file
      At a host of the near gateway's, whose configuration has [[socks]].";

pub(super) const RUN: &str = "\
Examples:
  headway trunk run /etc/headway/trunk.toml
      Until SIGINT or SIGTERM. SIGHUP, or `headway trunk reload`, has it read the file again.
  headway trunk run /etc/headway/trunk.toml --log-format json 2>> trunk.log
      With the log as JSON, an object a line.
  headway trunk run /etc/headway/trunk.toml --watch 127.0.0.1:8080
      With a live page for browsers.";

pub(super) const KEYGEN: &str = "\
Examples:
  headway trunk keygen /etc/headway/trunk.key
      The file can be read by its owner alone. The public key is printed: it is `public-key` at the other gateway.
  headway trunk keygen --preshared /etc/headway/trunk.psk
      A secret that both gateways get, for `preshared-key-file`.";

pub(super) const PUBKEY: &str = "\
Examples:
  headway trunk pubkey /etc/headway/trunk.key
  sudo cat /etc/headway/trunk.key | headway trunk pubkey -";

pub(super) const CHECK: &str = "\
Examples:
  headway trunk check /etc/headway/trunk.toml
  headway trunk check /etc/headway/trunk.toml && headway trunk reload /etc/headway/trunk.toml
      Have the running gateway read a file that was changed, if it is right.";

pub(super) const RULES: &str = "\
Examples:
  headway trunk rules /etc/headway/trunk.toml
      To look at them: the gateway makes them itself.";

pub(super) const SCHEMA: &str = "\
Examples:
  headway trunk schema > trunk.schema.json
      For an editor that checks TOML files by a schema.";

pub(super) const STATUS: &str = "\
Examples:
  headway trunk status /etc/headway/trunk.toml
  headway trunk status /etc/headway/trunk.toml --json | jq '.peers[] | {name, connected}'

Of the configuration only `gateway.status-socket` is read: the rest of it may be wrong.";

pub(super) const RELOAD: &str = "\
Examples:
  headway trunk reload /etc/headway/trunk.toml
      Prints what has changed. If the file is wrong, it says so, and nothing changes.";

pub(super) const RECORD: &str = "\
Examples:
  headway trunk record /etc/headway/trunk.toml monday.fates --peer shore
  headway race --damage trace:monday.fates --rate 10mbit --delay 300ms
      What other senders would have made of the damage of these packets.";

pub(super) const TOP: &str = "\
Examples:
  headway trunk top /etc/headway/trunk.toml
  headway trunk top /etc/headway/trunk.toml --once > now.txt
      One frame, as text.";
