//! The examples in the help of the gateway's commands.

pub(super) const ALL: &str = "\
Examples:
  headway trunk invite --endpoint gw.example.net:4433
      At the far end, whose address is known: set it up, and print a line for the near end.
  headway trunk join headway1-...
      At the near end: set it up by this line.
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

pub(super) const INVITE: &str = "\
Examples:
  headway trunk invite --endpoint gw.example.net:4433
      The near gateway offers SOCKS at 127.0.0.1:1080. /etc/headway/trunk.toml and trunk.key are written if they do not exist.
  headway trunk invite --endpoint 198.51.100.1:4433 --name ship socks forward=127.0.0.1:2222=10.0.0.5:22
      The near gateway offers SOCKS, and a local port that leads to a host behind this gateway.
  headway trunk invite --endpoint 198.51.100.1:4433 --name ship tun=192.168.7.0/24=10.0.0.0/8
      Hosts in 192.168.7.0/24 reach 10.0.0.0/8, and are reached from there, by a TUN at each end.
  headway trunk invite --endpoint 198.51.100.1:4433 | ssh ship headway trunk join -
      Set up both ends at once; the secret is in no list of processes and in no history of a shell.

The line contains the near gateway's key: who has it can use this gateway as NAME. `headway trunk revoke NAME` ends that.";

pub(super) const JOIN: &str = "\
Examples:
  headway trunk join headway1-...
      Write /etc/headway/trunk.toml and trunk.key, as `headway trunk invite` at the far end has said.
  headway trunk join - --config /etc/headway/shore.toml
      Read the line from standard input, so that it is in no list of processes and in no history of the shell.";

pub(super) const REVOKE: &str = "\
Examples:
  headway trunk revoke ship && headway trunk reload /etc/headway/trunk.toml
      The running gateway refuses it from now on.";

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
