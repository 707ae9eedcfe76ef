//! Statistics of samples: medians and ranges, and ratios of two samples from the same round.

#[cfg(test)]
mod tests;

use serde::Serialize;

/// Number of resamples of a bootstrap. With 1,000 resampled medians, the 2.5th percentile is the
/// 25th smallest.
const RESAMPLES: usize = 1_000;

/// Median and range of some samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Computes median and range.
    ///
    /// # Panics
    /// Panics if there are no samples; every benchmark takes at least one.
    pub(crate) fn of(samples: &[f64]) -> Spread {
        let sorted = sorted(samples);
        Spread {
            median: quantile(&sorted, 0.5),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
        }
    }

    /// Returns a row of a table: name, median and range.
    pub(crate) fn row(&self, name: &str) -> Vec<String> {
        let Spread { median, min, max } = self;
        vec![
            name.to_owned(),
            format!("{median:.1}"),
            format!("{min:.1}…{max:.1}"),
        ]
    }
}

/// Ratio of two contenders' costs, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Ratio {
    /// Computes the ratio of the two contenders in each round, and the median of these ratios. So a
    /// disturbance of a whole round cancels out. The confidence interval is a percentile bootstrap
    /// of the median (Efron, 1979). The bootstrap's seed is fixed, so that equal samples give equal
    /// records.
    ///
    /// # Panics
    /// Panics if the two slices are empty or differ in length; each round measures both contenders.
    pub(crate) fn of(ours: &[f64], theirs: &[f64]) -> Ratio {
        assert_eq!(
            ours.len(),
            theirs.len(),
            "each round measures both contenders"
        );
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
        let mut medians = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let picked: Vec<f64> = ratios
                .iter()
                .map(|_| ratios[draw.below(ratios.len())])
                .collect();
            medians.push(quantile(&sorted(&picked), 0.5));
        }
        let medians = sorted(&medians);
        Ratio {
            median: quantile(&sorted(&ratios), 0.5),
            low: quantile(&medians, 0.025),
            high: quantile(&medians, 0.975),
        }
    }
}

/// Random number generator xorshift64 (Marsaglia), good enough to resample.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

pub(crate) fn mean(samples: &[f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len() as f64
}

pub(crate) fn sorted(samples: &[f64]) -> Vec<f64> {
    assert!(!samples.is_empty(), "no samples");
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the quantile `share` (0 to 1) of sorted samples, interpolated linearly.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (position.floor() as usize, position.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64)
}

/// Returns the order of `contenders` in round `round`: forwards in even rounds, backwards in odd
/// rounds (A B C, C B A, …), so that a gradual change of the machine's speed affects all contenders
/// alike.
pub(crate) fn order(contenders: usize, round: usize) -> Vec<usize> {
    let there = 0..contenders;
    if round.is_multiple_of(2) {
        there.collect()
    } else {
        there.rev().collect()
    }
}

/// Returns the smallest `x` at which a curve with increasing x coordinates reaches `y`,
/// interpolated linearly; `None` if the curve does not reach `y`. The first crossing counts because
/// noise makes quality curves dip at their upper end.
pub(crate) fn reaches(curve: &[(f64, f64)], y: f64) -> Option<f64> {
    let first = curve.first()?;
    if first.1 == y {
        return Some(first.0);
    }
    curve.windows(2).find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        (y0 < y && y <= y1).then(|| x0 + (x1 - x0) * (y - y0) / (y1 - y0))
    })
}

/// Returns the y coordinate at `x` of a curve with increasing x coordinates, interpolated linearly;
/// `None` if `x` is outside the curve.
pub(crate) fn value(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let mut pairs = curve.windows(2);
    pairs.find_map(|pair| {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        (x0..=x1)
            .contains(&x)
            .then(|| y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    })
}
