//! List of all settings. One row defines the type, default, unit and meaning of a setting. The
//! fields of [`Config`], flags, environment variables, help and the table of `pelton check` are
//! generated from this list.

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
use server::path_tags::PathTags;
use tags::Splits;

use super::programs::Programs;
use super::value::{
    AccessLog, BaseUrl, Bytes, CellBackend, CorsOrigins, Files, Formats, HeaderFields, HexSecrets,
    Hosts, IiifService, ImgproxyPresets, LogLevel, LoginNeed, Mappings, MaybeAddress, MaybeFile,
    MaybeFolder, MaybeUrl, MinIsolation, Networks, Operations, OptionalDuration, Origins, PerCore,
    PermittedFormats, PermittedQualities, PermittedSides, Presets, Quality, Queries, Raw, Redirect,
    ResourcePolicy, Sides, SignatureKeys, SignatureSize, Sources, SteeringMode, Tags, Texts,
    Timeout, TrustedSignatures, Types, UrlPrefix, Value, WatchMeans, Wrong,
};

/// Setting: its name and description, and the functions that parse and format its value.
pub struct Key {
    /// Name in a configuration file, such as `limits.queue_max`.
    pub name: &'static str,
    /// Purpose in one or two sentences, shown as help.
    pub doc: &'static str,
    /// Unit or kind of the value.
    pub unit: &'static str,
    /// Description of the accepted values, which completes "expected …" in error messages.
    pub expected: &'static str,
    /// Parses a value and assigns it to its field.
    pub set: fn(&mut Config, &Raw) -> Result<(), Wrong>,
    /// Formats the field's value, as [`Value::show`] does.
    pub show: fn(&Config) -> String,
    /// Formats the field's value for tables, as [`Value::show_public`] does.
    pub show_public: fn(&Config) -> String,
}

impl Key {
    /// Returns the setting called `name`, if any.
    pub fn named(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// Returns the name of the command-line flag without the leading dashes, such as
    /// `limits-queue-max`.
    pub fn flag(&self) -> String {
        self.name.replace(['.', '_'], "-")
    }

    /// Returns the name of the variable, such as `PELTON_LIMITS_QUEUE_MAX`.
    pub fn variable(&self) -> String {
        format!(
            "PELTON_{}",
            self.name.replace('.', "_").to_ascii_uppercase()
        )
    }
}

/// Declares [`Config`], its groups, their defaults, and [`KEYS`]. The rows have the form `name:
/// Type = default, "unit or kind";`. A row outside the groups declares a top-level key.
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
        /// Resolved values of all settings.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $( $(#[doc = $doc])+ pub $field: $Type, )+
            $( $(#[doc = $group_doc])+ pub $group: $Group, )+
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
            pub struct $Group {
                $( $(#[doc = $member_doc])+ pub $member: $MemberType, )+
            }
        )+

        /// Names of the tables in a file.
        pub(crate) const GROUPS: &[&str] = &[$( stringify!($group) ),+];

        /// All settings, in the order in which help and `pelton check` list them.
        pub const KEYS: &[Key] = &[
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
                show_public: |config| config.$field.show_public(),
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
                show_public: |config| config.$group.$member.show_public(),
            }, )+ )+
        ];
    };
}

