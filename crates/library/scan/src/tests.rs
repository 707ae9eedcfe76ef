//! Tests that scan real folders, change files in them and scan them again.

use std::collections::BTreeSet;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use catalog::Content;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::stat;
use tags::Splits;

use crate::root::{open, open_root};
use crate::walk::{ExcludedFolder, Tree};
use crate::{Index, Limits, LoadedIndex, Progress, Report, ScanError, ScanRequest, load, scan};

/// Temporary folder with a library and its index, removed when dropped.
struct Home(PathBuf);

impl Home {
    /// Creates a library with eight music files in two albums, a picture, a text file, and a
    /// symbolic link to a parent folder.
    fn new(name: &str) -> Home {
        let path = std::env::temp_dir().join(format!("pelton-scan-{name}-{}", std::process::id()));
        let home = Home(path);
        for (at, (name, _)) in SINES.iter().enumerate() {
            let album = if at % 2 == 0 {
                "One/First"
            } else {
                "Two/Second \u{e9}"
            };
            home.write(&format!("{album}/{at} - {name}"), sine(name));
        }
        home.write("photo.png", PNG);
        home.write("notes.txt", b"no music");
        home.write("One/.hidden.mp3", b"");
        symlink("..", home.library().join("One/loop")).expect("a folder of our own");
        home
    }

    fn library(&self) -> PathBuf {
        self.0.join("library")
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.library().join(path);
        fs::create_dir_all(path.parent().expect("below the library")).expect("a folder of our own");
        fs::write(path, bytes).expect("a folder of our own");
    }

    fn order<'a>(&'a self, (library, index): (&'a Path, &'a Path)) -> ScanRequest<'a> {
        ScanRequest {
            root: library,
            folder: index,
            hidden: index,
            splits: Box::leak(Box::new(Splits::default())),
            limits: Box::leak(Box::new(Limits::default())),
            only: &[],
            full: false,
        }
    }

    fn scan(&self) -> Report {
        let (library, index) = (self.library(), self.0.join("index"));
        let order = self.order((&library, &index));
        let (_, report) = scan(&order, None, &Progress::default()).expect("a readable library");
        report
    }

    /// Returns the bytes of the index that a full scan builds without an earlier index.
    fn clean(&self) -> Vec<u8> {
        let (library, index) = (self.library(), self.0.join("clean"));
        let order = ScanRequest {
            full: true,
            ..self.order((&library, &index))
        };
        scan(&order, None, &Progress::default()).expect("a readable library");
        fs::read(index.join("index")).expect("just written")
    }

    fn index(&self) -> Vec<u8> {
        fs::read(self.0.join("index/index")).expect("just written")
    }

    /// Returns the paths and metadata of the files in the index that [`Home::clean`] has built.
    fn catalog_of_clean(&self) -> Vec<(PathBuf, catalog::Stat)> {
        let loaded = load(&self.0.join("clean")).expect("a readable folder");
        let loaded = loaded.expect("an index");
        let catalog = loaded.catalog();
        let files = (0..catalog.counts().files).filter_map(|row| catalog.file(row));
        let path = |path: Vec<u8>| PathBuf::from(std::ffi::OsString::from_vec(path));
        files.map(|(bytes, stat)| (path(bytes), stat)).collect()
    }

    fn catalog(&self) -> Arc<Index> {
        Arc::clone(self.loaded().catalog())
    }

    fn loaded(&self) -> LoadedIndex {
        let loaded = load(&self.0.join("index")).expect("a readable folder");
        loaded.expect("an index")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the test made it");
    }
}

const SINES: [(&str, &[u8]); 8] = [
    ("sine.flac", include_bytes!("../../tags/testdata/sine.flac")),
    ("sine.mp3", include_bytes!("../../tags/testdata/sine.mp3")),
    ("sine.m4a", include_bytes!("../../tags/testdata/sine.m4a")),
    (
        "sine-alac.m4a",
        include_bytes!("../../tags/testdata/sine-alac.m4a"),
    ),
    ("sine.ogg", include_bytes!("../../tags/testdata/sine.ogg")),
    ("sine.opus", include_bytes!("../../tags/testdata/sine.opus")),
    ("sine.wav", include_bytes!("../../tags/testdata/sine.wav")),
    ("sine.aiff", include_bytes!("../../tags/testdata/sine.aiff")),
];

