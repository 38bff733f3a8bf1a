//! `results.lock`: whether the code gives the results that rows of its digest came from.
//!
//! A fixed set of short runs, every packet and every measured value of which goes into a digest. Where the
//! digest is that of the lock, rows that carry it are what this code would make.

use std::fmt::Write as _;
use std::path::Path;

use headway_lab::{Experiment, Overrides, Request, Results, Row, replay, run};
use headway_link::{EnqueueResult, Headers, Link, LinkConfig};
use headway_sim::race::RunMetrics;
use headway_sim::{Passing, Tap};
use headway_units::{Duration, Instant};
use sha2::{Digest, Sha256};

const LOCK: &str = "results.lock";
const HOW: &str = "HEADWAY_UPDATE=1 cargo test -p headway-lab --test all results_lock";

/// The runs of the TCPs: axes and scenario of an experiment each, under a name that their seeds derive from.
const RUNS: &[(&str, &str, &str)] = &[
    (
        "papers",
        r#"variant = ["newreno", "sack", "hack", "hack+sack", "xhack", "xhack+sack"]
           profile = ["linux22", "standard", "modern"]
           header-hit = ["0%", "40%", "95%"]"#,
        r#"damage = "burst:5%:3"
           reverse-damage = "random:3%""#,
    ),
    (
        "literal-rules",
        r#"variant = ["hack", "hack+sack", "xhack", "xhack+sack"]
           profile = ["linux22", "standard"]"#,
        r#"damage = "random:5%"
           header-hit = "0%"
           rules = "literal""#,
    ),
    (
        "ours",
        r#"variant = ["modern", "modern+hack", "headway"]
           cc = ["newreno", "cubic", "bbr"]
           header-hit = ["10%", "95%"]
           damage = ["random:2%", "burst:5%:5"]"#,
        r#"reverse-damage = "random:2%""#,
    ),
    ("no-tlp", OURS, r#"tlp = "off""#),
    ("no-prr", OURS, r#"prr = "off""#),
    ("no-frto", OURS, r#"frto = "off""#),
    ("no-undo", OURS, r#"undo = "off""#),
    ("no-hystart", OURS, r#"hystart = "off""#),
    ("no-pacing", OURS, r#"pacing = "off""#),
    ("no-ecn", OURS, r#"ecn = "off""#),
    ("no-autotune", OURS, r#"autotune = "off""#),
    ("no-ledger", OURS, r#"ledger = "off""#),
    ("no-repair", OURS, r#"repair = "off""#),
    (
        "partial-dropped",
        r#"variant = ["headway"]
           damage = ["random:2%"]"#,
        r#"aqm = "codel"
           queue = "334p"
           window = "8MiB"
           delay = "50ms"
           size = "4MB"
           companions = "3 headway"
           rivals = "4 modern:bbr undamaged""#,
    ),
    (
        "partial",
        r#"variant = ["headway:newreno", "headway:cubic", "headway:bbr"]
           damage = ["random:3%", "burst:4%:4"]"#,
        r#"partial = "on""#,
    ),
    (
        "damage",
        r#"variant = ["sack", "hack+sack", "headway", "oracle"]
           damage = ["none", "random:3%", "burst:4%:4", "burst:4%:4:time", "burst-hit:10%:3", "ber:1e-5",
                     "gilbert:4%:25%:0%:80%", "gilbert-bit:1e-6:1e-4:0:1e-3"]
           header-hit = ["place", "30%"]"#,
        "",
    ),
    (
        "frames",
        r#"variant = ["hack+sack", "headway"]
           frame-check = ["keep", "drop", "arq:3"]
           hit-zone = ["tcp", "ip+tcp"]
           flips = [1, 8]"#,
        r#"damage = "random:5%""#,
    ),
    (
        "paths",
        r#"variant = ["newreno", "hack+sack", "xhack+sack", "modern:cubic", "modern:bbr", "headway:cubic", "headway:bbr", "oracle"]
           queue = ["20p", "16KiB", "1bdp"]
           reorder = ["0%", "5%"]"#,
        r#"loss = "2%"
           duplicate = "1%"
           jitter = "2ms"
           reorder-delay = "7ms"
           overhead = 18
           reverse-rate = "1mbit"
           mtu = 576"#,
    ),
    (
        "lossy-acks",
        r#"variant = ["modern:cubic", "modern+hack:bbr", "headway:cubic", "headway:bbr"]"#,
        r#"size = "1MB"
           delay = "150ms"
           damage = "burst:15%:5"
           header-hit = "40%"
           hit-zone = "ip+tcp"
           loss = "5%"
           queue = "250p"
           window = "16MiB""#,
    ),
    (
        "jitter",
        r#"variant = ["hack+sack", "modern:cubic", "headway:bbr"]
           jitter-distribution = ["uniform:25%", "uniform:25%:ordered"]"#,
        r#"jitter = "8ms"
           damage = "random:2%""#,
    ),
    (
        "longer-path",
        r#"variant = ["modern:bbr", "headway:cubic", "headway:bbr"]"#,
        r#"size = "none"
           duration = "20s"
           delay-steps = "10ms@0s,150ms@4s"
           queue = "100p"
           window = "4MiB"
           loss = "1%"
           hit-zone = "ip+tcp"
           header-hit = "40%"
           damage = "burst:5%:5""#,
    ),
    (
        "unreported",
        r#"variant = ["modern:bbr", "headway:cubic", "headway:bbr"]
           loss = ["5%", "burst:10%:4"]"#,
        r#"size = "none"
           duration = "15s"
           delay = "50ms"
           queue = "1bdp"
           damage = "none""#,
    ),
    (
        "marks",
        r#"variant = ["modern:cubic", "modern:bbr", "headway:cubic", "headway:bbr"]
           mark = ["5p", "none"]"#,
        r#"queue = "50p"
           damage = "random:1%""#,
    ),
    (
        "companions",
        r#"variant = ["hack+sack", "modern:cubic", "headway:cubic", "headway:bbr"]
           rivals = ["none", "modern:cubic undamaged, 2 sack"]"#,
        r#"size = "none"
           duration = "4s"
           companions = "modern:bbr"
           cross = "1mbit"
           cross-packet = 700
           damage = "random:2%"
           jitter = "1ms""#,
    ),
    (
        "warm",
        r#"variant = ["sack", "modern:cubic", "modern:bbr", "headway:cubic", "headway:bbr"]
           damage = ["none", "burst:5%:3"]"#,
        r#"warm = "on"
           retries = 8"#,
    ),
];

/// Runs on paths of one's own, which have a digest of their own: no others depend on them.
const OWN_PATHS: &[(&str, &str, &str)] = &[(
    "own-path",
    r#"variant = ["headway:cubic", "headway:bbr"]
       loss = ["1%", "burst:10%:3"]
       damage = ["none", "burst:5%:5"]
       delay = ["10ms", "150ms"]"#,
    r#"own-path = "on"
       size = "2MB"
       queue = "1bdp"
       window = "4MiB"
       header-hit = "40%"
       hit-zone = "ip+tcp""#,
)];

/// Runs through gateways, which have a digest of their own: no others depend on them.
const TRUNKS: &[(&str, &str, &str)] = &[
    (
        "trunk-packets",
        r#"variant = ["newreno", "headway"]
           trunk = ["newreno", "sack", "hack+sack", "headway"]
           trunk-queue = ["10p", "unlimited"]
           trunk-aqm = ["none", "codel"]"#,
        r#"damage = "burst:3%:4"
           reverse-damage = "random:1%"
           trunk-window = "64KiB"
           trunk-cost = "500us"
           edge-rate = "100mbit"
           edge-delay = "1ms""#,
    ),
    (
        "trunk-split",
        r#"variant = ["newreno", "modern"]
           trunk = ["sack", "headway"]
           damage = ["none", "burst:3%:4"]"#,
        r#"trunk-mode = "split"
           companions = "2 modern, sack after 1s size 30KB"
           frames = "count"
           hit-zone = "ip+tcp""#,
    ),
    (
        "edges",
        r#"variant = ["newreno", "headway"]
           trunk = ["none", "headway"]"#,
        r#"edge-rate = "5mbit"
           edge-delay = "3ms"
           cross = "500kbit"
           damage = "random:2%""#,
    ),
];

/// Runs over several links in a row, which have a digest of their own: no others depend on them.
const IN_A_ROW: &[(&str, &str, &str)] = &[
    (
        "hops",
        r#"variant = ["hack+sack", "modern:cubic", "headway:cubic", "headway:bbr"]
           hops = ["1", "2", "rate 20mbit delay 10ms; rate 5mbit delay 15ms queue 30p damage none; rate 8mbit aqm codel"]"#,
        r#"damage = "random:2%"
           reverse-damage = "random:1%"
           jitter = "1ms""#,
    ),
    (
        "parking-lot",
        r#"variant = ["modern:cubic", "headway:cubic", "headway:bbr"]
           flow-hops = ["all", "2"]"#,
        r#"size = "none"
           duration = "4s"
           hops = "rate 8mbit; 2 delay 10ms"
           rivals = "modern:cubic undamaged hops 1, modern:bbr hops 2-3"
           companions = "sack hops 3"
           cross = "500kbit"
           cross-hops = "2"
           damage = "random:2%""#,
    ),
];

const OURS: &str = r#"variant = ["modern:cubic", "headway:cubic", "headway:bbr"]
    loss = ["0%", "1%"]
    damage = ["random:3%", "burst:4%:4"]"#;

/// What each of them has unless it says otherwise.
const COMMON: &[(&str, &str)] = &[
    ("size", "\"100KB\""),
    ("rate", "\"10mbit\""),
    ("delay", "\"25ms\""),
    ("window", "\"256KiB\""),
    ("time-limit", "\"600s\""),
];

/// The links of the digest for runs in real time: keys of a scenario.
const LINKS: &[&str] = &[
    "none",
    "random:5%",
    "burst:4%:4",
    "burst:4%:4:time",
    "burst-hit:10%:3",
    "ber:1e-5",
    "gilbert:4%:25%:0%:80%",
    "gilbert-bit:1e-6:1e-4:0:1e-3",
];

#[test]
fn the_lock_is_of_this_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LOCK);
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    let now = [
        Digests { key: "", code: env!("HEADWAY_TOKENS"), results: results(RUNS) },
        Digests { key: "own-path-", code: env!("HEADWAY_OWN_PATH_TOKENS"), results: results(OWN_PATHS) },
        Digests { key: "trunk-", code: env!("HEADWAY_TRUNK_TOKENS"), results: results(TRUNKS) },
        Digests { key: "hops-", code: env!("HEADWAY_HOPS_TOKENS"), results: results(IN_A_ROW) },
        Digests { key: "link-", code: env!("HEADWAY_LINK_TOKENS"), results: links() },
    ];
    let new = now.iter().fold(HEAD.to_owned(), |text, digests| text + &digests.lines(&old));
    if old == new {
        return;
    }
    if headway_test_fixture::corpus::is_update() {
        std::fs::write(&path, new).expect("the lock can be written");
        return;
    }
    let said: Vec<String> = now.iter().map(|digests| digests.verdict(&old)).collect();
    panic!(
        "{LOCK} is not of this code.\n{}\nThen write it anew and commit it with the change:\n  {HOW}",
        said.join("\n")
    );
}

const HEAD: &str = "\
# Which code gives which results; see \"Results\" in CONTRIBUTING.md. Written by
#   HEADWAY_UPDATE=1 cargo test -p headway-lab --test all results_lock
# code: the fingerprint of the tokens. results: the digest of all packets and values of a fixed set of runs, which
# rows carry. earlier: fingerprints of rows from code that gave the same results.
";

/// What this code is and gives.
struct Digests {
    key: &'static str,
    code: &'static str,
    results: String,
}

impl Digests {
    fn of_lock<'a>(&self, lock: &'a str, what: &str) -> &'a str {
        let start = format!("{}{what} = \"", self.key);
        lock.lines().find_map(|line| line.strip_prefix(&start)?.strip_suffix('"')).unwrap_or_default()
    }

    fn is_same(&self, lock: &str) -> bool {
        self.of_lock(lock, "results") == self.results
    }

    /// Its lines of the lock. Earlier code is that of the same results.
    fn lines(&self, lock: &str) -> String {
        let Self { key, code, results } = self;
        let earlier = if self.is_same(lock) { self.of_lock(lock, "earlier") } else { "" };
        format!("\n{key}code = \"{code}\"\n{key}results = \"{results}\"\n{key}earlier = \"{earlier}\"\n")
    }

    fn verdict(&self, lock: &str) -> String {
        let what = match self.key {
            "" => "runs in virtual time, and of our senders",
            "trunk-" => "runs through trunks",
            "hops-" => "runs over several links in a row",
            _ => "runs of other TCPs",
        };
        match (self.is_same(lock), self.of_lock(lock, "code") == self.code) {
            (true, true) => format!("{what}: nothing changed."),
            (true, false) => format!(
                "{what}: the code changed, the packets did not. Stored rows stay valid once the lock names this code."
            ),
            (false, _) => format!(
                "{what}: THE PACKETS CHANGED. Stored rows will be made again. If the change was to alter no \
                 result, it has a defect: mend it and do not update the lock."
            ),
        }
    }
}

/// The digest of these runs.
fn results(runs: &[(&str, &str, &str)]) -> String {
    let mut digest = Sha256::new();
    for (name, axes, scenario) in runs {
        let text = experiment(axes, scenario);
        let experiment = Experiment::parse(name, name, &text, &Overrides::default());
        let experiment = experiment.unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
        let folder = tempfile::tempdir().expect("a folder");
        let request = Request {
            experiment: &experiment,
            folder: folder.path(),
            reuse: false,
            testbed: None,
            progress: &(),
        };
        let results = run(&request).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(results.missing(), 0, "{name}");
        add(&mut digest, &results);
    }
    short(digest)
}

fn experiment(axes: &str, scenario: &str) -> String {
    let mut text = format!("title = \"Locked\"\nruns = 1\n[sweep]\n{axes}\n[scenario]\n");
    for line in scenario.lines().map(str::trim).filter(|line| *line != "size = \"none\"") {
        let _ = writeln!(text, "{line}");
    }
    for (key, value) in COMMON {
        if !format!("{axes}\n{scenario}").lines().any(|line| line.trim().starts_with(&format!("{key} ="))) {
            let _ = writeln!(text, "{key} = {value}");
        }
    }
    text + "[figure]\nkind = \"table\"\nmeasure = \"time\"\n"
}

fn add(digest: &mut Sha256, results: &Results) {
    for (cell, rows) in results.manifest.cells.iter().zip(&results.rows) {
        for row in rows {
            add_row(digest, row);
            // The oracle sends no packets.
            if cell.settings.get("variant").is_some_and(|variant| variant == "oracle") {
                continue;
            }
            let tap = PacketDigest(Sha256::new());
            let replayed =
                replay(&results.manifest, cell, row.seed, tap).expect("a run that was made before");
            digest.update(replayed.tap.0.finalize());
        }
    }
}

/// Every value that was measured. A new one is in no stored row: it goes in here, and makes them stale. Those that
/// came with trunks count in their runs alone; other rows may lack them.
fn add_row(digest: &mut Sha256, row: &Row) {
    let Row { run, seed, metrics } = row;
    let RunMetrics {
        finished,
        seconds,
        goodput_bps,
        share_of_bound,
        oracle_bps,
        share_of_oracle,
        sha256_ok,
        damaged_bytes_delivered,
        undetected_packets,
        delivered_bytes,
        bytes_sent,
        retransmissions,
        timeouts,
        slow_starts,
        fast_recoveries,
        special_acks,
        queue_drops,
        queue_delay_median_seconds,
        queue_delay_p95_seconds,
        drops_per_megabyte,
        jain,
        jain_alike,
        rival_goodput_bps,
        companions_bps,
        total_goodput_bps,
        link_bytes,
        link_payload_bytes,
        trunk_retransmissions,
        trunk_timeouts,
        trunk_queue_drops,
        hop_queue_drops,
        hop_queue_delay_p95_seconds,
        hop_damaged,
        // They follow from when packets pass, which is in the digest; rows that are older than they are have none.
        one_way_delay_median_seconds: _,
        one_way_delay_p95_seconds: _,
        delay_variation_seconds: _,
        // Of runs in real time.
        box_late_seconds: _,
        box_latest_seconds: _,
        failure,
    } = metrics;
    let text = format!(
        "{run} {seed} {finished} {seconds:?} {goodput_bps:?} {share_of_bound:?} {oracle_bps:?} {share_of_oracle:?} \
         {sha256_ok:?} {damaged_bytes_delivered} {undetected_packets:?} {delivered_bytes} {bytes_sent:?} \
         {retransmissions:?} {timeouts:?} {slow_starts:?} {fast_recoveries:?} {special_acks:?} {queue_drops:?} \
         {queue_delay_median_seconds:?} {queue_delay_p95_seconds:?} {drops_per_megabyte:?} {jain:?} {jain_alike:?} {rival_goodput_bps:?} {companions_bps:?} {}\n",
        failure.is_some()
    );
    digest.update(text);
    if trunk_retransmissions.is_some() {
        digest.update(format!(
            "{total_goodput_bps:?} {link_bytes:?} {link_payload_bytes:?} {trunk_retransmissions:?} {trunk_timeouts:?} \
             {trunk_queue_drops:?}\n"
        ));
    }
    if !hop_queue_drops.is_empty() {
        digest.update(format!(
            "{total_goodput_bps:?} {link_bytes:?} {link_payload_bytes:?} {hop_queue_drops:?} \
             {hop_queue_delay_p95_seconds:?} {hop_damaged:?}\n"
        ));
    }
}

/// A digest of every packet, where and when it passes.
struct PacketDigest(Sha256);

impl Tap for PacketDigest {
    fn pass(&mut self, passing: &Passing<'_>) {
        self.0.update(passing.at.as_nanos().to_le_bytes());
        self.0.update([u8::from(passing.outbound)]);
        self.0.update((passing.packet.len() as u64).to_le_bytes());
        self.0.update(passing.packet);
    }
}

/// The digest of what links do to packets, whoever sent them.
fn links() -> String {
    const PACKETS: u64 = 2000;
    const HEADERS: Headers = Headers { ip_header_len: 20, header_len: 52 };
    let mut digest = Sha256::new();
    for (number, damage) in LINKS.iter().enumerate() {
        for frame_check in ["keep", "drop", "arq:3"] {
            let config = LinkConfig {
                rate: Some("10mbit".parse().expect("a rate")),
                delay: Duration::from_millis(20),
                queue: "30p".parse().expect("a queue"),
                mark: Some("10p".parse().expect("a queue")),
                overhead: 18,
                jitter: Duration::from_micros(700),
                loss: "1%".parse().expect("a share"),
                duplicate: "1%".parse().expect("a share"),
                reorder: "2%".parse().expect("a share"),
                reorder_delay: Duration::from_millis(5),
                damage: damage.parse().expect("a damage model"),
                frame_check: frame_check.parse().expect("a frame check"),
                header_hit: (number % 2 == 0).then(|| "40%".parse().expect("a share")),
                ..LinkConfig::default()
            };
            let mut link: Link<Vec<u8>> = Link::new(config, number as u64);
            for packet in 0..PACKETS {
                // Bursts, so that the queue grows, is marked and overflows.
                let now = Instant::ZERO + Duration::from_millis(60 * (packet / 50));
                deliver(&mut link, now, &mut digest);
                let bytes = vec![packet as u8; if packet % 3 == 0 { 52 } else { 1500 }];
                let len = bytes.len();
                let refused = matches!(
                    link.enqueue(now, bytes, len, HEADERS, packet % 5 != 0),
                    EnqueueResult::Dropped(_)
                );
                digest.update([u8::from(refused)]);
            }
            deliver(&mut link, Instant::ZERO + Duration::from_secs(3600), &mut digest);
        }
    }
    short(digest)
}

fn deliver(link: &mut Link<Vec<u8>>, now: Instant, digest: &mut Sha256) {
    while let Some(at) = link.next_event().filter(|at| *at <= now) {
        while let Some(delivery) = link.poll(at) {
            digest.update(at.as_nanos().to_le_bytes());
            digest.update((delivery.packet.len() as u64).to_le_bytes());
            digest.update(&delivery.packet);
        }
    }
}

fn short(digest: Sha256) -> String {
    digest.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
