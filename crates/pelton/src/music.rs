//! The library's index as a server has it: kept up to date, and what answers from it.

use std::sync::Arc;

use origin::Service;
use origin::mount::Mount;
use scan::Keeper;

use crate::config::Config;
use crate::covers::{CoverMount, Covers};
use crate::house;
use crate::players::Players;
use crate::report::Error;
use crate::scan::told;

/// What answers share.
#[derive(Debug)]
pub(crate) struct Music {
    keeper: Arc<Keeper>,
    covers: Arc<Covers>,
    /// None where the data directory cannot be written.
    players: Option<Players>,
}

impl Music {
    /// Takes up the last index, and begins to bring it up to date.
    pub(crate) fn start(config: &Config) -> Result<Music, Error> {
        let keeper = Keeper::start(house::library(config)).map_err(|err| told(&err))?;
        let (keeper, covers) = (Arc::new(keeper), Arc::new(Covers::open(config)));
        let players = Players::open(config, &keeper, &covers);
        let players = players.inspect_err(|err| {
            let cause = std::error::Error::source(err).map(ToString::to_string);
            tracing::warn!(%err, cause, "players are not answered: nothing can be kept for them");
        });
        Ok(Music {
            players: players.ok(),
            keeper,
            covers,
        })
    }

    /// Takes what `service` knows of pictures.
    pub(crate) fn attach(&self, service: &Service) {
        self.covers.attach(service);
    }

    /// What answers beside the files of the library, and where.
    pub(crate) fn mounts(&self) -> Vec<(String, Arc<dyn Mount>)> {
        let covers = CoverMount::new(Arc::clone(&self.covers), Arc::clone(&self.keeper));
        let mut mounts: Vec<(String, Arc<dyn Mount>)> =
            vec![(CoverMount::PREFIX.to_owned(), Arc::new(covers))];
        mounts.extend(self.players.iter().flat_map(Players::mounts));
        mounts
    }

    /// Ends the scan that runs, if one does; the last whole index stays.
    pub(crate) fn stop(&self) {
        self.keeper.stop();
    }
}
