//! Minimal HTTP server on the reactor, for measuring the cost of one iteration of the event loop.
//! It sends the same response of about 150 bytes to every request. It does not parse requests: it
//! only counts blank lines to find the end of each request.
//!
//! Usage: `hello [ADDRESS] [CORES] [FILE]`. If FILE is given, each response is the content of FILE,
//! sent with `sendfile`.

use std::fs::File;
use std::io::{IoSlice, Write};
use std::rc::Rc;

use reactor::{Conn, Core, Ended, FileRange, Limits, Stop, bind, run, usable_cores};

const BODY: &str = "{\"message\":\"Hello, World!\"}";

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:3334".to_owned());
    let cores = arguments
        .next()
        .map(|count| count.parse().expect("CORES is a number"));
    let file = arguments
        .next()
        .map(|path| File::open(path).expect("FILE can be opened"));
    let mut limits = Limits::default();
    if let Some(cores) = cores {
        limits.cores_max = cores;
    }
    let cores = usable_cores(&limits).expect("the kernel reports the usable cores");
    let address = address.parse().expect("ADDRESS is IP:PORT");
    let listeners = bind(&[address], &cores, &limits).expect("the address is free");
    eprintln!("{} cores at {:?}", cores.len(), listeners.addresses());
    run(listeners, &limits, b"", &Stop::new(), |core: &Core| {
        let response = Rc::new(Response::new(core.clone(), file.as_ref()));
        move |conn| {
            let response = Rc::clone(&response);
            async move {
                match serve(conn, &response).await {
                    // Socket errors are not printed: they mean that the client closed the
                    // connection during a request or a response, as load generators do.
                    Ok(()) | Err(Ended::Socket(_)) => {}
                    Err(ended) => eprintln!("{ended:?}"),
                }
            }
        }
    })
    .expect("the cores can start");
}

struct Response {
    core: Core,
    file: Option<(File, u64)>,
}

impl Response {
    fn new(core: Core, file: Option<&File>) -> Response {
        let file = file.map(|file| {
            let len = file.metadata().expect("FILE has a size").len();
            (file.try_clone().expect("a descriptor is free"), len)
        });
        Response { core, file }
    }

    fn write(&self, out: &mut Vec<u8>) {
        let body_len = self
            .file
            .as_ref()
            .map_or(BODY.len() as u64, |(_, len)| *len);
        out.extend_from_slice(
            b"HTTP/1.1 200 OK\r\nServer: hello\r\nContent-Type: application/json\r\nDate: ",
        );
        out.extend_from_slice(&self.core.clock().http_date());
        write!(out, "\r\nContent-Length: {body_len}\r\n\r\n")
            .expect("writing to a Vec cannot fail");
        if self.file.is_none() {
            out.extend_from_slice(BODY.as_bytes());
        }
    }
}

async fn serve(mut conn: Conn, response: &Response) -> Result<(), Ended> {
    let mut request = [0; 4096];
    let mut out = Vec::with_capacity(4096);
    loop {
        let read = conn.read(&mut request).await?;
        if read == 0 {
            return Ok(());
        }
        let requests = request[..read]
            .windows(4)
            .filter(|bytes| bytes == b"\r\n\r\n")
            .count();
        for _ in 0..requests {
            response.write(&mut out);
            if let Some((file, len)) = &response.file {
                conn.write_file(
                    &out,
                    FileRange {
                        file,
                        offset: 0,
                        len: *len,
                    },
                )
                .await?;
                out.clear();
            }
        }
        conn.write_all(&mut [IoSlice::new(&out)]).await?;
        out.clear();
    }
}
