//! Contenders that convert photographs: Pelton as a server, or a peer as a command.

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;
use toolkit::stop::{Stop, at};

use crate::SharedFlags;
use crate::corpus::Photograph;
use crate::scratch::Scratch;
use crate::server::Server;
use crate::usage::{self, Usage};

/// Command that converts one picture.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    /// Program and arguments. `{in}` and `{out}` stand for the input and output files, `{q}` for
    /// the quality setting.
    command: Vec<String>,
    /// Extension of `{out}`, from which some programs derive the format.
    extension: String,
    /// Quality settings between which the search for equal quality runs. The setting of worse
    /// quality comes first, even if its number is larger.
    settings: [u8; 2],
}

impl Peer {
    /// Returns the bounds, in steps, of the search for a setting. Step 0 is the setting of worst
    /// quality.
    pub(super) fn bounds(&self) -> (i32, i32) {
        let [worse, better] = self.settings;
        (0, i32::from(worse.abs_diff(better)))
    }

    fn setting(&self, step: i32) -> u8 {
        let [worse, better] = self.settings;
        let step = u8::try_from(step).expect("the step lies between the bounds");
        if worse < better {
            worse + step
        } else {
            worse - step
        }
    }

    fn command(&self, setting: u8, original: &str, response: &str) -> Command {
        let words = self.command.iter().map(|word| {
            word.replace("{q}", &setting.to_string())
                .replace("{in}", original)
                .replace("{out}", response)
        });
        let words: Vec<String> = words.collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }
}

/// Contender of one comparison, at one quality setting.
pub(super) struct Contender {
    pub(super) name: String,
    way: Way,
}

enum Way {
    Us {
        given: SharedFlags,
        query: String,
        improve: bool,
    },
    Peer {
        peer: Peer,
        setting: u8,
    },
}

impl Contender {
    pub(super) fn us(name: &str, improve: bool, given: &SharedFlags, query: &str) -> Contender {
        let way = Way::Us {
            given: given.clone(),
            query: query.to_owned(),
            improve,
        };
        Contender {
            name: name.to_owned(),
            way,
        }
    }

    /// Returns a peer at the setting that is `step` steps above the peer's worst setting.
    pub(super) fn peer(peer: &Peer, step: i32) -> Contender {
        let way = Way::Peer {
            setting: peer.setting(step),
            peer: peer.clone(),
        };
        Contender {
            name: peer.name.clone(),
            way,
        }
    }

    pub(super) fn setting(&self) -> Option<u8> {
        match &self.way {
            Way::Us { .. } => None,
            Way::Peer { setting, .. } => Some(*setting),
        }
    }

    /// Converts all photographs, one after the other. Each result file is named after its
    /// photograph. The returned usage excludes the start of Pelton's server, but includes the start
    /// of each process of a peer.
    ///
    /// # Errors
    /// Returns an error if a conversion fails.
    pub(super) fn convert(
        &self,
        photographs: &[Photograph],
        answers: &Scratch,
    ) -> Result<Usage, Stop> {
        match &self.way {
            Way::Us {
                given,
                query,
                improve,
            } => {
                let data = Scratch::new("data")?;
                let settings = ["--improve", if *improve { "true" } else { "false" }];
                let server = Server::pelton(&[], given, data.path(), &settings)?;
                serve(&server, photographs, query, answers)
            }
            Way::Peer { peer, setting } => {
                let mut sum = Usage::default();
                for photograph in photographs {
                    let plain = answers.join(photograph.word());
                    let response = plain.with_extension(&peer.extension);
                    let [from, to] =
                        [&photograph.path, &response].map(|path| path.to_string_lossy());
                    let (_, usage) = usage::run(&mut peer.command(*setting, &from, &to))?;
                    sum += usage;
                    fs::rename(&response, &plain).map_err(at(&response))?;
                }
                Ok(sum)
            }
        }
    }
}

fn serve(
    server: &Server,
    photographs: &[Photograph],
    query: &str,
    answers: &Scratch,
) -> Result<Usage, Stop> {
    server.wait_idle()?;
    let (before_us, started) = (server.cpu_us()?, Instant::now());
    let target = |photograph: &Photograph| format!("/{}?{query}", photograph.name);
    for photograph in photographs {
        server.get(&target(photograph), "*/*")?;
    }
    server.wait_idle()?;
    let usage = Usage {
        cpu_us: server.cpu_us()? - before_us,
        wall_us: started.elapsed().as_micros() as u64,
    };
    // Request each photograph again: a better variant may have replaced the provisional variant.
    for photograph in photographs {
        let path = answers.join(photograph.word());
        let response = server.get(&target(photograph), "*/*")?;
        if !response
            .field("cache-status")
            .is_some_and(|status| status.contains("hit"))
        {
            let line = format!(
                "GET {}: the second response is not a cache hit",
                target(photograph)
            );
            return Err(Stop::findings(line));
        }
        fs::write(&path, response.body).map_err(at(&path))?;
    }
    Ok(usage)
}
