//! How connections between our TCP and the kernel's end.

use std::io::Write as _;
use std::process::Stdio;

use crate::namespace::{HEADWAY, KERNELS, Namespace, TUN};
use crate::programs::python_peer;

fn nc(namespace: &Namespace) -> std::process::Command {
    let mut command = namespace.command(HEADWAY, &[&["nc", KERNELS, "9000"], &TUN[..]].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn our_half_close_is_heard_and_the_answer_comes() {
    let Some(namespace) = Namespace::new() else { return };
    // The peer answers when it has heard our end.
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
    // It must not end for want of input.
    let mut input = nc.stdin.take().unwrap();
    input.write_all(b"x").unwrap();
    let output = nc.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("connection reset by the peer"), "{complaint}");
}

#[test]
fn our_end_by_a_signal_resets_what_is_open() {
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
    let pid = nc.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = nc.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("stopped by SIGINT"));
    // All was read, so it is closed gracefully.
    assert_eq!(peer.finish().trim(), "end");
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
fn our_own_closed_port_refuses_the_kernel() {
    let Some(namespace) = Namespace::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let _server = namespace.headway(&[&["serve", path], &TUN[..]].concat());
    namespace.wait_for_http("10.77.2.2");
    let script = "import socket\n\
                  try: socket.create_connection(('10.77.2.2', 81), 60)\n\
                  except ConnectionRefusedError: print('refused')";
    let output = namespace.run("python3", &["-c", script]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "refused");
}

#[test]
fn an_interface_that_goes_is_named() {
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
