//! Ends of connections between headway's TCP and the kernel's.

use std::io::Write as _;
use std::process::Stdio;

use headway_test_fixture::pattern::Pattern;
use headway_test_fixture::process::wait_until;

use crate::namespace::{HEADWAY, KERNELS, Namespace, TUN, start};
use crate::programs::{python_peer, sha256};

fn nc(namespace: &Namespace) -> std::process::Command {
    let mut command = namespace.command(HEADWAY, &[&["nc", KERNELS, "9000"], &TUN[..]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn half_close() {
    let Some(namespace) = Namespace::new() else { return };
    // The peer answers after it has received the FIN.
    let peer = python_peer(
        &namespace,
        "data = b''\n\
         while (piece := c.recv(65536)): data += piece\n\
         c.sendall(data[::-1])\n\
         c.close()",
    );
    let mut nc = nc(&namespace).spawn().unwrap();
    nc.stdin.take().unwrap().write_all(b"half-close").unwrap();
    let output = nc.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "esolc-flah");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    peer.finish();
}

#[test]
fn the_kernels_reset_is_an_error() {
    let Some(namespace) = Namespace::new() else { return };
    // Linger with time zero makes close() a reset.
    let _peer = python_peer(
        &namespace,
        "c.recv(1)\n\
         c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))\n\
         c.close()",
    );
    let mut nc = nc(&namespace).spawn().unwrap();
    // It must not end at the end of input.
    let mut input = nc.stdin.take().unwrap();
    input.write_all(b"x").unwrap();
    let output = nc.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("connection reset by the peer"), "{complaint}");
}

#[test]
fn a_signal_resets_open_connections() {
    let Some(namespace) = Namespace::new() else { return };
    let peer = python_peer(
        &namespace,
        "c.sendall(b'hello')\n\
         try: print('end' if c.recv(1) == b'' else 'data')\n\
         except ConnectionResetError: print('reset')",
    );
    let mut nc = nc(&namespace).spawn().unwrap();
    let mut hello = [0; 5];
    std::io::Read::read_exact(nc.stdout.as_mut().unwrap(), &mut hello).unwrap();
    assert_eq!(&hello, b"hello");
    // It must not end at the end of input.
    let _input = nc.stdin.take();
    let pid = nc.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = nc.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("stopped by SIGINT"), "{complaint}");
    assert_eq!(output.status.code(), Some(130));
    // All data was read, so it is closed with a FIN.
    assert_eq!(peer.finish().trim(), "end");
}

/// As ssh's ProxyCommand: standard output must end with the peer's FIN while standard input is open.
#[test]
fn the_peers_fin_closes_standard_output() {
    let Some(namespace) = Namespace::new() else { return };
    let peer = python_peer(
        &namespace,
        "c.sendall(b'bye')\n\
         c.shutdown(socket.SHUT_WR)\n\
         print(c.recv(100).decode())",
    );
    let mut nc = nc(&namespace).spawn().unwrap();
    let mut received = String::new();
    std::io::Read::read_to_string(nc.stdout.as_mut().unwrap(), &mut received).unwrap();
    assert_eq!(received, "bye");
    // The other direction remains open.
    nc.stdin.take().unwrap().write_all(b"later").unwrap();
    assert!(nc.wait().unwrap().success());
    assert_eq!(peer.finish().trim(), "later");
}

#[test]
fn a_closed_port_refuses() {
    let Some(namespace) = Namespace::new() else { return };
    let output = nc(&namespace).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("10.77.2.1:9000") && complaint.contains("refused"), "{complaint}");
}

#[test]
fn a_closed_port_refuses_the_kernel() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let _server = start(&namespace, &[&["serve", path], &TUN[..]].concat());
    namespace.wait_for_http("10.77.2.2");
    let script = "import socket\n\
                  try: socket.create_connection(('10.77.2.2', 81), 60)\n\
                  except ConnectionRefusedError: print('refused')";
    let output = namespace.run("python3", &["-c", script]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "refused");
}

