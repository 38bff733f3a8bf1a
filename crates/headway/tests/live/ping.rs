//! Pings from the kernel are answered.

/// Sends echo requests of several lengths from a raw socket, and compares the replies.
const PING: &str = r"
import os, socket, struct, sys
address = sys.argv[1]
v6 = ':' in address
family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if v6 else (socket.AF_INET, socket.IPPROTO_ICMP)
s = socket.socket(family, socket.SOCK_RAW, protocol)
s.connect((address, 0))
s.settimeout(60)
def total(data):
    data += bytes(len(data) % 2)
    n = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while n >> 16: n = (n & 0xffff) + (n >> 16)
    return ~n & 0xffff
for number, length in enumerate([0, 1, 56, 1000, 1452]):
    data = os.urandom(length)
    def message(kind, check):
        return struct.pack('!BBHHH', kind, 0, check, 77, number) + data
    kind, reply = (128, 129) if v6 else (8, 0)
    # Over IPv6 the kernel computes the checksum.
    s.send(message(kind, 0 if v6 else total(message(kind, 0))))
    while True:
        got = s.recv(65536)
        if not v6:
            got = got[(got[0] & 15) * 4:]
        if got[0] == reply and got[4:] == message(reply, 0)[4:]:
            break
print('answered')
";
use crate::namespace::{Namespace, OURS, TUN, start};

pub(crate) fn ping(from: &Namespace, address: &str) {
    let printed = from.run("python3", &["-c", PING, address]).stdout;
    assert_eq!(String::from_utf8_lossy(&printed).trim(), "answered", "{address}");
}

#[test]
fn over_a_tun() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let server = start(&namespace, &[&["serve", path], &TUN[..]].concat());
    namespace.wait_for_http(OURS);
    ping(&namespace, OURS);
    drop(server);
    let words = ["serve", path, "--tun", "hw0", "--address", "fd77::2/64"];
    let _server = start(&namespace, &words);
    namespace.wait_for_http("[fd77::2]");
    ping(&namespace, "fd77::2");
}
