//! Attacks must die, secrets must be gone, and the next job must work.
#[test]
fn smoke() {
    use std::os::fd::AsFd;
    let elf = std::fs::read(env!("CARGO_BIN_EXE_attacker")).unwrap();
    let pool = cell::Pool::start(&elf, cell::Limits::default()).unwrap();
    println!("{}", pool.posture());
    for plan in [&b""[..], b"x"] {
        for _ in 0..3 {
            let original = std::fs::File::open("/etc/passwd").unwrap();
            let r = pool.run(cell::Task {
                original: original.as_fd(),
                plan,
                size_px: None,
                limits: job::JobLimits {
                    answer_bytes_max: 1 << 20,
                    memory_bytes_max: 1 << 28,
                    cpu_ms_max: 1000,
                },
                wall_ms_max: 1000,
            });
            println!("{r:?}");
        }
    }
    println!("{:?}", pool.stats());
}
