//! The gateway between unmodified programs of the kernel, in namespaces, with the error/delay box between two gateways.

use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use headway_test_fixture::process::wait_until;
use serde_json::Value;

use crate::namespace::{HEADWAY, Namespace, Running, say_skipped};
use crate::programs::{folder_with_file, python_server};

/// A client - near gateway - box - far gateway and server, a namespace each.
pub(crate) struct Chain {
    pub(crate) client: Namespace,
    pub(crate) near: Namespace,
    pub(crate) far: Namespace,
    folder: tempfile::TempDir,
    _box: Running,
    _middle: Namespace,
}

/// A damaged link, quick enough for a test.
const LINK: &[&str] = &[
    "--rate",
    "50mbit",
    "--delay",
    "10ms",
    "--damage",
    "burst:5%:5",
    "--reverse-damage",
    "random:2%",
    "--header-hit",
    "place",
    "--hit-zone",
    "ip+tcp",
    "--loss",
    "0.5%",
];

impl Chain {
    /// `None`, with a message, if namespaces cannot be created.
    pub(crate) fn new() -> Option<Self> {
        let [client, near, middle, far] =
            [Namespace::new()?, Namespace::new()?, Namespace::new()?, Namespace::new()?];
        let join = |a: (&Namespace, &str, Option<&str>), b: (&Namespace, &str, Option<&str>)| {
            a.0.ip(&["link", "add", a.1, "type", "veth", "peer", "name", b.1, "netns", b.0.name()]);
            for (host, name, address) in [a, b] {
                // Only packets of the test. A kernel without IPv6 does not have this key.
                let key = format!("net.ipv6.conf.{name}.disable_ipv6=1");
                let _ = host.command("sysctl", &["-qw", &key]).output();
                host.ip(&["link", "set", name, "up"]);
                if let Some(address) = address {
                    host.ip(&["addr", "add", address, "dev", name]);
                }
            }
        };
        join((&client, "eth0", Some("10.79.1.2/24")), (&near, "lan0", Some("10.79.1.1/24")));
        join((&near, "wan0", Some("10.79.2.1/24")), (&middle, "hwa", None));
        join((&middle, "hwb", None), (&far, "wan0", Some("10.79.2.2/24")));
        client.ip(&["route", "add", "default", "via", "10.79.1.1"]);
        let running = middle.start(HEADWAY, &[&["box", "hwb", "hwa"], LINK].concat());
        let (folder, _) = folder_with_file(21, 1);
        Some(Self { client, near, far, folder, _box: running, _middle: middle })
    }

    fn keygen(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        let printed = self.near.run(HEADWAY, &["trunk", "keygen", path.to_str().unwrap()]).stdout;
        String::from_utf8(printed).unwrap().trim().into()
    }

    /// Both gateways, connected. `entries` is added to the near one's configuration.
    fn gateways(&self, entries: &str) -> [Running; 2] {
        self.gateways_with("", entries)
    }

    /// As [`Chain::gateways`], with an addition to the far one's configuration too.
    pub(crate) fn gateways_with(&self, far_entries: &str, entries: &str) -> [Running; 2] {
        let (near_key, far_key) = (self.keygen("near.key"), self.keygen("far.key"));
        let far = format!(
            "gateway = {{ key-file = 'far.key', listen = '0.0.0.0:4433' }}\n\
             [[peer]]\nname = 'near'\npublic-key = '{near_key}'\ndestinations = ['10.79.2.0/24', '10.79.3.0/24', 'fd79:3::/64']\n{far_entries}"
        );
        let near = format!(
            "gateway = {{ key-file = 'near.key', status-socket = 'near.sock' }}\n\
             [[peer]]\nname = 'far'\npublic-key = '{far_key}'\nendpoint = '10.79.2.2:4433'\ndestinations = ['10.79.1.0/24']\n{entries}"
        );
        for (name, text) in [("far.toml", far), ("near.toml", near)] {
            std::fs::write(self.path(name), text).unwrap();
        }
        self.start()
    }

