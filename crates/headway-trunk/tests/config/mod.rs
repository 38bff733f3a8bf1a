//! Configurations, right and wrong: each wrong one is refused with a message that names the place.

mod fuzzed;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use headway_trunk::{Config, status_socket};
use headway_trunk_proto::SecretKey;

fn write(folder: &Path, name: &str, text: &str, mode: u32) {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

fn load(folder: &Path, text: &str) -> Result<(), String> {
    write(folder, "gateway.toml", text, 0o644);
    Config::load(&folder.join("gateway.toml")).map(drop).map_err(|error| error.to_string())
}

#[test]
fn wrong_configurations_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let (ours, theirs) = (SecretKey::from_bytes([1; 32]), SecretKey::from_bytes([2; 32]));
    write(folder, "key", &ours.to_base64(), 0o600);
    write(folder, "open", &ours.to_base64(), 0o644);
    write(folder, "short", "abc", 0o600);
    let peer = format!("[[peer]]\nname = 'far'\npublic-key = '{}'\n", theirs.public());
    let other =
        format!("[[peer]]\nname = 'other'\npublic-key = '{}'\n", SecretKey::from_bytes([3; 32]).public());
    let good = format!("gateway.key-file = 'key'\n{peer}");
    assert_eq!(load(folder, &good), Ok(()));
    let link_local = format!("gateway.listen = '[::]:1'\n{good}endpoint = '[fe80::1%lo]:1'");
    assert_eq!(load(folder, &link_local), Ok(()));
    assert_eq!(load(folder, &format!("{good}[modem]\nframes = ['unix:a', 'unix:b']")), Ok(()));
    for mtu in ["", "mtu = 1280", "mtu = 9000"] {
        assert_eq!(load(folder, &format!("{good}[tun]\naddress = '10.77.0.2/30'\n{mtu}")), Ok(()));
    }
    for (text, pieces) in [
        (String::new(), &["gateway.toml", "gateway"][..]),
        ("gateway = 3".into(), &["gateway.toml: line 1: gateway: got 3: expected a table"]),
        (good.replace("[[peer]]", "[peer]"), &["gateway.toml: line 2: [peer]: expected [[peer]]"]),
        (
            format!("gateway.mtu = 'long'\n{good}"),
            &["gateway.toml: line 1: gateway.mtu: got \"long\": expected a whole number from 0 to 65535"],
        ),
        (format!("{good}nonsense = 1"), &["gateway.toml", "nonsense", "unknown field"]),
        (
            good.replace("'key'", "'none'"),
            &["gateway.toml: gateway.key-file", "none: No such file", "keygen"],
        ),
        (good.replace("'key'", "'open'"), &["open", "644", "chmod 600"]),
        (good.replace("'key'", "'short'"), &["short", "3 characters", "32 bytes"]),
        (
            "gateway.key-file = 'key'\n[[socks]]\nlisten = '127.0.0.1:1'".into(),
            &["gateway.toml: [[peer]]: got none: expected one, to which socks 127.0.0.1:1 leads"],
        ),
        (
            format!("{good}own-path = true"),
            &["gateway.toml: line 5: unknown field `own-path`", "; `own-path` belongs in [gateway]"],
        ),
        (
            "[Interface]\nPrivateKey = aaa=\n[Peer]\nEndpoint = h:1".into(),
            &[
                "gateway.toml: line ",
                "; line 1 is of a configuration of WireGuard: expected [gateway] and [[peer]]",
            ],
        ),
        (format!("gateway.mtu = 100\n{good}"), &["gateway.mtu", "100", "576"]),
        (format!("{good}[modem]"), &["gateway.toml: [modem]: got none: expected one of frames = ["]),
        (
            format!("{good}[modem]\nframes = ['unix:a', 'near']"),
            &[
                "gateway.toml: modem.frames: got \"near\": expected an address with a port, such as",
                "unix:PATH",
            ],
        ),
        (
            format!("{good}[modem]\nframes = ['unix:', 'unix:b']"),
            &["modem.frames: got \"unix:\": expected a path"],
        ),
        (format!("{good}[modem]\nframes = ['unix:a']"), &["gateway.toml: line 6: ", "an array of length 2"]),
        (
            format!("{good}[modem]\nkiss = 'tnc:8001'\nserial = '/dev/ttyUSB0:9600'"),
            &["[modem]: got kiss and serial: expected one of"],
        ),
        (
            format!("{good}[modem]\nkiss = '8001'\ncallsign = 'N0CALL'"),
            &["modem.kiss: got \"8001\": expected HOST:PORT, such as 127.0.0.1:8001, or DEVICE:SPEED"],
        ),
        (
            format!("{good}[modem]\nkiss = 'tnc:8001'\ncallsign = 'N0CALL'"),
            &["modem.peer-callsign: got \"\": expected up to six capital letters"],
        ),
        (
            format!("{good}[modem]\nserial = 'tnc:8001'"),
            &["modem.serial: got \"tnc:8001\": expected DEVICE:SPEED"],
        ),
        (
            format!("{good}[modem]\nserial = '/dev/ttyUSB0:9600'\ncallsign = 'A'"),
            &["modem.callsign: got A: expected kiss with it"],
        ),
        (
            format!("{good}[modem]\nserial = '/dev/ttyUSB0:9600'\nturnaround = 'long'"),
            &["modem.turnaround: got \"long\": expected a time"],
        ),
        (
            format!("{good}[modem]\nmonitor = ['wlan0']\nwifi-rate = '7mbit'"),
            &["modem.wifi-rate: got \"7mbit\": expected a rate of 802.11a, b or g"],
        ),
        (
            format!("{good}[modem]\nserial = '/dev/ttyUSB0:9600'\nwifi-rate = '6mbit'"),
            &["modem.wifi-rate: got 6mbit: expected monitor with it"],
        ),
        (
            format!("{good}[modem]\nmonitor = ['wlan0']\nkiss = 'tnc:8001'"),
            &["[modem]: got kiss and monitor: expected one of"],
        ),
        (
            format!("{good}[modem]\nframes = ['unix:a', 'unix:b']\nmtu = 100"),
            &["gateway.toml: modem.mtu: got 100: expected at least 200 bytes"],
        ),
        (
            format!("gateway.listen = '0.0.0.0:4433'\n{good}[modem]\nframes = ['unix:a', 'unix:b']"),
            &["gateway.toml: gateway.listen: got 0.0.0.0:4433: expected nothing with [modem]"],
        ),
        (
            format!("gateway.dscp = 'EF'\n{good}[modem]\nframes = ['unix:a', 'unix:b']"),
            &["gateway.dscp: got EF: expected nothing with [modem]"],
        ),
        (
            format!("{good}endpoint = '192.0.2.1:7'\n[modem]\nframes = ['unix:a', 'unix:b']"),
            &["peer far: endpoint: got 192.0.2.1:7: expected nothing with [modem]"],
        ),
        (
            format!("{good}{other}[modem]\nframes = ['unix:a', 'unix:b']"),
            &["[[peer]]: got 2 peers: expected one with [modem]"],
        ),
        (
            format!("gateway.outage = 'long'\n{good}"),
            &["gateway.toml: gateway.outage: got \"long\": expected a time"],
        ),
        (
            format!("gateway.max-streams = 0\n{good}"),
            &["gateway.max-streams", "got 0: expected 1 to 1048576"],
        ),
        (format!("gateway.max-streams = {}\n{good}", i64::MAX), &["gateway.max-streams", "expected 1 to"]),
        (
            format!("gateway.dscp = 'fast'\n{good}"),
            &["gateway.toml: gateway.dscp: got \"fast\": expected `copy`, a name (EF,"],
        ),
        (format!("gateway.outage = '0s'\n{good}"), &["gateway.outage", "got 0s: expected at least 1s"]),
        (format!("{good}{peer}"), &["far", "another name and key"]),
        (good.replace(&theirs.public().to_string(), &ours.public().to_string()), &["peer far", "own key"]),
        (
            good.replace(&theirs.public().to_string(), "abc"),
            &["peer far: public-key: got \"abc\": expected 32 bytes in base64"],
        ),
        (format!("{good}endpoint = '[::1]:1'"), &["peer far: endpoint", "[::1]:1", "family"]),
        (
            format!("{good}endpoint = 'somewhere'"),
            &["gateway.toml: line 5: endpoint: got 'somewhere': expected an address or a name, and a port"],
        ),
        (
            format!("gateway.listen = '[fe80::1]:1'\n{good}"),
            &["gateway.listen: got [fe80::1]:1: expected", "interface"],
        ),
        (
            format!("gateway.listen = '[::]:1'\n{good}endpoint = '[fe80::1%none]:1'"),
            &["gateway.toml: line 6", "[fe80::1%none]:1", "no such interface"],
        ),
        (
            format!("{good}[[forward]]\nlisten = '127.0.0.1:1'\nto = '[fe80::1%2]:1'"),
            &["forward.to: got [fe80::1%2]:1", "no interface"],
        ),
        (format!("{good}keep-alive = '1ms'"), &["peer far: keep-alive", "at least 1s"]),
        (format!("{good}link-rate = 'fast'"), &["peer far: link-rate", "fast"]),
        (format!("{good}link-rate = '0mbit'"), &["peer far: link-rate", "0mbit"]),
        (format!("gateway.log-level = 'loud'\n{good}"), &["gateway.toml", "line 1", "loud"]),
        (format!("{good}proxy-protocol = ['here']"), &["peer far: proxy-protocol", "here", "prefix"]),
        (format!("gateway.memory = '1KiB'\n{good}"), &["gateway.memory", "1KiB", "1MiB"]),
        (format!("gateway.memory = 'much'\n{good}"), &["gateway.memory", "much"]),
        (format!("gateway.metrics-names = ['gw1']\n{good}"), &["gateway.metrics-names", "gw1", "without"]),
        (format!("gateway.metrics = '9464'\n{good}"), &["gateway.toml", "line 1", "socket address"]),
        (format!("{good}destinations = ['10.0.0.0/99']"), &["peer far: destinations", "10.0.0.0/99"]),
        (format!("{good}preshared-key-file = 'open'"), &["open", "644"]),
        (
            format!("{good}{other}[[socks]]\nlisten = '127.0.0.1:1'"),
            &["socks 127.0.0.1:1: peer", "far, other"],
        ),
        (format!("{good}[[socks]]\nlisten = '127.0.0.1:1'\npeer = 'x'"), &["peer", "got x", "one of far"]),
        (
            format!("{good}[[transparent]]\nlisten = '127.0.0.1:1'\nto = ['10.0.0.0/8']"),
            &["transparent 127.0.0.1:1: to", "interfaces"],
        ),
        (
            format!("{good}[[transparent]]\nlisten = '127.0.0.1:1'\ninterfaces = ['lan0\" drop']"),
            &["transparent 127.0.0.1:1: interfaces", "drop", "names of interfaces"],
        ),
        (
            format!(
                "{good}[[transparent]]\nlisten = '127.0.0.1:1'\ninterfaces = ['lan0']\nto = ['2001:db8::/32']"
            ),
            &["transparent 127.0.0.1:1: to", "2001:db8::/32", "family"],
        ),
        (
            format!("{good}[[transparent]]\nlisten = '127.0.0.1:1'\ninterfaces = ['lan0']\ntable = 254"),
            &["transparent 127.0.0.1:1: table", "254"],
        ),
        (
            format!("{good}[[transparent]]\nlisten = '127.0.0.1:0'\ninterfaces = ['lan0']"),
            &["transparent 127.0.0.1:0: listen", "port"],
        ),
        (format!("{good}[[forward]]\nlisten = '127.0.0.1:1'\nto = 'host'"), &["forward.to", "host", "port"]),
        (
            format!("{good}[tun]\naddress = '10.77.0.2/30'\nmtu = 1279"),
            &["gateway.toml: tun.mtu: got 1279: expected 1280 to 9000 bytes"],
        ),
        (format!("{good}[tun]\naddress = '10.77.0.2/30'\nmtu = 9001"), &["tun.mtu: got 9001"]),
        (format!("{good}[tun]\naddress = '10.77.0.2/30'\ndeadline = 'soon'"), &["tun.deadline", "soon"]),
        (good.replace("'far'", "''"), &["gateway.toml: [[peer]] 1: name: got \"\": expected a name"]),
        (good.replace("'far'", "' '"), &["[[peer]] 1: name: got \" \": expected a name"]),
        (
            format!("{good}allowed-ips = ['10.0.0.0/8', 'fd00::/8']"),
            &["gateway.toml: peer far: allowed-ips: got 10.0.0.0/8, fd00::/8: expected none without [tun]"],
        ),
    ] {
        let error = load(folder, &text).expect_err(&text);
        assert!(pieces.iter().all(|piece| error.contains(piece)), "{text}\n{error}\n{pieces:?}");
    }
}

