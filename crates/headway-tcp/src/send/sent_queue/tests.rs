//! The queue of segments that were sent, mark by mark.

use super::*;

fn queue(segments: u32) -> SentQueue {
    let mut queue = SentQueue::default();
    for i in 0..segments {
        queue.push(SeqNumber(u32::MAX - 1500) + i * 1000, 1000, Marks::NONE, Instant::ZERO, 7);
    }
    queue
}

fn seq(i: u32) -> SeqNumber {
    SeqNumber(u32::MAX - 1500) + i * 1000
}

#[test]
fn finds_segments_across_the_wrap() {
    let queue = queue(5);
    assert_eq!(queue.index_of(seq(0)), Some(0));
    assert_eq!(queue.index_of(seq(2) + 999), Some(2));
    assert_eq!(queue.index_of(seq(5)), None);
    assert_eq!(queue.index_of(seq(0) - 1), None);
    assert_eq!(queue.first_from(seq(1) + 1), 2);
}

#[test]
fn finds_segments_of_all_lengths() {
    const LENGTHS: [u32; 9] = [1000, 1000, 1, 700, 1000, 1000, 3000, 20, 1000];
    let start = SeqNumber(u32::MAX - 3000);
    let mut queue = SentQueue::default();
    let mut next = start;
    for len in LENGTHS {
        queue.push(next, len, Marks::NONE, Instant::ZERO, 7);
        next += len;
    }
    for at in 0..LENGTHS.iter().sum::<u32>() + 2 {
        let seq = start + at;
        let before = queue.iter().take_while(|sent| sent.seq.lt(seq)).count();
        assert_eq!(queue.first_from(seq), before, "{at} bytes from the start");
        let holder = queue.iter().position(|sent| sent.seq.le(seq) && seq.lt(sent.end()));
        assert_eq!(queue.index_of(seq), holder, "{at} bytes from the start");
    }
}

#[test]
fn pipe_follows_the_marks() {
    let mut queue = queue(5);
    assert_eq!(queue.pipe(), 5000);
    queue.mark_sacked(2);
    queue.mark_lost(0);
    assert_eq!(queue.pipe(), 3000);
    assert_eq!(queue.first_missing(), Some(0));
    queue.retransmit(0, Instant::ZERO, 8);
    assert_eq!(queue.pipe(), 4000);
    assert_eq!(queue.first_missing(), None);
    queue.mark_damaged(0);
    assert_eq!(queue.pipe(), 3000, "the retransmission left the pipe too");
    queue.retransmit(0, Instant::ZERO, 9);
    queue.forget_damage(0);
    assert_eq!(queue.pipe(), 4000, "an ordinary segment again");
    let acked = queue.acknowledge(seq(1) + 500);
    assert_eq!((acked.bytes, acked.retransmitted, acked.sent_at), (1500, true, None));
    assert_eq!(queue.pipe(), 2500);
    queue.acknowledge(seq(5));
    assert_eq!((queue.pipe(), queue.sacked, queue.lost, queue.retransmitted), (0, 0, 0, 0));
}

#[test]
fn reports_transmissions_by_tsval_and_order() {
    let mut queue = queue(1);
    queue.retransmit(0, Instant::ZERO, 7);
    assert!(!queue.report_transmission(0, 7), "the first of two transmissions with one tsval");
    assert!(queue.report_transmission(0, 7), "the second");
    queue.retransmit(0, Instant::ZERO, 9);
    assert!(!queue.report_transmission(0, 7), "a superseded sent");
    assert!(queue.report_transmission(0, 9));
}