    /// Both gateways, connected, that one line of text has paired. The near one offers `services`.
    fn paired(&self, services: &[&str]) -> [Running; 2] {
        let words = ["trunk", "invite", "--endpoint", "10.79.2.2:4433", "--config", &self.path("far.toml")];
        let line = String::from_utf8(self.far.run(HEADWAY, &[&words, services].concat()).stdout).unwrap();
        self.near.run(HEADWAY, &["trunk", "join", line.trim(), "--config", &self.path("near.toml")]);
        self.start()
    }

    fn start(&self) -> [Running; 2] {
        let started = [("far.toml", &self.far), ("near.toml", &self.near)].map(|(name, host)| {
            host.run(HEADWAY, &["trunk", "check", &self.path(name)]);
            host.start(HEADWAY, &["trunk", "run", &self.path(name)])
        });
        wait_until("a session", || {
            self.status().is_some_and(|status| status["peers"][0]["connected"] == true)
        });
        started
    }

    /// The hosts of both gateways forward packets.
    pub(crate) fn forward(&self) {
        for host in [&self.near, &self.far] {
            host.run("sysctl", &["-qw", "net.ipv4.ip_forward=1"]);
        }
    }

    /// The path of a file of the test.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().into()
    }

    pub(crate) fn status(&self) -> Option<Value> {
        let config = self.folder.path().join("near.toml");
        let words = ["trunk", "status", config.to_str()?, "--json"];
        let output = self.near.command(HEADWAY, &words).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    fn fetch(&self, from: &Namespace, words: &[&str]) -> Vec<u8> {
        from.run("curl", &[&["-sSf", "-m", "60"], words].concat()).stdout
    }

    pub(crate) fn serve(&self, folder: &Path) -> Running {
        python_server(&self.far, folder)
    }
}

#[test]
fn curl_gets_every_byte_through_socks_and_a_forward() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(31, 3_000_000);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways(
        "[[forward]]\nlisten = '10.79.1.1:8080'\nto = '10.79.2.2:8000'\n[[socks]]\nlisten = '10.79.1.1:1080'\n",
    );
    let by_socks =
        chain.fetch(&chain.client, &["-x", "socks5h://10.79.1.1:1080", "http://10.79.2.2:8000/file"]);
    assert!(by_socks == bytes);
    let by_forward = chain.fetch(&chain.client, &["http://10.79.1.1:8080/file"]);
    assert!(by_forward == bytes);
    let status = chain.status().expect("a running gateway");
    assert_eq!(status["peers"][0]["passes_unchecked"], true);
    let damaged = status["corrupted"].as_u64().unwrap() + status["unreadable"].as_u64().unwrap();
    // Usually some 250; fewer where the far gateway finds late that datagrams without a checksum get through.
    assert!(damaged > 20, "damage arrives: {status}");
    // What the far gateway's packets went through can be tried with another sender.
    let (config, fates) = (chain.folder.path().join("near.toml"), chain.folder.path().join("near.fates"));
    let (config, fates) = (config.to_str().unwrap(), fates.to_str().unwrap());
    chain.near.run(HEADWAY, &["trunk", "record", config, fates]);
    let trace = std::fs::read_to_string(fates).unwrap();
    assert!(["\nok ", "\nlost", "\nhit payload 1 # "].iter().all(|line| trace.contains(line)), "{trace}");
    let damage = format!("trace:{fates}");
    let words = ["race", "--size", "200KB", "--damage", &damage, "--json"];
    let raced: Value = serde_json::from_slice(&chain.near.run(HEADWAY, &words).stdout).unwrap();
    assert!(raced.to_string().contains("near.fates"), "{raced}");
    let unknown =
        chain.near.command(HEADWAY, &["trunk", "record", config, fates, "--peer", "x"]).output().unwrap();
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("got x: expected one of far"), "{unknown:?}");
    // SOCKS says what failed.
    let words = ["-sS", "-m", "60", "-x", "socks5h://10.79.1.1:1080", "http://10.79.2.2:8001/"];
    let refused = chain.client.command("curl", &words).output().unwrap();
    assert_eq!(
        refused.status.code(),
        Some(97),
        "a reply of the proxy: {}",
        String::from_utf8_lossy(&refused.stderr)
    );
}