/// What the file has, and what is said of it: the place, what was got, and what was expected.
#[test]
fn a_refusal_has_the_place_what_was_got_and_what_was_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "key", &SecretKey::from_bytes([1; 32]).to_base64(), 0o600);
    let public = SecretKey::from_bytes([2; 32]).public();
    let with = |gateway: &str, rest: &str| {
        format!(
            "[gateway]\nkey-file = 'key'\n{gateway}\n[[peer]]\nname = 'far'\npublic-key = '{public}'\n{rest}\n"
        )
    };
    let second =
        format!("[[peer]]\nname = 'b'\npublic-key = '{}'\n", SecretKey::from_bytes([3; 32]).public());
    let networks = "allowed-ips = ['10.0.0.0/8']\n";
    for (gateway, rest, place, got, expected) in [
        ("status-socket = ''", "", "gateway.status-socket", "\"\"", "a path"),
        ("state-file = ''", "", "gateway.state-file", "\"\"", "a path"),
        (
            "state-file = '.'",
            "",
            "gateway.state-file",
            "which is a folder",
            "a file, which the gateway makes",
        ),
        ("", "preshared-key-file = ''", "peer.preshared-key-file", "\"\"", "a path"),
        ("own-path = 'yes'", "", "line 3: own-path", "\"yes\"", "true or false"),
        ("outage = 600", "", "line 3: outage", "600", "a text in quotes"),
        ("outage = '10'", "", "gateway.outage", "\"10\"", "a time with a unit"),
        ("memory = 256", "", "line 3: memory", "256", "a text in quotes"),
        ("dscp = '64'", "", "gateway.dscp", "\"64\"", "`copy`, a name (EF,"),
        ("listen = '0.0.0.0'", "", "line 3: listen", "'0.0.0.0'", "a socket address with a port"),
        (
            "metrics = '127.0.0.1:1'\nmetrics-names = ['']",
            "",
            "gateway.metrics-names",
            "\"\"",
            "names such as",
        ),
        ("", "destinations = 'any'", "line 7: destinations", "\"any\"", "a list in brackets"),
        ("", "destinations = ['example.net']", "peer far: destinations", "example.net", "`any`, or a prefix"),
        ("", "endpoint = '192.0.2.1'", "line 7: endpoint", "'192.0.2.1'", "an address or a name, and a port"),
        (
            "",
            "endpoint = '192.0.2.1:0'",
            "line 7: endpoint",
            "'192.0.2.1:0'",
            "an address or a name, and a port",
        ),
        ("", "keep-alive = 25", "line 7: keep-alive", "25", "a text in quotes"),
        ("", "keep-alive = '25'", "peer far: keep-alive", "\"25\"", "a time with a unit"),
        ("", "link-rate = '10'", "peer far: link-rate", "\"10\"", "a rate such as 10mbit"),
        ("", "[[socks]]\nlisten = ':1080'", "line 8: listen", "':1080'", "a socket address with a port"),
        (
            "",
            "[[forward]]\nlisten = '127.0.0.1:1'\nto = '10.0.0.5:0'",
            "forward.to",
            "10.0.0.5:0",
            "a host and a port",
        ),
        (
            "",
            "[[forward]]\nlisten = '127.0.0.1:1'\nto = 'h:70000'",
            "forward.to",
            "h:70000",
            "a host and a port",
        ),
        ("", "[tun]\naddress = '10.77.0.2'", "tun.address", "10.77.0.2", "an address and its prefix length"),
        (
            "",
            "[tun]\naddress = '10.77.0.0/30'",
            "tun.address",
            "10.77.0.0/30",
            "an address of a host in a network",
        ),
        (
            "",
            "[tun]\naddress = '10.77.0.2/30'\ndevice = 'a-name-that-is-too-long'",
            "tun.device",
            "\"a-name-that-is-too-long\"",
            "a name of an interface, of at most 15",
        ),
        (
            "",
            &format!("{networks}{second}{networks}[tun]\naddress = '10.77.0.2/30'"),
            "peer.allowed-ips",
            "10.0.0.0/8",
            "each prefix at one peer",
        ),
    ] {
        let text = with(gateway, rest);
        let error = load(folder, &text).expect_err(&text);
        for part in [format!("gateway.toml: {place}: got "), got.to_owned(), format!(": expected {expected}")]
        {
            assert!(error.contains(&part), "{text}\nno {part:?} in {error}");
        }
    }
    // Of a line that is no value there is nothing that was got.
    for (gateway, rest, says) in [
        ("log-level = 'INFO'", "", "line 3: unknown variant `INFO`, expected one of `error`,"),
        ("keyfile = 'key'", "", "line 3: unknown field `keyfile`, expected one of `key-file`,"),
        ("mtu = 1500\nmtu = 1400", "", "line 4: duplicate key"),
        ("", "[[forward]]\nlisten = '127.0.0.1:1'", "line 7: missing field `to`"),
    ] {
        let text = with(gateway, rest);
        let error = load(folder, &text).expect_err(&text);
        assert!(error.contains(&format!("gateway.toml: {says}")), "{text}\n{error}");
    }
}

