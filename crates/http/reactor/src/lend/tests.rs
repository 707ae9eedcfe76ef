use std::future::poll_fn;
use std::hint::black_box;
use std::io::IoSlice;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream, UnixStream};

use super::{
    ZERO_COPY_BYTES_MIN, ZeroCopySocket, ZeroCopyWriter, addresses, allocate_buffer, lend, table,
    zero_copy, zero_copy_within,
};

/// Returns bytes whose values depend on their position.
fn pattern(len: usize, seed: u8) -> BytesMut {
    let bytes = (0..len).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed);
    bytes.collect()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(work)
}

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it has one");
    let (ours, theirs) = tokio::join!(listener.accept(), TcpStream::connect(address));
    (ours.expect("asked for").0, theirs.expect("listened to"))
}

/// Writes all parts. Returns the number of calls of `poll_write` that were needed.
async fn write_all(
    zero_copy_writer: &ZeroCopyWriter,
    stream: &impl ZeroCopySocket,
    parts: &[&[u8]],
) -> usize {
    let mut slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = &mut slices[..];
    let mut calls = 0;
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        let written =
            poll_fn(|context| zero_copy_writer.poll_write(stream, context, left, false)).await;
        IoSlice::advance_slices(&mut left, written.expect("the client reads"));
        calls += 1;
    }
    calls
}

#[test]
fn parts_arrive_in_order_whatever_is_lent() {
    run(async {
        let zero_copy_writer = ZeroCopyWriter::new().expect("a pipe");
        let (ours, mut theirs) = pair().await;
        let small = pattern(100, 1).freeze();
        let large = zero_copy(pattern(5_000_001, 2));
        let other = zero_copy(pattern(ZERO_COPY_BYTES_MIN, 3));
        let own = pattern(100_000, 4).freeze();
        let part = large.slice(77_777..3_000_000);
        let parts: [&[u8]; 9] = [
            &small, &large, b"\r\n", &small, &part, &other, &own, b"", b"end",
        ];
        let expected = parts.concat();
        let mut received = vec![0; expected.len()];
        tokio::join!(write_all(&zero_copy_writer, &ours, &parts), async {
            theirs
                .read_exact(&mut received)
                .await
                .expect("all of it comes");
        });
        assert!(received == expected);
    });
}

#[test]
fn bytes_around_a_value_are_lent_with_it_if_they_equal_the_sent_bytes() {
    const HEAD: &[u8] = b"$100000\r\n";
    let mut bytes = allocate_buffer(HEAD, 100_000);
    bytes.extend_from_slice(&pattern(100_000, 1));
    bytes.extend_from_slice(b"\r\n");
    let value = zero_copy_within(bytes, HEAD.len()..HEAD.len() + 100_000);
    assert!(value == pattern(100_000, 1));
    // Returns how many bytes are sent without copying: before `part`, within `part`, and after
    // `part`.
    let around = |before: &[u8], part: &[u8], behind: &[u8]| {
        let segment = lend(part, before, behind).expect("it is long");
        (
            segment.head,
            segment.memory.len() - segment.head - segment.end,
            segment.end,
        )
    };
    assert_eq!(
        around(b":1\r\n$100000\r\n", &value, b"\r\n:2\r\n"),
        (9, 100_000, 2)
    );
    assert_eq!(around(b"=100000\r\n", &value, b"\n"), (0, 100_000, 0));
    assert_eq!(around(HEAD, &value[1..], b"\r\n"), (0, 99_999, 2));
    assert_eq!(around(HEAD, &value[..99_999], b"\r\n"), (9, 99_999, 0));
    assert_eq!(around(b"", &value, b""), (0, 100_000, 0));
    run(async {
        let zero_copy_writer = ZeroCopyWriter::new().expect("a pipe");
        let (ours, mut theirs) = pair().await;
        let parts: [&[u8]; 7] = [
            b":1\r\n$100000\r\n",
            &value,
            b"\r\n$100000\r\n",
            &value,
            b"\r\nother",
            &value[5..],
            b"",
        ];
        let expected = parts.concat();
        let mut received = vec![0; expected.len()];
        tokio::join!(write_all(&zero_copy_writer, &ours, &parts), async {
            theirs
                .read_exact(&mut received)
                .await
                .expect("all of it comes");
        });
        assert!(received == expected);
    });
}