#[test]
fn a_host_that_knows_of_nothing_is_redirected() {
    let Some(chain) = Chain::new() else { return };
    let rules = [
        &["add", "table", "ip", "headway"][..],
        &["add chain ip headway pre { type filter hook prerouting priority mangle; }"],
        &[
            "add rule ip headway pre iifname lan0 meta l4proto tcp tproxy to 127.0.0.1:4444 meta mark set 1 accept",
        ],
    ];
    for rule in rules {
        match chain.near.command("nft", rule).output() {
            Ok(output) if output.status.success() => {}
            other => return say_skipped("tproxy", &format!("{other:?}")),
        }
    }
    chain.near.ip(&["rule", "add", "fwmark", "1", "lookup", "100"]);
    chain.near.ip(&["route", "add", "local", "default", "dev", "lo", "table", "100"]);
    let (folder, bytes) = folder_with_file(32, 2_000_000);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways("[[transparent]]\nlisten = '127.0.0.1:4444'\n");
    let got = chain.fetch(&chain.client, &["http://10.79.2.2:8000/file"]);
    assert!(got == bytes);
    assert_eq!(chain.status().expect("a running gateway")["peers"][0]["opened_streams"], 1);
    let refused =
        chain.client.command("curl", &["-sS", "-m", "60", "http://10.79.2.2:8001/"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(56), "reset: {}", String::from_utf8_lossy(&refused.stderr));
}

/// The near gateway gets another address under way, and the far one follows it.
#[test]
fn a_stream_goes_on_when_the_gateway_moves() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(33, 4_000_000);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways("[[socks]]\nlisten = '10.79.1.1:1080'\n");
    let words = ["-sSf", "-m", "100", "-x", "socks5h://10.79.1.1:1080", "http://10.79.2.2:8000/file"];
    let fetching = chain.client.command("curl", &words).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("data", || chain.status().is_some_and(|status| status["intact"].as_u64() > Some(500)));
    let moved = Ipv4Addr::new(10, 79, 2, 77);
    chain.near.ip(&["addr", "del", "10.79.2.1/24", "dev", "wan0"]);
    chain.near.ip(&["addr", "add", &format!("{moved}/24"), "dev", "wan0"]);
    let output = fetching.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout == bytes);
}

/// Invited with the networks behind both gateways, hosts reach one another through a TUN at each end.
#[test]
fn a_line_of_text_joins_two_networks() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(35, 1_000_000);
    // The far network has a host that is reached through the trunk only.
    chain.far.ip(&["addr", "add", "10.79.3.1/32", "dev", "lo"]);
    let _server = chain.serve(folder.path());
    let _gateways = chain.paired(&["tun=10.79.1.0/24=10.79.3.0/24", "--destinations", "10.79.3.0/24"]);
    chain.forward();
    assert!(chain.fetch(&chain.client, &["http://10.79.3.1:8000/file"]) == bytes);
    // And from there, in packets: nothing takes it here, and the kernel says so.
    let ask = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(0.5)\n\
         s.bind(('10.79.3.1', 0))\ns.connect(('10.79.1.2', 9))\n\
         for i in range(100):\n\
         \ttry: s.send(b'x'); s.recv(9)\n\
         \texcept TimeoutError: continue\n\
         \texcept ConnectionRefusedError: print('refused'); break";
    let said = chain.far.run("python3", &["-c", ask]).stdout;
    assert_eq!(String::from_utf8(said).unwrap().trim(), "refused");
}

