//! Keys of the link and of damage on it.

use headway_link::Aqm;
use headway_sim::race::QueueSize;
use headway_trace::PathDirection;
use headway_trace::PathDirection::{Forward, Reverse};

use super::text::{check, parse, put, rate, unless};
use crate::key::{Access, Key, LinkContext, Scope, Unset};
use crate::quantity::{Dimension, Quantity};

const RATE: Access = Access::Link {
    direction: None,
    set: |link, text, _| {
        link.rate = Some(rate(text)?);
        Ok(())
    },
    get: |link| link.rate.map_or(Quantity::Unset(""), Quantity::Rate),
};

const RATE_STEPS: Access = Access::Link {
    direction: None,
    set: |link, text, _| {
        link.rate_steps = unless("none", text)?;
        Ok(())
    },
    get: |link| link.rate_steps.as_ref().map_or(Quantity::Unset("none"), Quantity::text),
};

const RATE_TRACE: Access = Access::Link {
    direction: None,
    set: |link, text, context: &LinkContext<'_>| {
        link.rate_trace = None;
        if text != "none" {
            let alone = "a link has steps of its rate or a trace: expected none as the steps of its rate";
            check(link.rate_steps.is_none(), text, alone)?;
            let trace = context.traces.opportunities(text);
            link.rate_trace = Some(trace.map_err(|error| error.to_string())?);
        }
        Ok(())
    },
    get: |link| {
        link.rate_trace.as_ref().map_or(Quantity::Unset("none"), |trace| Quantity::text(trace.name()))
    },
};

const DELAY_STEPS: Access = Access::Link {
    direction: None,
    set: |link, text, _| {
        link.delay_steps = unless("none", text)?;
        Ok(())
    },
    get: |link| link.delay_steps.as_ref().map_or(Quantity::Unset("none"), Quantity::text),
};

const LOSS: Access = Access::Link {
    direction: None,
    set: |link, text, _| put(&mut link.loss, text),
    get: |link| Quantity::Loss(link.loss),
};

const MUTE: Access = Access::Link {
    direction: None,
    set: |link, text, _| {
        link.mute = unless("none", text)?.unwrap_or_default();
        Ok(())
    },
    get: |link| if link.mute.is_empty() { Quantity::Unset("none") } else { Quantity::text(&link.mute) },
};

