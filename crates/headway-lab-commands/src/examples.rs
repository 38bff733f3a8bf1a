//! The examples in the help of the commands of experiments.

pub(super) const LAB: &str = "\
Examples:
  headway lab new my > my.toml
  headway lab check my.toml
  headway lab run my.toml
  headway lab run beyond/*.toml
  headway lab run my.toml --runs 5 --set delay=150ms --set variant=modern:cubic,headway
  headway lab run my.toml --dask tcp://10.0.0.1:8786
  headway lab live my.toml
  headway lab report results
  headway lab explore results
  headway lab schema > experiment.schema.json

Results go to results/NAME: runs.csv, runs.parquet, and a journal from which an interrupted sweep \
goes on. `headway paper show NAME` prints a file of a paper. Recordings that a file names (`trace:FILE`, \
`rate-trace`, `pcap:FILE`) are looked for beside it, and then among those that come with the program.";

pub(super) const RUN: &str = "\
Examples:
  headway lab run my.toml
      All its runs that are not in results/my yet.
  headway lab run my.toml --runs 5 --set delay=150ms --set variant=modern:cubic,headway --out quick
      Fewer runs, at another delay, of two senders, into quick/my.
  headway lab run beyond/*.toml --reuse
  headway lab run my.toml --dask tcp://10.0.0.1:8786
      On a Dask cluster.";

pub(super) const LIVE: &str = "\
Examples:
  headway lab live my.toml
      Cells with clock = \"real\" in real time, the others in the simulator; where the file names no \
      clock, all in real time. Results then go to results/my-live, beside those of `headway lab run`.
  headway lab live live/*.toml --jobs 24
  headway lab report results
  headway lab live my.toml --set variant=modern:cubic,headway,linux:cubic,linux:bbr,quinn:bbr,kcptun

Each run has network namespaces of its own for two hosts and a box between them, which is the \
simulator's link on real packets. They end with this program, however it ends. Senders are ours, \
those of the kernel (linux:NAME, of net.ipv4.tcp_available_congestion_control), quinn:bbr (QUIC; built \
by `cargo build --release --manifest-path reference/quinn/Cargo.toml --target-dir target`), kcptun \
(the package of this name; kcptun:10+3 has three packets of parity for each ten) and hysteria:bbr, hysteria:brutal \
(built by `reference/trunk/rivals`). An interrupted sweep goes on where it stopped. Needs root and iproute2.";

pub(super) const CHECK: &str = "\
Examples:
  headway lab check my.toml
  headway lab check beyond/*.toml live/*.toml";

pub(super) const REPORT: &str = "\
Examples:
  headway lab report results
      A page with the figures and claims of all experiments in this folder: results/report.html.
  headway lab report results/my --html my.html --figures figures
      Of one experiment, with a drawing (SVG) of each figure.
  headway lab report results --markdown claims.md --tables results.md";

pub(super) const NEW: &str = "\
Examples:
  headway lab new my > my.toml && headway lab run my.toml";

pub(super) const SCHEMA: &str = "\
Examples:
  headway lab schema > experiment.schema.json
      For an editor that checks TOML files by a schema.";

pub(super) const COLUMNS: &str = "\
Examples:
  headway lab columns | less";

pub(super) const PAPER: &str = "\
Examples:
  headway paper list
  headway paper show 000-fig13 > my.toml
  headway paper run 000-fig13
  headway paper run 000-fig13 --runs 5 --set delay=150ms
  headway paper run all --runs 5
  headway paper report results
  headway paper report results --figures figures --markdown papers.md";

pub(super) const PAPER_LIST: &str = "\
Examples:
  headway paper list | grep 000";

pub(super) const PAPER_SHOW: &str = "\
Examples:
  headway paper show 000-fig13 > my.toml && headway lab run my.toml";

pub(super) const PAPER_RUN: &str = "\
Examples:
  headway paper run 000-fig13
      All its runs that are not in results/000-fig13 yet.
  headway paper run 000-fig13 --runs 5 --set delay=150ms --out quick
      Fewer runs, at another delay, into quick/000-fig13.
  headway paper run all --runs 5
  headway paper run all --dask tcp://10.0.0.1:8786
      On a Dask cluster.";

pub(super) const PAPER_REPORT: &str = "\
Examples:
  headway paper report results
      A page with the papers' figures and claims beside what was measured: results/report.html.
  headway paper report results --figures figures --markdown papers.md";