/// Hosts are routed into a TUN at both ends: their connections meet what the destination says, their packets cross.
#[test]
fn hosts_are_routed_through_a_tun() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(34, 3_000_000);
    // The server has an address that is reached through the trunk only.
    chain.far.ip(&["addr", "add", "10.79.3.1/32", "dev", "lo"]);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways_with(
        "allowed-ips = ['10.79.1.0/24']\n[tun]\naddress = '10.79.9.1/30'\n",
        "allowed-ips = ['10.79.3.0/24', '10.79.4.0/24']\n[tun]\naddress = '10.79.9.5/30'\n",
    );
    chain.forward();
    let got = chain.fetch(&chain.client, &["http://10.79.3.1:8000/file"]);
    assert!(got == bytes);

    // What the destination says: refused, not allowed.
    let connect = |to: &str| {
        let program = "import socket, sys\n\
             try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 60)\n\
             except OSError as error: print(type(error).__name__, error.errno)";
        let (host, port) = to.split_once(':').unwrap();
        let output = chain.client.run("python3", &["-c", program, host, port]).stdout;
        String::from_utf8(output).unwrap().trim().to_owned()
    };
    assert_eq!(connect("10.79.3.1:8001"), "ConnectionRefusedError 111");
    assert_eq!(connect("10.79.4.1:80"), "OSError 113", "the far gateway does not go there");

    // Datagrams, each as it is: an echo server of the test's own.
    let echo = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.bind(('10.79.3.1', 7))\n\
         print('ready', flush=True)\nwhile True:\n d, a = s.recvfrom(65535)\n s.sendto(d, a)";
    let _echo = chain.far.start("python3", &["-c", echo]);
    wait_until("the echo server", || !chain.far.run("ss", &["-Hlun", "sport = :7"]).stdout.is_empty());
    // A queue may drop them, so the program asks again, as programs do over UDP.
    let ask = "import hashlib, socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(0.5)\n\
         s.connect(('10.79.3.1', 7))\nsent = {hashlib.sha256(b'%d' % i).digest() * 40 for i in range(300)}\n\
         got = set()\n\
         for round in range(80):\n\
         \tfor d in sent - got:\n\
         \t\ts.send(d); time.sleep(0.002)\n\
         \ttry:\n\
         \t\twhile got != sent: got.add(s.recv(65535))\n\
         \texcept TimeoutError: pass\n\
         \tassert got <= sent, 'another datagram than was sent'\n\
         print(len(got))";
    let echoed = chain.client.run("python3", &["-c", ask]).stdout;
    assert_eq!(String::from_utf8(echoed).unwrap().trim(), "300", "{:?}", chain.status());
    // What begins like QUIC keeps its order, whatever was lost and repaired on the way.
    let quic = "import itertools, socket, struct, threading, time\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(20)\ns.connect(('10.79.3.1', 7))\n\
         def send():\n\
         \ts.send(bytes.fromhex('c000000001') + bytes(1195)); time.sleep(0.5)\n\
         \tfor i in itertools.count():\n\
         \t\tif got[-1:] >= [1000]: break\n\
         \t\ts.send(b'\\x40' + struct.pack('!I', i) + bytes(995)); time.sleep(0.002)\n\
         got = []\nthreading.Thread(target=send, daemon=True).start()\n\
         while got[-1:] < [1000]:\n\
         \td = s.recv(65535)\n\
         \tif d[0] == 0x40: got.append(struct.unpack('!I', d[1:5])[0])\n\
         assert got == sorted(set(got)), got\n\
         print(sum(i < 1000 for i in got))";
    let echoed = chain.client.run("python3", &["-c", quic]).stdout;
    // A queue may drop some.
    let count: u32 = String::from_utf8(echoed).unwrap().trim().parse().unwrap();
    assert!(count > 500, "{count} of 1000: {:?}", chain.status());
    // A ping: the kernel there answers, not the gateway here.
    let ping = "import socket, struct, time\n\
         s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)\ns.settimeout(20)\n\
         def message(i):\n\
         \tsum = 0x800 + 77 + i; sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff\n\
         \treturn struct.pack('!BBHHH', 8, 0, sum, 77, i)\n\
         for i in range(20): s.sendto(message(i), ('10.79.3.1', 0))\n\
         got = set()\n\
         while len(got) < 20:\n\
         \tp = s.recv(100)\n\
         \tif p[20] == 0 and p[24:26] == b'\\0M': got.add(p[27])\n\
         print(len(got))";
    let pinged = chain.client.run("python3", &["-c", ping]).stdout;
    assert_eq!(String::from_utf8(pinged).unwrap().trim(), "20");
    let packets = &chain.status().expect("a running gateway")["peers"][0]["packets"];
    assert!(
        packets["to_peer"].as_u64() >= Some(300) && packets["from_peer"].as_u64() >= Some(300),
        "{packets}"
    );
    assert_eq!(packets["refused"], 0, "{packets}");
}

