//! Promise P16 of `docs/SPEC.md`: streams between programs and the callers of their jobs, in every
//! backend.

use crate::JOB_LIMITS;
use crate::programs::{pools, run_served};
use sandbox::{FailureKind, Limits, Pool, Service};
use sandbox_protocol::JobLimits;
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// Wall time that is long enough for every run in these tests.
const WALL_MS: u32 = 60_000;

/// Service that answers each line of its input with the same line in capital letters.
#[derive(Default)]
struct UppercaseService {
    received: Vec<u8>,
    done: usize,
    output: Vec<u8>,
    written: usize,
    /// CPU time to spend on each line.
    effort: Duration,
}

impl Service for UppercaseService {
    fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    fn process(&mut self) -> bool {
        let Some(end) = self.received[self.done..]
            .iter()
            .position(|byte| *byte == b'\n')
        else {
            return false;
        };
        let begin = Instant::now();
        while begin.elapsed() < self.effort {
            std::hint::spin_loop();
        }
        let line = &self.received[self.done..][..=end];
        self.output.extend(line.to_ascii_uppercase());
        self.done += line.len();
        true
    }

    fn parts<'a>(&'a self, parts: &mut [IoSlice<'a>]) -> usize {
        // The output is split in two parts, so that a write may end between the parts or within a
        // part.
        let (first, second) =
            self.output[self.written..].split_at((self.output.len() - self.written) / 2);
        let mut filled = 0;
        for bytes in [first, second] {
            if !bytes.is_empty()
                && let Some(part) = parts.get_mut(filled)
            {
                *part = IoSlice::new(bytes);
                filled += 1;
            }
        }
        filled
    }

    fn advance(&mut self, bytes: usize) {
        self.written += bytes;
    }

    fn is_over(&self) -> bool {
        self.received[..self.done].ends_with(b"bye\n")
    }
}

fn assert_is_answered(pool: &Pool) {
    let (limits, mut service) = ((JOB_LIMITS, WALL_MS), UppercaseService::default());
    let output = run_served(pool, &["DO=ask"], b"a\n", limits, &mut service);
    assert_eq!(output.as_deref(), Ok("A\n"));
}

#[test]
fn p16_a_program_asks_and_is_answered() {
    // On a busy machine the runs take long, so their wall time limit is high and they are never
    // deprioritized.
    let limits = Limits {
        deprioritize_after_ms: 0,
        max_request_time_ms: WALL_MS,
        ..Limits::default()
    };
    for pool in pools(limits) {
        let mut service = UppercaseService::default();
        let lines: String = (0..5_000)
            .map(|number| format!("line {number}\n"))
            .collect();
        let output = run_served(
            &pool,
            &["DO=ask"],
            lines.as_bytes(),
            (JOB_LIMITS, WALL_MS),
            &mut service,
        );
        assert_eq!(output.as_deref(), Ok(&*lines.to_uppercase()));
        // The next run gets a new stream, which works.
        assert_is_answered(&pool);
    }
}

#[test]
fn p16_what_was_asked_before_the_end_is_done() {
    for pool in pools(Limits::default()) {
        let mut service = UppercaseService::default();
        let requests = b"last\n".repeat(1_000);
        let output = run_served(
            &pool,
            &["DO=tell-service"],
            &requests,
            (JOB_LIMITS, WALL_MS),
            &mut service,
        );
        assert_eq!(output.as_deref(), Ok("sent\n"));
        assert_eq!(service.done, requests.len());
    }
}

#[test]
fn p16_a_line_ends_when_its_service_does() {
    for pool in pools(Limits::default()) {
        let mut service = UppercaseService::default();
        let output = run_served(
            &pool,
            &["DO=ask"],
            b"one\nbye\nmore\n",
            (JOB_LIMITS, WALL_MS),
            &mut service,
        );
        assert_eq!(output.as_deref(), Ok("ONE\nBYE\n"));
    }
}

#[test]
fn p16_answers_take_no_more_cpu_time_than_the_run_may() {
    for pool in pools(Limits::default()) {
        let mut service = UppercaseService {
            effort: Duration::from_millis(20),
            ..UppercaseService::default()
        };
        let limits = JobLimits {
            cpu_ms_max: 200,
            ..JOB_LIMITS
        };
        let requests = b"line\n".repeat(1_000);
        let output = run_served(
            &pool,
            &["DO=ask"],
            &requests,
            (limits, WALL_MS),
            &mut service,
        );
        let output = output.expect("the program ends well");
        assert!(output.len() < requests.len() / 10, "{}", output.len());
    }
}

/// End of programs that never read their answers, and of programs that wait for an answer although
/// they sent no request: they run until their wall time is over.
#[test]
fn p16_a_program_that_only_speaks_or_only_listens_is_ended() {
    for pool in pools(Limits::default()) {
        for what in ["DO=deaf", "DO=listen"] {
            let mut service = UppercaseService::default();
            let output = run_served(&pool, &[what], b"", (JOB_LIMITS, 500), &mut service);
            let kind = output.map_err(|failure| failure.kind);
            assert_eq!(kind, Err(FailureKind::TimedOut), "{what}");
            // While the program leaves answers unread, the service stops reading requests, so it
            // has received only a small part of them.
            assert!(
                service.received.len() < 4 << 20,
                "{}",
                service.received.len()
            );
        }
        assert_is_answered(&pool);
    }
}