/// A gateway runs with it, and `headway trunk check` refuses it.
#[test]
fn what_will_not_work_as_it_is_meant_is_told() {
    let text = format!(
        "gateway.key-file = 'key'\n[[peer]]\nname = 'far'\npublic-key = '{}'\ndestinations = ['any', '10.1.2.3/8']\n\
         [[transparent]]\nlisten = '127.0.0.1:4'\ninterfaces = ['none0']\nto = ['fd00::1/8']\n",
        SecretKey::from_bytes([2; 32]).public()
    );
    let told = |text: &str| {
        let config = Config::parse(text, Path::new("gateway.toml")).expect("a configuration");
        config.remarks().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&text),
        [
            "peer far: endpoint: got nothing, and gateway.listen has no port: expected its address, or gateway.listen with a port at which it reaches this gateway",
            "peer far: destinations: got 10.1.2.3/8, an address in a network: expected 10.0.0.0/8, or 10.1.2.3/32 for this host alone",
            "transparent 127.0.0.1:4: to: got fd00::1/8, an address in a network: expected fd00::/8, or fd00::1/128 for this host alone",
            "transparent 127.0.0.1:4: interfaces: got none0: no such interface: expected an interface of this machine, as `ip link` lists them",
        ]
    );
    let better =
        text.replace("10.1.2.3/8", "10.0.0.0/8").replace("fd00::1/8", "fd00::/8").replace("none0", "lo");
    assert_eq!(told(&format!("gateway.listen = '0.0.0.0:1'\n{better}")), [""; 0]);
    assert_eq!(told("gateway.key-file = 'key'"), ["[[peer]]: got none: expected at least one"]);
}

