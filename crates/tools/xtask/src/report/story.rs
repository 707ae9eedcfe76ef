//! Stories of the five systems that Pelton brings together, with what their authors published.
//!
//! The published figures come from other machines and other years. The report prints them for
//! comparison of the stories, and derives no ratio from them.

/// Text about one system.
pub(super) struct Story {
    /// Anchor of the section.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// Short history of the system, and the part of Pelton that has its task.
    pub(super) text: &'static str,
    /// Figures that the system's authors published, with their source.
    pub(super) claim: &'static str,
}

pub(super) const IMAGES: Story = Story {
    id: "images",
    title: "Pictures: WebP Server Go, and imgproxy",
    text: "WebP Server Go stands in front of a folder of JPEGs and sends each browser the format that it \
        decodes. It converts a picture at the first request and keeps the result. Its authors rebuilt \
        it with a profile of their production load, and plot CPU and memory of the server for each \
        release. imgproxy scales pictures on request, and is the server with which others of its kind \
        compare themselves. Pelton does both: it answers the first request with a quick conversion, \
        and replaces the result by a better one when cores are idle.",
    claim: "WebP Server Go's own benchmark, webp_bench, converts 2.6 GB of camera JPEGs on a Ryzen 5850U: \
        release 0.8.0 took 53 s and 884 MB of memory, 0.9.8 took 92 s and 666 MB; nothing newer is \
        published. imgproxy's benchmark, run by another project in October 2026 on a virtual machine \
        with two processors: 71.9 JPEGs, 21.5 WebPs and 16.2 AVIFs per second, each fitted into \
        512 × 512.",
};

pub(super) const REQUESTS: Story = Story {
    id: "requests",
    title: "Requests: libreactor on a tuned host",
    text: "Marc Richards took libreactor, an HTTP server in C, and tuned its host in nine steps, each \
        measured, until the same machine answered five times as many requests. Pelton's HTTP core has \
        one pinned thread per core, writes one batch of responses per batch of requests, and \
        allocates nothing for a hit; pelton doctor reports the settings of the host that cost speed.",
    claim: "“Extreme HTTP Performance Tuning”, May 2021: JSON responses on a c5n.xlarge with four virtual \
        processors, from 224,000 to 1,200,000 requests per second; the 99.99th percentile of the \
        latency went from 1.32 ms to 0.317 ms.",
};

pub(super) const CELLS: Story = Story {
    id: "cells",
    title: "Sandboxes: TinyKVM in Varnish",
    text: "TinyKVM runs the operator's program in a virtual machine without an operating system, inside \
        the Varnish cache, and resets the machine after each request. Pelton runs every codec in \
        a sandbox, which is a process or a microVM, and wipes the sandbox after every job. TinyKVM \
        itself is not measured here. Each sandbox is compared with the same worker without a sandbox, \
        so at best, a sandbox is as fast as that worker.",
    claim: "The authors of TinyKVM published 349 µs for the creation of a virtual machine and 220 µs \
        for a fork of such a machine (2021). They also published the rate of converting a JPEG to AVIF, of \
        500 × 750 pixels: 138 per second with one thread and 2,076 per second with \
        32 threads, without the reset after each request. No figure with the reset was published.",
};

pub(super) const STORE: Story = Story {
    id: "store",
    title: "Store: Redi/S",
    text: "Redi/S is a Redis-compatible server, written in Swift on SwiftNIO. The author of Redi/S measured \
        how close a server in a memory-safe language comes to the speed of Redis. Pelton's store \
        implements the same protocol in Rust; Pelton itself keeps hot variants, play counts and \
        sessions in the store. The store is compared with Redis and with its fork Valkey.",
    claim: "The readme of Redi/S, redis-benchmark with 50 clients: 163,345 SET and 167,336 GET per second \
        with one thread on an M1 Mac mini (2024); on an Intel Mac Pro in 2018, 48,003 SET, while Redis \
        4.0.8 had 54,885.",
};

pub(super) const LIBRARY: Story = Story {
    id: "library",
    title: "Library: Mindec, now Musium",
    text: "Musium indexes a music library by reading the head of every FLAC file. Its author plotted the \
        position of each file on the disk against the order in which the files were read, and changed \
        threads and queues until the scan of a cold disk took half its time. Pelton reads the tags of \
        more formats, and orders its reads by the position of the files on the disk.",
    claim: "Musium's performance notes (2020), on spinning disks with an empty page cache: a scan of \
        15,931 tracks took 143 to 147 s with 24 threads, and 72 to 73 s after its author had changed \
        threads and queues; once the files are in the page cache, it took 0.32 to 0.45 s.",
};
