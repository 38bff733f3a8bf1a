//! Messages that need no order are read beyond a hole.

use headway_tcp::{Notification, Profile};
use headway_test_fixture::two_hosts::{CLIENT, SERVER, TwoHosts};

#[test]
fn what_arrives_beyond_a_hole_is_notified_of_and_can_be_read() {
    for unordered in [false, true] {
        let mut pair = TwoHosts::connected(Profile { nagle: false, unordered, ..Profile::modern() });
        let id = pair.id(SERVER);
        pair.notifications(SERVER);
        let packets: Vec<_> = [100, 200, 300]
            .map(|len| {
                pair.write(CLIENT, len);
                pair.sent(CLIENT).concat()
            })
            .into();
        pair.deliver(SERVER, &packets[1..2]);
        let told = pair.notifications(SERVER);
        assert_eq!(told.contains(&Notification::Readable), unordered, "{told:?}");
        let whole = |(a, b): (&[u8], &[u8])| [a, b].concat();
        let beyond: Vec<_> = pair.hosts[SERVER].peek_beyond(id).map(|(at, run)| (at, whole(run))).collect();
        let mut content = vec![0; 600];
        for (at, run) in &beyond {
            content[*at..at + run.len()].copy_from_slice(run);
        }
        assert_eq!(beyond.iter().map(|(at, run)| (*at, run.len())).collect::<Vec<_>>(), [(100, 200)]);

        pair.deliver(SERVER, &packets);
        assert_eq!(pair.hosts[SERVER].peek_beyond(id).count(), 0);
        let (first, second) = pair.hosts[SERVER].peek(id);
        let all = [first, second].concat();
        assert_eq!((&all[100..300], all.len()), (&content[100..300], 600), "it stays as it was");
        assert_eq!(pair.read(SERVER), 600);
    }
}