/// TCP inside TCP, for who asks for it.
#[test]
fn packets_of_tcp_cross_in_order() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(35, 2_000_000);
    chain.far.ip(&["addr", "add", "10.79.3.1/32", "dev", "lo"]);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways_with(
        "allowed-ips = ['10.79.1.0/24']\n[tun]\naddress = '10.79.9.1/30'\ntcp = 'packets'\n",
        "allowed-ips = ['10.79.3.0/24']\n[tun]\naddress = '10.79.9.5/30'\ntcp = 'packets'\n",
    );
    chain.forward();
    let got = chain.fetch(&chain.client, &["http://10.79.3.1:8000/file"]);
    assert!(got == bytes);
    let status = chain.status().expect("a running gateway");
    assert_eq!(status["peers"][0]["opened_streams"], 0, "{status}");
}

/// The link carries shorter packets under way, and no router says so.
#[test]
fn a_stream_goes_on_when_the_link_becomes_narrower() {
    let Some(chain) = Chain::new() else { return };
    let (folder, bytes) = folder_with_file(36, 8_000_000);
    let _server = chain.serve(folder.path());
    let _gateways = chain.gateways("[[socks]]\nlisten = '10.79.1.1:1080'\n");
    let words = ["-sSf", "-m", "100", "-x", "socks5h://10.79.1.1:1080", "http://10.79.2.2:8000/file"];
    let fetching = chain.client.command("curl", &words).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("data", || chain.status().is_some_and(|status| status["intact"].as_u64() > Some(1000)));
    for host in [&chain.near, &chain.far] {
        host.ip(&["link", "set", "wan0", "mtu", "1400"]);
    }
    let output = fetching.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout == bytes);
}

/// systemd learns that the gateway is ready, and that it ends; needs no privilege.
#[test]
fn systemd_is_notified() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["ours.key", "theirs.key"] {
        let status = Command::new(HEADWAY).args(["trunk", "keygen"]).arg(at(name)).output().unwrap();
        assert!(status.status.success());
    }
    let theirs =
        Command::new(HEADWAY).args(["trunk", "pubkey"]).arg(at("theirs.key")).output().unwrap().stdout;
    let text = format!(
        "gateway = {{ key-file = 'ours.key', listen = '127.0.0.1:0' }}\n[[peer]]\nname = 'far'\npublic-key = '{}'\n",
        String::from_utf8(theirs).unwrap().trim()
    );
    std::fs::write(at("gateway.toml"), text).unwrap();
    let socket = UnixDatagram::bind(at("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut command = Command::new(HEADWAY);
    command.args(["trunk", "run"]).arg(at("gateway.toml")).env("NOTIFY_SOCKET", at("notify"));
    let mut gateway = command.stderr(Stdio::null()).spawn().unwrap();
    let mut buffer = [0; 256];
    let mut next = || {
        let len = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..len]).trim().to_owned()
    };
    assert_eq!(next(), "READY=1");
    rustix::process::kill_process(rustix::process::Pid::from_child(&gateway), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(next(), "STOPPING=1");
    assert!(gateway.wait().unwrap().success());
}

/// What a gateway may leave behind: tables of nftables, rules and routes.
fn rules_of(host: &Namespace) -> String {
    let words: [&[&str]; 5] = [
        &["nft", "list", "ruleset"],
        &["ip", "-4", "rule"],
        &["ip", "-6", "rule"],
        &["ip", "-4", "route", "show", "table", "all", "type", "local", "0.0.0.0/0"],
        &["ip", "-6", "route", "show", "table", "all", "type", "local", "::/0"],
    ];
    words.map(|words| String::from_utf8_lossy(&host.run(words[0], &words[1..]).stdout).into_owned()).concat()
}

