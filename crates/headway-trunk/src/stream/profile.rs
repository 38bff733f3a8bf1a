//! The TCP of streams inside the tunnel.

use headway_tcp::{KeepAlive, Profile, Variant};
use headway_units::Duration;

/// The time between two keep-alive probes that are not answered.
const PROBE_EVERY: Duration = Duration::from_secs(10);

/// Headway's sender, as a trunk needs it.
pub(crate) fn stream_profile(outage: Duration, own_path: bool) -> Profile {
    let mut profile = Variant::Headway.apply(Profile::modern());
    profile.features.own_path = own_path;
    // The stack limits it to what the tunnel carries.
    profile.mtu = u16::MAX;
    // Of a damaged payload only the bad blocks are sent again, and the tunnel's tag says whether it is whole.
    profile.features.partial = true;
    // A long delay of one stream's ACK looks like a queue to the many that share its window. Fitted in the
    // simulator: two and ten streams, 1 to 10 Mbit/s.
    profile.delayed_ack.part = Some(32);
    // What a host wrote is sent as it was written.
    profile.nagle = false;
    profile.rto.retries = None;
    profile.user_timeout = Some(outage);
    // An idle stream survives an outage of the same length: it may begin when the first probe is due.
    let probes = u32::try_from(outage.as_nanos() / PROBE_EVERY.as_nanos()).unwrap_or(u32::MAX);
    profile.keep_alive =
        Some(KeepAlive { idle: outage, interval: PROBE_EVERY, probes: probes.saturating_add(1).max(6) });
    // The tunnel lets no old packet through.
    profile.time_wait = Duration::from_secs(2);
    profile
}

#[cfg(test)]
mod tests {
    use headway_test_fixture::two_hosts::{CLIENT, Fate, SERVER, TwoHosts};

    use super::*;

    #[test]
    fn an_idle_stream_survives_an_outage_that_begins_at_any_time() {
        let outage = Duration::from_secs(600);
        for idle in [0, 300, 595, 601, 1195] {
            let profile = Profile { mtu: 1400, ..stream_profile(outage, false) };
            let mut pair = TwoHosts::observed(profile, (), Duration::from_millis(10));
            pair.wait(Duration::from_secs(idle));
            pair.run(Duration::from_secs(595), |_| Fate::Lost);
            pair.wait(Duration::from_secs(15));
            for host in [CLIENT, SERVER] {
                assert_eq!(pair.hosts[host].error(pair.id(host)), None, "idle for {idle} s");
                pair.write(host, 1000);
            }
            pair.wait(Duration::from_secs(1));
            assert_eq!(pair.read(CLIENT), 1000);
        }
    }

    #[test]
    fn a_peer_that_is_gone_is_noticed_where_nothing_is_sent() {
        let outage = Duration::from_secs(60);
        let profile = Profile { mtu: 1400, ..stream_profile(outage, false) };
        let mut pair = TwoHosts::observed(profile, (), Duration::from_millis(10));
        pair.run(Duration::from_secs(140), |_| Fate::Lost);
        assert!(pair.hosts[CLIENT].error(pair.id(CLIENT)).is_some());
    }
}