/// PNG of one pixel. Its checksums are zero, since a scan does not verify them.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\0\0\0\0\0\0\0\0IDAT\0\0\0\0";

fn sine(name: &str) -> &'static [u8] {
    let found = SINES.into_iter().find(|(known, _)| *known == name);
    found.expect("one of the table").1
}

/// Returns values of a report: the numbers of all, unchanged, moved, opened and removed files, and
/// whether an index was written.
fn done(report: &Report) -> (u64, u64, u64, u64, u64, bool) {
    (
        report.files,
        report.kept,
        report.moved,
        report.opened,
        report.gone,
        report.written,
    )
}

#[test]
fn a_first_scan_opens_everything_and_a_second_nothing() {
    let home = Home::new("first");
    let first = home.scan();
    assert_eq!(done(&first), (9, 0, 0, 9, 0, true));
    assert_eq!(
        (first.links, first.faults.len()),
        (1, 0),
        "{:?}",
        first.faults
    );
    let counts = first.counts.expect("an index");
    assert_eq!(
        (counts.tracks, counts.albums, counts.artists, counts.photos),
        (8, 2, 2, 1)
    );
    let second = home.scan();
    assert_eq!(done(&second), (9, 9, 0, 0, 0, false));
    assert_eq!((second.reads, second.counts), (0, Some(counts)));
    assert_eq!(home.index(), home.clean());
}

#[test]
fn changes_cost_what_changed_and_come_to_the_bytes_of_a_clean_scan() {
    let home = Home::new("changes");
    home.scan();
    home.write("One/First/new.mp3", sine("sine.mp3"));
    home.write("One/First/0 - sine.flac", &sine("sine.flac")[..5000]);
    fs::remove_file(home.library().join("One/First/2 - sine.m4a")).expect("it is there");
    fs::rename(home.library().join("Two"), home.library().join("Moved")).expect("it is there");
    let report = home.scan();
    assert_eq!(done(&report), (9, 3, 4, 2, 1, true));
    assert_eq!(home.index(), home.clean());
    assert_eq!(done(&home.scan()), (9, 9, 0, 0, 0, false));
}

#[test]
fn ids_stay_when_folders_move() {
    let home = Home::new("move");
    home.scan();
    let before = home.catalog();
    fs::rename(
        home.library().join("One/First"),
        home.library().join("First"),
    )
    .expect("it is there");
    assert_eq!(home.scan().opened, 0);
    let after = home.catalog();
    for row in 0..before.counts().tracks {
        let id = before.track(row).expect("a row that was counted").id;
        assert!(after.track_row(id).is_some());
    }
}

#[test]
fn an_mp4_is_music_unless_its_pictures_move() {
    let home = Home::new("mp4");
    let sound = include_bytes!("../../tags/testdata/sine-fragments.m4a");
    let film = include_bytes!("../../tags/testdata/film.mp4");
    home.scan();
    let tracks = home.catalog().counts().tracks;
    for (path, file) in [("a.mp4", &sound[..]), ("b.MP4", film), ("c.m4b", film)] {
        home.write(path, file);
    }
    let report = home.scan();
    let faults = report
        .faults
        .iter()
        .map(|fault| (&fault.path[..], &*fault.reason));
    assert_eq!(
        faults.collect::<Vec<_>>(),
        [(
            &b"b.MP4"[..],
            "mp4 with a video track, not indexed as music"
        )]
    );
    assert_eq!(home.catalog().counts().tracks, tracks + 2);
}

#[test]
fn music_is_found_by_every_ending_that_it_is_given() {
    let home = Home::new("endings");
    home.scan();
    let tracks = home.catalog().counts().tracks;
    let live = include_bytes!("../../tags/testdata/sine-live.webm");
    let apple = include_bytes!("../../tags/testdata/sine.m4a");
    for (path, file) in [
        ("a.weba", &live[..]),
        ("b.m4r", apple),
        ("c.mpga", sine("sine.mp3")),
        ("d.wave", sine("sine.wav")),
        ("e.bwf", sine("sine.wav")),
    ] {
        home.write(path, file);
    }
    assert!(home.scan().faults.is_empty());
    assert_eq!(home.catalog().counts().tracks, tracks + 5);
}

