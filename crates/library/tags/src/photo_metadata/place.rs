//! Names of the places of a picture, from its XMP and IPTC-IIM.

/// Maximum number of places of one picture; further ones are ignored.
const PLACES_MAX: usize = 8;
/// Maximum bytes of one name; a longer name is truncated.
const NAME_BYTES_MAX: usize = 256;

/// Names of a place, as people wrote them into the picture's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Name of the place itself, such as `Eiffel Tower`.
    pub name: Option<String>,
    /// Part of the city, or another place within it.
    pub sublocation: Option<String>,
    /// Name of the city.
    pub city: Option<String>,
    /// State or province.
    pub state: Option<String>,
    /// Name of the country.
    pub country: Option<String>,
}

impl Place {
    /// Returns the names from the smallest to the largest area.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let Place {
            name,
            sublocation,
            city,
            state,
            country,
        } = self;
        let names = [name, sublocation, city, state, country];
        names.into_iter().flatten().map(String::as_str)
    }

    /// Returns whether no name is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names().next().is_none()
    }

    /// Sets a name unless it is known already or `text` is blank.
    pub(super) fn set(&mut self, part: Part, text: &str) {
        let name = match part {
            Part::Name => &mut self.name,
            Part::Sublocation => &mut self.sublocation,
            Part::City => &mut self.city,
            Part::State => &mut self.state,
            Part::Country => &mut self.country,
        };
        let is_blank = |letter: char| letter.is_control() || letter.is_whitespace();
        let words = text.split(is_blank).filter(|word| !word.is_empty());
        let mut text = words.collect::<Vec<_>>().join(" ");
        text.truncate(text.floor_char_boundary(NAME_BYTES_MAX));
        text.truncate(text.trim_end().len());
        if name.is_none() && !text.is_empty() {
            *name = Some(text);
        }
    }

    /// Takes those names of `other` that this place lacks.
    fn complete(&mut self, other: Place) {
        let Place {
            name,
            sublocation,
            city,
            state,
            country,
        } = other;
        for (own, other) in [
            (&mut self.name, name),
            (&mut self.sublocation, sublocation),
            (&mut self.city, city),
            (&mut self.state, state),
            (&mut self.country, country),
        ] {
            if own.is_none() {
                *own = other;
            }
        }
    }
}

/// Part of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Sublocation,
    City,
    State,
    Country,
}

/// Places that the parts of a picture's metadata state.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FoundPlaces {
    /// Place in the simple properties of XMP, such as `photoshop:City`.
    pub(super) xmp: Place,
    /// Place in IPTC-IIM.
    pub(super) iptc: Place,
    /// Places where the picture was taken, in XMP.
    pub(super) created: Vec<Place>,
    /// Places that the picture shows, in XMP.
    pub(super) shown: Vec<Place>,
}

impl FoundPlaces {
    /// Returns the different places, that of the simple properties first. XMP takes precedence over
    /// IPTC-IIM, which has less room for names and often no statement of its encoding.
    pub(super) fn into_places(self) -> Vec<Place> {
        let mut simple = self.xmp;
        simple.complete(self.iptc);
        let mut places = Vec::new();
        for place in [simple].into_iter().chain(self.created).chain(self.shown) {
            let is_new = !place.is_empty() && !places.contains(&place);
            if is_new && places.len() < PLACES_MAX {
                places.push(place);
            }
        }
        places
    }

    /// Adds a place of a list, unless the list is full.
    pub(super) fn push(list: &mut Vec<Place>, place: Place) {
        if list.len() < PLACES_MAX {
            list.push(place);
        }
    }
}
