//! Contenders that convert photographs: Pelton as a server, or a peer as a command or as a server.

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;
use toolkit::stop::{Stop, at};

use crate::SharedFlags;
use crate::client::Response;
use crate::corpus::Photograph;
use crate::peer::{PeerName, PictureServer};
use crate::scratch::Scratch;
use crate::server::Server;
use crate::timeline::{self, Moment};
use crate::usage::{self, Usage};

/// Program that converts pictures, and that is compared with Pelton.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Peer {
    pub(super) name: String,
    #[serde(flatten)]
    kind: PeerKind,
    /// Quality settings between which the search for equal quality runs. The setting of worse
    /// quality comes first, even if its number is larger.
    settings: [u8; 2],
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum PeerKind {
    /// Command that converts one picture
    Command {
        /// Program and arguments. `{in}` and `{out}` stand for the input and output files, `{q}`
        /// for the quality setting.
        command: Vec<String>,
        /// Extension of `{out}`, from which some programs derive the format.
        extension: String,
    },
    /// Server that converts a picture for each request
    Server {
        server: PeerName,
        /// Target of a request. `{name}` stands for the photograph, `{q}` for the quality setting.
        target: String,
        accept: String,
    },
}

impl Peer {
    /// Returns whether the peer's program is there: it is installed, or it is given.
    pub(super) fn is_given(&self, given: &SharedFlags) -> bool {
        match self.kind {
            PeerKind::Command { .. } => true,
            PeerKind::Server { server, .. } => given.peer(server).is_some(),
        }
    }

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
}

