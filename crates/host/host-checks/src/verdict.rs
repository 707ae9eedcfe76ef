//! Functions that several rows share: constructors of judgements, and a judgement of all
//! interfaces.

use crate::check::{Judged, Judgement, Standing, unknown};
use crate::fact::Unknown;
use crate::{Facts, Interface, Metrics};

/// Text of `Check::sizes` for rows whose change only saves work per request or packet.
pub(crate) const SMALL: &str = "small responses (up to about 2 KB) at more than 50,000 requests/s; not responses of 50 KB and more, whose cost is mostly copying and segmentation";

/// Minimum number of requests for a judgement of a ratio. The next two constants are minimums for
/// accepted connections and for sampled connections.
pub(crate) const REQUESTS_MIN: u64 = 1_000;
pub(crate) const CONNECTIONS_MIN: u64 = 1_000;
pub(crate) const LOCATED_MIN: u64 = 100;

pub(crate) fn fine(state: impl Into<String>) -> Judgement {
    Judgement::new(Standing::Fine, state)
}

pub(crate) fn gain(state: impl Into<String>) -> Judgement {
    Judgement::new(Standing::Gain, state)
}

pub(crate) fn problem(state: impl Into<String>) -> Judgement {
    Judgement::new(Standing::Problem, state)
}

pub(crate) fn tradeoff(state: impl Into<String>) -> Judgement {
    Judgement::new(Standing::Tradeoff, state)
}

pub(crate) fn not_applicable(state: impl Into<String>) -> Judgement {
    Judgement::new(Standing::NotApplicable, state)
}

/// Judges every interface. The worst judgement decides; its state names the interfaces.
pub(crate) fn each(facts: &Facts, judge: fn(&Facts, &Interface) -> Judged) -> Judged {
    let interfaces = facts.interfaces.get()?;
    let mut judged: Vec<(&str, Judgement)> = interfaces
        .iter()
        .map(|interface| {
            let judgement = judge(facts, interface).unwrap_or_else(unknown);
            (interface.name.as_str(), judgement)
        })
        .collect();
    judged.sort_by_key(|(_, judgement)| judgement.standing);
    let Some((_, worst)) = judged.first() else {
        return Ok(not_applicable("no interface other than loopback is up").seen(&facts.interfaces));
    };
    let mut whole = Judgement::new(worst.standing, "");
    let decisive = judged
        .iter()
        .filter(|(_, judgement)| judgement.standing == whole.standing);
    let states = decisive
        .clone()
        .map(|(name, judgement)| format!("{name}: {}", judgement.state));
    whole.state = states.collect::<Vec<_>>().join("; ");
    if facts.unread_interfaces != 0 {
        whole.state += &format!(
            "; {} more interfaces were not read",
            facts.unread_interfaces
        );
    }
    let changes: Vec<String> = decisive
        .filter_map(|(_, judgement)| judgement.change.clone())
        .collect();
    whole.change = (!changes.is_empty()).then(|| changes.join("; "));
    whole.evidence = judged
        .into_iter()
        .flat_map(|(_, judgement)| judgement.evidence)
        .collect();
    Ok(whole)
}

/// Returns the number of processors that the process may use.
pub(crate) fn processors(facts: &Facts) -> Result<u64, Unknown> {
    Ok(facts.process.allowed.get()?.len() as u64)
}

/// Returns the metrics of the running server.
pub(crate) fn metrics(facts: &Facts) -> Result<&Metrics, Unknown> {
    facts.server.metrics.get()
}
