//! What SYNs offer, and what two ends agree on (RFC 9293, 3.5).

use headway_wire::{Segment, TcpOptions, Timestamps, V2, V2Syn};

use super::ecn;
use crate::hack::XHACK_PERMITTED;
use crate::profile::{HackMode, Profile};
use crate::receive::offered_scale;

const TCP_HEADER: u16 = 20;

/// What the two ends agreed on in their SYNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Negotiated {
    /// RFC 2018.
    pub sack: bool,
    /// RFC 7323.
    pub timestamps: bool,
    /// RFC 7323.
    pub window_scaling: bool,
    /// Kinds 14 and 15 (paper 000).
    pub hack: bool,
    /// We may send kind 16 to the peer (paper 003).
    pub xhack: bool,
    /// HACK v2 instead of kinds 14 to 16 (`docs/protocol.md`).
    pub v2: bool,
    /// Block sums may be sent to the peer.
    pub partial: bool,
    /// The carriers of both ends understand compact headers ([`headway_wire::compact`]).
    pub compact: bool,
    /// RFC 3168.
    pub ecn: bool,
}

/// The IP and TCP headers without options.
pub(super) fn bare_headers(v4: bool) -> u16 {
    TCP_HEADER + if v4 { 20 } else { 40 }
}

/// What a SYN is for.
#[derive(Clone, Copy)]
pub(crate) struct SynShape {
    /// Without the options of HACK.
    pub(crate) bare: bool,
    /// It is a SYN-ACK.
    pub(crate) answers: bool,
    /// It goes over IPv4.
    pub(crate) v4: bool,
}

/// The options of a SYN that offers, or of a SYN-ACK that accepts, `offer`.
pub(crate) fn syn_options(
    profile: &Profile,
    offer: Negotiated,
    shape: SynShape,
    timestamps: Timestamps,
) -> TcpOptions {
    let SynShape { bare, answers, v4 } = shape;
    let xhack = if profile.offers_xhack() { XHACK_PERMITTED } else { 0 };
    TcpOptions {
        // The size that we can take, whatever the path towards the peer allows.
        mss: Some(profile.mtu - bare_headers(v4)),
        sack_permitted: offer.sack,
        timestamps: offer.timestamps.then_some(timestamps),
        window_scale: offer.window_scaling.then(|| offered_scale(profile.receive_buffer)),
        // A SYN offers both; a SYN-ACK takes one.
        hack: (offer.hack && !bare && !(offer.v2 && answers)).then_some(xhack),
        v2: (offer.v2 && !bare).then_some(V2::Syn(V2Syn {
            partial_recovery: offer.partial,
            compact: offer.compact,
            path_check: 0,
        })),
        ..TcpOptions::default()
    }
}

/// What `syn` and `profile` agree on.
pub(crate) fn agree(profile: &Profile, syn: &Segment<'_>) -> Negotiated {
    let options = &syn.options;
    let v2 = options
        .v2
        .as_ref()
        .and_then(V2::as_syn)
        .filter(|_| profile.hack == HackMode::V2 && profile.sack && options.sack_permitted);
    let timestamps = profile.timestamps && options.timestamps.is_some();
    Negotiated {
        sack: profile.sack && options.sack_permitted,
        timestamps,
        window_scaling: profile.window_scaling && options.window_scale.is_some(),
        hack: profile.offers_hack() && (options.hack.is_some() || v2.is_some()),
        xhack: profile.offers_xhack() && options.hack == Some(XHACK_PERMITTED),
        v2: v2.is_some(),
        partial: profile.features.partial && v2.is_some_and(|v2| v2.partial_recovery),
        compact: profile.compact_headers && timestamps && v2.is_some_and(|v2| v2.compact),
        ecn: ecn::agreed(profile, syn.tcp.flags),
    }
}
