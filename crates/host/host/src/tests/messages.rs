//! Messages of the kernel over netlink, and metrics of a server.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use expect_test::expect;
use host_checks::{Channels, Coalescing, Rings, Unread};

use crate::netlink::{Expect, Message, push_attribute, split};
use crate::{audit, diag, ethtool, metrics, queueing, route};

/// Returns a datagram with one message.
fn datagram(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((16 + payload.len() as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0, 0]);
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn attributes(rows: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, value) in rows {
        push_attribute(&mut bytes, *kind, value);
    }
    bytes
}

/// Splits datagrams as the reply to request 1.
fn reply(datagrams: &[u8], expect: Expect) -> Result<(bool, Vec<Message>), Unread> {
    let mut messages = Vec::new();
    let is_complete = split(datagrams, 1, expect, &mut messages)?;
    Ok((is_complete, messages))
}

#[test]
fn replies_end_as_their_request_expects() {
    let object = datagram(16, 1, b"abcde");
    let stale = datagram(16, 7, b"old");
    let done = datagram(3, 1, &[0; 4]);
    let acknowledgement = datagram(2, 1, &[0; 20]);
    let message = || Message {
        kind: 16,
        payload: b"abcde".to_vec(),
    };
    let dump = [stale, object.clone(), done.clone()].concat();
    assert_eq!(reply(&dump, Expect::Dump), Ok((true, vec![message()])));
    assert_eq!(reply(&object, Expect::Dump), Ok((false, vec![message()])));
    let alone = object.clone();
    let one = [object, acknowledgement.clone()].concat();
    assert_eq!(
        reply(&one, Expect::Acknowledgement),
        Ok((true, vec![message()]))
    );
    assert_eq!(reply(&alone, Expect::One), Ok((true, vec![message()])));
    let list = [acknowledgement, done].concat();
    assert_eq!(reply(&list, Expect::List), Ok((true, Vec::new())));
}

#[test]
fn refusals_say_why() {
    let rows = [
        (-1, Unread::Denied),
        (-13, Unread::Denied),
        (-111, Unread::Denied),
        (-95, Unread::Unsupported),
        (-2, Unread::Unsupported),
        (-12, Unread::Errno(12)),
        (1, Unread::Malformed),
        (-4096, Unread::Malformed),
        (i32::MIN, Unread::Malformed),
    ];
    for (code, why) in rows {
        let payload = [&i32::to_ne_bytes(code)[..], &[0; 16]].concat();
        assert_eq!(
            reply(&datagram(2, 1, &payload), Expect::Dump),
            Err(why),
            "{code}"
        );
    }
}

#[test]
fn malformed_datagrams_are_refused() {
    assert_eq!(reply(&[1, 2, 3], Expect::Dump), Err(Unread::Malformed));
    let mut short = datagram(16, 1, b"abcd");
    short[0] = 15;
    assert_eq!(reply(&short, Expect::Dump), Err(Unread::Malformed));
    short[0] = 200;
    assert_eq!(reply(&short, Expect::Dump), Err(Unread::Malformed));
    assert_eq!(
        reply(&datagram(2, 1, &[0; 2]), Expect::Dump),
        Err(Unread::Malformed)
    );
}