/// Returns the command in which `{q}`, `{in}` and `{out}` of `words` are replaced.
fn command(words: &[String], setting: u8, original: &str, response: &str) -> Command {
    let words = words.iter().map(|word| {
        word.replace("{q}", &setting.to_string())
            .replace("{in}", original)
            .replace("{out}", response)
    });
    let words: Vec<String> = words.collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Contender of one comparison, at one quality setting.
pub(super) struct Contender {
    pub(super) name: String,
    given: SharedFlags,
    way: Way,
}

enum Way {
    Us {
        query: String,
        improve: bool,
    },
    Peer {
        peer: Peer,
        setting: u8,
        format: String,
    },
}

/// Server, with the requests for which it converts.
struct Running {
    server: Server,
    /// Target of a request, in which `{name}` stands for the photograph.
    target: String,
    accept: String,
}

impl Contender {
    pub(super) fn us(name: &str, improve: bool, given: &SharedFlags, query: &str) -> Contender {
        Contender {
            name: name.to_owned(),
            given: given.clone(),
            way: Way::Us {
                query: query.to_owned(),
                improve,
            },
        }
    }

    /// Returns a peer at the setting that is `step` steps above the peer's worst setting. It
    /// converts to `format`.
    pub(super) fn peer(peer: &Peer, step: i32, given: &SharedFlags, format: &str) -> Contender {
        Contender {
            name: peer.name.clone(),
            given: given.clone(),
            way: Way::Peer {
                setting: peer.setting(step),
                peer: peer.clone(),
                format: format.to_owned(),
            },
        }
    }

    /// Returns whether this contender repeats another one, to show how far equal programs differ.
    pub(super) fn is_control(&self) -> bool {
        self.name.ends_with(" again")
    }

    pub(super) fn setting(&self) -> Option<u8> {
        match &self.way {
            Way::Us { .. } => None,
            Way::Peer { setting, .. } => Some(*setting),
        }
    }

    /// Converts all photographs, one after the other. Each result file is named after its
    /// photograph. The returned usage excludes the start of a server, but includes the start of
    /// each process of a command.
    ///
    /// # Errors
    /// Returns an error if a conversion fails.
    pub(super) fn convert(
        &self,
        photographs: &[Photograph],
        answers: &Scratch,
    ) -> Result<Usage, Stop> {
        if let Way::Peer { peer, setting, .. } = &self.way
            && let PeerKind::Command {
                command: words,
                extension,
            } = &peer.kind
        {
            let mut sum = Usage::default();
            for photograph in photographs {
                let plain = answers.join(photograph.word());
                let response = plain.with_extension(extension);
                let [from, to] = [&photograph.path, &response].map(|path| path.to_string_lossy());
                let (_, usage) = usage::run(&mut command(words, *setting, &from, &to))?;
                sum += usage;
                fs::rename(&response, &plain).map_err(at(&response))?;
            }
            return Ok(sum);
        }
        let data = Scratch::new("data")?;
        let running = self.start(&data)?;
        match &self.way {
            Way::Us { .. } => running.convert_and_improve(photographs, answers),
            Way::Peer { .. } => running.convert(photographs, answers),
        }
    }

    /// Converts all photographs as [`Contender::convert`] does, and samples the server meanwhile.
    /// Returns `None` if the contender is not a server.
    ///
    /// # Errors
    /// Returns an error if a conversion fails.
    pub(super) fn watch(&self, photographs: &[Photograph]) -> Result<Option<Vec<Moment>>, Stop> {
        if let Way::Peer { peer, .. } = &self.way
            && let PeerKind::Command { .. } = peer.kind
        {
            return Ok(None);
        }
        let (data, answers) = (Scratch::new("data")?, Scratch::new("answers")?);
        let running = self.start(&data)?;
        let (_, moments) = timeline::watch(&running.server, || match &self.way {
            Way::Us { .. } => running.convert_and_improve(photographs, &answers),
            Way::Peer { .. } => running.convert(photographs, &answers),
        })?;
        Ok(Some(moments))
    }

    /// Starts the contender's server with an empty cache in `data`.
    fn start(&self, data: &Scratch) -> Result<Running, Stop> {
        match &self.way {
            Way::Us { query, improve } => {
                let settings = ["--improve", if *improve { "true" } else { "false" }];
                let server = Server::pelton(&[], &self.given, data.path(), &settings)?;
                server.wait_idle()?;
                Ok(Running {
                    server,
                    target: format!("/{{name}}?{query}"),
                    accept: "*/*".to_owned(),
                })
            }
            Way::Peer {
                peer,
                setting,
                format,
            } => {
                let PeerKind::Server {
                    server,
                    target,
                    accept,
                } = &peer.kind
                else {
                    return Err(Stop::usage(format!("{} is not a server", peer.name)));
                };
                let program = self.given.peer(*server);
                let program = program.ok_or_else(|| {
                    Stop::usage(format!(
                        "no option --peer gives the path of the program {}",
                        server.name()
                    ))
                    .hint("lab/peers.md describes how to build the program")
                })?;
                let server = PictureServer {
                    given: &self.given,
                    program,
                    folder: data.path(),
                    cpu: None,
                    quality: *setting,
                    format,
                };
                Ok(Running {
                    server: server.start()?,
                    target: target.replace("{q}", &setting.to_string()),
                    accept: accept.clone(),
                })
            }
        }
    }
}

impl Running {
    /// Requests each photograph once. The server converts while the client waits.
    fn convert(&self, photographs: &[Photograph], answers: &Scratch) -> Result<Usage, Stop> {
        let (before_us, started) = (self.server.cpu_us()?, Instant::now());
        for photograph in photographs {
            let response = self.get(photograph)?;
            let path = answers.join(photograph.word());
            fs::write(&path, response.body).map_err(at(&path))?;
        }
        let wall_us = started.elapsed().as_micros() as u64;
        self.server.wait_quiet()?;
        Ok(Usage {
            cpu_us: self.server.cpu_us()? - before_us,
            wall_us,
        })
    }

    /// Requests each photograph from Pelton, waits for better variants, and then requests each
    /// variant again.
    fn convert_and_improve(
        &self,
        photographs: &[Photograph],
        answers: &Scratch,
    ) -> Result<Usage, Stop> {
        let (before_us, started) = (self.server.cpu_us()?, Instant::now());
        for photograph in photographs {
            self.get(photograph)?;
        }
        self.server.wait_idle()?;
        let usage = Usage {
            cpu_us: self.server.cpu_us()? - before_us,
            wall_us: started.elapsed().as_micros() as u64,
        };
        // A better variant may have replaced the provisional variant.
        for photograph in photographs {
            let path = answers.join(photograph.word());
            let response = self.get(photograph)?;
            if !response
                .field("cache-status")
                .is_some_and(|status| status.contains("hit"))
            {
                let line = format!(
                    "GET {}: the second response is not a cache hit",
                    photograph.name
                );
                return Err(Stop::findings(line));
            }
            fs::write(&path, response.body).map_err(at(&path))?;
        }
        Ok(usage)
    }

    fn get(&self, photograph: &Photograph) -> Result<Response, Stop> {
        let target = self.target.replace("{name}", &photograph.name);
        self.server.get(&target, &self.accept)
    }
}