#[test]
fn a_removed_interface_is_named() {
    let Some(namespace) = Namespace::new() else { return };
    let _peer = python_peer(&namespace, "c.sendall(b'hello')\nc.recv(1)");
    let mut nc = nc(&namespace).spawn().unwrap();
    let _input = nc.stdin.take();
    let mut hello = [0; 5];
    std::io::Read::read_exact(nc.stdout.as_mut().unwrap(), &mut hello).unwrap();
    namespace.ip(&["link", "del", "hw0"]);
    let output = nc.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("TUN hw0"), "{complaint}");
}

#[test]
fn a_peer_that_is_killed_resets() {
    let Some(namespace) = Namespace::new() else { return };
    let peer = python_peer(
        &namespace,
        "c.sendall(b'hello')\n\
         import time; time.sleep(1000)",
    );
    let mut nc = nc(&namespace).spawn().unwrap();
    let mut hello = [0; 5];
    std::io::Read::read_exact(nc.stdout.as_mut().unwrap(), &mut hello).unwrap();
    let mut input = nc.stdin.take().unwrap();
    // Unread data makes its kernel send a RST at the end.
    input.write_all(&[0; 1000]).unwrap();
    wait_until("what was sent", || {
        let sockets = namespace.run("ss", &["-Htn", "sport = :9000"]).stdout;
        String::from_utf8_lossy(&sockets).split_whitespace().nth(1) == Some("1000")
    });
    drop(peer);
    let output = nc.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("connection reset by the peer"), "{complaint}");
}

/// RFC 9293, 3.8.6.1: "The sending TCP peer must regularly transmit at least one octet of new data (if
/// available), or retransmit to the receiving TCP peer even if the send window is zero". The peer reads once four
/// segments have brought its kernel nothing.
#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let Some(namespace) = Namespace::new() else { return };
    let peer = python_peer(
        &namespace,
        "import time, hashlib\n\
         def counts():\n\
         \tinfo = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 144)\n\
         \treturn struct.unpack_from('Q', info, 128)[0], struct.unpack_from('I', info, 140)[0]\n\
         before = counts()\n\
         for _ in range(6000):\n\
         \tnow = counts()\n\
         \tif now[0] != before[0]: before = now\n\
         \telif now[1] >= before[1] + 4: break\n\
         \ttime.sleep(0.01)\n\
         else: sys.exit('no probes')\n\
         data = b''\n\
         while (piece := c.recv(65536)): data += piece\n\
         c.close()\n\
         print(hashlib.sha256(data).hexdigest())",
    );
    let bytes = Pattern(7).bytes(0, 20_000_000);
    let mut nc = nc(&namespace).spawn().unwrap();
    let mut input = nc.stdin.take().unwrap();
    let expected = sha256(&bytes);
    let writing = std::thread::spawn(move || input.write_all(&bytes));
    let output = nc.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    writing.join().unwrap().unwrap();
    assert_eq!(peer.finish().trim(), expected);
}

#[test]
fn a_tree_of_files_goes_through_nc() {
    let Some(namespace) = Namespace::new() else { return };
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [from, to] = folders.each_ref().map(|folder| folder.path().to_str().unwrap());
    for index in 0..100 {
        let folder = folders[0].path().join(format!("folder {}", index % 7));
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = Pattern(index).bytes(0, 1000 * index as usize);
        std::fs::write(folder.join(index.to_string()), bytes).unwrap();
    }
    let receiving = format!("{HEADWAY} nc --kernel --listen 9000 < /dev/null | tar -x -C {to}");
    let mut receiver = namespace.command("sh", &["-c", &receiving]).spawn().unwrap();
    namespace.wait_for_listener(9000);
    let sending = format!("tar -c -C {from} . | {HEADWAY} nc {} {KERNELS} 9000", TUN.join(" "));
    namespace.run("sh", &["-c", &sending]);
    assert!(receiver.wait().unwrap().success());
    namespace.run("diff", &["-r", from, to]);
}