#[test]
fn music_that_is_not_read_is_named_unless_it_is_ignored() {
    let home = Home::new("unread");
    home.write("One/First/a.DFF", b"FRM8");
    home.write("One/b.tak", b"tBaK");
    home.write("Three/a.aax", b"ftypaax ");
    home.write("Three/c.dts", b"\x7f\xfe\x80\x01");
    home.write("Three/.ndignore", b"*.dts\n");
    home.write("Four/dts", b"no ending");
    home.write("Four/d.dts/e.mp3", sine("sine.mp3"));
    let named = |report: &Report| -> Vec<String> {
        let faults = report.faults.iter();
        let line = |fault: &crate::Fault| {
            format!("{}: {}", String::from_utf8_lossy(&fault.path), fault.reason)
        };
        faults.map(line).collect()
    };
    let expected = [
        "One/First/a.DFF: DSDIFF is not supported",
        "One/b.tak: TAK is not supported",
        "Three/a.aax: Audible is not supported",
    ];
    assert_eq!(named(&home.scan()), expected);
    // The second scan opens no file but reports the same files again.
    let second = home.scan();
    assert_eq!(
        (second.opened, named(&second)),
        (0, expected.map(str::to_owned).to_vec())
    );
    fs::remove_file(home.library().join("One/b.tak")).expect("it is there");
    assert_eq!(named(&home.scan()), [expected[0], expected[2]]);
}

#[test]
fn one_broken_file_is_a_line_of_the_report_and_opened_once() {
    let home = Home::new("broken");
    home.write("One/First/empty.flac", b"");
    home.write("One/First/text.mp3", b"no music");
    let first = home.scan();
    let lines = |report: &Report| -> Vec<String> {
        let faults = report.faults.iter();
        faults
            .map(|fault| format!("{}: {}", String::from_utf8_lossy(&fault.path), fault.reason))
            .collect()
    };
    let expected = [
        "One/First/empty.flac: file is empty",
        "One/First/text.mp3: unknown music format",
    ];
    assert_eq!(lines(&first), expected);
    assert_eq!(first.counts.expect("an index").tracks, 8);
    let second = home.scan();
    assert_eq!((second.opened, lines(&second)), (0, lines(&first)));
}

#[test]
fn what_a_killed_scan_left_behind_does_no_harm() {
    let home = Home::new("killed");
    home.scan();
    let whole = home.index();
    for (name, bytes) in [
        ("index.partial", &whole[..99]),
        ("index", &whole[..whole.len() - 1]),
    ] {
        fs::write(home.0.join("index").join(name), bytes).expect("a folder of our own");
        home.write("One/First/more.mp3", sine("sine.mp3"));
        home.scan();
        assert_eq!(home.index(), home.clean(), "{name}");
    }
}

#[test]
fn a_scan_of_one_folder_leaves_the_rest_as_it_was() {
    let home = Home::new("folder");
    home.scan();
    home.write("One/First/new.mp3", sine("sine.mp3"));
    home.write("Two/new.mp3", sine("sine.mp3"));
    fs::remove_dir_all(home.library().join("Two/Second \u{e9}")).expect("it is there");
    let only = |only: &[&str]| {
        let only: Vec<Vec<u8>> = only.iter().map(|path| path.as_bytes().to_vec()).collect();
        let (library, index) = (home.library(), home.0.join("index"));
        let order = ScanRequest {
            only: &only,
            ..home.order((&library, &index))
        };
        let (_, report) = scan(&order, None, &Progress::default()).expect("a readable library");
        report
    };
    assert_eq!(done(&only(&["One"])), (10, 9, 0, 1, 0, true));
    let gone = only(&["Two/Second \u{e9}", "Absent"]);
    assert_eq!(
        (done(&gone), gone.faults),
        ((6, 6, 0, 0, 4, true), Vec::new())
    );
    assert_eq!(done(&only(&["Two/new.mp3", "Two"])), (7, 6, 0, 1, 0, true));
    assert_eq!(home.index(), home.clean());
}

