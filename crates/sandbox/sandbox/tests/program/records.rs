//! The test program in its persistent form: it reads one record after another, and counts them.

use std::io::{self, Read, Write};

pub(crate) fn serve() {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut count = 0;
    let mut head = [0; 8];
    while input.read_exact(&mut head).is_ok() {
        count += 1;
        let length = |at: usize| {
            let bytes = head[at..].first_chunk().expect("two numbers");
            u32::from_le_bytes(*bytes) as usize
        };
        let mut environment = vec![0; length(0)];
        input.read_exact(&mut environment).expect("it is there");
        let environment = String::from_utf8(environment).expect("text");
        let what = environment
            .split('\0')
            .find_map(|word| word.strip_prefix("DO="));
        if what == Some("hasty") {
            return answer(&mut output, b"too early");
        }
        let mut body = vec![0; length(4)];
        input.read_exact(&mut body).expect("it is there");
        match what.unwrap_or_default() {
            "count" => answer(&mut output, count.to_string().as_bytes()),
            "echo" => answer(&mut output, &body),
            "nothing" => answer(&mut output, b""),
            "words" => {
                eprintln!("number {count}");
                answer(&mut output, b"");
            }
            "slowly" => {
                // Send the length in two pieces, and the body byte by byte: the cell must accept
                // pieces of any size.
                let bytes = (body.len() as u32).to_le_bytes();
                for piece in [&bytes[..1], &bytes[1..]].into_iter().chain(body.chunks(1)) {
                    output.write_all(piece).expect("standard output takes it");
                    output.flush().expect("as above");
                }
            }
            "fail" => {
                eprintln!("no luck");
                std::process::exit(3);
            }
            "leave" => return,
            "loop" => loop {
                std::hint::spin_loop();
            },
            "long" => answer(&mut output, &vec![b'x'; 1_000_000]),
            "more" => {
                let _refused = output
                    .write_all(b"\x01\0\0\0ab")
                    .and_then(|()| output.flush());
            }
            other => panic!("nothing to do is called {other}"),
        }
    }
}

fn answer(output: &mut impl Write, bytes: &[u8]) {
    let head = (bytes.len() as u32).to_le_bytes();
    output.write_all(&head).expect("standard output takes it");
    output.write_all(bytes).expect("standard output takes it");
    output.flush().expect("standard output takes it");
}
