//! The live page of a gateway; what it shows is tested with a browser.

use std::net::TcpListener;
use std::process::Command;

use headway_test_fixture::live_page::LivePage;
use headway_test_fixture::process::wait_until;

use crate::namespace::HEADWAY;

#[test]
fn a_gateway_whose_page_has_no_port_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| Command::new(HEADWAY).args(words).current_dir(folder.path()).output().unwrap();
    assert!(run(&["trunk", "keygen", "ours.key"]).status.success());
    let theirs = String::from_utf8(run(&["trunk", "keygen", "theirs.key"]).stdout).unwrap();
    let text = format!(
        "[gateway]\nkey-file = 'ours.key'\nlisten = '127.0.0.1:0'\nstatus-socket = 'socket'\n\
         [[peer]]\nname = 'far'\npublic-key = '{}'\n",
        theirs.trim()
    );
    std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
    let mut command = Command::new(HEADWAY);
    command.args(["trunk", "run", "gateway.toml", "--watch"]).current_dir(folder.path());
    // Where there are no libraries there is no page either.
    let Some(page) = LivePage::start(command) else { return };
    wait_until("the gateway", || page.has_said("headway: gateway "));
    assert_eq!(page.get("/").status, 200);
    assert!(page.stop().status.success());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = run(&["trunk", "run", "gateway.toml", "--watch", &address]);
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert_eq!((refused.status.code(), complaint.lines().count()), (Some(1), 1), "{complaint}");
    assert!(complaint.contains(&address) && complaint.contains("expected a free TCP address"), "{complaint}");
    assert!(!folder.path().join("socket").exists());
}
