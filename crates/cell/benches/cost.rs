//! What a cell costs.
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

fn main() {
    let elf = &std::fs::read(env!("CARGO_BIN_EXE_attacker")).unwrap();
    let pool = cell::Pool::start(elf, cell::Limits::default()).unwrap();
    let original = std::fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let run = |plan: &str| {
        pool.run(cell::Task {
            original: original.as_fd(),
            plan: plan.as_bytes(),
            size_px: None,
            limits: job::JobLimits {
                answer_bytes_max: 16 << 20,
                memory_bytes_max: 1 << 30,
                cpu_ms_max: 1_000,
            },
            wall_ms_max: 1_000,
        })
        .unwrap()
    };
    for plan in [
        "",
        "echo",
        "touch 1048576",
        "touch 4194304",
        "touch 16777216",
        "spin 10000",
    ] {
        let mut times = Vec::new();
        let mut inner = Vec::new();
        let before = pool.stats();
        let begin = Instant::now();
        for _ in 0..300 {
            let t = Instant::now();
            let f = run(plan);
            times.push(t.elapsed().as_micros() as u64);
            inner.push(f.cpu_us);
        }
        let all = begin.elapsed();
        let cpu = pool.stats().cpu_us - before.cpu_us;
        if plan.starts_with("touch") {
            let f = run(plan);
            let mut b = vec![0; f.answer_bytes as usize];
            std::os::unix::fs::FileExt::read_at(&f.body, &mut b, 0).unwrap();
            println!("{}", String::from_utf8_lossy(&b));
        }
        times.sort();
        inner.sort();
        println!(
            "{plan:16} wall p50 {} p99 {} us; child's cpu p50 {}; whole {:?} a job; reaped cpu {} a job; wait {}",
            times[150],
            times[297],
            inner[150],
            all / 300,
            cpu / 300,
            (pool.stats().acquire_us - before.acquire_us) / 300
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