settings! {
    struct Config {
        /// Folder whose pictures, music and other files are served.
        root: PathBuf = PathBuf::from("."), "directory";
        /// IP address and port for HTTP. 127.0.0.1 accepts connections from this machine only;
        /// 0.0.0.0 accepts them from other machines, too.
        listen: SocketAddr = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 3333), "address";
        /// Directory in which the server keeps its own files: converted pictures and tracks, the
        /// index of the library, and user accounts.
        data: PathBuf = PathBuf::from("./pelton-data"), "directory";
        /// Quality of converted pictures for requests that name no quality, on the scale of JPEG
        /// (libjpeg). Pictures in other formats are encoded to look as good as a JPEG of this
        /// quality. A higher quality makes larger files.
        quality: Quality = Quality(DEFAULT_QUALITY_PCT), "1-100";
        /// Formats to which pictures are converted for clients that accept them: avif, webp or
        /// both, in any order. Other clients get the original file if browsers can show its format
        /// and the request asks for no change of the picture, otherwise a JPEG or PNG.
        formats: Formats = Formats(vec![Target::Avif, Target::Webp]), "formats";
        /// Extensions of files to serve in addition to pictures and audio files; * means all files.
        /// The default lists the videos that browsers can play.
        allowed_types: Types = Types::of(&server::media_type::VIDEOS), "extensions";
        /// Extensions of the files that may be served; * means no restriction. The list also
        /// applies to pictures and audio files, and allowed_types cannot add to it.
        only_types: Types = Types::Every, "extensions";
        /// Extensions of files whose scripts browsers may run, such as html. All other files are
        /// sent with a Content-Security-Policy that forbids scripts.
        active_types: Types = Types::Only(Vec::new()), "extensions";
        /// Header fields to add to every response, such as X-Frame-Options: DENY. If the server
        /// sends a field of the same name, the added field replaces it. In a flag or variable,
        /// separate several fields with |.
        headers: HeaderFields = HeaderFields(Headers::default()), "fields";
        /// Tags of files and folders, as pairs of a tag and a decoded URL path, such as
        /// summer=/2025/july. The tag of a folder applies to everything below it. Several pairs may
        /// have the same tag or the same path. Responses for a tagged file carry its tags in the
        /// header fields Cache-Tag and Surrogate-Key, with which CDNs purge their caches. `pelton
        /// purge --tag` deletes the converted pictures and tracks of the files with a tag. In a
        /// flag or variable, separate several pairs with |.
        tags: Tags = Tags(PathTags::default()), "tag=path";
        /// Origins, such as https://example.org, whose web pages may read files of the library by
        /// script (CORS). * means all origins.
        cors_origins: CorsOrigins = CorsOrigins(Vec::new()), "origins";
        /// Value of the header field Cross-Origin-Resource-Policy, which tells browsers which sites
        /// may embed files of the library: same-origin, same-site or cross-origin. If off, the
        /// field is not sent.
        resource_policy: ResourcePolicy = ResourcePolicy(None), "policy or off";
        /// Treatment of the parameters in a picture's URL, such as w in ?w=320. pelton: an invalid
        /// value gets the status 400, and unknown parameters are ignored. webp-server-go: invalid
        /// values are ignored, too. meta-only: all parameters are ignored except meta=full, which
        /// requests a description of the picture as JSON.
        queries: Queries = Queries(Grammar::Pelton), "mode";
        /// Reject requests with unknown parameters or invalid values, with the status 400. If true,
        /// the setting `queries` is ignored.
        strict_query: bool = false, "true or false";
        /// Folders to serve in addition to root, each at its own URL path. For example,
        /// /scans=/srv/scans serves /srv/scans/a.jpg as /scans/a.jpg.
        img_map: Mappings = Mappings(Vec::new()), "prefix=directory";
        /// Your own programs, which answer the requests for given URL paths. They run in sandboxes.
        /// In the configuration file, each program has a table `[programs.NAME]`, whose keys
        /// docs/cells.md explains. In a flag or variable, write a TOML inline table, such as { NAME
        /// = { path = "/bin/x", route = "/x" } }.
        programs: Programs = Programs::default(), "tables";
        /// Encode converted pictures again when CPU cores are idle, with slower encoder settings
        /// that make smaller files.
        improve: bool = true, "true or false";
        /// Time for which browsers and other caches may reuse a file without asking the server
        /// again (Cache-Control: max-age). At 0s they ask each time.
        max_age: OptionalDuration = OptionalDuration::seconds(86_400), "time";
        /// The same as max_age, but for a provisional picture. Such a picture was encoded quickly,
        /// and a smaller file will soon replace it.
        max_age_quick: OptionalDuration = OptionalDuration::seconds(10), "time";
        /// Number of CPU cores that serve requests, with one thread per core. auto means all cores
        /// that the process may use.
        cores: PerCore = PerCore::Auto, "cores";
        /// Method by which new connections are distributed over the threads that serve requests,
        /// one per CPU core. hash: by a hash of addresses and ports. incoming-cpu: to the thread on
        /// the CPU core that receives the packets. cbpf: the same as incoming-cpu, for kernels
        /// before 6.2. auto: switches between hash and incoming-cpu to balance the load.
        steering: SteeringMode = SteeringMode(Steering::Auto), "mode";
        /// Addresses or networks of reverse proxies to trust. The server believes two of their
        /// header fields: X-Forwarded-Proto says whether the client uses HTTPS, and X-Forwarded-For
        /// says which address the client has. That address is used only for
        /// limits.address_conversions_max. These proxies may open any number of connections.
        proxies: Networks = Networks::loopback(), "addresses";
        /// Parts of the server for which browsers must log in. off: none. music: music, covers,
        /// metrics (/-/metrics), status (/-/status) and the API (/-/api). all: everything except
        /// health checks and the login page. Music players must always log in. If off, metrics,
        /// status and the API need no login either, unless admin_listen or admin_token_file is set.
        require_login: LoginNeed = LoginNeed(RequireLogin::Off), "off, music or all";
        /// Host names by which clients may address this server, such as music.example.org or
        /// *.example.org; * means every name. A request with another name gets the status 421. Some
        /// names need not be listed: IP addresses, names without a dot, names that end in .local,
        /// .localhost, .internal or .home.arpa, and names in the server's certificates. Over HTTPS,
        /// every name is accepted. If the list is empty, files and music players are also served
        /// under any other name; the API, lists of files, metrics and status are not.
        hosts: Hosts = Hosts(Vec::new()), "names";
        /// Origins of other web sites, such as https://photos.example.org, whose pages may use the
        /// API at /-/api. This server's own pages always may. For pages that only read files, see
        /// cors_origins.
        origins: Origins = Origins(Vec::new()), "origins";
        /// Additional IP address and port at which metrics (/-/metrics), status (/-/status) and the
        /// API (/-/api) need no login, and no token either. At all other addresses, these three
        /// then need the token in admin_token_file or a login, which must be that of an admin for
        /// metrics and status. If neither admin_listen nor admin_token_file is set, only
        /// require_login protects them.
        admin_listen: MaybeAddress = MaybeAddress(None), "address or off";
        /// File with a token of at least 16 characters, for scripts that use metrics (/-/metrics),
        /// status (/-/status) or the API (/-/api), and for `pelton purge`, `doctor` and `profile`.
        /// A script sends the token as `Authorization: Bearer TOKEN`. If the file is set, these
        /// three need the token or a login, which must be that of an admin for metrics and status;
        /// at the address of admin_listen they need neither. If neither admin_listen nor
        /// admin_token_file is set, only require_login protects them.
        admin_token_file: MaybeFile = MaybeFile(None), "file or off";
        /// Destination of the access log: a file, stderr, or off. The log has one line of JSON per
        /// response.
        access_log: AccessLog = AccessLog(Sink::Off), "file or off";
        /// Directory with the files of Pelton's own web page, which are read again for each
        /// request. Only developers of this page need this setting. If off, the server uses its
        /// built-in files.
        page_dir: MaybeFolder = MaybeFolder(None), "directory or off";
        /// Least severe messages to log: error, warn, info, debug or trace. More severe messages
        /// are always logged, too.
        log_level: LogLevel = LogLevel(tracing::Level::INFO), "level";
    }

    /// HTTPS, which is enabled by a certificate.
    struct Tls as tls {
        /// Certificate files in PEM format, each with its chain of intermediate certificates. HTTPS
        /// is on if there is at least one. The first certificate is also used for clients that name
        /// no host or an unknown host.
        cert: Files = Files(Vec::new()), "files";
        /// Files with the private keys in PEM format, one per file in tls.cert and in the same
        /// order.
        key: Files = Files(Vec::new()), "files";
        /// IP address and port for HTTPS. It is used only if tls.cert is set.
        listen: SocketAddr = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 3443), "address";
        /// Redirect HTTP requests to HTTPS if a certificate is valid for the requested host: true,
        /// false or a port number. true redirects to the port of tls.listen. Set a port if clients
        /// reach HTTPS at another one, for example behind port forwarding.
        redirect: Redirect = Redirect::Off, "true or a port number";
        /// Interval between checks whether the files in tls.cert and tls.key have changed. Renewed
        /// certificates are then used without a restart.
        check_time: Timeout = Timeout::seconds(60), "time";
    }

    /// Library: how the index is kept up to date, and how names and covers are chosen.
    struct Library as library {
        /// Method by which changed folders are noticed: auto (inotify, or polling if inotify does
        /// not work), poll (always polling), or off. If off, only the scans of library.rescan_time
        /// find changes.
        watch: WatchMeans = WatchMeans(scan::WatchMode::Auto), "auto, poll or off";
        /// Time for which a changed folder must stay unchanged before it is scanned. A new album
        /// then appears only after all its files have been copied.
        settle_time: Timeout = Timeout::seconds(3), "time";
        /// Interval between checks for changed folders if inotify is not used; see library.watch.
        poll_interval: Timeout = Timeout::seconds(60), "time";
        /// Interval between scans of the whole library, which also find changes that were not
        /// noticed. 0s means no such scans.
        rescan_time: OptionalDuration = OptionalDuration::seconds(86_400), "time";
        /// Separators between the names of several artists in one tag. Upper and lower case count
        /// as equal. In a flag or variable, put double quotes around a separator that begins or
        /// ends with a space.
        split_artists: Texts = Texts(Splits::default().artists), "texts";
        /// Separators between several genres in one tag. Upper and lower case count as equal.
        split_genres: Texts = Texts(Splits::default().genres), "texts";
        /// Names of artists or genres that contain a separator but must not be split.
        split_exceptions: Texts = Texts(Splits::default().exceptions), "texts";
        /// Sources of the cover of a track, which the server tries in the order of this list.
        /// Possible sources: a file name such as cover.* (a picture with this name in the track's
        /// folder), any (any picture in that folder), embedded (the picture in the track's file),
        /// disc or album (the cover of the track's disc or album). In a file name, * stands for any
        /// characters.
        cover_track: Sources = Sources(CoverRules::default().track), "sources";
        /// Sources of the cover of a disc, which the server tries in the order of this list.
        /// Possible sources: a file name such as disc*.* (a picture with this name in a folder with
        /// tracks of the disc), any (any picture in such a folder), embedded (the picture in the
        /// file of one of the disc's tracks), album (the cover of the disc's album).
        cover_disc: Sources = Sources(CoverRules::default().disc), "sources";
        /// Sources of the cover of an album, which the server tries in the order of this list.
        /// Possible sources: a file name such as cover.* (a picture with this name in the folder of
        /// the album, or in a folder with tracks of the album), any (any picture in such a folder),
        /// embedded (the picture in the file of one of the album's tracks).
        cover_album: Sources = Sources(CoverRules::default().album), "sources";
        /// Sources of the picture of an artist, which the server tries in the order of this list.
        /// Possible sources: a file name such as artist.* (a picture with this name in the folder
        /// above that of the artist's first album), any (any picture in that folder), album (the
        /// cover of the artist's first album that has one). The albums of an artist are sorted by
        /// title.
        cover_artist: Sources = Sources(CoverRules::default().artist), "sources";
        /// Sizes in which `pelton prefetch` creates covers in advance. Each size is the side of a
        /// square. The cover is scaled to fit into this square, and is not cropped.
        cover_sizes: Sides = Sides(vec![300, 600]), "pixels";
        /// Heights of the smaller copies of photographs that `pelton prefetch` and an idle server
        /// (library.prefetch_idle_time) make in advance. The server's own web page requests the
        /// default heights, so keep the defaults if you use that page.
        picture_sizes: Sides = Sides(vec![240, 480]), "pixels";
        /// Time after which the server counts as idle if it got no request for a file and ran no
        /// conversion or scan. It then makes smaller copies of photographs in the heights of
        /// library.picture_sizes, newest first. It stops at the next request, or when 90 % of
        /// limits.variants_bytes_max is used. 0s turns this off.
        prefetch_idle_time: OptionalDuration = OptionalDuration::seconds(60), "time";
        /// Maximum disk space for covers that were extracted from music files. When it is full, the
        /// least recently used covers are deleted.
        covers_bytes_max: Bytes = Bytes(scan::CoverLimits::default().bytes_max), "bytes";
    }

    /// Transcoding of music for players that request lower bit rates, in cells; results are kept
    /// with the variants.
    struct Transcoding as transcoding {
        /// Maximum number of tracks that are transcoded at the same time, for players that request
        /// a lower bit rate. auto means one per two CPU cores, but at least one.
        concurrency: PerCore = PerCore::Auto, "tracks";
        /// Maximum number of tracks that may wait to be transcoded. When one more arrives, the user
        /// with the most waiting tracks gets the status 429 for one of them.
        waiting_max: u32 = 256, "tracks";
        /// Maximum time that a track may wait to be transcoded. A request that waits longer gets
        /// the status 429.
        max_queue_time: Timeout = Timeout::seconds(60), "time";
        /// Longest track to transcode, in playing time. Longer tracks are sent unconverted. 0s
        /// turns transcoding off.
        longest: OptionalDuration = OptionalDuration::seconds(3_600), "time";
        /// Maximum memory that the transcoding of one track may use, in addition to the memory that
        /// cell.max_memory limits.
        max_memory: Bytes = Bytes::mib(256), "bytes";
    }

    /// Store: the Redis-compatible server, built in or external, that holds the index of variants.
    struct Store as store {
        /// IP address and port of a Redis-compatible store inside the server. The store holds a
        /// copy of the index of converted files, which Redis clients can read. store.url must then
        /// be off.
        listen: MaybeAddress = MaybeAddress(None), "address or off";
        /// URL of an external Redis-compatible store,
        /// redis://[user:password@]host[:port][/database]. Servers that use the same store share
        /// their index of converted files. store.listen must then be off.
        url: MaybeUrl = MaybeUrl(None), "URL or off";
        /// Maximum memory of the store at store.listen. When it is full, the least recently used
        /// entries are removed.
        max_memory: Bytes = Bytes::mib(64), "bytes";
        /// Time within which the store at store.url must accept a connection or answer. If it does
        /// not, the server continues without the store.
        timeout: Timeout = Timeout::seconds(1), "time";
    }

    /// Cells: the sandboxes of conversions. The keys are named as in Varnish's TinyKVM.
    struct Cell as cell {
        /// Kind of sandbox in which each conversion or program runs: process (a confined process),
        /// kvm (a microVM, which needs /dev/kvm), or auto (kvm if it works and is fast on this
        /// machine, else process). These sandboxes are also called cells.
        backend: CellBackend = CellBackend(Backend::Process), "backend";
        /// Erase a sandbox's memory after each conversion, so that no data of one client reaches
        /// the next. If false, further conversions run in the same memory, which is not erased.
        ephemeral: bool = true, "true or false";
        /// Maximum number of picture conversions that run at the same time, at most 255. auto means
        /// one per CPU core.
        concurrency: PerCore = PerCore::Auto, "jobs";
        /// Number of sandboxes that are kept in addition to cell.concurrency, at most 255. A
        /// conversion then finds a ready sandbox while another one is being erased.
        spare: u32 = 2, "sandboxes";
        /// A conversion waits first in the queue of limits.queue_max, and then for a ready sandbox.
        /// This is the maximum time of the second wait. A request that waits longer gets the status
        /// 503.
        max_queue_time: Timeout = Timeout::seconds(1), "time";
        /// Maximum time that a new sandbox may take until it is ready for conversions. If it takes
        /// longer, its start counts as failed.
        max_boot_time: Timeout = Timeout::seconds(16), "time";
        /// Maximum time that one job in a sandbox, such as a conversion, may take. The limit
        /// applies to the elapsed time and to the CPU time: the job is stopped when either exceeds
        /// it. The server also estimates the CPU time of each conversion, and stops a conversion
        /// that takes several times as long.
        max_request_time: Timeout = Timeout::seconds(120), "time";
        /// CPU time after which a request to a program (see programs) gets a low scheduling
        /// priority. Other work then runs first when the CPUs are busy. 0s means never.
        deprioritize_after: OptionalDuration = OptionalDuration(Duration::from_millis(100)), "time";
        /// Maximum memory (address space) that a sandbox may use before its first job, mainly for
        /// its program code and constant data. A sandbox that needs more does not start.
        max_memory: Bytes = Bytes::mib(256), "bytes";
        /// Maximum memory (address space) that one job, such as a conversion, may use in addition
        /// to the memory that cell.max_memory limits. A job that needs more fails. Must not exceed
        /// limits.convert_bytes_max.
        max_work_memory: Bytes = Bytes::gib(1), "bytes";
        /// Maximum size of the result of one job, such as a conversion. A job with a larger result
        /// fails.
        max_output: Bytes = Bytes::mib(256), "bytes";
        /// Number of conversions after which the zygote is replaced by a new one with another
        /// memory layout. The zygote is the process from which all sandboxes are forked.
        jobs_per_zygote: NonZeroU32 = NonZeroU32::new(4_096).expect("not zero"), "jobs";
        /// Longest pause before a crashed zygote is restarted (see cell.jobs_per_zygote). The first
        /// pause is 10 ms, and each further one is twice as long, up to this limit.
        max_restart_pause: Timeout = Timeout::seconds(5), "time";
        /// Weakest isolation that is acceptable for sandboxes. If this machine cannot provide it,
        /// the server does not start. From weakest to strongest: filter (seccomp), landlock,
        /// namespaces, microvm; each level includes those before it. `pelton cell --probe` shows
        /// what this machine offers.
        min_isolation: MinIsolation = MinIsolation(Isolation::Filter), "level";
        /// Directory in which to save jobs (conversions and requests to programs) that crashed or
        /// took too long, so that `pelton cell --replay` can run them again. The saved files
        /// contain data of clients.
        crash_dir: MaybeFolder = MaybeFolder(None), "directory or off";
        /// Maximum number of jobs that are saved in cell.crash_dir. When it is reached, no more
        /// jobs are saved until you delete files.
        crash_jobs_max: u32 = 32, "jobs";
        /// Maximum total size of the files in cell.crash_dir. A job that would exceed it is not
        /// saved.
        crash_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Use transparent huge pages, if the kernel has them, for memory that a sandbox allocates
        /// before its first conversion.
        hugepages: bool = true, "true or false";
        /// Use transparent huge pages, if the kernel has them, for memory that a conversion
        /// allocates in a microVM.
        request_hugepages: bool = true, "true or false";
    }

    /// Limits of everything that is cached, queued, read or waited for.
    struct Limits as limits {
        /// Maximum disk space for converted pictures and tracks. When it is full, the least
        /// recently used files are deleted.
        variants_bytes_max: Bytes = Bytes::gib(4), "bytes";
        /// Maximum memory for the cache of small files, in total for all cores. It keeps files of
        /// up to limits.memory_body_bytes_max. When it is full, the least recently used files are
        /// removed from it.
        hot_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Maximum memory for all running conversions together. Before a conversion starts, the
        /// server estimates the memory that it needs; a conversion that would exceed the limit
        /// waits.
        convert_bytes_max: Bytes = Bytes::gib(1), "bytes";
        /// Maximum number of conversions that may wait to start. When one more would wait, its
        /// request gets the status 503.
        queue_max: u32 = 256, "jobs";
        /// Maximum time that a request may wait in the queue of limits.queue_max. A request that
        /// waits longer, or whose estimated wait is longer, gets the status 503.
        queue_time_max: Timeout = Timeout::seconds(10), "time";
        /// Maximum number of requests that may wait for the same conversion. A further request gets
        /// the status 503, or 429 if it is for a track.
        waiters_max: u32 = 1_024, "requests";
        /// Maximum number of converted pictures that may wait to be encoded again (see improve).
        /// Further ones are skipped until they are requested again.
        improving_max: u32 = 4_096, "jobs";
        /// The web page can compare a converted picture with its original. This is the maximum
        /// number of comparisons that the server computes at the same time. A request for a further
        /// comparison gets the status 503.
        comparisons_max: u32 = 2, "jobs";
        /// Maximum number of requests that may wait for one program (see programs). A further
        /// request gets the status 503.
        program_queue_max: u32 = 256, "requests";
        /// Interval between checks whether the files of programs (see programs) have changed.
        /// Changed programs are then used without a restart.
        program_check_time: Timeout = Timeout::seconds(2), "time";
        /// Maximum number of files whose format and dimensions are remembered, in about 150 bytes
        /// of memory each.
        facts_max: u32 = 65_536, "files";
        /// Maximum number of pictures whose placeholder is kept, in about 150 bytes of memory and
        /// disk each. A placeholder is a colour and a blurred preview (BlurHash, ThumbHash), to
        /// show until the picture has loaded.
        placeholders_max: u32 = 65_536, "files";
        /// Size of the largest file that is cached in memory and sent from there. The kernel sends
        /// larger files directly from the disk (sendfile).
        memory_body_bytes_max: Bytes = Bytes::kib(64), "bytes";
        /// Maximum number of responses that are cached, in total for all cores. Each response with
        /// a body above limits.memory_body_bytes_max keeps a file open.
        hot_responses_max: u32 = 4_096, "responses";
        /// Size of the largest text file or page that is compressed before it is sent. Larger ones
        /// are sent uncompressed.
        coded_bytes_max: Bytes = Bytes::mib(4), "bytes";
        /// Maximum number of files and folders that the web page of one folder shows. Further
        /// entries are left out.
        gallery_entries_max: u32 = 1_000, "entries";
        /// Time for which a cached response is sent without a check whether its file has changed on
        /// disk. A verified login is trusted for the same time.
        revalidate_after: Timeout = Timeout::seconds(1), "time";
        /// Size of the largest file that is converted. Larger files are sent unconverted.
        original_bytes_max: Bytes = Bytes::mib(256), "bytes";
        /// Number of pixels (width × height) of the largest picture that is converted. Larger
        /// pictures are sent unconverted. A JPEG that is scaled down a lot is decoded at a reduced
        /// size, and only the reduced size counts.
        source_pixels_max: NonZeroU64 = pixels(image_plan::Limits::default().source_pixels_max), "pixels";
        /// Number of pixels (width × height) of the largest picture that a client may request. A
        /// request for a larger one gets the status 400.
        target_pixels_max: NonZeroU64 = pixels(image_plan::Limits::default().target_pixels_max), "pixels";
        /// Maximum number of frames of an animation that is converted. For longer animations, the
        /// original is sent, or a single frame if the request wants one.
        animation_frames_max: NonZeroU32 = NonZeroU32::new(image_plan::Limits::default().animation_frames_max).expect("not zero"), "frames";
        /// Maximum number of pixels of an animation that is converted: width × height × number of
        /// frames. Both the original and the result are checked. For larger animations, the
        /// original is sent, or a single frame if the request wants one.
        animation_pixels_max: NonZeroU64 = pixels(image_plan::Limits::default().animation_pixels_max), "pixels";
        /// Size of the largest colour profile (ICC) in a picture that is converted. A picture with
        /// a larger profile is sent unconverted.
        profile_bytes_max: Bytes = Bytes(image_plan::Limits::default().profile_bytes_max), "bytes";
        /// Maximum number of open connections, in total for all cores. When it is reached, a new
        /// connection replaces an idle one, or is refused if none is idle.
        connections_max: NonZeroU32 = NonZeroU32::new(16_384).expect("not zero"), "connections";
        /// Maximum number of open connections from one IPv4 address or one IPv6 network of size
        /// /64. Further connections are refused. The limit does not apply to the addresses in
        /// `proxies`.
        address_connections_max: NonZeroU32 = NonZeroU32::new(512).expect("not zero"), "connections";
        /// Maximum number of requests on one connection. The server closes the connection after the
        /// last one.
        connection_requests_max: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero"), "requests";
        /// If a client sends several requests at once, the server collects the responses and writes
        /// them with one system call. This is the maximum size that it collects per connection.
        queued_bytes_max: Bytes = Bytes::kib(24), "bytes";
        /// Maximum number of new connections that the kernel queues for each core until the server
        /// accepts them. If it is above net.core.somaxconn, the kernel uses that value instead.
        backlog: NonZeroU32 = NonZeroU32::new(4_096).expect("not zero"), "connections";
        /// Maximum number of threads for work that may have to wait, such as reading from disk.
        /// They are divided among the cores, and each core has at least one.
        blocking_threads_max: NonZeroU32 = NonZeroU32::new(64).expect("not zero"), "threads";
        /// Maximum size of the request line and all header fields of one request. A larger request
        /// gets the status 431, or 414 if its first line alone is too long.
        head_bytes_max: Bytes = Bytes::kib(16), "bytes";
        /// Maximum number of header fields of one request, at most 100. A request with more gets
        /// the status 431.
        fields_max: NonZeroU32 = NonZeroU32::new(100).expect("not zero"), "fields";
        /// Maximum length of the path and query of one request. A request that exceeds it gets the
        /// status 414. The limit cannot be set below 8000 bytes.
        target_bytes_max: Bytes = Bytes::kib(8), "bytes";
        /// Some requests have a body that the server does not need, such as a GET request that asks
        /// for a file but has a body. The server reads and discards a body of up to this size, so
        /// that the connection can be used again. If the body is larger, the server closes an
        /// HTTP/1.1 connection after its response; over HTTP/2 the request gets the status 413.
        body_bytes_max: Bytes = Bytes::kib(64), "bytes";
        /// Maximum size of the body of one request to the API at /-/api, a program, or an endpoint
        /// for music players. A larger body gets the status 413. A compressed body counts with its
        /// compressed size.
        request_body_bytes: Bytes = Bytes::mib(1), "bytes";
        /// Maximum memory, in total for all cores, for the bodies of requests to the API, programs
        /// and endpoints for music players. When it is full and a new request needs memory, a
        /// request whose body has been arriving for more than 10 s is ended with the status 408. If
        /// there is no such request, the new one gets the status 503.
        request_bodies_bytes: Bytes = Bytes::mib(64), "bytes";
        /// Maximum memory, in total for all cores, for responses that clients have not read yet:
        /// those of the API, of programs, of Pelton's web pages and of the endpoints for music
        /// players. When it is full, further requests for such responses get the status 503.
        mount_responses_bytes: Bytes = Bytes::mib(256), "bytes";
        /// Maximum number of requests from music players, and for links with which users share
        /// music or photos, that are answered at the same time. Further ones wait. A track that is
        /// being streamed does not count.
        player_responses_max: NonZeroU32 = NonZeroU32::new(8).expect("not zero"), "responses";
        /// Maximum length of a line that states the size of a chunk in a chunked request body. A
        /// longer line gets the status 400.
        chunk_line_bytes_max: u32 = 256, "bytes";
        /// Maximum total size of the fields after a chunked request body (trailers). Larger
        /// trailers get the status 431.
        trailer_bytes_max: u32 = 4_096, "bytes";
        /// Maximum memory, per core, for lines of the access log that wait to be written. When it
        /// is full, further lines are dropped and counted.
        access_log_bytes: Bytes = Bytes::mib(1), "bytes";
        /// Maximum length, in the access log, of a text that a client sent, such as its User-Agent.
        /// The rest of a longer text is left out.
        access_field_bytes_max: Bytes = Bytes(512), "bytes";
        /// Maximum number of bytes per connection that wait in the kernel and are not sent yet
        /// (TCP_NOTSENT_LOWAT). A higher number suits distant clients; a lower one costs more CPU
        /// time.
        unsent_bytes_max: Bytes = Bytes::kib(128), "bytes";
        /// Maximum number of bytes of one file that are sent before other connections of the same
        /// core get their turn.
        sendfile_slice_bytes: Bytes = Bytes::mib(1), "bytes";
        /// Maximum time that a new connection may take to send its first byte. After this time, the
        /// server closes the connection.
        first_byte_timeout: Timeout = Timeout::seconds(10), "time";
        /// Maximum time from the start of a connection to the end of its TLS handshake. After this
        /// time, the server closes the connection.
        handshake_timeout: Timeout = Timeout::seconds(10), "time";
        /// Maximum number of TLS handshakes in progress per core. When one more starts, the
        /// connection with the oldest handshake is closed.
        handshakes_max: NonZeroU32 = NonZeroU32::new(512).expect("not zero"), "handshakes";
        /// Maximum number of TLS sessions that are remembered, for clients that can resume sessions
        /// but do not support session tickets.
        tls_sessions_max: u32 = 4_096, "sessions";
        /// Maximum memory per TLS connection for response data, encrypted or not, that its client
        /// has not read yet.
        tls_buffer_bytes_max: Bytes = Bytes::kib(32), "bytes";
        /// Maximum number of open requests (streams) of one HTTP/2 connection. Further ones are
        /// refused, but the connection stays open.
        h2_streams_max: NonZeroU32 = NonZeroU32::new(100).expect("not zero"), "streams";
        /// Maximum number of bytes of files that one HTTP/2 connection keeps in memory until its
        /// client reads them.
        h2_buffer_bytes_max: Bytes = Bytes::kib(16), "bytes";
        /// Maximum number of requests of one HTTP/2 connection whose responses are prepared at the
        /// same time. Further ones wait.
        h2_running_max: NonZeroU32 = NonZeroU32::new(32).expect("not zero"), "requests";
        /// Maximum number of bytes that an HTTP/2 client may send without starting a request or
        /// reading a response. Request bodies do not count. Beyond this number, the server closes
        /// the connection.
        h2_idle_bytes_max: Bytes = Bytes::kib(256), "bytes";
        /// Limit against clients that start and cancel many requests (rapid reset). The server
        /// counts, on each HTTP/2 connection, the requests that the client cancelled or that ended
        /// because of the client's error, minus the completed requests, but never below 0. If this
        /// number exceeds the limit, the server closes the connection.
        h2_resets_max: u32 = 256, "streams";
        /// Maximum time from the first byte of a request to the end of its header fields. A slower
        /// request gets the status 408.
        head_timeout: Timeout = Timeout::seconds(10), "time";
        /// Time over which the speed of a request body is averaged, for limits.body_rate_min.
        body_timeout: Timeout = Timeout::seconds(10), "time";
        /// Lowest average speed of a request body. A slower request gets the status 408.
        body_rate_min: Bytes = Bytes(512), "bytes/s";
        /// Maximum time that a connection may stay open without a request. After this time, the
        /// server closes the connection.
        idle_timeout: Timeout = Timeout::seconds(75), "time";
        /// Time over which the speed of a client that reads a response is averaged, for
        /// limits.write_rate_min.
        write_timeout: Timeout = Timeout::seconds(60), "time";
        /// Lowest average speed at which a client must read a response. The server closes the
        /// connection of a slower client.
        write_rate_min: Bytes = Bytes(512), "bytes/s";
        /// Maximum time for which a client may pause when it is still sending a request that the
        /// server has already answered, for example with an error. After this time, the server
        /// closes the connection.
        linger_timeout: Timeout = Timeout::seconds(2), "time";
        /// Maximum total time for which a client may continue to send a request that the server has
        /// already answered. After this time, the server closes the connection.
        linger_time_max: Timeout = Timeout::seconds(30), "time";
        /// Maximum number of bytes that the server reads and ignores if it has answered a request
        /// that the client is still sending. Beyond this number, the server closes the connection.
        linger_bytes_max: Bytes = Bytes::gib(1), "bytes";
        /// Maximum time for which the server waits for open requests when it stops. After this
        /// time, the server closes their connections.
        drain_timeout: Timeout = Timeout::seconds(30), "time";
        /// Time within which the new process must be ready when the server is upgraded (signal
        /// USR2). Otherwise the old process continues to serve.
        upgrade_timeout: Timeout = Timeout::seconds(60), "time";
        /// Maximum number of conversions per minute that one IPv4 address, or one IPv6 network of
        /// size /64, may cause. Further requests that need a conversion get the status 429.
        /// Conversions to the sizes of Pelton's own web page are not counted. 0 means no limit.
        address_conversions_max: u32 = 0, "conversions/min";
    }

    /// Images: which pictures clients may request. The sizes of Pelton's own page are always
    /// permitted; docs/access.md describes these settings.
    struct Images as images {
        /// Keys for signed URLs, in hexadecimal digits, such as the output of `openssl rand -hex
        /// 32`. A salt may follow after a colon: KEY:SALT. `pelton sign` uses the first key. A URL
        /// signed with any of the keys is valid.
        signature_keys: SignatureKeys = SignatureKeys(Vec::new()), "keys";
        /// File with further keys for signed URLs, one per line, in the form of
        /// images.signature_keys.
        signature_key_file: MaybeFile = MaybeFile(None), "file or off";
        /// Reject requests that change a picture, for example its size, unless their URL is signed.
        /// They get the status 403.
        require_signature: bool = false, "true or false";
        /// Names for queries. For example, with thumb=w=96&h=96&fit=cover, clients can request
        /// ?preset=thumb or ?p=thumb. In a flag or variable, separate several presets with |.
        presets: Presets = Presets(Vec::new()), "name=query";
        /// Reject requests that change a picture by any parameter other than a preset
        /// (images.presets). They get the status 403.
        presets_only: bool = false, "true or false";
        /// Widths that clients may request; if empty, all widths. If the URL has the parameter dpr
        /// (device pixel ratio), w is multiplied by it before the check. Other widths get the
        /// status 403.
        allowed_widths: PermittedSides = PermittedSides(Vec::new()), "pixels";
        /// Heights that clients may request; if empty, all heights. If the URL has the parameter
        /// dpr (device pixel ratio), h is multiplied by it before the check. Other heights get the
        /// status 403.
        allowed_heights: PermittedSides = PermittedSides(Vec::new()), "pixels";
        /// Formats that clients may request by the parameter format; if empty, all formats. Other
        /// formats get the status 403.
        allowed_formats: PermittedFormats = PermittedFormats(Vec::new()), "formats";
        /// Qualities that clients may request by the parameter q; if empty, all qualities. Other
        /// qualities get the status 403.
        allowed_qualities: PermittedQualities = PermittedQualities(Vec::new()), "1-100";
        /// Parameters that clients may use, such as w or crop; if empty, all parameters. Requests
        /// with other known parameters get the status 403.
        allowed_operations: Operations = Operations(Vec::new()), "parameters";
        /// Hosts whose web pages may show pictures, such as example.org or *.example.org; if empty,
        /// all hosts. Pages of this server always may. Requests from other pages get the status
        /// 403.
        allowed_referrers: Hosts = Hosts(Vec::new()), "names";
        /// Send pictures to clients that do not state a referring page, such as mail programs. This
        /// setting has an effect only if images.allowed_referrers is not empty.
        empty_referrer: bool = true, "true or false";
        /// Serve pictures below /-/iiif/ by the IIIF Image API 3.0, for viewers such as Mirador and
        /// OpenSeadragon. Web pages of all origins may read these responses. If a proxy publishes
        /// this server below a path, or changes the Host field, set this to the public URL of the
        /// server, such as https://example.org/photos, instead of `on`. docs/iiif.md explains the
        /// URLs.
        iiif: IiifService = IiifService::Off, "on, off or URL";
    }

    /// imgproxy: URLs in the grammar of the image server imgproxy, whose sources local:///PATH are
    /// files of this server. docs/migrate-imgproxy.md lists the options.
    struct ImgproxyUrls as imgproxy {
        /// URL paths that begin with this prefix, such as /imgproxy, are read in the URL format of
        /// imgproxy, another image server. With off, no path is read in this format. With /, all
        /// paths are read in this format, except those of the web page at /-/ and of music players;
        /// the web page then shows no pictures.
        prefix: UrlPrefix = UrlPrefix(None), "path or off";
        /// Keys with which imgproxy URLs are signed, in hexadecimal digits. A URL that is signed
        /// with any of the keys and its salt is valid; others get the status 403. If empty, no
        /// signature is checked.
        keys: HexSecrets = HexSecrets(Vec::new()), "keys";
        /// Salts of the keys in imgproxy.keys, in the same order and in hexadecimal digits.
        salts: HexSecrets = HexSecrets(Vec::new()), "salts";
        /// Length in bytes to which signatures are shortened before they are encoded as text. 32 is
        /// the full length.
        signature_size: SignatureSize = SignatureSize::WHOLE, "bytes";
        /// Texts that are valid as the signature of every imgproxy URL.
        trusted_signatures: TrustedSignatures = TrustedSignatures(Vec::new()), "texts";
        /// Names for options. For example, with thumb=rs:fill:96:96/q:70, URLs can contain
        /// preset:thumb. The preset called default applies to all URLs. In a flag or variable,
        /// separate several presets with |.
        presets: ImgproxyPresets = ImgproxyPresets(Vec::new()), "name=options";
        /// Accept only presets: the first segment after the signature lists their names, separated
        /// by colons.
        only_presets: bool = false, "true or false";
        /// Text that the server puts in front of the source URL in an imgproxy URL, such as
        /// local:///photos/, unless the source URL already begins with it.
        base_url: BaseUrl = BaseUrl(String::new()), "URL or off";
    }
}

fn pixels(number: u64) -> NonZeroU64 {
    NonZeroU64::new(number).expect("the default limits of `image_plan` are above 0")
}