#[test]
fn the_kernel_sees_no_file_opened_where_nothing_changed() {
    let home = Home::new("kernel");
    home.scan();
    let watched = ["", "One", "One/First", "Two", "Two/Second \u{e9}"];
    let folders = watched.map(|folder| home.library().join(folder));
    let kernel = inotify::init(CreateFlags::NONBLOCK).expect("a kernel with inotify");
    for folder in folders.iter().chain([&home.0.join("index")]) {
        let all = WatchFlags::ALL_EVENTS;
        inotify::add_watch(&kernel, folder, all).expect("a folder of our own");
    }
    let opened = || {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&kernel, &mut buffer);
        let mut names = BTreeSet::new();
        while let Ok(event) = reader.next() {
            if !event.events().contains(ReadFlags::ISDIR) {
                names.extend(
                    event
                        .file_name()
                        .map(|name| name.to_string_lossy().into_owned()),
                );
            }
        }
        names
    };
    home.scan();
    // `opened` returns the names of files with inotify events. The scan above has only read the
    // index: writing it would also have opened `index.partial`, as in the next scan.
    assert_eq!(opened(), BTreeSet::from(["index".to_owned()]));
    home.write("One/First/0 - sine.flac", sine("sine.flac"));
    opened();
    home.scan();
    let written = ["0 - sine.flac", "index", "index.partial"];
    assert_eq!(opened(), written.map(str::to_owned).into());
}

/// Returns for each playlist of an index: its name, the paths of its tracks, and the number of
/// entries without a track.
fn playlists(catalog: &Index) -> Vec<(String, Vec<String>, u32)> {
    let lists = (0..catalog.counts().playlists).filter_map(|row| catalog.playlist(row));
    let path = |row| {
        let (path, _) = catalog.file(catalog.track(row)?.file)?;
        Some(String::from_utf8_lossy(&path).into_owned())
    };
    let playlists = lists.map(|list| {
        let paths = list.tracks.iter().filter_map(|row| path(*row)).collect();
        (list.name.to_owned(), paths, list.missing)
    });
    playlists.collect()
}

#[test]
fn playlists_follow_their_files_and_tell_what_is_missing() {
    let home = Home::new("playlists");
    let absolute = home.library().join("Two/Second \u{e9}/1 - sine.mp3");
    let text = format!(
        "#EXTM3U\r\n#PLAYLIST:Sines\r\n../One/First/0 - sine.flac\r\n{}\r\nsoon.flac\r\n",
        absolute.display()
    );
    home.write("Lists/mix.m3u8", text.as_bytes());
    home.write("Lists/stream.m3u", b"#EXT-X-VERSION:3\na.ts\n");
    let report = home.scan();
    assert_eq!(
        report.missing,
        [(b"Lists/mix.m3u8".to_vec(), "soon.flac".to_owned())]
    );
    assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
    assert_eq!(
        report.faults[0].reason,
        "the playlist lists segments of an HLS stream, not tracks"
    );
    let (first, second) = ("One/First/0 - sine.flac", "Two/Second \u{e9}/1 - sine.mp3");
    let list = |paths: &[&str], missing| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        vec![("Sines".to_owned(), paths, missing)]
    };
    assert_eq!(playlists(&home.catalog()), list(&[first, second], 1));
    // The file of one playlist entry is added, and the file of another entry is removed. The
    // playlist itself does not change.
    home.write("Lists/soon.flac", sine("sine.flac"));
    fs::remove_file(home.library().join(first)).expect("it was made");
    let report = home.scan();
    assert_eq!(report.opened, 1);
    assert_eq!(
        playlists(&home.catalog()),
        list(&[second, "Lists/soon.flac"], 1)
    );
    assert_eq!(home.index(), home.clean());
    // The playlist is changed and then removed.
    home.write("Lists/mix.m3u8", b"#PLAYLIST:Sines\nsoon.flac\nsoon.flac\n");
    let report = home.scan();
    assert_eq!((report.opened, report.missing.len()), (1, 0));
    let twice = list(&["Lists/soon.flac", "Lists/soon.flac"], 0);
    assert_eq!(playlists(&home.catalog()), twice);
    fs::remove_file(home.library().join("Lists/mix.m3u8")).expect("it was made");
    home.scan();
    assert_eq!(playlists(&home.catalog()), []);
    assert_eq!(home.index(), home.clean());
}

