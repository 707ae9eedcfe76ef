//! Every setting, once: its type, default, unit and meaning. Fields, flags, variables, help and the table of
//! `pelton check` all come from here.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

use catalog::CoverRules;
use image_plan::quality::DEFAULT_QUALITY_PCT;
use image_plan::{Grammar, Target};
use reactor::Steering;
use sandbox::{Backend, Isolation};
use server::Headers;
use server::access::Sink;
use server::gate::RequireLogin;
use tags::Splits;

use super::programs::Programs;
use super::value::{
    AccessLog, Bytes, CellBackend, CorsOrigins, Files, Formats, Freshness, HeaderFields, Hosts,
    LogLevel, LoginNeed, Mappings, MaybeAddress, MaybeFile, MaybeFolder, MaybeUrl, MinIsolation,
    Networks, Origins, PerCore, Quality, Queries, Raw, Redirect, ResourcePolicy, Sides, Sources,
    SteeringMode, Texts, Timeout, Types, Value, WatchMeans, Wrong,
};

/// A setting as the file, the variables and the flags know it: by name.
pub(crate) struct Key {
    /// In a file: `limits.queue_max`.
    pub(crate) name: &'static str,
    /// What it is for, in one or two sentences.
    pub(crate) doc: &'static str,
    /// What its value counts or names.
    pub(crate) unit: &'static str,
    /// What it takes, to complete "expected …".
    pub(crate) expected: &'static str,
    /// Puts a value into its field.
    pub(crate) set: fn(&mut Config, &Raw) -> Result<(), Wrong>,
    /// The field's value as it may be written.
    pub(crate) show: fn(&Config) -> String,
}

impl Key {
    /// The key of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// As a flag, without its dashes: `limits-queue-max`.
    pub(crate) fn flag(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }

    /// As a variable: `PELTON_LIMITS_QUEUE_MAX`.
    pub(crate) fn variable(&self) -> String {
        format!(
            "PELTON_{}",
            self.name.replace('.', "_").to_ascii_uppercase()
        )
    }
}

