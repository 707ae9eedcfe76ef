//! Place names in XMP: the simple properties of Photoshop and IPTC Core, and the structures of IPTC
//! Extension (IPTC Photo Metadata Standard 2023.2).
//!
//! ```text
//! photoshop:City · photoshop:State · photoshop:Country · Iptc4xmpCore:Location
//! Iptc4xmpExt:LocationCreated, Iptc4xmpExt:LocationShown: one structure or a list of them, each of
//!     LocationName · Sublocation · City · ProvinceState · CountryName
//! ```
//!
//! RDF has several forms of the same statement. A property is an attribute or an element. The text
//! of an element is directly in it or within lists and `rdf:value`; of a list, such as one of
//! languages, the first item counts, which is the default language. The properties of a structure
//! are in its element, in an `rdf:li` or in an `rdf:Description`.

use super::place::{FoundPlaces, Part, Place};
use crate::xmp::{self, Event, Name, Tag};

/// Maximum number of prefixes that are known at one place of the text; further ones are ignored.
const PREFIXES_MAX: usize = 64;

/// Namespace of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespace {
    Rdf,
    Photoshop,
    Core,
    Extension,
    Other,
}

/// Namespaces of place names.
const PLACE_NAMESPACES: [(&str, Namespace); 3] = [
    ("http://ns.adobe.com/photoshop/1.0/", Namespace::Photoshop),
    (
        "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/",
        Namespace::Core,
    ),
    (
        "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
        Namespace::Extension,
    ),
];
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// Adds the places that an XMP text states to `found`.
pub(super) fn read(text: &str, found: &mut FoundPlaces) {
    // Cameras write XMP without place names, which need not be parsed.
    if !PLACE_NAMESPACES.iter().any(|(uri, _)| text.contains(uri)) {
        return;
    }
    let mut reading = Reading::new(found);
    for event in xmp::events(text) {
        match event {
            Event::Start(tag) => reading.start(tag),
            Event::Text(text) if reading.property.is_some() => reading.text(&text.decoded()),
            Event::Text(_) => {}
            Event::End => reading.end(),
        }
    }
}

/// Kind of a structure of IPTC Extension.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Created,
    Shown,
}

/// Property of which the element is open.
struct OpenProperty {
    depth: u32,
    part: Part,
}

/// Structure, or list of structures, of which the element is open.
struct OpenLocation {
    depth: u32,
    relation: Relation,
    place: Place,
}

/// State of reading an XMP text.
struct Reading<'f, 't> {
    found: &'f mut FoundPlaces,
    /// Number of open elements.
    depth: u32,
    /// Prefixes with their namespaces, and the depths of the elements that declare them.
    prefixes: Vec<(u32, &'t str, Namespace)>,
    property: Option<OpenProperty>,
    location: Option<OpenLocation>,
}

impl<'f, 't> Reading<'f, 't> {
    fn new(found: &'f mut FoundPlaces) -> Reading<'f, 't> {
        Reading {
            found,
            depth: 0,
            prefixes: Vec::new(),
            property: None,
            location: None,
        }
    }

    fn start(&mut self, tag: Tag<'t>) {
        self.depth = self.depth.saturating_add(1);
        self.declare(tag);
        let namespace = self.namespace(tag.name);
        // Elements within a property are lists, `rdf:value` and qualifiers.
        if self.property.is_none() {
            match (namespace, tag.name.local) {
                (Namespace::Extension, "LocationCreated") => self.open(Relation::Created),
                (Namespace::Extension, "LocationShown") => self.open(Relation::Shown),
                (Namespace::Rdf, "li") => self.finish_place(),
                (namespace, local) => {
                    let depth = self.depth;
                    let part = self.part(namespace, local);
                    self.property = part.map(|part| OpenProperty { depth, part });
                }
            }
        }
        if self.property.is_none() {
            for (name, value) in tag.attributes() {
                let namespace = self.namespace(name);
                if let Some(part) = self.part(namespace, name.local) {
                    self.place().set(part, &value.decoded());
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(OpenProperty { part, .. }) = self.property {
            self.place().set(part, text);
        }
    }

    fn end(&mut self) {
        if self
            .property
            .as_ref()
            .is_some_and(|it| it.depth == self.depth)
        {
            self.property = None;
        }
        if self
            .location
            .as_ref()
            .is_some_and(|it| it.depth == self.depth)
        {
            self.finish_place();
            self.location = None;
        }
        let depth = self.depth;
        self.prefixes.retain(|(declared, ..)| *declared < depth);
        self.depth = depth.saturating_sub(1);
    }

    /// Records the prefixes that a tag declares.
    fn declare(&mut self, tag: Tag<'t>) {
        for (name, value) in tag.attributes() {
            let prefix = match (name.prefix, name.local) {
                ("xmlns", prefix) => prefix,
                ("", "xmlns") => "",
                _ => continue,
            };
            let uri = value.decoded();
            let known = PLACE_NAMESPACES.iter().find(|(known, _)| *known == uri);
            let namespace = match known {
                Some((_, namespace)) => *namespace,
                None if uri == RDF => Namespace::Rdf,
                None => Namespace::Other,
            };
            if self.prefixes.len() < PREFIXES_MAX {
                self.prefixes.push((self.depth, prefix, namespace));
            }
        }
    }

    fn namespace(&self, name: Name<'_>) -> Namespace {
        let mut innermost = self.prefixes.iter().rev();
        let declared = innermost.find(|(_, prefix, _)| *prefix == name.prefix);
        declared.map_or(Namespace::Other, |(.., namespace)| *namespace)
    }

    /// Returns the part of a place that a property states, if it does.
    fn part(&self, namespace: Namespace, local: &str) -> Option<Part> {
        Some(match (namespace, local, self.location.is_some()) {
            (Namespace::Photoshop, "City", false) => Part::City,
            (Namespace::Photoshop, "State", false) => Part::State,
            (Namespace::Photoshop, "Country", false) => Part::Country,
            (Namespace::Core, "Location", false) => Part::Sublocation,
            (Namespace::Extension, "LocationName", true) => Part::Name,
            (Namespace::Extension, "Sublocation", true) => Part::Sublocation,
            (Namespace::Extension, "City", true) => Part::City,
            (Namespace::Extension, "ProvinceState", true) => Part::State,
            (Namespace::Extension, "CountryName", true) => Part::Country,
            _ => return None,
        })
    }

    /// Returns the place to which the current element belongs.
    fn place(&mut self) -> &mut Place {
        match &mut self.location {
            Some(location) => &mut location.place,
            None => &mut self.found.xmp,
        }
    }

    fn open(&mut self, relation: Relation) {
        // A structure within a structure has no meaning, so the outer one ends.
        self.finish_place();
        self.location = Some(OpenLocation {
            depth: self.depth,
            relation,
            place: Place::default(),
        });
    }

    /// Ends the current structure of a list, if it has names.
    fn finish_place(&mut self) {
        let Some(location) = &mut self.location else {
            return;
        };
        let place = std::mem::take(&mut location.place);
        let list = match location.relation {
            Relation::Created => &mut self.found.created,
            Relation::Shown => &mut self.found.shown,
        };
        if !place.is_empty() {
            FoundPlaces::push(list, place);
        }
    }
}