#[test]
fn an_index_that_cannot_be_mapped_is_read() {
    let home = Home::new("unmapped");
    home.scan();
    let mapped = home.catalog();
    let folder = home.0.join("index");
    let copy = home.0.join("copy");
    fs::create_dir(&copy).expect("a folder of our own");
    fs::copy(folder.join("index"), copy.join("index")).expect("a folder of our own");
    // The file is open for writing, so the kernel grants no lease on it, and the index is read into
    // memory instead.
    let written = fs::File::options().append(true).open(copy.join("index"));
    let written = written.expect("a file of our own");
    let loaded = load(&copy).expect("a readable folder");
    assert!(loaded.expect("an index").catalog().bytes() == mapped.bytes());
    drop(written);
}

#[test]
fn a_heic_is_a_picture_with_its_size() {
    let part = |kind: &[u8; 4], body: &[u8]| {
        [&(body.len() as u32 + 8).to_be_bytes(), &kind[..], body].concat()
    };
    let size = [[0, 0, 0, 0], 4032_u32.to_be_bytes(), 3024_u32.to_be_bytes()].concat();
    // The property `irot` with the value 1 is a rotation by 90 degrees.
    let properties = [part(b"ispe", &size), part(b"irot", &[1])].concat();
    let of_item = part(b"ipma", b"\0\0\0\0\0\0\0\x01\0\x01\x02\x01\x02");
    let meta = [
        vec![0; 4],
        part(b"pitm", b"\0\0\0\0\0\x01"),
        part(b"iprp", &[part(b"ipco", &properties), of_item].concat()),
    ];
    let file = [
        part(b"ftyp", b"heic\0\0\0\0mif1heic"),
        part(b"meta", &meta.concat()),
    ];
    let home = Home::new("heic");
    home.write("IMG_1.HEIC", &file.concat());
    home.write("IMG_2.HEIC", b"");
    // Some programs write HEIC into files with this extension.
    home.write("IMG_3.jpg", &file.concat());
    let report = home.scan();
    assert_eq!(report.faults.len(), 1, "{:?}", report.faults);
    let catalog = home.catalog();
    for name in ["IMG_1.HEIC", "IMG_3.jpg"] {
        let found = (0..catalog.counts().files).find_map(|row| {
            let entry = catalog.entry(row)?;
            match entry.content {
                Content::Photo(photo) if entry.path == name.as_bytes() => Some(photo),
                _ => None,
            }
        });
        let photo = found.expect("a picture of the library");
        assert_eq!((photo.width_px, photo.height_px), (3024, 4032), "{name}");
    }
}

#[test]
fn our_own_data_is_no_part_of_the_library() {
    let home = Home::new("hidden");
    home.write("pelton-data/variants/picture.png", PNG);
    let (library, data) = (home.library(), home.library().join("pelton-data"));
    let order = ScanRequest {
        hidden: &data,
        ..home.order((&library, &data))
    };
    let (_, report) = scan(&order, None, &Progress::default()).expect("a readable library");
    assert_eq!(done(&report), (9, 0, 0, 9, 0, true));
}

#[test]
fn our_own_data_is_left_out_under_whatever_path() {
    let home = Home::new("hidden-identity");
    home.write("elsewhere/variants/picture.png", PNG);
    let data = stat(home.library().join("elsewhere")).expect("it was made");
    // The data directory is mounted at a second path, which is unknown. Only its device and inode
    // identify it.
    let hidden = ExcludedFolder {
        path: None,
        identity: Some((data.st_dev, data.st_ino)),
    };
    let root = open_root(&home.library()).expect("it was made");
    let tree = Tree {
        root: root.as_fd(),
        hidden: &hidden,
        limits: &Limits::default(),
    };
    for top in ["", "elsewhere", "elsewhere/variants"] {
        let walked = tree.walk(&[top.into()], &Progress::default());
        let seen = walked.expect("a readable library").seen;
        let mut ours = seen.iter().filter(|it| it.path.starts_with(b"elsewhere"));
        assert!(ours.next().is_none(), "{top}");
        assert_eq!(seen.len(), if top.is_empty() { 9 } else { 0 }, "{top}");
    }
}