#[test]
fn bytes_in_a_socket_outlive_their_value() {
    const BYTES: usize = 200_000;
    run(async {
        let zero_copy_writer = ZeroCopyWriter::new().expect("a pipe");
        let (ours, mut theirs) = pair().await;
        let mut expected = Vec::new();
        // Each value is dropped as soon as the socket has accepted it, and the next value reuses
        // its memory.
        for seed in 0..10 {
            let value = zero_copy(pattern(BYTES, seed));
            expected.extend_from_slice(&value);
            write_all(&zero_copy_writer, &ours, &[&value]).await;
            drop(value);
            black_box(vec![0xee_u8; BYTES]);
        }
        let mut received = vec![0; expected.len()];
        theirs
            .read_exact(&mut received)
            .await
            .expect("all of it comes");
        assert!(received == expected);
    });
}

#[test]
fn bytes_in_a_unix_socket_outlive_their_value() {
    // Size of a value that fits into the default buffer of a Unix socket.
    const BYTES: usize = 100_000;
    run(async {
        let zero_copy_writer = ZeroCopyWriter::new().expect("a pipe");
        let (ours, mut theirs) = UnixStream::pair().expect("two sockets");
        for seed in 0..10 {
            let expected = pattern(BYTES, seed);
            let value = zero_copy(expected.clone());
            write_all(&zero_copy_writer, &ours, &[&value]).await;
            assert!(lent(&value), "its pages are lent");
            drop(value);
            black_box(vec![0xee_u8; BYTES]);
            let mut received = vec![0; BYTES];
            theirs
                .read_exact(&mut received)
                .await
                .expect("all of it comes");
            assert!(received == expected);
        }
    });
}

/// Returns whether the kernel was given references to pages of `value`.
fn lent(value: &[u8]) -> bool {
    let table = table();
    let mut rows = table.range(addresses(value));
    rows.next().is_some_and(|(_, pages)| pages.lent)
}

#[test]
fn a_full_socket_leaves_nothing_for_the_next_one() {
    run(async {
        let zero_copy_writer = ZeroCopyWriter::new().expect("a pipe");
        let (slow, _unread) = pair().await;
        let value = zero_copy(pattern(64 << 20, 1));
        let part = [IoSlice::new(&value)];
        let mut written_bytes = 0;
        // Writes until the socket is full. The last write leaves bytes in the pipe that this socket
        // did not accept, and that must not reach the next socket.
        while let std::task::Poll::Ready(written) = poll_fn(|context| {
            std::task::Poll::Ready(zero_copy_writer.poll_write(&slow, context, &part, true))
        })
        .await
        {
            written_bytes += written.expect("nobody closes");
        }
        assert!(0 < written_bytes && written_bytes < value.len());
        let (ours, mut theirs) = pair().await;
        let other = zero_copy(pattern(300_000, 2));
        let mut received = vec![0; other.len()];
        let parts: [&[u8]; 1] = [&other];
        tokio::join!(write_all(&zero_copy_writer, &ours, &parts), async {
            theirs
                .read_exact(&mut received)
                .await
                .expect("all of it comes");
        });
        assert!(received == other);
    });
}

#[test]
fn changing_lent_bytes_copies_them() {
    let value = zero_copy(pattern(ZERO_COPY_BYTES_MIN, 1));
    let before = value.as_ptr();
    let changed = Vec::from(value);
    assert_ne!(changed.as_ptr(), before);
    assert_eq!(changed, pattern(ZERO_COPY_BYTES_MIN, 1));
}

#[test]
fn dropped_values_leave_the_table() {
    let value = zero_copy(pattern(ZERO_COPY_BYTES_MIN, 1));
    let all = addresses(&value);
    // Call this closure only for memory that the test still owns: another test may reuse freed
    // memory at once, and enter it into the table.
    let known = |bytes: &[u8]| table().range(addresses(bytes)).next().is_some();
    assert!(known(&value));
    let part = value.slice(1..10);
    drop(value);
    assert!(table().range(all).next().is_some());
    drop(part);
    let own = vec![1; ZERO_COPY_BYTES_MIN];
    assert!(!known(&own));
    assert!(!known(&zero_copy(pattern(ZERO_COPY_BYTES_MIN - 1, 1))));
}

/// Returns the CPU time of this thread, in nanoseconds.
fn cpu_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

#[test]
fn a_very_large_value_is_not_freed_where_it_is_dropped() {
    const BYTES: usize = 128 << 20;
    let freed_here = BytesMut::from(&vec![1_u8; BYTES][..]);
    let freed_beside = zero_copy(BytesMut::from(&vec![1_u8; BYTES][..]));
    let start_ns = cpu_ns();
    drop(freed_beside);
    let beside = cpu_ns() - start_ns;
    let start_ns = cpu_ns();
    drop(freed_here);
    let here = cpu_ns() - start_ns;
    assert!(beside * 2 < here, "{beside} ns beside {here} ns");
}
