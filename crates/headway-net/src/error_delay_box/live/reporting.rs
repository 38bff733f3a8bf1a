//! Reports of the running box.

use super::super::{BoxReport, End, LaneReport, Quantiles};
use super::LiveBox;
use headway_link::Histogram;

/// Delays of a direction, since the last report and before.
#[derive(Default)]
pub(super) struct Times {
    pub(super) lateness: [Histogram; 2],
    pub(super) reading: [Histogram; 2],
}

impl LiveBox {
    pub(super) fn report(&mut self) -> BoxReport {
        let names = [0, 1].map(|index: usize| self.ports[index].interface().name.clone());
        let ports = [0, 1].map(|index: usize| self.ports[index].counters());
        let lanes = End::BOTH.map(|end| {
            let (from, to) = (end.index(), end.opposite().index());
            let (queue_packets, queue_bytes) = self.model.queue(end);
            let mut port = ports[from];
            port.refused = ports[to].refused;
            let times = &mut self.times[from];
            let [lateness, lateness_overall] = quantiles_of(&mut times.lateness);
            let [reading, reading_overall] = quantiles_of(&mut times.reading);
            LaneReport {
                from: names[from].clone(),
                to: names[to].clone(),
                link: self.model.counters(end),
                queue_packets,
                queue_bytes,
                in_link: self.model.in_link(end),
                port,
                lateness,
                lateness_overall,
                reading,
                reading_overall,
            }
        });
        let elapsed = self.clock.now().saturating_since(self.started);
        BoxReport { elapsed, priority: self.priority, lanes }
    }
}

/// The quantiles since the last report, and overall.
fn quantiles_of([since, before]: &mut [Histogram; 2]) -> [Quantiles; 2] {
    before.absorb(since);
    let quantiles = [since.quantiles(), before.quantiles()];
    since.clear();
    quantiles
}
