# Written by `python -m headway._stub` from the table of keys: change it there.
"""Scenarios: the link, what is sent over it, and how the sender is set."""

from headway._values import Hops, Value

class Scenario:
    """A link and its damage, what is sent, and how the sender is set.

    Keys are those of the command and of experiment files, with `_` for `-`; what is not given is as in a
    plain `headway race`. Values are texts ("10mbit", "300ms", "5%", "64KiB"), numbers, or True and False; those
    of hops may be a list with a dict of keys for each link.
    An unknown key or a value that makes no sense raises `headway.InputError`.

    Senders:

    * profile (linux22|standard|modern): The TCP underneath the papers' senders: Linux 2.2 as in the papers,
      the standard of the RFCs, or today's, which ours always have. Default: linux22.
    * rules (literal|default): How special ACKs are answered: as the paper's section 3.3 says and no more, or
      by the rules that make HACK work. Default: default.
    * variant (NAME): The sender: the papers' newreno, sack, hack, hack+sack, xhack, xhack+sack; ours: modern,
      modern+hack, headway; each perhaps with a congestion controller of cc, as in headway:cubic; such a
      controller alone, which is modern with it; and oracle, which knows every hit at once. Default: every
      sender in turn; files name one.
    * cc (newreno|cubic|bbr|draft-bbr|copa|vivace): The congestion controller of senders that name none
      themselves; bbr is modified BBR, draft-bbr BBRv3 as in draft-ietf-ccwg-bbr-06, copa and vivace (PCC) are
      those of NSDI 2018. Default: the sender's own: bbr of headway, cubic of modern.
    * tlp (on|off): Tail loss probes (RFC 8985). Default: as the sender has it.
    * prr (on|off): Proportional rate reduction (RFC 6937). Default: as the sender has it.
    * frto (on|off): Forward RTO-recovery (RFC 5682). Default: as the sender has it.
    * undo (on|off): Undo reductions that prove spurious (D-SACK, Eifel). Default: as the sender has it.
    * hystart (on|off): Leave slow start before the queue overflows (HyStart++, RFC 9406). Default: as the
      sender has it.
    * pacing (on|off): Spread what the window allows over the round trip. Default: as the sender has it.
    * ecn (on|off): Explicit congestion notification (RFC 3168). Default: as the sender has it.
    * autotune (on|off): Buffers that grow with the path. Default: as the sender has it.
    * cookies (on|off): SYN cookies while the backlog is full (RFC 4987). Default: as the sender has it.
    * sharing (on|off): Start from what earlier connections learnt of the path (RFC 9040). Default: as the
      sender has it.
    * ledger (on|off): Tell corruption from congestion, and respond to congestion alone. Default: as the
      sender has it.
    * own_path (on|off): The path is the sender's own: what it loses at any rate is damage. Default: as the
      sender has it.
    * bundling (on|off): Repeat small segments in the next, where the path damages packets (needs the ledger).
      Default: as the sender has it.
    * tail_copies (on|off): Send the tail of a transfer once more, where the path damages packets (needs the
      ledger). Default: as the sender has it.
    * repair (on|off): Repair damaged headers from what is known of the connection. Default: as the sender has
      it.
    * partial (on|off): Keep corrupted payloads and retransmit their bad blocks alone (needs HACK v2).
      Default: as the sender has it.
    * warm (on|off): Whether the hosts make one transfer before the one that is measured. Default: off.
    * frames (drop|count): What a host does with a packet whose IP header is corrupted: drops it unseen, as on
      the Internet, or counts it as a damaged packet of its only peer, as on a point-to-point link (see
      --hit-zone). Default: drop.

    Transfer:

    * size (SIZE): How much to send. Default: 2MiB; of a file that is named, all.
    * duration (TIME): Send all the time, and count what has arrived after this time, from the first SYN.
      Default: until all has arrived.
    * window (SIZE): The largest window that the receiver offers. Default: 1MiB.
    * mtu (BYTES): Largest IP packet. Default: 1500.
    * retries (N): Timeouts in a row before a sender gives up (Linux 2.2: 15). Default: never.

    Runs:

    * time_limit (TIME): Time after which a run is ended and shown as unfinished. Default: 24h.

    Link:

    * rate (RATE): Rate of the link, in both directions, in bits of IP packets. Default: 10mbit.
    * reverse_rate (RATE): Rate of the reverse path. Default: that of the forward path.
    * rate_steps (STEPS): A rate that changes, in place of --rate: 10mbit@0s,1mbit@10s, and repeat@20s at the
      end to begin again. Default: a constant rate.
    * reverse_rate_steps (STEPS): Steps of the rate of the reverse path. Default: those of the forward path.
    * rate_trace (FILE): When the link can deliver, in place of --rate: a trace of mahimahi, a line of
      milliseconds for each 1500 bytes, which repeats. Default: a constant rate.
    * reverse_rate_trace (FILE): When the reverse path can deliver. Default: as the forward path.
    * delay (TIME): One-way propagation delay. Default: 300ms.
    * delay_steps (STEPS): A delay that changes, in place of --delay: 20ms@0s,150ms@10s, and repeat@20s at the
      end to begin again; packets keep their order. Default: a constant delay.
    * reverse_delay_steps (STEPS): Steps of the delay of the reverse path. Default: those of the forward path.
    * queue (LIMIT): Limit of the queue in front of the link: 100p, 64KiB, 1bdp or 0.05bdp (bandwidth-delay
      products) or unlimited. Default: 100p.
    * mark (LIMIT): Mark packets that find the queue longer than this, if their sender supports ECN (RFC
      3168). Default: no marking.
    * aqm (DISCIPLINE): Active queue management: none (drop-tail), codel[:TARGET[:INTERVAL]],
      fq-codel[:TARGET[:INTERVAL]], pie[:TARGET] or red[:MIN:MAX[:P]]; all but none mark instead where the
      sender supports ECN. Default: none.
    * policer (RATE:BUCKET): Drop packets that come faster than a token bucket gains, such as 8mbit:64KiB,
      before they queue. Default: no policer.
    * overhead (BYTES): Layer-2 bytes that each packet costs beside its own. Default: 0.
    * jitter (TIME): Up to this much more delay for each packet, in order; with --jitter-distribution what
      that multiplies. Default: 0.
    * jitter_distribution (TABLE[:CORRELATION][:ordered]): Vary the delay as tc-netem does, by --jitter above
      and below --delay: uniform, normal, pareto, paretonormal, experimental (the tables of iproute2), or the
      file of a table; 25% as correlation of packets that follow each other. Packets overtake each other
      unless ordered. Default: up to --jitter more delay, uniform and in order.
    * loss (SHARE|burst:SHARE:RUN): Loss rate, of independent losses or in bursts of RUN packets on average
      (Gilbert). Default: 0%.
    * reverse_loss (SHARE|burst:SHARE:RUN): Loss rate of the reverse path. Default: that of the forward path.
    * mute (LENGTH@START,...): Times at which all packets on the air are lost, such as 10s@30s or
      10s@30s,500ms@45s. Default: never.
    * reverse_mute (LENGTH@START,...): Times at which all packets on the reverse path are lost. Default: as
      the forward path.
    * duplicate (SHARE): Duplication rate. Default: 0%.
    * reorder (SHARE): Reordering rate. Default: 0%.
    * reorder_delay (TIME): Additional delay of reordered packets. Default: 10ms.

    Damage:

    * damage (MODEL): Damage on the forward path. Default: burst:5%:5.
    * reverse_damage (MODEL): Damage on the reverse path. Default: none.
    * header_hit (SHARE|place): Share of the damaged packets whose header is hit, or `place`: where the bits
      fall decides. Default: 40%.
    * hit_zone (tcp|ip+tcp): Which headers can be hit: tcp or ip+tcp (hosts drop a packet whose IPv4 header is
      damaged). Default: tcp.
    * flips (N): Bits flipped in a damaged packet. Default: 1 for random, 64 for bursts.
    * frame_check (keep|drop|arq:N): What the link does with a damaged frame: keep it (hand it up), drop it,
      or arq:N (retransmit it itself, up to N times). Default: keep.

    Other traffic:

    * companions (SENDERS): Other flows on the link, as `3 modern:cubic undamaged, sack after 20s size 256KiB
      delay 50ms`: how many, their sender, and perhaps that damage spares them, when they begin, how much they
      send, their one-way delay in addition to that of the link, and which of several hops they pass, as
      `modern:cubic hops 2` or `hops 1-3`. Default: none.
    * rivals (SENDERS): The same, but of flows whose share of the link is measured. Default: none.
    * cross (RATE|pcap:FILE): Cross traffic: UDP datagrams that respond to no congestion, at a rate, or with
      the times and lengths of the IP packets in a capture (of those `:to=ADDRESS` or `:from=ADDRESS`), again
      and again. Default: none.
    * cross_packet (BYTES): Length of its datagrams, headers included. Default: the MTU.

    Trunk:

    * trunk (SENDER): Gateways at both ends of the link carry what the hosts send in TCP of this sender, such
      as hack+sack or headway: TCP Trunk (virtual time only). Default: none: the hosts send across the link
      themselves.
    * trunk_mode (packets|split): What the trunk carries: packets, IP packets in one connection, as the
      papers' TCP Trunk; or split, the bytes of each connection of the hosts, which ends at the gateways, in a
      connection of its own. Default: packets.
    * trunk_window (SIZE): The largest window between the gateways. Default: that of the hosts.
    * trunk_queue (LIMIT): Limit of the queue in front of a trunk of packets: 50p, 64KiB or unlimited.
      Default: 50p.
    * trunk_aqm (DISCIPLINE): Active queue management of the queue in front of a trunk of packets, as --aqm.
      Default: none.
    * trunk_cost (TIME): Time that a gateway takes for each packet of the hosts that goes into a trunk of
      packets, one after the other. Default: 0.
    * edge_rate (RATE): Rate of the clean link between each host and its end of the shared link. Default:
      infinitely fast.
    * edge_delay (TIME): One-way delay of the clean link between each host and its end of the shared link.
      Default: 0.

    Senders:

    * rules_off (NAME[+NAME]): Rules of the sender `headway` that do not hold, to see what each brings
      (docs/ledger.md names them). Default: none.
    * told (PERCENT): What the senders `headway` and the gateways of a trunk are told that the link carries,
      in percent of what it does: 100 is right, 1000 ten times too much. They test it, and start from it.
      Default: none.

    Several links in a row:

    * hops (HOPS): Several links in a row in place of one, with ; between them, as `rate 5mbit delay 20ms; 2
      queue 50p`: perhaps how many alike, and keys of a link with their values; what a hop does not say is as
      of the one link (virtual time only). Default: one link.
    * flow_hops (N|N-M|all): The hops that the measured flow passes, counted from 1: 2, 1-3 or all; other
      flows say theirs in --rivals and --companions, as `modern:cubic hops 2`. Default: all.
    * cross_hops (N|N-M|all): The hops that cross traffic passes. Default: all.
    """

    @property
    def profile(self) -> str: ...
    @property
    def rules(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def cc(self) -> str: ...
    @property
    def tlp(self) -> str: ...
    @property
    def prr(self) -> str: ...
    @property
    def frto(self) -> str: ...
    @property
    def undo(self) -> str: ...
    @property
    def hystart(self) -> str: ...
    @property
    def pacing(self) -> str: ...
    @property
    def ecn(self) -> str: ...
    @property
    def autotune(self) -> str: ...
    @property
    def cookies(self) -> str: ...
    @property
    def sharing(self) -> str: ...
    @property
    def ledger(self) -> str: ...
    @property
    def own_path(self) -> str: ...
    @property
    def bundling(self) -> str: ...
    @property
    def tail_copies(self) -> str: ...
    @property
    def repair(self) -> str: ...
    @property
    def partial(self) -> str: ...
    @property
    def warm(self) -> str: ...
    @property
    def frames(self) -> str: ...
    @property
    def size(self) -> str: ...
    @property
    def duration(self) -> str: ...
    @property
    def window(self) -> str: ...
    @property
    def mtu(self) -> str: ...
    @property
    def retries(self) -> str: ...
    @property
    def time_limit(self) -> str: ...
    @property
    def rate(self) -> str: ...
    @property
    def reverse_rate(self) -> str: ...
    @property
    def rate_steps(self) -> str: ...
    @property
    def reverse_rate_steps(self) -> str: ...
    @property
    def rate_trace(self) -> str: ...
    @property
    def reverse_rate_trace(self) -> str: ...
    @property
    def delay(self) -> str: ...
    @property
    def delay_steps(self) -> str: ...
    @property
    def reverse_delay_steps(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def mark(self) -> str: ...
    @property
    def aqm(self) -> str: ...
    @property
    def policer(self) -> str: ...
    @property
    def overhead(self) -> str: ...
    @property
    def jitter(self) -> str: ...
    @property
    def jitter_distribution(self) -> str: ...
    @property
    def loss(self) -> str: ...
    @property
    def reverse_loss(self) -> str: ...
    @property
    def mute(self) -> str: ...
    @property
    def reverse_mute(self) -> str: ...
    @property
    def duplicate(self) -> str: ...
    @property
    def reorder(self) -> str: ...
    @property
    def reorder_delay(self) -> str: ...
    @property
    def damage(self) -> str: ...
    @property
    def reverse_damage(self) -> str: ...
    @property
    def header_hit(self) -> str: ...
    @property
    def hit_zone(self) -> str: ...
    @property
    def flips(self) -> str: ...
    @property
    def frame_check(self) -> str: ...
    @property
    def companions(self) -> str: ...
    @property
    def rivals(self) -> str: ...
    @property
    def cross(self) -> str: ...
    @property
    def cross_packet(self) -> str: ...
    @property
    def trunk(self) -> str: ...
    @property
    def trunk_mode(self) -> str: ...
    @property
    def trunk_window(self) -> str: ...
    @property
    def trunk_queue(self) -> str: ...
    @property
    def trunk_aqm(self) -> str: ...
    @property
    def trunk_cost(self) -> str: ...
    @property
    def edge_rate(self) -> str: ...
    @property
    def edge_delay(self) -> str: ...
    @property
    def rules_off(self) -> str: ...
    @property
    def told(self) -> str: ...
    @property
    def hops(self) -> str: ...
    @property
    def flow_hops(self) -> str: ...
    @property
    def cross_hops(self) -> str: ...
    def __init__(
        self,
        *,
        profile: Value | None = None,
        rules: Value | None = None,
        variant: Value | None = None,
        cc: Value | None = None,
        tlp: Value | None = None,
        prr: Value | None = None,
        frto: Value | None = None,
        undo: Value | None = None,
        hystart: Value | None = None,
        pacing: Value | None = None,
        ecn: Value | None = None,
        autotune: Value | None = None,
        cookies: Value | None = None,
        sharing: Value | None = None,
        ledger: Value | None = None,
        own_path: Value | None = None,
        bundling: Value | None = None,
        tail_copies: Value | None = None,
        repair: Value | None = None,
        partial: Value | None = None,
        warm: Value | None = None,
        frames: Value | None = None,
        size: Value | None = None,
        duration: Value | None = None,
        window: Value | None = None,
        mtu: Value | None = None,
        retries: Value | None = None,
        time_limit: Value | None = None,
        rate: Value | None = None,
        reverse_rate: Value | None = None,
        rate_steps: Value | None = None,
        reverse_rate_steps: Value | None = None,
        rate_trace: Value | None = None,
        reverse_rate_trace: Value | None = None,
        delay: Value | None = None,
        delay_steps: Value | None = None,
        reverse_delay_steps: Value | None = None,
        queue: Value | None = None,
        mark: Value | None = None,
        aqm: Value | None = None,
        policer: Value | None = None,
        overhead: Value | None = None,
        jitter: Value | None = None,
        jitter_distribution: Value | None = None,
        loss: Value | None = None,
        reverse_loss: Value | None = None,
        mute: Value | None = None,
        reverse_mute: Value | None = None,
        duplicate: Value | None = None,
        reorder: Value | None = None,
        reorder_delay: Value | None = None,
        damage: Value | None = None,
        reverse_damage: Value | None = None,
        header_hit: Value | None = None,
        hit_zone: Value | None = None,
        flips: Value | None = None,
        frame_check: Value | None = None,
        companions: Value | None = None,
        rivals: Value | None = None,
        cross: Value | None = None,
        cross_packet: Value | None = None,
        trunk: Value | None = None,
        trunk_mode: Value | None = None,
        trunk_window: Value | None = None,
        trunk_queue: Value | None = None,
        trunk_aqm: Value | None = None,
        trunk_cost: Value | None = None,
        edge_rate: Value | None = None,
        edge_delay: Value | None = None,
        rules_off: Value | None = None,
        told: Value | None = None,
        hops: Value | Hops | None = None,
        flow_hops: Value | None = None,
        cross_hops: Value | None = None,
    ) -> None: ...
    def replace(
        self,
        *,
        profile: Value | None = None,
        rules: Value | None = None,
        variant: Value | None = None,
        cc: Value | None = None,
        tlp: Value | None = None,
        prr: Value | None = None,
        frto: Value | None = None,
        undo: Value | None = None,
        hystart: Value | None = None,
        pacing: Value | None = None,
        ecn: Value | None = None,
        autotune: Value | None = None,
        cookies: Value | None = None,
        sharing: Value | None = None,
        ledger: Value | None = None,
        own_path: Value | None = None,
        bundling: Value | None = None,
        tail_copies: Value | None = None,
        repair: Value | None = None,
        partial: Value | None = None,
        warm: Value | None = None,
        frames: Value | None = None,
        size: Value | None = None,
        duration: Value | None = None,
        window: Value | None = None,
        mtu: Value | None = None,
        retries: Value | None = None,
        time_limit: Value | None = None,
        rate: Value | None = None,
        reverse_rate: Value | None = None,
        rate_steps: Value | None = None,
        reverse_rate_steps: Value | None = None,
        rate_trace: Value | None = None,
        reverse_rate_trace: Value | None = None,
        delay: Value | None = None,
        delay_steps: Value | None = None,
        reverse_delay_steps: Value | None = None,
        queue: Value | None = None,
        mark: Value | None = None,
        aqm: Value | None = None,
        policer: Value | None = None,
        overhead: Value | None = None,
        jitter: Value | None = None,
        jitter_distribution: Value | None = None,
        loss: Value | None = None,
        reverse_loss: Value | None = None,
        mute: Value | None = None,
        reverse_mute: Value | None = None,
        duplicate: Value | None = None,
        reorder: Value | None = None,
        reorder_delay: Value | None = None,
        damage: Value | None = None,
        reverse_damage: Value | None = None,
        header_hit: Value | None = None,
        hit_zone: Value | None = None,
        flips: Value | None = None,
        frame_check: Value | None = None,
        companions: Value | None = None,
        rivals: Value | None = None,
        cross: Value | None = None,
        cross_packet: Value | None = None,
        trunk: Value | None = None,
        trunk_mode: Value | None = None,
        trunk_window: Value | None = None,
        trunk_queue: Value | None = None,
        trunk_aqm: Value | None = None,
        trunk_cost: Value | None = None,
        edge_rate: Value | None = None,
        edge_delay: Value | None = None,
        rules_off: Value | None = None,
        told: Value | None = None,
        hops: Value | Hops | None = None,
        flow_hops: Value | None = None,
        cross_hops: Value | None = None,
    ) -> "Scenario": ...

    @property
    def given(self) -> dict[str, str]:
        """The keys that were given, with the names that the command has for them."""

    @property
    def settings(self) -> dict[str, str]:
        """The value of every key as text; empty where a key has none."""

    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def docstring() -> str:
    """What `Scenario` is, from the table of keys."""