/// The kernel would let only the first of them listen.
#[test]
fn listeners_with_the_same_address_and_port_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "key", &SecretKey::from_bytes([1; 32]).to_base64(), 0o600);
    let public = SecretKey::from_bytes([2; 32]).public();
    let with = |metrics: &str, one: &str, other: &str| {
        let metrics = format!("gateway = {{ key-file = 'key', metrics = '{metrics}' }}\n");
        let forward = format!("[[forward]]\nlisten = '{one}'\nto = 'host:1'\n");
        let socks = format!("[[socks]]\nlisten = '{other}'\n");
        load(folder, &format!("{metrics}[[peer]]\nname = 'far'\npublic-key = '{public}'\n{forward}{socks}"))
    };
    for (metrics, one, other, place, held) in [
        ("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:2", "socks 127.0.0.1:2", "forward 127.0.0.1:2"),
        ("127.0.0.1:1", "0.0.0.0:2", "127.0.0.1:2", "socks 127.0.0.1:2", "forward 0.0.0.0:2"),
        ("127.0.0.1:1", "[::1]:2", "[::]:2", "socks [::]:2", "forward [::1]:2"),
        ("127.0.0.1:1", "127.0.0.1:1", "127.0.0.1:2", "forward 127.0.0.1:1", "gateway.metrics 127.0.0.1:1"),
    ] {
        let error = with(metrics, one, other).expect_err("one address twice");
        let expected = format!(
            "gateway.toml: {place}: listen: got an address and port that {held} has: expected another"
        );
        assert!(error.contains(&expected), "{error}\n{expected}");
    }
    for (one, other) in [
        ("127.0.0.1:2", "127.0.0.1:3"),
        ("127.0.0.1:2", "127.0.0.2:2"),
        ("0.0.0.0:2", "[::1]:2"),
        ("127.0.0.1:0", "127.0.0.1:0"),
    ] {
        assert_eq!(with("127.0.0.1:1", one, other), Ok(()), "{one} {other}");
    }
}