pub(super) const LINK: [Key; 23] = [
    Key {
        name: "rate",
        dimension: Dimension::Rate,
        help: "Rate of the link, in both directions, in bits of IP packets",
        meaning: Some("rate of the forward path"),
        default: Unset::Value("10mbit"),
        scope: Scope::Link,
        access: RATE,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-rate",
        dimension: Dimension::Rate,
        help: "Rate of the reverse path",
        default: Unset::Nothing("that of the forward path"),
        empty: Some(""),
        scope: Scope::Link,
        access: only(Reverse, RATE),
        ..Key::PLAIN
    },
    Key {
        name: "rate-steps",
        value_name: Some("STEPS"),
        help: "A rate that changes, in place of --rate: 10mbit@0s,1mbit@10s, and repeat@20s at the end to begin again",
        meaning: Some("steps of the rate of the forward path"),
        default: Unset::Nothing("a constant rate"),
        scope: Scope::Link,
        access: RATE_STEPS,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-rate-steps",
        value_name: Some("STEPS"),
        help: "Steps of the rate of the reverse path",
        default: Unset::Nothing("those of the forward path"),
        empty: Some("a constant rate"),
        scope: Scope::Link,
        access: only(Reverse, RATE_STEPS),
        ..Key::PLAIN
    },
    Key {
        name: "rate-trace",
        value_name: Some("FILE"),
        help: "When the link can deliver, in place of --rate: a trace of mahimahi, a line of milliseconds for each \
               1500 bytes, which repeats",
        meaning: Some("file with the delivery opportunities of the forward path"),
        default: Unset::Nothing("a constant rate"),
        scope: Scope::Link,
        access: RATE_TRACE,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-rate-trace",
        value_name: Some("FILE"),
        help: "When the reverse path can deliver",
        default: Unset::Nothing("as the forward path"),
        empty: Some("a constant rate"),
        scope: Scope::Link,
        access: only(Reverse, RATE_TRACE),
        ..Key::PLAIN
    },
    Key {
        name: "delay",
        dimension: Dimension::Time,
        help: "One-way propagation delay",
        default: Unset::Value("300ms"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.delay, text),
            get: |link| Quantity::Time(link.delay),
        },
        ..Key::PLAIN
    },
    Key {
        name: "delay-steps",
        value_name: Some("STEPS"),
        help: "A delay that changes, in place of --delay: 20ms@0s,150ms@10s, and repeat@20s at the end to begin again; \
               packets keep their order",
        meaning: Some("steps of the one-way delay of the forward path"),
        default: Unset::Nothing("a constant delay"),
        scope: Scope::Link,
        access: DELAY_STEPS,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-delay-steps",
        value_name: Some("STEPS"),
        help: "Steps of the delay of the reverse path",
        default: Unset::Nothing("those of the forward path"),
        empty: Some("a constant delay"),
        scope: Scope::Link,
        access: only(Reverse, DELAY_STEPS),
        ..Key::PLAIN
    },
    Key {
        name: "queue",
        value_name: Some("LIMIT"),
        help: "Limit of the queue in front of the link: 100p, 64KiB, 1bdp or 0.05bdp (bandwidth-delay products) or \
               unlimited",
        default: Unset::Value("100p"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, context| {
                link.queue = parse::<QueueSize>(text)?.limit(context.rate, context.round_trip, context.mtu);
                Ok(())
            },
            get: |link| Quantity::text(link.queue),
        },
        ..Key::PLAIN
    },
    Key {
        name: "mark",
        value_name: Some("LIMIT"),
        help: "Mark packets that find the queue longer than this, if their sender supports ECN (RFC 3168)",
        meaning: Some("queue length beyond which packets are marked (ECN)"),
        default: Unset::Nothing("no marking"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, context| {
                let mark: Option<QueueSize> = unless("none", text)?;
                link.mark = mark.map(|mark| mark.limit(context.rate, context.round_trip, context.mtu));
                Ok(())
            },
            get: |link| link.mark.map_or(Quantity::Unset("none"), Quantity::text),
        },
        ..Key::PLAIN
    },
    Key {
        name: "aqm",
        value_name: Some("DISCIPLINE"),
        help: "Active queue management: none (drop-tail), codel[:TARGET[:INTERVAL]], fq-codel[:TARGET[:INTERVAL]], \
               pie[:TARGET] or red[:MIN:MAX[:P]]; all but none mark instead where the sender supports ECN",
        meaning: Some("active queue management"),
        default: Unset::Value("none"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| {
                let aqm = parse(text)?;
                let is_free = link.mark.is_none() || aqm == Aqm::None;
                check(
                    is_free,
                    text,
                    "it decides itself what is marked: expected no limit for marks beside it",
                )?;
                link.aqm = aqm;
                Ok(())
            },
            get: |link| Quantity::text(link.aqm),
        },
        ..Key::PLAIN
    },
    Key {
        name: "policer",
        value_name: Some("RATE:BUCKET"),
        help: "Drop packets that come faster than a token bucket gains, such as 8mbit:64KiB, before they queue",
        meaning: Some("token bucket that polices the link"),
        default: Unset::Nothing("no policer"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| {
                link.policer = unless("none", text)?;
                Ok(())
            },
            get: |link| link.policer.map_or(Quantity::Unset("none"), Quantity::text),
        },
        ..Key::PLAIN
    },
    Key {
        name: "overhead",
        dimension: Dimension::Bytes,
        help: "Layer-2 bytes that each packet costs beside its own",
        default: Unset::Value("0"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.overhead, text),
            get: |link| Quantity::Bytes(link.overhead.into()),
        },
        ..Key::PLAIN
    },
    Key {
        name: "jitter",
        dimension: Dimension::Time,
        help: "Up to this much more delay for each packet, in order; with --jitter-distribution what that multiplies",
        default: Unset::Value("0"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.jitter, text),
            get: |link| Quantity::Time(link.jitter),
        },
        ..Key::PLAIN
    },
    Key {
        name: "jitter-distribution",
        value_name: Some("TABLE[:CORRELATION][:ordered]"),
        help: "Vary the delay as tc-netem does, by --jitter above and below --delay: uniform, normal, pareto, \
               paretonormal, experimental (the tables of iproute2), or the file of a table; 25% as correlation of \
               packets that follow each other. Packets overtake each other unless ordered",
        meaning: Some("distribution of the delay, as of tc-netem"),
        default: Unset::Nothing("up to --jitter more delay, uniform and in order"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, context| {
                let model = context.traces.jitter(text).map_err(|error| error.to_string())?;
                check(
                    model.is_none() || !link.jitter.is_zero(),
                    text,
                    "it says how the jitter is distributed: expected some jitter, such as 10ms, beside it",
                )?;
                link.jitter_model = model;
                Ok(())
            },
            get: |link| link.jitter_model.as_ref().map_or(Quantity::Unset("none"), Quantity::text),
        },
        ..Key::PLAIN
    },
    Key {
        name: "loss",
        dimension: Dimension::Share,
        value_name: Some("SHARE|burst:SHARE:RUN"),
        help: "Loss rate, of independent losses or in bursts of RUN packets on average (Gilbert)",
        meaning: Some("loss rate"),
        default: Unset::Value("0%"),
        scope: Scope::Link,
        access: LOSS,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-loss",
        dimension: Dimension::Share,
        value_name: Some("SHARE|burst:SHARE:RUN"),
        help: "Loss rate of the reverse path",
        default: Unset::Nothing("that of the forward path"),
        empty: Some(""),
        scope: Scope::Link,
        access: only(Reverse, LOSS),
        ..Key::PLAIN
    },
    Key {
        name: "mute",
        value_name: Some("LENGTH@START,..."),
        help: "Times at which all packets on the air are lost, such as 10s@30s or 10s@30s,500ms@45s",
        meaning: Some("times at which the forward path loses all packets"),
        default: Unset::Nothing("never"),
        scope: Scope::Link,
        access: MUTE,
        ..Key::PLAIN
    },
    Key {
        name: "reverse-mute",
        value_name: Some("LENGTH@START,..."),
        help: "Times at which all packets on the reverse path are lost",
        default: Unset::Nothing("as the forward path"),
        empty: Some("never"),
        scope: Scope::Link,
        access: only(Reverse, MUTE),
        ..Key::PLAIN
    },
    Key {
        name: "duplicate",
        dimension: Dimension::Share,
        help: "Duplication rate",
        default: Unset::Value("0%"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.duplicate, text),
            get: |link| Quantity::Share(link.duplicate),
        },
        ..Key::PLAIN
    },
    Key {
        name: "reorder",
        dimension: Dimension::Share,
        help: "Reordering rate",
        default: Unset::Value("0%"),
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.reorder, text),
            get: |link| Quantity::Share(link.reorder),
        },
        ..Key::PLAIN
    },
    Key {
        name: "reorder-delay",
        dimension: Dimension::Time,
        help: "Additional delay of reordered packets",
        default: Unset::Differs { commands: "10ms", files: "0" },
        scope: Scope::Link,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.reorder_delay, text),
            get: |link| Quantity::Time(link.reorder_delay),
        },
        ..Key::PLAIN
    },
];

