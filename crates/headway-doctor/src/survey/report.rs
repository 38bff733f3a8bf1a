//! The report of a survey, as text and as JSON.

use headway_command::bars;
use serde::Serialize;

use super::summary::{BURSTS, Summary, Yield};

/// Both directions.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The length of the frames' packets, with IP header, in bytes.
    pub(super) packet_bytes: usize,
    /// To the peer; `None`: it did not say what arrived.
    pub(super) there: Option<Summary>,
    /// From the peer.
    pub(super) back: Summary,
    /// What kept it from being complete.
    pub(super) incomplete: Option<String>,
}

impl Report {
    pub(crate) fn json(&self) -> String {
        let advice = |summary: &Summary| advice(summary);
        let mut value = serde_json::json!(self);
        value["advice"] =
            serde_json::json!({ "there": self.there.as_ref().map(advice), "back": advice(&self.back) });
        format!("{value:#}\n")
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(why) = &self.incomplete {
            text.push_str(&format!("incomplete: {why}\n"));
        }
        for (name, summary) in [("there", self.there.as_ref()), ("back", Some(&self.back))] {
            match summary {
                Some(summary) => text.push_str(&of_direction(name, summary, self.packet_bytes)),
                None => text.push_str(&format!("{name}: the peer did not report what arrived\n")),
            }
        }
        text
    }
}

fn of_direction(name: &str, summary: &Summary, bytes: usize) -> String {
    let Summary { sent, lost, damaged, intact, cut, longer, .. } = summary;
    let mut lines = vec![
        format!("{name}: {}", advice(summary)),
        format!("  {sent} frames of {bytes} bytes, IP header included"),
        format!("  lost           {:>6}  {lost}", percent(summary.share_lost)),
        format!(
            "  damaged        {:>6}  {damaged}, {cut} of them ended early, {longer} were longer",
            percent(summary.share_damaged)
        ),
        format!("  intact         {:>6}  {intact}", percent(summary.share_intact)),
        format!("  intact blocks  {:>6}  of 32 bytes", percent(summary.share_of_intact_blocks)),
    ];
    if summary.wrong_bits > 0 {
        let rate = summary.share_of_wrong_bits;
        lines.push(format!("  wrong bits    {rate:>7.1e}  {}", summary.wrong_bits));
        lines.push(format!(
            "  where          |{}|  from the frame's beginning to its end",
            bars(&summary.places)
        ));
        let mut classes: Vec<String> = BURSTS.iter().map(|most| format!("up to {most}")).collect();
        classes.push("longer".into());
        let bursts = classes.iter().zip(summary.bursts).filter(|(_, count)| *count > 0);
        let bursts: Vec<String> = bursts.map(|(class, count)| format!("{class}: {count}")).collect();
        let longest = summary.longest_burst;
        lines.push(format!("  bursts         of bits, {}; longest {longest}", bursts.join(", ")));
    }
    if summary.milliseconds > 0 {
        let seconds = f64::from(summary.milliseconds) / 1000.0;
        let rate = f64::from(summary.arrived()) / seconds;
        let arrived = summary.arrived_over_time.map(u64::from);
        lines.push(format!(
            "  over time      |{}|  frames arrived, {rate:.1}/s in {seconds:.1} s",
            bars(&arrived)
        ));
    }
    if summary.damaged > 0 {
        lines.push(format!(
            "                 |{}|  of them damaged",
            bars(&summary.damaged_over_time.map(u64::from))
        ));
    }
    lines.push("  packets of        intact packets  intact blocks, in shares of the rate".into());
    for Yield { bytes, intact_packets, intact_blocks } in &summary.packets {
        let (packets, blocks) = (percent(*intact_packets), percent(*intact_blocks));
        lines.push(format!("  {bytes:>5} bytes        {packets:>12}  {blocks:>13}"));
    }
    lines.join("\n") + "\n"
}

/// What the numbers mean for an operator.
fn advice(summary: &Summary) -> String {
    let [packets, blocks] = summary.best();
    let (most, usable) = (percent(packets.intact_packets), percent(blocks.intact_blocks));
    match summary {
        _ if summary.arrived() == 0 => "no frame arrived".into(),
        Summary { damaged: 0, lost: 0, .. } => {
            "every frame arrived intact: every sender does, with the longest packets".into()
        }
        Summary { damaged: 0, .. } => {
            "frames are lost and none arrived damaged: if the modem drops damaged frames, have it hand them up, \
             or HACK has nothing to work with"
                .into()
        }
        _ if packets.intact_packets == 0.0 => format!(
            "no packet is intact at any length: only --variant headway works here, the default, which can use {usable} of \
             the rate with packets of {} bytes",
            blocks.bytes
        ),
        _ => {
            let gain = blocks.intact_blocks / packets.intact_packets;
            let choice = if gain >= 1.02 { "--variant headway, the default," } else { "any sender; headway" };
            format!(
                "use {choice} with packets of {} bytes, which can use {usable} of the rate; a sender whose damaged \
                 packets are dropped can use {most}, with packets of {} bytes: {gain:.2} times as much",
                blocks.bytes, packets.bytes
            )
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_follows_from_the_numbers() {
        let packets = |bytes, intact_packets, intact_blocks| Yield { bytes, intact_packets, intact_blocks };
        let says = |lost, damaged, intact, packets: &[Yield]| {
            advice(&Summary {
                sent: 10,
                lost,
                damaged,
                intact,
                packets: packets.to_vec(),
                ..Summary::default()
            })
        };
        assert!(says(10, 0, 0, &[]).contains("no frame arrived"));
        assert!(says(0, 0, 10, &[]).contains("every sender does"));
        assert!(says(5, 0, 5, &[]).contains("have it hand them up"));
        let lengths = [packets(256, 0.4, 0.6), packets(1492, 0.1, 0.8)];
        let text = says(0, 9, 1, &lengths);
        assert!(text.contains("packets of 1492 bytes, which can use 80.0 %"), "{text}");
        assert!(text.contains("can use 40.0 %, with packets of 256 bytes: 2.00 times"), "{text}");
        assert!(says(0, 9, 1, &[packets(1492, 0.95, 0.96)]).contains("any sender"));
        assert!(says(0, 10, 0, &[packets(1492, 0.0, 0.5)]).contains("no packet is intact"));
    }
}