/// What is at the path of the socket would be removed.
#[test]
fn a_status_socket_in_the_place_of_something_else_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "key", &SecretKey::from_bytes([1; 32]).to_base64(), 0o600);
    fs::create_dir(folder.join("run")).expect("a folder");
    std::os::unix::fs::symlink("nothing", folder.join("link")).expect("a link");
    drop(std::os::unix::net::UnixListener::bind(folder.join("left")).expect("a socket"));
    let public = SecretKey::from_bytes([2; 32]).public();
    let with = |socket: &str| {
        let gateway = format!("gateway = {{ key-file = 'key', status-socket = '{socket}' }}\n");
        load(folder, &format!("{gateway}[[peer]]\nname = 'far'\npublic-key = '{public}'\n"))
    };
    for good in ["new", "left", "run/new"] {
        assert_eq!(with(good), Ok(()), "{good}");
    }
    for (bad, what) in [
        ("key", "key, which is a file: expected"),
        ("run", "run, which is a folder: expected"),
        ("link", "link, which is a symbolic link: expected"),
        ("none/new", "none/new, whose folder cannot be used (No such file"),
        ("key/new", "key/new, Not a directory"),
        ("/dev/null", "/dev/null, which is a device or a pipe: expected"),
    ] {
        let error = with(bad).expect_err(bad);
        assert!(
            error.contains("gateway.toml: gateway.status-socket: got ") && error.contains(what),
            "{error}"
        );
    }
    assert!(folder.join("key").exists());
}