/// Declares [`Config`], its groups, their defaults, and [`KEYS`], from rows of
/// `name: Type = default, "what it counts or names";`. A field without a group is a top-level key.
macro_rules! settings {
    (
        struct Config { $(
            $(#[doc = $doc:literal])+
            $field:ident: $Type:ty = $default:expr, $unit:literal;
        )+ }
        $(
            $(#[doc = $group_doc:literal])+
            struct $Group:ident as $group:ident { $(
                $(#[doc = $member_doc:literal])+
                $member:ident: $MemberType:ty = $member_default:expr, $member_unit:literal;
            )+ }
        )+
    ) => {
        /// Everything that can be set, resolved.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct Config {
            $( $(#[doc = $doc])+ pub(crate) $field: $Type, )+
            $( $(#[doc = $group_doc])+ pub(crate) $group: $Group, )+
        }

        impl Default for Config {
            fn default() -> Config {
                Config {
                    $( $field: $default, )+
                    $( $group: $Group { $( $member: $member_default, )+ }, )+
                }
            }
        }

        $(
            $(#[doc = $group_doc])+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub(crate) struct $Group {
                $( $(#[doc = $member_doc])+ pub(crate) $member: $MemberType, )+
            }
        )+

        /// The tables of a file.
        pub(crate) const GROUPS: &[&str] = &[$( stringify!($group) ),+];

        /// Every setting, in the order in which help and `pelton check` list them.
        pub(crate) const KEYS: &[Key] = &[
            $( Key {
                name: stringify!($field),
                doc: concat!($($doc),+),
                unit: $unit,
                expected: <$Type as Value>::EXPECTED,
                set: |config, raw| {
                    config.$field = Value::read(raw)?;
                    Ok(())
                },
                show: |config| config.$field.show(),
            }, )+
            $( $( Key {
                name: concat!(stringify!($group), ".", stringify!($member)),
                doc: concat!($($member_doc),+),
                unit: $member_unit,
                expected: <$MemberType as Value>::EXPECTED,
                set: |config, raw| {
                    config.$group.$member = Value::read(raw)?;
                    Ok(())
                },
                show: |config| config.$group.$member.show(),
            }, )+ )+
        ];
    };
}

settings! {
    struct Config {
        /// Directory whose files are served.
        root: PathBuf = PathBuf::from("."), "directory";
        /// Where HTTP is spoken.
        listen: SocketAddr = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 3333), "address";
        /// Directory for what Pelton makes and may make again.
        data: PathBuf = PathBuf::from("./pelton-data"), "directory";
        /// Quality of converted pictures where the request asks for none, on libjpeg's scale; every format is encoded
        /// to look alike.
        quality: Quality = Quality(DEFAULT_QUALITY_PCT), "1-100";
        /// Formats that pictures are converted to for clients that read them.
        formats: Formats = Formats(vec![Target::Avif, Target::Webp]), "formats";
        /// Extensions of files that are served although they are neither pictures nor audio.
        allowed_types: Types = Types::Only(Vec::new()), "extensions";
        /// Extensions of files that are served at all, pictures and audio too.
        only_types: Types = Types::Every, "extensions";
        /// Extensions of allowed files that browsers may run: others are sent with a policy that keeps them from it.
        active_types: Types = Types::Only(Vec::new()), "extensions";
        /// Fields more in every answer, or instead of the server's.
        headers: HeaderFields = HeaderFields(Headers::default()), "fields";
        /// Origins whose pages may read what the library answers, such as https://example.org; * is every one.
        cors_origins: CorsOrigins = CorsOrigins(Vec::new()), "origins";
        /// Whose pages may show what the library answers: same-origin, same-site or cross-origin
        /// (Cross-Origin-Resource-Policy).
        resource_policy: ResourcePolicy = ResourcePolicy(None), "policy or off";
        /// Which parameters of a query are read: pelton, where unknown ones are ignored; webp-server-go, where those
        /// whose values make no sense are, too; or meta-only, where no size can be asked for.
        queries: Queries = Queries(Grammar::Pelton), "grammar";
        /// Whether a query is refused that has an unknown parameter, whatever `queries` says.
        strict_query: bool = false, "true or false";
        /// Directories beside the root, by the prefix of the paths that they serve.
        img_map: Mappings = Mappings(Vec::new()), "prefix=directory";
        /// Programs that are routes of the server, each in cells of its own; docs/cells.md lists their keys.
        programs: Programs = Programs::default(), "tables";
        /// Whether better versions are made when cores are idle.
        improve: bool = true, "true or false";
        /// How long caches may keep an answer before they ask again.
        max_age: Freshness = Freshness::seconds(86_400), "time";
        /// The same for an answer that a better one will replace.
        max_age_quick: Freshness = Freshness::seconds(10), "time";
        /// Cores that serve, each with a listener of its own.
        cores: PerCore = PerCore::Auto, "cores";
        /// How connections are spread over cores: auto, hash, incoming-cpu (to the core where they arrive) or cbpf.
        steering: SteeringMode = SteeringMode(Steering::Auto), "mode";
        /// Addresses that may have any number of connections: proxies that speak for many clients, and this host.
        proxies: Networks = Networks::loopback(), "addresses";
        /// What clients must log in for, as a user of `pelton user`: nothing but players (off), music with its pages,
        /// covers and the API (music), or everything but probes (all).
        require_login: LoginNeed = LoginNeed(RequireLogin::Off), "off, music or all";
        /// Names by which clients ask for this server. Where there are none, files answer to every name; pages, metrics
        /// and the API answer to addresses, to names without a dot or in .local, .localhost, .internal and .home.arpa, and
        /// to those of certificates.
        hosts: Hosts = Hosts(Vec::new()), "names";
        /// Origins whose pages may ask the API, beside those of this server.
        origins: Origins = Origins(Vec::new()), "origins";
        /// Where metrics, status and the API answer without a login; elsewhere they then need one.
        admin_listen: MaybeAddress = MaybeAddress(None), "address or off";
        /// File with a token that lets a program in to metrics, status and the API, as `Authorization: Bearer TOKEN`;
        /// without it they then need a login.
        admin_token_file: MaybeFile = MaybeFile(None), "file or off";
        /// Where a line of JSON goes for each answer: a file, stderr, or off.
        access_log: AccessLog = AccessLog(Sink::Off), "file";
        /// Least severe events that are logged.
        log_level: LogLevel = LogLevel(tracing::Level::INFO), "level";
    }

    /// HTTPS, which is spoken as soon as there is a certificate.
    struct Tls as tls {
        /// Certificates, each with the chain to its root, in PEM; the first is for clients that ask for no name we know.
        cert: Files = Files(Vec::new()), "files";
        /// Their keys, in the same order, in PEM.
        key: Files = Files(Vec::new()), "files";
        /// Where HTTPS is spoken.
        listen: SocketAddr = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 3443), "address";
        /// Whether HTTP only sends clients on to HTTPS, for hosts that a certificate is for; a number is the port that
        /// they are sent to, where it is not the one listened on.
        redirect: Redirect = Redirect::Off, "true or port";
        /// How often to look whether certificates were renewed.
        check_time: Timeout = Timeout::seconds(60), "time";
    }

    /// The library's index: how it is kept up to date, and what it makes of names and pictures.
    struct Library as library {
        /// How changes are seen: by the kernel's word, or by looking where it gives none (auto), by looking, or not at all.
        watch: WatchMeans = WatchMeans(scan::Means::Auto), "auto, look or off";
        /// How long a folder must be quiet before it is read, so that an album appears whole.
        settle_time: Timeout = Timeout::seconds(3), "time";
        /// How often to look where the kernel does not tell.
        look_time: Timeout = Timeout::seconds(60), "time";
        /// How often to scan everything, whatever was seen; 0s is never.
        rescan_time: Freshness = Freshness::seconds(86_400), "time";
        /// What stands between two artists in one text; case does not matter.
        split_artists: Texts = Texts(Splits::default().artists), "texts";
        /// What stands between two genres in one text.
        split_genres: Texts = Texts(Splits::default().genres), "texts";
        /// Names that are never cut, though one of these is in them.
        split_exceptions: Texts = Texts(Splits::default().exceptions), "texts";
        /// Where a track's cover is looked for, best first: files beside it, embedded, its disc's, its album's, or any
        /// picture there.
        cover_track: Sources = Sources(CoverRules::default().track), "sources";
        /// Where a disc's is.
        cover_disc: Sources = Sources(CoverRules::default().disc), "sources";
        /// Where an album's is.
        cover_album: Sources = Sources(CoverRules::default().album), "sources";
        /// Where an artist's picture is: files around the albums, or the first album's.
        cover_artist: Sources = Sources(CoverRules::default().artist), "sources";
        /// Boxes of covers that `pelton prefetch` makes.
        cover_sizes: Sides = Sides(vec![300, 600]), "pixels";
        /// Covers taken out of music; beyond, the least recently used go.
        covers_bytes_max: Bytes = Bytes(scan::CoverLimits::default().bytes_max), "bytes";
    }

    /// Music for players that ask for fewer bytes: made in cells, kept with converted pictures.
    struct Transcoding as transcoding {
        /// Tracks at the same time; auto is one for every two cores.
        concurrency: PerCore = PerCore::Auto, "tracks";
        /// Tracks that may wait for their turn, users taking turns; beyond, the user with the most of them gets 429.
        waiting_max: u32 = 256, "tracks";
        /// Time that a track may wait for its turn; beyond, the answer is 429.
        max_queue_time: Timeout = Timeout::seconds(60), "time";
        /// Longest track that is transcoded; longer ones are sent as they are. 0s is none at all. No track may take more
        /// than cell.max_request_time.
        longest: Freshness = Freshness::seconds(3_600), "time";
        /// Memory that one may take beyond a worker's own.
        max_memory: Bytes = Bytes::mib(256), "bytes";
    }

    /// The store: a Redis-compatible server that shows what is known of converted pictures, and keeps it for others.
    struct Store as store {
        /// Where the server takes Redis clients itself: they see its index of converted pictures.
        listen: MaybeAddress = MaybeAddress(None), "address or off";
        /// A store elsewhere that is used instead: redis://[user:password@]host[:port][/database].
        url: MaybeUrl = MaybeUrl(None), "URL or off";
        /// Memory for what the server's own store holds; beyond, the least recently used goes.
        max_memory: Bytes = Bytes::mib(64), "bytes";
        /// How long a store elsewhere may take to answer before serving goes on without it.
        timeout: Timeout = Timeout::seconds(1), "time";
    }

    /// Cells: the sandboxes in which pictures are converted. The names are those of Varnish's TinyKVM.
    struct Cell as cell {
        /// What stands around a conversion: a process that dies after it, a microVM that is wiped after it, or whichever
        /// of the two a guest, run at the start, shows to be the better one here.
        backend: CellBackend = CellBackend(Backend::Process), "backend";
        /// Nothing of a job is left when the next begins. Without, the next runs in the same memory.
        ephemeral: bool = true, "true or false";
        /// Conversions at the same time.
        concurrency: PerCore = PerCore::Auto, "jobs";
        /// Workers that stand ready beyond these, forked ahead.
        spare: u32 = 2, "workers";
        /// How long a job may wait for a worker.
        max_queue_time: Timeout = Timeout::seconds(1), "time";
        /// How long workers may take to become ready when the server starts.
        max_boot_time: Timeout = Timeout::seconds(16), "time";
        /// How long one job may run, by the wall clock.
        max_request_time: Timeout = Timeout::seconds(120), "time";
        /// CPU time that a program's request takes before it gives way: from then on it gets little of a CPU that
        /// others want. 0s is never.
        give_way_time: Freshness = Freshness(Duration::from_millis(100)), "time";
        /// Address space of a worker before its job: code and tables.
        max_memory: Bytes = Bytes::mib(256), "bytes";
        /// Address space that one job may take beyond that.
        max_work_memory: Bytes = Bytes::gib(1), "bytes";
        /// Size of what one job may answer.
        max_answer: Bytes = Bytes::mib(256), "bytes";
        /// Jobs after which workers are forked from a newly started program.
        jobs_per_zygote: NonZeroU32 = NonZeroU32::new(4_096).expect("not zero"), "jobs";
        /// How long to pause at most before that program is started again after it died.
        max_restart_pause: Timeout = Timeout::seconds(5), "time";
        /// Least isolation to start with: each level demands those before it.
        min_isolation: MinIsolation = MinIsolation(Isolation::Filter), "level";
        /// A folder for jobs that crash or take too long, so that they can be run again: they hold what clients sent.
        crash_dir: MaybeFolder = MaybeFolder(None), "directory or off";
        /// Jobs that it may hold; beyond, no more are kept.
        crash_jobs_max: u32 = 32, "jobs";
        /// What they may take together.
        crash_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Memory of the workers in transparent huge pages, where the host has them.
        hugepages: bool = true, "true or false";
        /// Memory that a job in a microVM takes in transparent huge pages, where the host has them.
        request_hugepages: bool = true, "true or false";
    }

    /// Bounds of all that is kept, queued, read or waited for.
    struct Limits as limits {
        /// Converted pictures on disk; beyond, the least recently used go.
        variants_bytes_max: Bytes = Bytes::gib(4), "bytes";
        /// Converted pictures in memory; beyond, the least recently used go.
        hot_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Memory that all conversions at work may take together, as estimated beforehand.
        convert_bytes_max: Bytes = Bytes::gib(1), "bytes";
        /// Conversions that may wait for their turn; beyond, the answer is 503.
        queue_max: u32 = 256, "jobs";
        /// Time that a client may have to wait for its conversion to begin, by estimate; beyond, the answer is 503.
        queue_time_max: Timeout = Timeout::seconds(10), "time";
        /// Requests that may wait for one and the same conversion.
        waiters_max: u32 = 1_024, "requests";
        /// Better versions that are remembered as still to be made; beyond, the next request asks again.
        improving_max: u32 = 4_096, "jobs";
        /// Requests that may wait for one program; beyond, the answer is 503.
        program_queue_max: u32 = 256, "requests";
        /// How often to look whether a program's file has changed.
        program_check_time: Timeout = Timeout::seconds(2), "time";
        /// Originals whose format and size are remembered.
        facts_max: u32 = 65_536, "files";
        /// Originals whose colour, BlurHash and ThumbHash are kept.
        looks_max: u32 = 65_536, "files";
        /// Size up to which an answer is sent from memory; larger ones are sent by the kernel from their file.
        memory_body_bytes_max: Bytes = Bytes::kib(64), "bytes";
        /// Answers kept ready, over all cores; each one larger than that holds a descriptor.
        hot_answers_max: u32 = 4_096, "answers";
        /// Text that is compressed for clients that read it so; larger text is sent as it is.
        coded_bytes_max: Bytes = Bytes::mib(4), "bytes";
        /// Entries of a folder that its page shows.
        gallery_entries_max: u32 = 1_000, "entries";
        /// How long an answer is given without asking whether its original has changed.
        trust_time: Timeout = Timeout::seconds(1), "time";
        /// Size of an original that is still converted; larger ones are served untouched.
        original_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Pixels of an original that is still converted.
        source_pixels_max: NonZeroU64 = pixels(image_plan::Limits::default().source_pixels_max), "pixels";
        /// Pixels of a converted picture.
        target_pixels_max: NonZeroU64 = pixels(image_plan::Limits::default().target_pixels_max), "pixels";
        /// Size of an original's colour profile, as stored.
        profile_bytes_max: Bytes = Bytes(image_plan::Limits::default().profile_bytes_max), "bytes";
        /// Connections open at the same time, over all cores.
        connections_max: NonZeroU32 = NonZeroU32::new(16_384).expect("not zero"), "connections";
        /// Of these, open from one address, where an IPv6 address stands for its /64; those in `proxies` do not count.
        address_connections_max: NonZeroU32 = NonZeroU32::new(512).expect("not zero"), "connections";
        /// Requests of one connection before it is closed.
        connection_requests_max: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero"), "requests";
        /// Answers to one connection that wait to be written together.
        queued_bytes_max: Bytes = Bytes::kib(24), "bytes";
        /// Connections that the kernel holds until a core takes them, for each core.
        backlog: NonZeroU32 = NonZeroU32::new(4_096).expect("not zero"), "connections";
        /// Threads for work that may sleep, over all cores.
        blocking_threads_max: NonZeroU32 = NonZeroU32::new(64).expect("not zero"), "threads";
        /// Request line and fields of one request, in all.
        head_bytes_max: Bytes = Bytes::kib(16), "bytes";
        /// Fields of one request.
        fields_max: NonZeroU32 = NonZeroU32::new(100).expect("not zero"), "fields";
        /// Path and query of one request.
        target_bytes_max: Bytes = Bytes::kib(8), "bytes";
        /// Body of a request that is skipped so that its connection can go on.
        body_bytes_max: Bytes = Bytes::kib(64), "bytes";
        /// Body of one request to what stands beside the library, as it comes over the wire.
        request_body_bytes: Bytes = Bytes::mib(1), "bytes";
        /// Such bodies of all requests that are not answered yet, over all cores; beyond, the answer is 503.
        request_bodies_bytes: Bytes = Bytes::mib(64), "bytes";
        /// Answers that are no files and that clients have not taken yet: of players, of the API, of programs, and pages;
        /// beyond, 503.
        mount_answers_bytes: Bytes = Bytes::mib(256), "bytes";
        /// Answers to music players, and pages of shares, that are put together at a time; others wait their turn.
        answers_making_max: NonZeroU32 = NonZeroU32::new(8).expect("not zero"), "answers";
        /// One chunk's size line in a body.
        chunk_line_bytes_max: u32 = 256, "bytes";
        /// Fields behind the last chunk of a body, in all.
        trailer_bytes_max: u32 = 4_096, "bytes";
        /// Lines of the access log that wait to be written, for each core; beyond, they are dropped and counted.
        access_log_bytes: Bytes = Bytes::mib(1), "bytes";
        /// What the access log keeps of each text that a client sends.
        access_field_bytes_max: Bytes = Bytes(512), "bytes";
        /// Bytes that the kernel takes of one connection's answers ahead of what it has sent.
        unsent_bytes_max: Bytes = Bytes::kib(128), "bytes";
        /// Bytes of a file that are sent before other connections get their turn.
        sendfile_slice_bytes: Bytes = Bytes::mib(1), "bytes";
        /// Time from the start of a connection to its first byte.
        first_byte_timeout: Timeout = Timeout::seconds(10), "time";
        /// Time from the start of a connection to the end of its TLS handshake.
        handshake_timeout: Timeout = Timeout::seconds(10), "time";
        /// TLS handshakes at the same time, on each core; beyond, the oldest is ended.
        handshakes_max: NonZeroU32 = NonZeroU32::new(512).expect("not zero"), "handshakes";
        /// TLS sessions remembered for clients that keep no tickets.
        tls_sessions_max: u32 = 4_096, "sessions";
        /// What one TLS connection holds encrypted until its client takes it.
        tls_buffer_bytes_max: Bytes = Bytes::kib(32), "bytes";
        /// Streams of one HTTP/2 connection at the same time.
        h2_streams_max: NonZeroU32 = NonZeroU32::new(100).expect("not zero"), "streams";
        /// What one HTTP/2 connection holds of files until its client takes it.
        h2_buffer_bytes_max: Bytes = Bytes::kib(16), "bytes";
        /// Answers of one HTTP/2 connection that are looked for or made at the same time.
        h2_making_max: NonZeroU32 = NonZeroU32::new(32).expect("not zero"), "answers";
        /// What an HTTP/2 client may send without asking for anything or taking anything.
        h2_idle_bytes_max: Bytes = Bytes::kib(256), "bytes";
        /// Streams that an HTTP/2 client may give up, beyond those whose answer it took.
        h2_resets_max: u32 = 256, "streams";
        /// Time from the first byte of a request to the end of its fields.
        head_timeout: Timeout = Timeout::seconds(10), "time";
        /// Time in which the body of a request must bring what `limits.body_rate_min` asks for.
        body_timeout: Timeout = Timeout::seconds(10), "time";
        /// Slowest body of a request.
        body_rate_min: Bytes = Bytes(512), "bytes/s";
        /// Time that a connection may stay open between two requests.
        idle_timeout: Timeout = Timeout::seconds(75), "time";
        /// Time in which a client must take what `limits.write_rate_min` asks for, where an answer waits for it.
        write_timeout: Timeout = Timeout::seconds(60), "time";
        /// Slowest client.
        write_rate_min: Bytes = Bytes(512), "bytes/s";
        /// Time that a client which was answered early may be silent before its connection is closed.
        linger_timeout: Timeout = Timeout::seconds(2), "time";
        /// Time in all that such a client may go on sending, so that it comes to read its answer.
        linger_time_max: Timeout = Timeout::seconds(30), "time";
        /// What it may still send in that time.
        linger_bytes_max: Bytes = Bytes::gib(1), "bytes";
        /// Time that open requests get to finish when the server stops.
        drain_timeout: Timeout = Timeout::seconds(30), "time";
        /// Time that a new process gets until it serves, when it is to take over.
        upgrade_timeout: Timeout = Timeout::seconds(60), "time";
    }
}

fn pixels(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("the limits of `picture` let some pictures through")
}