#[test]
fn no_link_is_followed_on_the_way_to_a_folder_or_a_file() {
    let home = Home::new("links");
    let outside = home.0.join("outside");
    fs::create_dir_all(outside.join("Album")).expect("a folder of our own");
    fs::write(outside.join("Album/secret.mp3"), sine("sine.mp3")).expect("a folder of our own");
    for (to, name) in [
        (outside.clone(), "link"),
        ("../outside".into(), "relative"),
        ("One".into(), "inside"),
    ] {
        symlink(to, home.library().join(name)).expect("a folder of our own");
    }
    home.scan();
    let before = home.index();
    let (library, index) = (home.library(), home.0.join("index"));
    for folder in [
        "link",
        "link/Album",
        "relative/Album",
        "inside/First",
        "One/loop/Two",
    ] {
        let only = [folder.into()];
        let order = ScanRequest {
            only: &only,
            ..home.order((&library, &index))
        };
        let (_, report) = scan(&order, None, &Progress::default()).expect("a readable library");
        assert_eq!(home.index(), before, "{folder}");
        let paths: Vec<_> = report.faults.iter().map(|fault| &fault.path[..]).collect();
        assert_eq!(paths, [folder.as_bytes()], "{folder}");
    }
    // These paths simulate a folder that is replaced by a symbolic link after it was listed.
    let root = open_root(&library).expect("it was made");
    for path in [
        "link/Album/secret.mp3",
        "inside/First/0 - sine.flac",
        "../outside/Album/secret.mp3",
    ] {
        assert!(open(root.as_fd(), path.as_bytes()).is_err(), "{path}");
    }
    assert!(open(root.as_fd(), b"One/First/0 - sine.flac").is_ok());
}

#[test]
fn a_cancelled_scan_leaves_the_last_index() {
    let home = Home::new("cancelled");
    home.scan();
    let before = home.index();
    home.write("One/First/more.mp3", sine("sine.mp3"));
    let progress = Progress::default();
    progress.cancel();
    let (library, index) = (home.library(), home.0.join("index"));
    let ended = scan(&home.order((&library, &index)), None, &progress);
    assert!(matches!(ended, Err(ScanError::Cancelled)));
    assert_eq!(home.index(), before);
}

#[test]
fn no_library_is_an_error_that_names_it() {
    let home = Home::new("none");
    let (library, index) = (home.library().join("absent"), home.0.join("index"));
    let err = scan(&home.order((&library, &index)), None, &Progress::default())
        .expect_err("nothing is there");
    assert!(err.to_string().starts_with("cannot open library "), "{err}");
    assert!(err.to_string().ends_with("absent"), "{err}");
}

#[test]
fn files_that_memory_does_not_have_are_read_all_the_same() {
    let home = Home::new("cold");
    let warm = home.clean();
    for (path, _) in home.catalog_of_clean() {
        let file = fs::File::open(home.library().join(path)).expect("a file of our own");
        file.sync_all().expect("a disk");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a file");
    }
    assert!(home.clean() == warm);
}

#[test]
fn a_folder_with_a_mark_is_no_part_of_the_library() {
    let home = Home::new("mark");
    let files = home.scan().files;
    home.write("One/.ndignore", b"");
    let report = home.scan();
    assert_eq!((report.files, report.gone), (files - 4, 4));
    home.write("Two/Second \u{e9}/.nomedia", b"whatever");
    assert_eq!(home.scan().files, files - 8);
    fs::remove_file(home.library().join("One/.ndignore")).expect("a file of our own");
    assert_eq!(home.scan().files, files - 4);
    assert!(home.index() == home.clean());
}