/// A running gateway is asked while its file is being edited.
#[test]
fn the_status_socket_is_found_in_a_configuration_that_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let find = |text: &str| {
        write(folder.path(), "gateway.toml", text, 0o644);
        status_socket(&path).map_err(|error| error.to_string())
    };
    let socket = Ok(Some(folder.path().join("run/socket")));
    for text in [
        "gateway = { key-file = 'none', status-socket = 'run/socket' }\n",
        "[gateway]\nkey-file = 3\nmtu = 'long'\nstatus-socket = 'run/socket'\n[peer]\nname = ''\n",
        "[gateway]\nkey-file = \nstatus-socket = 'run/socket'\n",
        "[gateway]\nkey-file = \"key\nstatus-socket = 'run/socket'\n",
        "[gateway]\nstatus-socket = 'run/socket'\n[[peer\nname = 'far'\n",
        "[gateway]\nstatus-socket = 'run/socket'\nmtu\n[[peer]]\nname = \"",
    ] {
        assert_eq!(find(text), socket, "{text}");
    }
    assert_eq!(find("[gateway]\nkey-file = 'key'\n"), Ok(None));
    assert_eq!(find("gateway = 3"), Ok(None));
    for (text, says) in [
        ("[gateway\nstatus", "gateway.toml: line 1: "),
        (
            "[gateway]\nstatus-socket = 3",
            "gateway.status-socket: got a value of the kind integer: expected a path",
        ),
    ] {
        let error = find(text).expect_err(text);
        assert!(error.contains(says), "{error}");
    }
    assert!(
        status_socket(&folder.path().join("missing")).expect_err("no file").to_string().contains("No such")
    );
}

#[test]
fn the_schema_names_the_tables() {
    let schema: serde_json::Value = serde_json::from_str(&headway_trunk::schema()).expect("JSON");
    for table in ["gateway", "peer", "forward", "socks", "transparent", "tun"] {
        assert!(schema["properties"][table].is_object(), "{table}");
    }
}

#[test]
fn a_device_needs_only_an_address() {
    let text = "gateway.key-file = 'key'\ntun.address = '10.77.0.2/30'\n";
    let config = Config::parse(text, Path::new("gateway.toml")).expect("a configuration");
    let tun = config.tun.expect("a device");
    assert_eq!((tun.device.as_str(), tun.deadline.as_str()), ("headway0", "2s"));
}

#[test]
fn the_corpus_of_the_fuzzer_holds() {
    headway_test_fixture::corpus::replay("trunk_config", fuzzed::check_config);
}