const MODEL: Access = Access::Link {
    direction: None,
    set: |link, text, context: &LinkContext<'_>| {
        let damage = context.traces.damage(text, context.direction);
        link.damage = damage.map_err(|error| error.to_string())?;
        Ok(())
    },
    get: |link| Quantity::text(&link.damage),
};

pub(super) const DAMAGE: [Key; 6] = [
    Key {
        name: "damage",
        value_name: Some("MODEL"),
        help: "Damage on the forward path",
        default: Unset::Differs { commands: "burst:5%:5", files: "none" },
        scope: Scope::Damage,
        access: only(Forward, MODEL),
        ..Key::PLAIN
    },
    Key {
        name: "reverse-damage",
        value_name: Some("MODEL"),
        help: "Damage on the reverse path",
        default: Unset::Value("none"),
        scope: Scope::Damage,
        access: only(Reverse, MODEL),
        ..Key::PLAIN
    },
    Key {
        name: "header-hit",
        dimension: Dimension::Share,
        value_name: Some("SHARE|place"),
        help: "Share of the damaged packets whose header is hit, or `place`: where the bits fall decides",
        meaning: Some("share of the damaged packets with a damaged header"),
        default: Unset::Differs { commands: "40%", files: "place" },
        empty: Some("bit positions decide"),
        scope: Scope::Damage,
        access: Access::Link {
            direction: None,
            set: |link, text, _| {
                link.header_hit = unless("place", text)?;
                Ok(())
            },
            get: |link| link.header_hit.map_or(Quantity::Unset("place"), Quantity::Share),
        },
        ..Key::PLAIN
    },
    Key {
        name: "hit-zone",
        value_name: Some("tcp|ip+tcp"),
        help: "Which headers can be hit: tcp or ip+tcp (hosts drop a packet whose IPv4 header is damaged)",
        meaning: Some("headers that can be damaged"),
        default: Unset::Value("tcp"),
        scope: Scope::Damage,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.hit_zone, text),
            get: |link| Quantity::text(link.hit_zone),
        },
        ..Key::PLAIN
    },
    Key {
        name: "flips",
        dimension: Dimension::Count,
        help: "Bits flipped in a damaged packet",
        default: Unset::Nothing("1 for random, 64 for bursts"),
        empty: Some("the model decides"),
        scope: Scope::Damage,
        access: Access::Link {
            direction: None,
            set: |link, text, _| {
                let flips = parse(text)?;
                check(flips > 0, text, "expected at least one bit; damage none damages nothing")?;
                link.flips = Some(flips);
                Ok(())
            },
            get: |link| link.flips.map_or(Quantity::Unset(""), |flips| Quantity::Count(flips.into())),
        },
        ..Key::PLAIN
    },
    Key {
        name: "frame-check",
        value_name: Some("keep|drop|arq:N"),
        help: "What the link does with a damaged frame: keep it (hand it up), drop it, or arq:N (retransmit \
               it itself, up to N times)",
        meaning: Some("treatment of damaged frames by the link"),
        default: Unset::Value("keep"),
        scope: Scope::Damage,
        access: Access::Link {
            direction: None,
            set: |link, text, _| put(&mut link.frame_check, text),
            get: |link| Quantity::text(link.frame_check),
        },
        ..Key::PLAIN
    },
];

/// The same in one direction only.
const fn only(direction: PathDirection, access: Access) -> Access {
    match access {
        Access::Link { set, get, .. } => Access::Link { direction: Some(direction), set, get },
        other => other,
    }
}
