use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use super::{receive_listeners, send_listeners};
use crate::{Conn, Limits, Stop, adopt, bind, run, usable_cores};

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn passed(listeners: &[TcpListener]) -> std::io::Result<Vec<TcpListener>> {
    let (ours, theirs) = UnixStream::pair().expect("two descriptors are left");
    thread::scope(|scope| {
        scope.spawn(|| send_listeners(listeners, &ours).expect("it is read"));
        receive_listeners(&theirs)
    })
}

#[test]
fn sockets_arrive_in_order_however_many() {
    let open = || TcpListener::bind(loopback()).expect("a free port");
    for count in [0, 1, 64, 65, 130] {
        let sent: Vec<_> = (0..count).map(|_| open()).collect();
        let addresses = |sockets: &[TcpListener]| -> Vec<_> {
            let addresses = sockets
                .iter()
                .map(|socket| socket.local_addr().expect("bound"));
            addresses.collect()
        };
        let received = passed(&sent).expect("they arrive");
        assert_eq!(addresses(&received), addresses(&sent));
    }
}

#[test]
fn a_socket_that_does_not_listen_is_refused() {
    let listener = TcpListener::bind(loopback()).expect("a free port");
    let address = listener.local_addr().expect("bound");
    let stream = TcpStream::connect(address).expect("it listens");
    let disguised = TcpListener::from(std::os::fd::OwnedFd::from(stream));
    let refused = passed(&[listener, disguised]).expect_err("the second is none");
    assert_eq!(
        refused.to_string(),
        "the descriptor is not a listening socket"
    );
}

#[test]
fn a_closed_socket_is_an_error() {
    let (ours, theirs) = UnixStream::pair().expect("two descriptors are left");
    drop(ours);
    let gone = receive_listeners(&theirs).expect_err("nobody is there");
    assert_eq!(gone.kind(), std::io::ErrorKind::UnexpectedEof);
}

#[test]
fn inherited_sockets_are_served_however_many_cores_there_are() {
    let limits = Limits::default();
    let usable = usable_cores(&limits).expect("the kernel answers");
    let cores = |count| {
        usable
            .iter()
            .copied()
            .cycle()
            .take(count)
            .collect::<Vec<_>>()
    };
    for (before, after) in [(1, 3), (2, 2), (5, 2)] {
        let old = bind(&[loopback(), loopback()], &cores(before), &limits).expect("free ports");
        let asked = old.addresses().to_vec();
        let mut sockets =
            passed(&old.sockets().expect("descriptors are left")).expect("they arrive");
        drop(old);
        let unrelated = TcpListener::bind(loopback()).expect("a free port");
        sockets.push(unrelated);
        let new = adopt(&asked, &cores(after), &limits, &mut sockets).expect("they are there");
        assert_eq!(sockets.len(), 1, "what nobody asked for is left");
        assert_eq!(new.addresses(), asked);
        // These clients connect before a reactor serves the sockets, so they wait in the backlog.
        let mut clients: Vec<_> = (0..40)
            .map(|index| TcpStream::connect(asked[index % 2]).expect("it listens"))
            .collect();
        let stop = Stop::new();
        let stopper = stop.clone();
        let server = thread::spawn(move || {
            run(new, &limits, b"", &stop, |_| {
                |mut conn: Conn| async move {
                    let mut line = [0; 1];
                    conn.read(&mut line).await.expect("the client sends");
                    let listener = [conn.listener as u8];
                    conn.write_all(&mut [std::io::IoSlice::new(&listener)])
                        .await
                        .expect("the client reads");
                }
            })
        });
        for (index, client) in clients.iter_mut().enumerate() {
            client.write_all(b"x").expect("the server reads");
            let mut listener = Vec::new();
            client.read_to_end(&mut listener).expect("an orderly end");
            assert_eq!(listener, [(index % 2) as u8], "which address it came by");
        }
        stopper.trigger();
        server.join().expect("no panic").expect("it started");
    }
}
