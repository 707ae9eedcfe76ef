//! Programs in other languages, which the test compiles.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{post, program, serve};
use crate::backends::backends;
use crate::harness::Home;

const C: &str = r#"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const char *method = getenv("REQUEST_METHOD");
    int byte;
    printf("Content-Type: text/plain\r\n\r\n%s ", method ? method : "");
    while ((byte = getchar()) != EOF)
        putchar(byte ^ 32);
    return 0;
}
"#;

const GO: &str = r#"
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	body, _ := io.ReadAll(bufio.NewReader(os.Stdin))
	numbers := make(chan int)
	kept := make([][]byte, 100)
	for number := range kept {
		go func() {
			time.Sleep(time.Duration(number%7) * time.Millisecond)
			kept[number] = make([]byte, 10_000)
			numbers <- number
		}()
	}
	sum := 0
	for range kept {
		sum += <-numbers
	}
	runtime.GC()
	fmt.Printf("Content-Type: text/plain\r\n\r\n%s %s %d %d",
		os.Getenv("REQUEST_METHOD"), strings.ToUpper(string(body)), sum, len(kept))
}
"#;

/// Writes `source` to a file, and compiles it into a program with `command`.
pub(super) fn build(home: &Home, source: &str, name: &str, command: &mut Command) -> PathBuf {
    let (from, to) = (
        home.directory().join(name),
        home.directory().join("program"),
    );
    fs::write(&from, source).expect("the home can be written");
    let built = command
        .current_dir(home.directory())
        .arg("-o")
        .arg(&to)
        .arg(&from);
    let output = built.output().expect("the compiler starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    to
}

#[test]
fn programs_in_c_answer() {
    for backend in backends() {
        let home = Home::new();
        let path = build(
            &home,
            C,
            "program.c",
            Command::new("cc").args(["-O1", "-static"]),
        );
        let server = serve(&home, backend, &program("c", path, ""));
        let response = post(&server, "/x/c", "text/plain", b"body");
        assert_eq!(
            (response.status, response.text()),
            (200, "POST BODY"),
            "{backend}"
        );
        server.stop();
    }
}

/// Checks programs in Go, whose runtime starts threads before `main`.
#[test]
fn programs_in_go_answer() {
    if Command::new("go").arg("version").output().is_err() {
        return eprintln!("pelton: not proved: Go: this host has no compiler");
    }
    let home = Home::new();
    let cache = home.directory().join("cache");
    let mut go = Command::new("go");
    go.arg("build")
        .env("CGO_ENABLED", "0")
        .env("GOCACHE", cache);
    let path = build(&home, GO, "program.go", &mut go);
    let more = "max_memory = \"2GiB\"\n";
    for backend in backends() {
        let home = Home::new();
        let server = serve(&home, backend, &program("go", &path, more));
        for _ in 0..3 {
            let response = post(&server, "/x/go", "text/plain", b"body");
            let expected = "POST BODY 4950 100";
            assert_eq!(
                (response.status, response.text()),
                (200, expected),
                "{backend}"
            );
        }
        server.stop();
        eprintln!("pelton: proved: {backend}: Go");
    }
}