#[test]
fn a_split_keeps_counts() {
    let mut queue = queue(2);
    queue.mark_damaged(0);
    queue.split(0, 400);
    assert_eq!(queue.len(), 3);
    assert_eq!(queue.pipe(), 1000);
    queue.mark_sacked(0);
    queue.mark_sacked(1);
    assert_eq!((queue.pipe(), queue.damaged), (1000, 0));
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Segments whose transmissions are kept in the order of sending, one each nanosecond.
fn logged(segments: u32) -> SentQueue {
    let mut queue = SentQueue::with_log();
    for i in 0..segments {
        queue.push(seq(i), 1000, Marks::NONE, at(u64::from(i) + 1), 7);
    }
    queue
}

/// All counts, made anew from the marks.
fn recounted(queue: &SentQueue) -> [u32; 6] {
    let bytes = |mark| queue.iter().filter(|sent| sent.has(mark)).map(|sent| sent.len).sum::<u32>();
    let again = queue.iter().filter(|sent| sent.has(Marks::RETRANSMITTED));
    let segments = |is_so: fn(&Sent) -> bool| queue.iter().filter(|sent| is_so(sent)).count() as u32;
    [
        bytes(Marks::SACKED),
        bytes(Marks::LOST),
        again.map(Sent::bytes).sum(),
        segments(|sent| sent.has(Marks::DAMAGED)),
        segments(Sent::is_missing),
        segments(|sent| sent.marks.is_unexplained()),
    ]
}

/// An ACK may cover a part of a segment in any state.
#[test]
fn a_part_that_is_acknowledged_leaves_every_count() {
    for state in 0..6 {
        let mut queue = queue(2);
        match state {
            0 => {}
            1 => assert!(queue.mark_sacked(0)),
            2 => queue.mark_lost(0),
            3 => queue.mark_damaged(0),
            4 => {
                queue.mark_lost(0);
                queue.retransmit(0, at(1), 8);
            }
            _ => {
                queue.mark_damaged(0);
                queue.count_passed(0, at(1), at(2));
            }
        }
        let acknowledged = queue.acknowledge(seq(0) + 300);
        assert_eq!((acknowledged.bytes, acknowledged.sent_at), (300, None), "{state}: it is not all covered");
        assert_eq!(queue.head().map(|head| (head.seq, head.len)), Some((seq(0) + 300, 700)));
        assert_eq!(queue.counts(), recounted(&queue), "{state}");
        queue.acknowledge(seq(2));
        assert_eq!((queue.counts(), queue.is_empty(), queue.outstanding()), ([0; 6], true, 0), "{state}");
    }
}

#[test]
fn an_acknowledgement_tells_when_the_oldest_that_was_sent_once_was_sent() {
    let mut queue = logged(4);
    queue.mark_lost(0);
    queue.retransmit(0, at(9), 8);
    let acknowledged = queue.acknowledge(seq(3));
    assert_eq!((acknowledged.bytes, acknowledged.retransmitted), (3000, true));
    assert_eq!(acknowledged.sent_at, Some(at(2)), "the first was sent twice");
    let acknowledged = queue.acknowledge(seq(4));
    assert_eq!((acknowledged.retransmitted, acknowledged.sent_at), (false, Some(at(4))));
    assert_eq!(queue.acknowledge(seq(4)).bytes, 0);
}

#[test]
fn only_what_was_not_said_before_is_delivered() {
    let mut queue = logged(4);
    assert!(queue.mark_sacked(1) && !queue.mark_sacked(1));
    assert_eq!(queue.take_delivery(at(10), None).0.bytes, 1000);
    assert_eq!(queue.take_longest_arrived(), 1000);
    queue.acknowledge(seq(2));
    assert_eq!(queue.take_delivery(at(11), None).0.bytes, 1000, "the second was");
    // What arrived damaged is delivered then, and with a patch only what that takes.
    for (index, is_acknowledged) in [(0, false), (1, true)] {
        queue.mark_corrupted(index, at(12));
        queue.set_patch(index, Choice::new(0b110, 0));
        queue.retransmit(index, at(12), 8);
        queue.take_delivery(at(12), None);
        if is_acknowledged {
            queue.acknowledge(seq(4));
        } else {
            queue.mark_sacked(index);
        }
        assert_eq!(queue.take_delivery(at(13), None).0.bytes, 80, "acknowledged: {is_acknowledged}");
    }
    assert_eq!(queue.corrupted_bytes(), 2000);
}

#[test]
fn the_memory_of_segments_is_counted() {
    let used = queue(9).allocated();
    assert!((9 * size_of::<Sent>()..=32 * size_of::<Sent>()).contains(&used), "{used}");
}

#[test]
fn what_was_counted_is_kept_while_nothing_is_outstanding() {
    let mut queue = logged(2);
    queue.mark_corrupted(0, at(5));
    queue.release();
    assert!(queue.log().is_some() && queue.len() == 2, "something is outstanding");
    let used = queue.allocated();
    assert!(used >= 2 * size_of::<Sent>() + size_of::<TransmissionLog>() + 2 * size_of::<Transmission>());
    queue.acknowledge(seq(2));
    queue.release();
    assert_eq!((queue.corrupted_bytes(), queue.allocated()), (1000, 0));
    assert!(queue.log().is_none() && queue.deliveries().is_some());
    queue.push(seq(2), 1000, Marks::NONE, at(9), 7);
    queue.mark_corrupted(0, at(10));
    assert_eq!(queue.corrupted_bytes(), 2000);
    // Of other recoveries nothing is counted.
    let mut plain = self::queue(2);
    plain.mark_corrupted(0, at(5));
    assert_eq!((plain.corrupted_bytes(), plain.take_longest_arrived()), (0, 0));
    assert!(plain.deliveries().is_none() && plain.log().is_none());
    assert!(!plain.is_app_limited() && plain.transmission_of(0).is_none());
}

#[test]
fn transmissions_are_numbered_among_those_of_the_path() {
    let mut queue = logged(2);
    assert_eq!(queue.transmissions(), 2);
    queue.set_transmissions(7);
    queue.set_transmissions(5);
    assert_eq!(queue.transmissions(), 7);
    queue.push(seq(2), 1000, Marks::NONE, at(9), 7);
    queue.mark_lost(0);
    queue.retransmit(0, at(10), 8);
    assert_eq!([0, 1, 2].map(|index| queue.get(index).order), [9, 2, 8]);
    assert_eq!(queue.get(0).sent_at, at(10));
    assert_eq!(queue.transmission_of(0).map(|sent| sent.order), Some(9));
    assert_eq!(queue.retransmitted(), 1000);
}

#[test]
fn a_transmission_belongs_to_its_segment_until_another_takes_its_place() {
    let mut queue = logged(2);
    let first = queue.transmission_of(0).expect("it is known");
    assert_eq!(queue.segment_of(&first), Some(0));
    queue.mark_lost(0);
    queue.retransmit(0, at(10), 8);
    assert_eq!(queue.segment_of(&first), None);
    let oldest = || queue.log().and_then(TransmissionLog::oldest).map(|sent| sent.order);
    assert_eq!(oldest(), Some(2));
    let second = queue.transmission_of(1).expect("it is known");
    queue.acknowledge(seq(2));
    assert_eq!(queue.segment_of(&second), None);
}

#[test]
fn of_a_patch_a_whole_segment_counts_as_lost() {
    let mut queue = logged(2);
    queue.mark_corrupted(0, at(8));
    queue.set_patch(0, Choice::new(1, 0));
    queue.retransmit(0, at(8), 8);
    let dropped = |queue: &mut SentQueue, index| {
        let sent = queue.transmission_of(index).expect("it is known");
        queue.mark_dropped(index, &sent, 1400, at(9)).map(|lost| (lost.bytes, lost.order))
    };
    assert_eq!(dropped(&mut queue, 0), Some((1400, 3)));
    assert_eq!(dropped(&mut queue, 1), Some((1000, 2)), "a whole one is as long as it is");
    assert_eq!(queue.counts(), recounted(&queue));
}

#[test]
fn the_ends_of_a_stream_stay_with_their_parts() {
    let mut queue = SentQueue::default();
    let ends = Marks::SYN.with(Marks::FIN).with(Marks::PUSH).with(Marks::LOST);
    queue.push(seq(0), 1002, Marks::NONE, at(1), 7);
    assert_eq!(queue.get(0).payload_len(), 1002);
    queue.set(0, ends);
    assert_eq!(queue.get(0).payload_len(), 1000);
    queue.split(0, 401);
    let has = |index: usize| {
        [Marks::SYN, Marks::FIN, Marks::PUSH, Marks::LOST].map(|mark| queue.get(index).has(mark))
    };
    assert_eq!([has(0), has(1)], [[true, false, false, true], [false, true, true, true]]);
    assert_eq!((queue.get(1).seq, queue.get(1).len), (seq(0) + 401, 601));
    assert_eq!(queue.counts(), recounted(&queue));
    queue.acknowledge(seq(0) + 1);
    assert_eq!((queue.get(0).has(Marks::SYN), queue.get(0).len), (false, 400));
}

#[test]
fn the_last_segment_sent_gets_the_push() {
    let mut queue = queue(2);
    queue.push_last();
    assert_eq!([0, 1].map(|index| queue.get(index).has(Marks::PUSH)), [false, true]);
    assert_eq!(queue.last().map(|last| last.seq), Some(seq(1)));
}

#[test]
fn the_last_that_the_peer_lacks_is_not_acknowledged() {
    let mut queue = queue(4);
    assert_eq!(queue.last_unsacked(), Some(3));
    queue.mark_sacked(3);
    assert_eq!(queue.last_unsacked(), Some(2));
}

/// A patch takes less of the network than its segment, whatever becomes of that.
#[test]
fn a_patch_is_in_the_network_with_its_own_length() {
    for ends in 0..5 {
        let mut queue = logged(3);
        queue.mark_corrupted(1, at(9));
        queue.set_patch(1, Choice::new(0b1001, 0));
        assert_eq!((queue.pipe(), queue.get(1).bytes()), (2000, 80));
        queue.retransmit(1, at(9), 8);
        assert_eq!((queue.pipe(), queue.counts()), (2080, recounted(&queue)));
        match ends {
            0 => queue.mark_lost(1),
            1 => queue.set_patch(1, Choice::NONE),
            2 => queue.split(1, 400),
            3 => {
                queue.acknowledge(seq(1) + 100);
            }
            _ => {
                queue.mark_corrupted(1, at(10));
                queue.set_patch(1, Choice::new(1 << 31, 0));
                assert_eq!(queue.get(1).bytes(), 2 * 6 + 8 + 2, "the last block is shorter");
            }
        }
        let pipe = [2000, 3000, 3000, 1900, 2000][ends];
        assert_eq!((queue.pipe(), queue.counts()), (pipe, recounted(&queue)), "{ends}");
        queue.acknowledge(seq(3));
        assert_eq!((queue.counts(), queue.outstanding()), ([0; 6], 0));
    }
}

#[test]
fn a_first_transmission_is_lost_and_its_retransmission_is_not() {
    let mut queue = queue(2);
    queue.retransmit(0, at(9), 8);
    queue.mark_first_lost(0);
    assert_eq!((queue.pipe(), queue.first_missing()), (2000, None));
    queue.mark_first_lost(1);
    assert_eq!((queue.pipe(), queue.first_missing()), (1000, Some(1)));
    assert_eq!(queue.counts(), recounted(&queue));
}

#[test]
fn what_is_acknowledged_is_not_lost() {
    let mut queue = queue(2);
    queue.mark_sacked(0);
    queue.mark_lost(0);
    queue.mark_damaged(0);
    assert!(!queue.get(0).has(Marks::LOST) && !queue.get(0).has(Marks::DAMAGED));
    assert!(!queue.any_missing() && !queue.any_damaged() && !queue.has_unexplained_loss());
    queue.mark_damaged(1);
    assert!(queue.any_missing() && queue.any_damaged() && !queue.has_unexplained_loss());
    queue.forget_damage(1);
    assert!(queue.any_missing() && !queue.any_damaged() && queue.has_unexplained_loss());
    queue.forget_damage(1);
    assert_eq!(queue.first_missing(), Some(1), "it was not damaged");
}

/// Losses are found in any order.
#[test]
fn the_lowest_that_is_missing_comes_first() {
    let mut queue = queue(5);
    for (lost, expected) in [(3, 3), (4, 3), (1, 1), (2, 1), (0, 0)] {
        queue.mark_lost(lost);
        assert_eq!(queue.first_missing(), Some(expected));
    }
    for index in 0..5 {
        assert_eq!(queue.first_missing(), Some(index));
        queue.retransmit(index, at(9), 8);
    }
    assert_eq!(queue.first_missing(), None);
    queue.mark_lost(2);
    assert_eq!(queue.first_missing(), Some(2));
    assert_eq!(queue.counts(), recounted(&queue));
}

#[test]
fn a_copy_changes_nothing_but_what_an_ack_means() {
    let mut queue = queue(1);
    queue.mark_copied(0);
    assert!(queue.get(0).has(Marks::EVER_RETRANSMITTED) && queue.get(0).has(Marks::COPIED));
    assert_eq!((queue.pipe(), queue.transmissions()), (1000, 1));
    assert!(queue.acknowledge(seq(1)).retransmitted);
}

#[test]
fn a_receiver_may_drop_what_it_has_acknowledged() {
    for is_lost in [false, true] {
        let mut queue = queue(4);
        queue.mark_sacked(1);
        queue.mark_sacked(2);
        queue.mark_lost(0);
        if is_lost {
            queue.lose_sacked();
        } else {
            queue.clear_sacked();
        }
        assert_eq!((queue.sacked(), queue.pipe()), (0, if is_lost { 1000 } else { 3000 }));
        assert_eq!(queue.counts(), recounted(&queue));
        queue.retransmit(0, at(9), 8);
        assert_eq!(queue.first_missing(), is_lost.then_some(1));
    }
}

#[test]
fn all_losses_are_forgotten_and_what_is_acknowledged_stays() {
    let mut queue = queue(5);
    queue.mark_sacked(1);
    queue.mark_damaged(0);
    queue.set_patch(0, Choice::new(1, 0));
    queue.mark_lost(2);
    queue.retransmit(2, at(9), 8);
    queue.mark_lost(3);
    queue.clear_losses();
    assert_eq!((queue.counts(), queue.first_missing()), ([1000, 0, 0, 0, 0, 0], None));
    assert!(queue.get(2).has(Marks::EVER_RETRANSMITTED), "the ACK of it says nothing of the time");
    assert_eq!(queue.counts(), recounted(&queue));
}

/// The timeout was spurious: what it took for lost is under way.
#[test]
fn what_was_not_retransmitted_is_under_way_after_all() {
    let mut queue = logged(5);
    queue.mark_sacked(2);
    (0..5).for_each(|index| queue.mark_lost(index));
    queue.mark_damaged(3);
    queue.retransmit(1, at(10), 8);
    queue.revive_losses();
    assert_eq!(queue.first_missing(), Some(3), "it arrived damaged");
    assert_eq!(queue.counts(), recounted(&queue));
    let log = queue.log().expect("it is kept");
    let mut orders = Vec::new();
    let mut place = 0;
    while let Some((found, sent)) = log.live_from(place) {
        orders.push(sent.order);
        place = found + 1;
    }
    // The second was sent last.
    assert_eq!(orders, [1, 5, 6]);
    assert_eq!(log.oldest().map(|sent| (sent.seq, sent.len, sent.sent_at)), Some((seq(0), 1000, at(1))));
}

#[test]
fn damage_and_losses_behind_the_bottleneck_count_as_delivered() {
    let mut queue = logged(3);
    queue.mark_corrupted(0, at(10));
    assert_eq!((queue.corrupted_bytes(), queue.take_longest_arrived()), (1000, 1000));
    queue.count_passed(1, at(9), at(10));
    assert_eq!((queue.corrupted_bytes(), queue.take_longest_arrived()), (2000, 0), "it did not arrive");
    assert!(queue.get(0).has(Marks::DAMAGED) && !queue.get(1).has(Marks::DAMAGED));
}

#[test]
fn the_application_limits_what_is_sent_until_that_is_delivered() {
    let mut queue = logged(2);
    assert!(!queue.is_app_limited());
    queue.app_limited();
    assert!(queue.is_app_limited());
    queue.acknowledge(seq(2));
    queue.take_delivery(at(9), None);
    assert!(queue.is_app_limited(), "what is sent next follows a pause");
    queue.push(seq(2), 1000, Marks::NONE, at(10), 7);
    queue.acknowledge(seq(3));
    queue.take_delivery(at(11), None);
    assert!(!queue.is_app_limited());
}

#[test]
fn what_others_have_in_the_network_counts() {
    let others = Others { pipe: 5000, load: Load::Below, ..Others::default() };
    let mut queue = SentQueue::with_log();
    queue.set_others(&others);
    queue.push(seq(0), 1000, Marks::NONE, at(1), 7);
    assert_eq!(queue.transmission_of(0).map(|sent| sent.volume()), Some(6000));
    queue.set_others(&Others { pipe: 2000, ..others });
    queue.push(seq(1), 1000, Marks::NONE, at(2), 7);
    let second = queue.transmission_of(1).expect("it is known");
    assert_eq!((second.volume(), second.load), (4000, Load::Below));
    queue.set_load(Load::At);
    queue.push(seq(2), 1000, Marks::NONE, at(3), 7);
    assert_eq!(queue.transmission_of(2).map(|sent| sent.load), Some(Load::At));
}
