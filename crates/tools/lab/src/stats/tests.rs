use super::*;

#[test]
fn the_median_of_an_even_number_lies_between_the_middle_two() {
    let spread = Spread::of(&[4.0, 1.0, 3.0, 2.0]);
    let expected = Spread {
        median: 2.5,
        min: 1.0,
        max: 4.0,
    };
    assert_eq!(spread, expected);
    assert_eq!(Spread::of(&[7.0]).median, 7.0);
}

#[test]
fn what_slows_a_whole_round_does_not_move_the_ratio() {
    let ratio = Ratio::of(&[1.0, 10.0, 2.0, 4.0], &[2.0, 20.0, 4.0, 8.0]);
    let expected = Ratio {
        median: 0.5,
        low: 0.5,
        high: 0.5,
    };
    assert_eq!(ratio, expected);
}

#[test]
fn the_interval_holds_the_median_and_is_the_same_each_time() {
    let (ours, theirs) = ([1.0, 1.2, 0.9, 1.1, 1.4], [1.0, 1.0, 1.0, 1.0, 1.0]);
    let ratio = Ratio::of(&ours, &theirs);
    assert_eq!(ratio.median, 1.1);
    assert!(0.9 <= ratio.low && ratio.low <= 1.0, "{ratio:?}");
    assert!(1.2 <= ratio.high && ratio.high <= 1.4, "{ratio:?}");
    assert_eq!(ratio, Ratio::of(&ours, &theirs));
}

#[test]
fn every_second_round_runs_backwards() {
    assert_eq!(order(3, 0), [0, 1, 2]);
    assert_eq!(order(3, 1), [2, 1, 0]);
    assert_eq!(order(3, 2), [0, 1, 2]);
}

#[test]
fn a_curve_is_met_between_its_points_and_not_beyond() {
    let curve = [(10.0, 40.0), (20.0, 60.0), (30.0, 58.0), (40.0, 80.0)];
    assert_eq!(reaches(&curve, 50.0), Some(15.0));
    assert_eq!(reaches(&curve, 40.0), Some(10.0));
    assert_eq!(reaches(&curve, 59.0), Some(19.5));
    assert_eq!(reaches(&curve, 80.0), Some(40.0));
    assert_eq!(reaches(&curve, 81.0), None);
    assert_eq!(reaches(&curve, 39.0), None);
    assert_eq!(value(&curve, 15.0), Some(50.0));
    assert_eq!(value(&curve, 40.0), Some(80.0));
    assert_eq!(value(&curve, 41.0), None);
}
