//! The smallest program around a store: `cargo run -p kv --example store -- --port 7000 --save ""`.

use reactor::Stop;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let config = kv::Config::from_args(&args)?;
    let cores = reactor::usable_cores(&reactor::Limits::default())?;
    let server = kv::Server::bind(config, kv::Limits::default(), cores[0])?;
    println!("serving {:?}", server.addresses());
    server.run(&Stop::new())?;
    Ok(())
}