#[test]
fn links_and_queueing_disciplines() {
    let mut message = vec![0; 16];
    message[4] = 2;
    message[8] = 1;
    let info = attributes(&[(1, b"veth\0")]);
    let xdp = attributes(&[(2, &[1])]);
    message.extend(attributes(&[(3, b"eth0\0"), (18, &info), (43, &xdp)]));
    expect![[r#"Some(Link { index: 2, name: "eth0", address: "", kind: "veth", has_xdp: true, is_up: true, is_loopback: false })"#]].assert_eq(&format!("{:?}", route::link(&message)));
    // Messages that end before the end of the name are refused.
    for end in 0..24 {
        assert_eq!(route::link(&message[..end]), None, "{end}");
    }
    let mut message = vec![0; 20];
    message[4] = 2;
    message[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
    message.extend(attributes(&[(1, b"fq_codel\0")]));
    expect![[r#"Some((2, Qdisc { kind: "fq_codel", is_root: true, is_ingress: false }))"#]]
        .assert_eq(&format!("{:?}", route::qdisc(&message)));
}

/// Returns a message about a queueing discipline of the interface 2.
fn discipline(handle: u32, parent: u32, kind: &[u8]) -> Vec<u8> {
    let numbers = [0, 2, handle, parent, 0];
    let head = numbers.iter().flat_map(|number: &u32| number.to_ne_bytes());
    head.chain(attributes(&[(1, kind)])).collect()
}

#[test]
fn queueing_disciplines_as_values() {
    const ROOT: u32 = u32::MAX;
    const INGRESS: u32 = 0xffff_fff1;
    let value = |rows: &[(u32, u32, &[u8])]| {
        let disciplines = rows.iter().map(|(handle, parent, kind)| {
            queueing::discipline(&discipline(*handle, *parent, kind)).expect("it is whole")
        });
        queueing::value(&disciplines.collect::<Vec<_>>())
    };
    let filtered = [
        (0, ROOT, &b"noqueue\0"[..]),
        (0xffff_0000, INGRESS, b"clsact\0"),
    ];
    assert_eq!(value(&filtered).as_deref(), Some("noqueue default"));
    assert_eq!(value(&filtered[1..]), None);
    let classes = [
        (0x0001_0000, ROOT, &b"htb\0"[..]),
        (0x8001_0000, 0x0001_0010, b"fq\0"),
    ];
    assert_eq!(value(&classes).as_deref(), Some("htb 1:"));
    let mut queues = vec![
        (0x7e17_0000, ROOT, &b"mq\0"[..]),
        (0x8001_0000, 0x7e17_0001, b"fq\0"),
        (0x8002_0000, 0x7e17_0002, b"fq\0"),
    ];
    assert_eq!(value(&queues).as_deref(), Some("mq fq 7e17:"));
    queues[2] = (0, 0x7e17_0002, b"pfifo_fast\0");
    assert_eq!(value(&queues).as_deref(), Some("mq fq pfifo_fast 7e17:"));
    assert!(queueing::is_own("mq fq pfifo_fast 7e17:"));
    assert!(!queueing::is_own("mq fq 8001:") && !queueing::is_own("pfifo_fast default"));
}

#[test]
fn properties_of_cards() {
    let number = |number: u32| number.to_ne_bytes();
    let reply = attributes(&[(5, &number(8)), (9, &number(2))]);
    assert_eq!(
        ethtool::channels(&reply),
        Channels {
            receive_max: 8,
            receive: 2
        }
    );
    // Some cards have either receive queues or combined ones.
    let reply = attributes(&[(2, &number(8)), (5, &number(8)), (9, &number(8))]);
    assert_eq!(
        ethtool::channels(&reply),
        Channels {
            receive_max: 8,
            receive: 8
        }
    );
    let reply = attributes(&[(2, &number(4096)), (6, &number(512))]);
    assert_eq!(
        ethtool::rings(&reply),
        Some(Rings {
            receive_max: 4096,
            receive: 512
        })
    );
    assert_eq!(ethtool::rings(&[]), None);
    let reply = attributes(&[(2, &number(3)), (11, &[1])]);
    let adaptive = Coalescing {
        is_adaptive: Some(true),
        receive_us: Some(3),
    };
    assert_eq!(ethtool::coalescing(&reply), adaptive);
    assert_eq!(ethtool::coalescing(&[]), Coalescing::default());
    let bit = |name: &[u8]| attributes(&[(1, &number(0)), (2, name)]);
    let bits = attributes(&[(1, &bit(b"rx-gro\0")), (1, &bit(b"tx-nocache-copy\0"))]);
    let reply = attributes(&[(4, &attributes(&[(1, &[]), (3, &bits)]))]);
    let names = Some(vec!["rx-gro".to_owned(), "tx-nocache-copy".to_owned()]);
    assert_eq!(ethtool::features(&reply), names);
    assert_eq!(ethtool::features(&[]), None);
}

#[test]
fn listening_sockets() {
    let mut message = [0; 72];
    message[0] = 2;
    message[4..6].copy_from_slice(&8080_u16.to_be_bytes());
    message[8..12].copy_from_slice(&[127, 0, 0, 1]);
    message[56] = 3;
    message[60..64].copy_from_slice(&4096_u32.to_ne_bytes());
    message[68] = 99;
    expect![
        "Some(ListeningSocket { address: 127.0.0.1:8080, waiting: 3, backlog: 4096, inode: 99 })"
    ]
    .assert_eq(&format!("{:?}", diag::socket(&message)));
    message[0] = 10;
    expect!["Some([7f00:1::]:8080)"].assert_eq(&format!(
        "{:?}",
        diag::socket(&message).map(|socket| socket.address)
    ));
    message[0] = 1;
    assert_eq!(diag::socket(&message), None);
    assert_eq!(diag::socket(&message[..71]), None);
}

#[test]
fn only_base_chains_are_in_the_path() {
    let chain = |rows: &[(u16, &[u8])]| [&[0; 4][..], &attributes(rows)].concat();
    let base = chain(&[(1, b"filter\0"), (3, b"input\0"), (4, &[])]);
    assert_eq!(audit::base_chain(&base).as_deref(), Some("filter input"));
    let other = chain(&[(1, b"filter\0"), (3, b"input\0")]);
    assert_eq!(audit::base_chain(&other), None);
}

const METRICS: &str = "\
# TYPE http_server_request_duration_seconds histogram
http_server_request_duration_seconds_count{http_response_status_code=\"200\"} 40
http_server_request_duration_seconds_count{http_response_status_code=\"304\"} 2
pelton_connections_accepted_total 9
pelton_syscalls_total{call=\"read\"} 50
pelton_syscalls_total{call=\"write\"} 44
pelton_core_imbalance_ratio 1.5
pelton_connections_located_total 3
pelton_connections_local_total 1
pelton_core_steering{mode=\"hash\"} 0
pelton_core_steering{mode=\"incoming-cpu\"} 2
pelton_core_steering{mode=\"cbpf\"} 0
# EOF
";

#[test]
fn metrics_of_a_server() {
    expect!["Ok(Metrics { requests: 42, system_calls: 94, accepted: 9, imbalance: 1.5, located: 3, local: 1, steering: Steering { hash: 0, incoming_cpu: 2, cbpf: 0 } })"].assert_eq(&format!("{:?}", metrics::parse(METRICS)));
    assert_eq!(
        metrics::parse(METRICS.trim_end_matches("# EOF\n")),
        Err(Unread::Malformed)
    );
    let older = METRICS.replace("pelton_syscalls_total", "pelton_calls_total");
    assert_eq!(metrics::parse(&older), Err(Unread::Unsupported));
    let broken = METRICS.replace(" 9\n", " many\n");
    assert_eq!(metrics::parse(&broken), Err(Unread::Malformed));
    let own = metrics::own(METRICS);
    assert_eq!(own.source, "the server's /-/metrics");
    assert_eq!(
        own.text,
        "42 requests, 94 system calls, 9 connections, imbalance of the cores 1.50; 1 of 3 sampled connections are on the processor of their packets"
    );
}

#[test]
fn a_rule_that_exempts_processes_is_recognized() {
    let rule = |numbers: [u32; 3]| -> Vec<u8> {
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes());
        bytes.chain([0; 1028]).collect()
    };
    assert!(audit::is_never_task(&rule([1, 0, 0])));
    // Put in front of the other rules, as auditctl -A does.
    assert!(audit::is_never_task(&rule([0x11, 0, 0])));
    // A rule that always records, one for the exit of system calls, one with a condition.
    for other in [[1, 2, 0], [4, 0, 0], [1, 0, 1]] {
        assert!(!audit::is_never_task(&rule(other)), "{other:?}");
    }
    assert!(!audit::is_never_task(&[1, 0, 0]));
}

/// A peer that sends one byte after the other resets every timeout for a single read.
#[test]
fn a_slow_server_does_not_delay_the_report() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let peer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut stream = TcpStream::connect(address).expect("it listens");
    let deadline = Instant::now() + Duration::from_millis(100);
    assert_eq!(
        metrics::read_until(&mut stream, deadline),
        Err(Unread::TimedOut)
    );
    drop(stream);
    peer.join().expect("the peer ends when its client has left");
}

#[test]
fn settings_of_a_card_are_read_and_written() {
    let combined = attributes(&[(5, &4_u32.to_ne_bytes()), (9, &2_u32.to_ne_bytes())]);
    let apart = attributes(&[(2, &4_u32.to_ne_bytes()), (6, &1_u32.to_ne_bytes())]);
    let queues = ethtool::Field::ReceiveQueues;
    assert_eq!(
        (queues.of(&combined), queues.of(&apart)),
        (Some(2), Some(1))
    );
    let wanted = |kind: u16| attributes(&[(kind, &3_u32.to_ne_bytes())]);
    assert_eq!(queues.attributes(&combined, 3), wanted(9));
    assert_eq!(queues.attributes(&apart, 3), wanted(6));
    let adaptive = ethtool::Field::AdaptiveReceive;
    assert_eq!(adaptive.of(&attributes(&[(11, &[1])])), Some(1));
    assert_eq!(adaptive.of(&apart), None);
    assert_eq!(adaptive.attributes(&[], 0), attributes(&[(11, &[0])]));
    // A bit of the set has its name, and a flag if it is wanted.
    let feature = ethtool::Field::Feature("rx-gro");
    let bit = |rows: &[(u16, &[u8])]| {
        let bits = attributes(&[(0x8000 | 1, &attributes(rows))]);
        attributes(&[(0x8000 | 3, &attributes(&[(0x8000 | 3, &bits)]))])
    };
    assert_eq!(feature.attributes(&[], 0), bit(&[(2, b"rx-gro\0")]));
    assert_eq!(
        feature.attributes(&[], 1),
        bit(&[(2, b"rx-gro\0"), (3, &[])])
    );
}
