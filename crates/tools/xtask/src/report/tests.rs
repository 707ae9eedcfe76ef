use super::lines::{Lines, Series};
use super::plot::{Better, Interval, Plot, Verdict};
use super::*;

#[test]
fn the_committed_page_is_that_of_the_newest_records() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3);
    let root = root.expect("the crate is three folders below the checkout");
    let committed = fs::read_to_string(root.join(DOCUMENT)).expect("it is committed");
    let records = Records::read(root).expect("they are committed");
    assert!(
        committed == rendered(&records),
        "{DOCUMENT} differs from the records: run cargo xtask lab report"
    );
}

#[test]
fn a_ratio_is_judged_by_its_whole_interval_as_printed() {
    use Better::{Less, More};
    use Verdict::{Level, Lost, Won};
    let table = [
        (Less, 0.80, 0.94, Won),
        (Less, 0.80, 0.996, Level),
        (Less, 0.80, 1.20, Level),
        (Less, 1.004, 1.20, Level),
        (Less, 1.01, 1.20, Lost),
        (More, 0.80, 0.94, Lost),
        (More, 0.94, 1.06, Level),
        (More, 1.06, 1.20, Won),
    ];
    for (better, low, high, expected) in table {
        let median = f64::midpoint(low, high);
        let ratio = Interval { median, low, high };
        let plot = Plot::new("plot", "µs", better, "record");
        let plot = plot.compared("nginx", Interval::exact(1.0), Some(ratio));
        let comparison = plot.bars[0].comparison.expect("it was compared");
        assert_eq!(comparison.verdict, expected, "{better:?} {low}…{high}");
    }
}

#[test]
fn a_ratio_that_no_record_has_is_computed_from_the_ranges() {
    let plot = Plot::new("plot", "µs", Better::Less, "record")
        .bar("pelton", Interval::of(vec![4.0, 2.0, 3.0], 1.0))
        .compared("redis", Interval::of(vec![6.0, 5.0, 8.0], 1.0), None);
    let comparison = plot.bars[1].comparison.expect("it was compared");
    let expected = Interval {
        median: 0.5,
        low: 0.25,
        high: 0.8,
    };
    assert_eq!(comparison.ratio, expected);
    assert_eq!(comparison.verdict, Verdict::Won);
}

#[test]
fn bars_begin_at_zero_and_the_longest_interval_fills_the_width() {
    let plot = Plot::new("a < b", "µs", Better::Less, "record")
        .bar("pelton", Interval::exact(5.0))
        .compared(
            "nginx",
            Interval {
                median: 8.0,
                low: 6.0,
                high: 10.0,
            },
            None,
        );
    expect_test::expect![[r#"
        <svg viewBox="0 0 340 84" role="img" aria-label="a &lt; b">
        <g class="pelton"><text x="4" y="13">Pelton</text><text class="end" x="340" y="13">5.0</text><rect y="19" width="120.0" height="14"/></g>
        <g class="nginx"><text x="4" y="55">nginx <tspan class="detail">1.22.1</tspan></text><text class="end" x="340" y="55">8.0 (6.0…10)</text><rect y="61" width="192.0" height="14"/><path class="interval" d="M144.0 68H240.0M144.0 64v8M240.0 64v8"/><text class="end won" x="340" y="73">won 0.62×</text></g>
        <path class="zero" d="M.5 0V84"/>
        </svg>
    "#]].assert_eq(&chart::svg(&plot, |bar| {
        (bar.name == "nginx").then(|| "1.22.1".to_owned())
    }));
}

#[test]
fn rows_over_time_share_their_scales() {
    let series = |name: &str, points: &[(f64, f64)]| Series {
        name: name.to_owned(),
        points: points.to_vec(),
    };
    let lines = Lines {
        title: "fit".to_owned(),
        unit: "MB",
        series: vec![
            series("pelton quick", &[(0.0, 10.0), (1.0, 20.0)]),
            series("imgproxy", &[(0.0, 10.0), (4.0, 40.0)]),
        ],
    };
    expect_test::expect![[r#"
        <svg viewBox="0 0 340 124" role="img" aria-label="fit">
        <g class="pelton"><text x="4" y="13">Pelton quick</text><text class="end" x="340" y="13">peak 20, 1.0 s</text><path class="area" d="M0 55L0.0 46.0L85.0 37.0V55Z"/><path class="zero" d="M0 55H340"/><path class="zero" d="M85.0 55v-4"/></g>
        <g class="imgproxy"><text x="4" y="75">imgproxy</text><text class="end" x="340" y="75">peak 40, 4.0 s</text><path class="area" d="M0 117L0.0 108.0L340.0 81.0V117Z"/><path class="zero" d="M0 117H340"/><path class="zero" d="M340.0 117v-4"/></g>
        </svg>
    "#]].assert_eq(&lines::svg(&lines));
}
