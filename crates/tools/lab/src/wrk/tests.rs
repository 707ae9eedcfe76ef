use super::*;

#[test]
fn requests_are_counted_when_all_went_well() {
    let printed = "Running 5s test @ http://127.0.0.1:1/\n  1 threads and 64 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   295.97us    1.21ms  23.46ms   98.31%\n    Req/Sec   340.21k    12.00k  354.76k    86.00%\n  1692461 requests in 5.00s, 3.83GB read\nRequests/sec: 338436.00\nTransfer/sec:    784.15MB\n";
    assert_eq!(answered(printed), Some(1_692_461));
    assert_eq!(
        answered(&format!("{printed}  Non-2xx or 3xx responses: 7\n")),
        None
    );
    let errors = "  Socket errors: connect 0, read 3, write 0, timeout 0\n";
    assert_eq!(answered(&format!("{printed}{errors}")), None);
    assert_eq!(answered("unable to connect"), None);
}

fn requests(pipelined: u32, requests_a_connection: Option<u32>) -> Requests<'static> {
    Requests {
        scheme: "http",
        server: ([127, 0, 0, 1], 80).into(),
        target: "/",
        fields: &[],
        pipelined,
        requests_a_connection,
    }
}

#[test]
fn a_script_is_written_for_what_no_flag_says() {
    assert_eq!(script(&requests(1, None)), None);
    let batch = script(&requests(16, None)).expect("pipelined");
    assert!(batch.contains("wrk.format(), 16"), "{batch}");
    let churn = script(&requests(1, Some(10))).expect("replaced");
    assert!(churn.contains("number % 10 == 0"), "{churn}");
}
