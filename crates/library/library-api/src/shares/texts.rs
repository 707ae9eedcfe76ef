//! Texts of the page of a share in the languages of the web page, and the choice of the language.

use crate::language::preferred;

/// Texts of one language. `{}` stands for a number or a date.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Texts {
    /// Tag of the language (RFC 5646).
    pub(super) language: &'static str,
    /// Direction of the script, as in the HTML attribute `dir`.
    pub(super) direction: &'static str,
    /// Title of a share that contains tracks and has no name.
    pub(super) music: &'static str,
    pub(super) photo: &'static str,
    pub(super) photos: &'static str,
    pub(super) video: &'static str,
    pub(super) videos: &'static str,
    pub(super) track: &'static str,
    pub(super) tracks: &'static str,
    /// Date of the end of the share.
    pub(super) until: &'static str,
    pub(super) earlier: &'static str,
    pub(super) later: &'static str,
    /// Label of the link to an archive of all files.
    pub(super) download_all: &'static str,
    pub(super) not_found: &'static str,
    pub(super) unreadable: &'static str,
    /// Labels of the controls that the script adds, by the names that the script uses.
    pub(super) controls: [(&'static str, &'static str); 5],
}

const ENGLISH: Texts = Texts {
    language: "en",
    direction: "ltr",
    music: "Music",
    photo: "1 photo",
    photos: "{} photos",
    video: "1 video",
    videos: "{} videos",
    track: "1 track",
    tracks: "{} tracks",
    until: "until {}",
    earlier: "← earlier",
    later: "later →",
    download_all: "Download all",
    not_found: "This link has expired, or was revoked",
    unreadable: "The server cannot read this share at the moment",
    controls: [
        ("previous", "Previous photo"),
        ("next", "Next photo"),
        ("close", "Close"),
        ("original", "Download the original"),
        ("play", "Play"),
    ],
};

const GERMAN: Texts = Texts {
    language: "de",
    direction: "ltr",
    music: "Musik",
    photo: "1 Foto",
    photos: "{} Fotos",
    video: "1 Video",
    videos: "{} Videos",
    track: "1 Titel",
    tracks: "{} Titel",
    until: "bis {}",
    earlier: "← frühere",
    later: "spätere →",
    download_all: "Alles herunterladen",
    not_found: "Dieser Link ist abgelaufen oder wurde widerrufen",
    unreadable: "Der Server kann diese Freigabe gerade nicht lesen",
    controls: [
        ("previous", "Voriges Foto"),
        ("next", "Nächstes Foto"),
        ("close", "Schließen"),
        ("original", "Original herunterladen"),
        ("play", "Abspielen"),
    ],
};

/// Arabic has six plural forms, so the numbers stand behind a label.
const ARABIC: Texts = Texts {
    language: "ar",
    direction: "rtl",
    music: "موسيقى",
    photo: "صورة واحدة",
    photos: "الصور: {}",
    video: "فيديو واحد",
    videos: "مقاطع الفيديو: {}",
    track: "مقطع واحد",
    tracks: "المقاطع: {}",
    until: "حتى {}",
    earlier: "→ الأقدم",
    later: "الأحدث ←",
    download_all: "تنزيل الكل",
    not_found: "انتهت صلاحية هذا الرابط أو أُلغي",
    unreadable: "لا يستطيع الخادم قراءة هذه المشاركة الآن",
    controls: [
        ("previous", "الصورة السابقة"),
        ("next", "الصورة التالية"),
        ("close", "إغلاق"),
        ("original", "تنزيل الملف الأصلي"),
        ("play", "تشغيل"),
    ],
};

const ALL: [&Texts; 3] = [&ENGLISH, &GERMAN, &ARABIC];

impl Texts {
    /// Returns the texts in the language that the client prefers, or in English. `accept` is the
    /// value of the Accept-Language field.
    pub(super) fn preferred(accept: &str) -> &'static Texts {
        let language = preferred(accept, &ALL.map(|texts| texts.language));
        let found = ALL
            .into_iter()
            .find(|texts| Some(texts.language) == language);
        found.unwrap_or(&ENGLISH)
    }

    /// Returns `one` for the count 1, and `other` with its placeholder replaced for all other
    /// counts.
    pub(super) fn count(one: &str, other: &str, count: usize) -> String {
        match count {
            1 => one.to_owned(),
            count => other.replace("{}", &count.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_form_for_one() {
        let count = |count| Texts::count(GERMAN.photo, GERMAN.photos, count);
        assert_eq!(
            [count(0), count(1), count(12)],
            ["0 Fotos", "1 Foto", "12 Fotos"]
        );
    }
}
