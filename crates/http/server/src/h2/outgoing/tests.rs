//! Tests that pieces are written completely and in order, however few bytes a write accepts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use tokio::io::AsyncWrite;

use super::{Outgoing, Piece};

/// Writer that accepts at most `at_a_time` bytes per write.
struct Narrow {
    taken: Vec<u8>,
    at_a_time: usize,
}

impl AsyncWrite for Narrow {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = bytes.len().min(self.at_a_time);
        self.taken.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

proptest! {
    #[test]
    fn no_byte_is_lost(
        steps in proptest::collection::vec((0_u8..5, 0_usize..40_000), 1..60),
        at_a_time in 1_usize..70_000,
    ) {
        let mut out = Outgoing::default();
        let mut narrow = Narrow { taken: Vec::new(), at_a_time };
        let mut expected = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        for (number, (kind, length)) in steps.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..length).map(|at| (at + number) as u8).collect();
            if kind != 4 {
                expected.extend_from_slice(&bytes);
            }
            match kind {
                0 => out.text().extend_from_slice(&bytes),
                1 => out.push(Piece::Shared(Arc::from(&bytes[..]), 0..length)),
                2 => out.push(Piece::Owned(bytes.into())),
                3 => out.push(Piece::Chunk(bytes)),
                _ if out.is_empty() => out.rest(),
                _ => prop_assert!(out.poll_write(&mut narrow, &mut context).is_ready()),
            }
            prop_assert_eq!(out.queued_bytes(), expected.len() - narrow.taken.len());
        }
        while !out.is_empty() {
            prop_assert!(out.poll_write(&mut narrow, &mut context).is_ready());
        }
        prop_assert_eq!(out.own_bytes(), 0);
        prop_assert_eq!(out.text_bytes(), 0);
        prop_assert!(narrow.taken == expected);
    }
}