#[test]
fn patterns_leave_files_and_folders_out() {
    let home = Home::new("patterns");
    let files = home.scan().files;
    home.write(".ndignore", b"# by name, wherever\nSecond*/\n*.flac\n");
    assert_eq!(home.scan().files, files - 5);
    home.write("One/.ndignore", b"!*.flac\n");
    assert_eq!(home.scan().files, files - 4);
    assert!(home.index() == home.clean());
    // Patterns of parent folders also apply if only a subfolder is scanned.
    home.write("Two/Second \u{e9}/more.mp3", sine("sine.mp3"));
    home.write("One/First/more.mp3", sine("sine.mp3"));
    let only = ["One/First", "Two/Second \u{e9}"].map(|path| path.as_bytes().to_vec());
    let (library, index) = (home.library(), home.0.join("index"));
    let order = ScanRequest {
        only: &only,
        ..home.order((&library, &index))
    };
    let (_, report) = scan(&order, None, &Progress::default()).expect("a library");
    assert_eq!((report.files, report.opened), (files - 3, 1));
    fs::remove_file(home.library().join(".ndignore")).expect("a file of our own");
    assert_eq!(home.scan().files, files + 2);
    assert!(home.index() == home.clean());
}

#[test]
fn invalid_patterns_hide_nothing_and_are_reported() {
    let home = Home::new("no-patterns");
    let files = home.scan().files;
    let patterns = home.library().join("One/.ndignore");
    symlink(".ndignore", &patterns).expect("a folder of our own");
    let report = home.scan();
    assert_eq!(report.files, files);
    let paths: Vec<_> = report.faults.iter().map(|fault| &fault.path[..]).collect();
    assert_eq!(paths, [b"One/.ndignore"], "{:?}", report.faults);
    assert!(report.faults[0].reason.contains("symbolic links"));
    // The invalid patterns of a parent do not exclude files from a scan of its subfolder either.
    let only = [b"One/First".to_vec()];
    let (library, index) = (home.library(), home.0.join("index"));
    let order = ScanRequest {
        only: &only,
        ..home.order((&library, &index))
    };
    let (_, report) = scan(&order, None, &Progress::default()).expect("a library");
    assert_eq!((report.files, report.gone), (files, 0));
    // If a folder is excluded as a whole, its patterns are not read.
    home.write("One/.nomedia", b"");
    assert_eq!(home.scan().faults, []);
}

#[test]
fn other_splits_make_another_index_and_open_nothing() {
    let home = Home::new("splits");
    home.scan();
    let before = home.index();
    let (library, index) = (home.library(), home.0.join("index"));
    let splits = Splits {
        artists: vec![" ".to_owned()],
        ..Splits::default()
    };
    let order = ScanRequest {
        splits: &splits,
        ..home.order((&library, &index))
    };
    let again = || scan(&order, None, &Progress::default()).expect("a readable library");
    let (_, report) = again();
    assert_eq!((report.opened, report.written), (0, true));
    assert!(home.index() != before);
    assert!(!again().1.written);
}

#[test]
fn a_scan_takes_an_index_and_returns_it_unless_the_folder_has_another() {
    let home = Home::new("given");
    let (library, index) = (home.library(), home.0.join("index"));
    let order = home.order((&library, &index));
    let again = |last| scan(&order, last, &Progress::default()).expect("a readable library");
    let (first, _) = again(None);
    assert_eq!(first.catalog().bytes(), home.index());
    assert!(Arc::ptr_eq(
        again(Some(&first)).0.catalog(),
        first.catalog()
    ));
    // After another process has scanned the library, the next scan uses the index of that process.
    home.write("One/First/9.flac", sine("sine.flac"));
    home.scan();
    let (second, report) = again(Some(&first));
    assert_eq!((report.opened, report.written), (0, false));
    assert_eq!(second.catalog().bytes(), home.index());
    // After a user has removed the index, the next scan builds a new one.
    fs::remove_file(home.0.join("index/index")).expect("it is there");
    let (third, report) = again(Some(&second));
    assert_eq!((report.opened, report.written), (report.files, true));
    assert_eq!(third.catalog().bytes(), second.catalog().bytes());
}