#[test]
fn a_gateway_makes_its_own_rules_and_leaves_none() {
    let Some(chain) = Chain::new() else { return };
    let probe = "add table inet probe; add chain inet probe p { type filter hook prerouting priority mangle; }; \
                 add rule inet probe p meta l4proto tcp tproxy ip6 to [::1]:1";
    match chain.near.command("nft", &["-c", probe]).output() {
        Ok(output) if output.status.success() => {}
        other => return say_skipped("tproxy", &format!("{other:?}")),
    }
    // What is someone else's stays.
    chain.near.run("nft", &["add table inet other; add chain inet other c"]);
    chain.near.ip(&["rule", "add", "priority", "77", "fwmark", "18519", "lookup", "77"]);
    for (host, device, address) in [
        (&chain.client, "eth0", "fd79:1::2/64"),
        (&chain.near, "lan0", "fd79:1::1/64"),
        (&chain.far, "lo", "fd79:3::1/128"),
    ] {
        host.run("sysctl", &["-qw", &format!("net.ipv6.conf.{device}.disable_ipv6=0")]);
        host.ip(&["-6", "addr", "add", address, "dev", device, "nodad"]);
    }
    chain.client.ip(&["-6", "route", "add", "default", "via", "fd79:1::1"]);
    let (folder, bytes) = folder_with_file(34, 300_000);
    let words = ["-m", "http.server", "8000", "--bind", "::", "--directory", folder.path().to_str().unwrap()];
    let _server = chain.far.start("python3", &words);
    chain.far.wait_for_listener(8000);
    let before = rules_of(&chain.near);

    let entries = "[[transparent]]\nlisten = '127.0.0.1:4444'\ninterfaces = ['lan0']\nto = ['10.79.2.0/24']\n\
                   [[transparent]]\nlisten = '[::1]:4444'\ninterfaces = ['lan0']\nmark = 5\ntable = 50\n";
    let [_far, mut near] = chain.gateways(entries);
    assert_ne!(rules_of(&chain.near), before);
    let by_v4 = chain.fetch(&chain.client, &["http://10.79.2.2:8000/file"]);
    assert!(by_v4 == bytes);
    let by_v6 = chain.fetch(&chain.client, &["-g", "http://[fd79:3::1]:8000/file"]);
    assert!(by_v6 == bytes);
    assert_eq!(chain.status().expect("a running gateway")["peers"][0]["opened_streams"], 2);

    // It is killed, and the next one has another mark: what the first one left is gone.
    let config = chain.folder.path().join("near.toml");
    let config = config.to_str().unwrap();
    near.signal("-KILL");
    near.wait();
    let text = std::fs::read_to_string(config).unwrap();
    std::fs::write(config, text.replace("mark = 5\ntable = 50", "mark = 6\ntable = 60")).unwrap();
    let mut near = chain.near.start(HEADWAY, &["trunk", "run", config]);
    wait_until("a session", || chain.status().is_some_and(|status| status["peers"][0]["connected"] == true));
    let rules = rules_of(&chain.near);
    assert!(rules.contains("lookup 60") && !rules.contains("lookup 50"), "{rules}");
    assert!(chain.fetch(&chain.client, &["-g", "http://[fd79:3::1]:8000/file"]) == bytes);
    // What it prints is what it makes.
    let printed = String::from_utf8(chain.near.run(HEADWAY, &["trunk", "rules", config]).stdout).unwrap();
    assert!(printed.contains("ip -6 rule add priority 60 fwmark 6 lookup 60"), "{printed}");
    assert!(printed.contains("tproxy ip6 to [::1]:4444 meta mark set 6"), "{printed}");

    // One entry less, without a restart.
    let text = std::fs::read_to_string(config).unwrap();
    let one = text.split("[[transparent]]\nlisten = '[::1]").next().unwrap();
    std::fs::write(config, one).unwrap();
    chain.near.run(HEADWAY, &["trunk", "reload", config]);
    let rules = rules_of(&chain.near);
    assert!(
        rules.contains("127.0.0.1:4444") && !rules.contains("lookup 60") && !rules.contains("[::1]"),
        "{rules}"
    );
    assert!(chain.fetch(&chain.client, &["http://10.79.2.2:8000/file"]) == bytes);
    near.signal("-TERM");
    assert_eq!(near.wait(), Some(0));
    assert_eq!(rules_of(&chain.near), before, "nothing is left");
}
