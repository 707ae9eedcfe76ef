use crate::{Limits, parse};

#[test]
fn the_defaults_fit_each_other() {
    assert_eq!(Limits::default().check(), Ok(()));
}

#[test]
fn a_plain_request_is_parsed() {
    let head =
        b"GET /a.jpg?w=1 HTTP/1.1\r\nHost: h:80\r\nAccept: a/b\r\nX: y\r\naccept: c/d \r\n\r\nnext";
    let request = parse(head, &Limits::default())
        .expect("sound")
        .expect("whole");
    assert_eq!(request.head_bytes, head.len() - 4);
    assert_eq!(
        (request.target.path, request.target.query),
        ("/a.jpg", Some("w=1"))
    );
    assert_eq!(request.host, Some("h:80"));
    assert_eq!(
        request.accept().into_iter().collect::<Vec<_>>(),
        [b"a/b", b"c/d"]
    );
    assert_eq!(request.fields().count(), 4);
}
