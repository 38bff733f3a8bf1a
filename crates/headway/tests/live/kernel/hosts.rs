//! Two hosts whose kernels may use HACK, with the box between them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use headway_ebpf::requirements;
use headway_test_fixture::process::wait_until;
use serde_json::Value;

use crate::error_delay_box::testbed::RunningBox;
use crate::namespace::{HEADWAY, Namespace, say_skipped};

/// The addresses of the hosts.
pub(super) const LEFT: [&str; 2] = ["10.79.0.1", "fd79::1"];
pub(super) const RIGHT: [&str; 2] = ["10.79.0.2", "fd79::2"];

/// Left, box, right.
pub(super) struct Hosts {
    pub(super) left: Host,
    pub(super) middle: Namespace,
    pub(super) right: Host,
}

impl Hosts {
    /// `None`, after saying so, where the machine lacks something.
    pub(super) fn new() -> Option<Self> {
        if let Some(missing) = requirements::all().iter().find(|requirement| !requirement.met) {
            say_skipped("bpf", &format!("{} is missing: {}", missing.name, missing.purpose));
            return None;
        }
        let hosts = Self { left: Host::new()?, middle: Namespace::new()?, right: Host::new()? };
        for (end, host, addresses) in [("hwa", &hosts.left, LEFT), ("hwb", &hosts.right, RIGHT)] {
            let namespace = &host.namespace;
            hosts.middle.ip(&[
                "link",
                "add",
                end,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                namespace.name(),
            ]);
            hosts.middle.run("sysctl", &["-qw", &format!("net.ipv6.conf.{end}.disable_ipv6=1")]);
            hosts.middle.ip(&["link", "set", end, "up"]);
            // Version 2 needs whole packets.
            namespace.ip(&["link", "set", "eth0", "gso_max_segs", "1", "up"]);
            namespace.ip(&["addr", "add", &format!("{}/24", addresses[0]), "dev", "eth0"]);
            namespace.ip(&["addr", "add", &format!("{}/64", addresses[1]), "dev", "eth0", "nodad"]);
        }
        Some(hosts)
    }

    /// Starts the box, and waits until it is ready.
    pub(super) fn start_box(&self, words: &[&str]) -> RunningBox {
        RunningBox::start(&self.middle, &[&["hwa", "hwb"], words].concat())
    }

    /// Attaches the programs on both.
    pub(super) fn attach(&self, words: &[&str]) -> [Attached; 2] {
        [self.left.attach(words), self.right.attach(words)]
    }
}

/// A namespace, and a cgroup for its programs.
pub(super) struct Host {
    pub(super) namespace: Namespace,
    pub(super) cgroup: PathBuf,
}

impl Host {
    fn new() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let namespace = Namespace::new()?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = requirements::cgroup_root()?;
        let cgroup = root.join(format!("hw-{}-kernel{number}", std::process::id()));
        if let Err(error) = fs::create_dir(&cgroup) {
            say_skipped("bpf", &format!("{}: {error}", cgroup.display()));
            return None;
        }
        Some(Self { namespace, cgroup })
    }

    /// A command in the namespace, and in the cgroup.
    pub(super) fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new("sh");
        let join = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", self.cgroup.display());
        command.args(["-c", &join, "sh", "ip", "netns", "exec", self.namespace.name(), program]).args(words);
        command
    }

    #[track_caller]
    pub(super) fn run(&self, program: &str, words: &[&str]) -> Output {
        let output = self.command(program, words).output().unwrap();
        assert!(output.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    pub(super) fn start(&self, program: &str, words: &[&str]) -> Process {
        let mut command = self.command(program, words);
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// Python's file server in the cgroup, for both versions of IP.
    pub(super) fn serve(&self, folder: &Path) -> Process {
        self.serve_with(folder, "cubic")
    }

    /// With a congestion control: a namespace's default can only be one of those that all users may choose.
    pub(super) fn serve_with(&self, folder: &Path, congestion: &str) -> Process {
        let script = "import functools, http.server, socket, sys\n\
            class Server(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6\n\
            handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])\n\
            server = Server(('::', 8000), handler)\n\
            server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())\n\
            server.serve_forever()";
        let server = self.start("python3", &["-c", script, folder.to_str().unwrap(), congestion]);
        self.namespace.wait_for_listener(8000);
        server
    }

    /// A headway command in the namespace: `ip netns exec` would hide the cgroups.
    pub(super) fn headway(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace.name())).arg(HEADWAY).args(words);
        command
    }

    pub(super) fn attach_command(&self, words: &[&str]) -> Command {
        let mut command = self.headway(&["kernel", "attach", "--interface", "eth0", "--cgroup"]);
        command.arg(&self.cgroup).args(words);
        command
    }

    /// Attaches the programs, and waits until they are attached.
    pub(super) fn attach(&self, words: &[&str]) -> Attached {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let mut command = self.attach_command(words);
        let process = Process(command.arg("--ready-file").arg(&ready).stdin(Stdio::null()).spawn().unwrap());
        wait_until("the programs are attached", || ready.exists());
        Attached { process, cgroup: self.cgroup.clone() }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Programs of the test may still run: the folder of a cgroup goes when none does.
        for pid in fs::read_to_string(self.cgroup.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = Command::new("kill").args(["-KILL", pid]).output();
        }
        wait_until("the cgroup is empty", || {
            fs::read_to_string(self.cgroup.join("cgroup.procs")).is_ok_and(|pids| pids.is_empty())
        });
        let _ = fs::remove_dir(&self.cgroup);
    }
}

/// A running program, killed on drop.
pub(super) struct Process(pub(super) Child);

impl Process {
    pub(super) fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Programs attached to a host.
pub(super) struct Attached {
    pub(super) process: Process,
    cgroup: PathBuf,
}

impl Attached {
    /// What `headway kernel status` says of them.
    pub(super) fn status(&self) -> Value {
        let cgroup = self.cgroup.to_str().unwrap();
        let found = all().into_iter().find(|one| one["cgroup"] == cgroup);
        found.unwrap_or_else(|| panic!("nothing is attached to {cgroup}"))
    }

    /// One of the counters.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.status()["counters"][name].as_u64().unwrap_or_else(|| panic!("no counter {name}"))
    }
}

/// What `headway kernel status` lists.
pub(super) fn all() -> Vec<Value> {
    let output = Command::new(HEADWAY).args(["kernel", "status", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    status["attached"].as_array().unwrap().clone()
}
