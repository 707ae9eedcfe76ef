//! Parsed Rust file, reduced to the parts that the tidy rules need.
//!
//! The syntax comes from `syn`. Comments are not part of the syntax: they are the text between the
//! tokens.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

/// One parsed Rust file.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// Text of the `//!` lines at the top of the file.
    pub(super) crate_doc: String,
    pub(super) functions: Vec<Function>,
    /// Names of structs, enums, traits and type aliases.
    pub(super) types: Vec<Mention>,
    /// Paths as written, with each import as a whole path: `std::fs::read`. Paths in tests are left
    /// out.
    pub(super) paths: Vec<Mention>,
    /// Imports outside tests, as the names that they bring into scope.
    pub(super) imports: Vec<Import>,
    /// Names of called macros.
    pub(super) macros: Vec<Mention>,
    pub(super) attributes: Vec<Attribute>,
    /// Functions and impls at the top level of the file.
    pub(super) logic: Vec<Mention>,
    /// Comments, one entry per line, without the slashes. Doc comments are included.
    pub(super) comments: Vec<Mention>,
}

/// Name or text in the source file, and the line on which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) line: usize,
    pub(super) text: String,
}

/// Function, or the declaration of a function in a trait.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: String,
    /// First line of the function's attributes and documentation.
    pub(super) top: usize,
    /// Line of the function's signature.
    pub(super) line: usize,
    /// Line of the function's closing brace.
    pub(super) end: usize,
    /// Number of parameters without `self`.
    pub(super) parameters: usize,
    /// True if the function is part of a test.
    pub(super) test: bool,
    /// True if the signature is prescribed, by a trait or by C.
    pub(super) is_prescribed: bool,
}

/// Name that a `use` brings into scope.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) name: String,
    /// Whole path of the imported item.
    pub(super) path: Mention,
    /// True if other files can use the name: `pub use`, `pub(crate) use`.
    pub(super) is_reexport: bool,
}

/// Attribute, with the text of its arguments.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Source {
    /// Parses a file. `test` is true if all of the file is test code.
    ///
    /// # Errors
    /// Returns the parser's message if the file is not Rust.
    pub(super) fn parse(text: &str, test: bool) -> Result<Source, String> {
        let file = syn::parse_file(text).map_err(|err| err.to_string())?;
        let tokens: TokenStream = text.parse().map_err(|_| "not Rust".to_owned())?;
        let mut source = Source {
            comments: comments(text, tokens),
            ..Source::default()
        };
        source.crate_doc = crate_doc(&file.attrs);
        source.logic = file.items.iter().filter_map(logic).collect();
        let mut walk = Walk {
            source,
            test,
            is_prescribed: false,
        };
        walk.visit_file(&file);
        Ok(walk.source)
    }
}

fn crate_doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(line),
                    ..
                }) => Some(line.value()),
                _ => None,
            },
            _ => None,
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn logic(item: &syn::Item) -> Option<Mention> {
    let text = match item {
        syn::Item::Fn(function) => format!("fn {}", function.sig.ident),
        syn::Item::Impl(_) => "impl".to_owned(),
        _ => return None,
    };
    Some(Mention {
        line: item.span().start().line,
        text,
    })
}

struct Walk {
    source: Source,
    /// True while the walk is inside test code.
    test: bool,
    /// True while the walk is inside the implementation of a trait.
    is_prescribed: bool,
}

impl Walk {
    /// Records a function that ends on line `end`.
    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature, end: usize) {
        let line = signature.span().start().line;
        let tops = attributes
            .iter()
            .map(|attribute| attribute.span().start().line);
        let typed = signature.inputs.iter();
        let typed = typed.filter(|input| matches!(input, syn::FnArg::Typed(_)));
        self.source.functions.push(Function {
            name: signature.ident.to_string(),
            top: tops.min().unwrap_or(line).min(line),
            line,
            end,
            parameters: typed.count(),
            test: self.test,
            is_prescribed: self.is_prescribed || signature.abi.is_some(),
        });
    }

    fn named(&mut self, name: &syn::Ident) {
        let line = name.span().start().line;
        self.source.types.push(Mention {
            line,
            text: name.to_string(),
        });
    }

    fn path(&mut self, line: usize, text: String) {
        if !self.test {
            self.source.paths.push(Mention { line, text });
        }
    }

    fn import(&mut self, import: Import) {
        let Mention { line, text } = &import.path;
        self.path(*line, text.clone());
        if !self.test {
            self.source.imports.push(import);
        }
    }

    /// Visits an item. If its attributes mark it as test code, everything in it counts as test
    /// code.
    fn item(&mut self, attributes: &[syn::Attribute], visit: impl FnOnce(&mut Walk)) {
        let outside = self.test;
        self.test |= attributes.iter().any(is_test);
        visit(self);
        self.test = outside;
    }
}

fn is_test(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    path.segments
        .last()
        .is_some_and(|last| last.ident == "test")
        || path.is_ident("cfg") && arguments(attribute) == "test"
}

fn end_line(body: &syn::Block) -> usize {
    body.span().end().line
}

fn arguments(attribute: &syn::Attribute) -> String {
    match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        syn::Meta::Path(_) | syn::Meta::NameValue(_) => String::new(),
    }
}

fn joined(path: &syn::Path) -> String {
    let names = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string());
    names.collect::<Vec<_>>().join("::")
}

/// Adds the imports of a use tree to `found`, each as its whole path and the name that it gets in
/// this file.
fn imports(tree: &syn::UseTree, prefix: &str, found: &mut Vec<(String, String)>) {
    match tree {
        syn::UseTree::Path(path) => {
            imports(&path.tree, &format!("{prefix}{}::", path.ident), found);
        }
        syn::UseTree::Name(name) if name.ident == "self" => {
            let path = prefix.trim_end_matches("::");
            let last = path.rsplit("::").next().unwrap_or(path);
            found.push((path.to_owned(), last.to_owned()));
        }
        syn::UseTree::Name(name) => {
            found.push((format!("{prefix}{}", name.ident), name.ident.to_string()));
        }
        syn::UseTree::Rename(rename) => {
            let path = format!("{prefix}{}", rename.ident);
            found.push((path, rename.rename.to_string()));
        }
        syn::UseTree::Glob(_) => found.push((format!("{prefix}*"), "*".to_owned())),
        syn::UseTree::Group(group) => {
            group
                .items
                .iter()
                .for_each(|item| imports(item, prefix, found));
        }
    }
}

impl<'ast> Visit<'ast> for Walk {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.item(&item.attrs, |walk| visit::visit_item_mod(walk, item));
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut found = Vec::new();
        imports(&item.tree, "", &mut found);
        let line = item.span().start().line;
        self.item(&item.attrs, |walk| {
            for (text, name) in found {
                walk.import(Import {
                    name,
                    path: Mention { line, text },
                    is_reexport: !matches!(item.vis, syn::Visibility::Inherited),
                });
            }
        });
        visit::visit_item_use(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.item(&item.attrs, |walk| {
            walk.function(&item.attrs, &item.sig, end_line(&item.block));
            visit::visit_item_fn(walk, item);
        });
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outside = self.is_prescribed;
        self.is_prescribed = item.trait_.is_some();
        self.item(&item.attrs, |walk| visit::visit_item_impl(walk, item));
        self.is_prescribed = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.item(&item.attrs, |walk| {
            walk.function(&item.attrs, &item.sig, end_line(&item.block));
            visit::visit_impl_item_fn(walk, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        let end = item.span().end().line;
        self.function(&item.attrs, &item.sig, end);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.named(&item.ident);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.named(&item.ident);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.named(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.named(&item.ident);
        visit::visit_item_type(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.span().start().line, joined(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        let line = call.span().start().line;
        let name = name.into_iter().map(|text| Mention { line, text });
        self.source.macros.extend(name);
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        self.source.attributes.push(Attribute {
            line: attribute.span().start().line,
            name: joined(attribute.path()),
            arguments: arguments(attribute),
        });
    }
}

/// Returns the comments line by line: the text between the tokens, and the text of doc comments,
/// which are tokens.
fn comments(text: &str, tokens: TokenStream) -> Vec<Mention> {
    let mut comments = Vec::new();
    let mut end = 0;
    let mut line = 1;
    let mut take = |from: usize, to: usize, comment: bool| {
        for (index, part) in text[from..to].split('\n').enumerate() {
            line += usize::from(index != 0);
            let words = part.trim().trim_start_matches(['/', '*', '!']).trim();
            if comment && !words.is_empty() {
                let text = words.to_owned();
                comments.push(Mention { line, text });
            }
        }
    };
    for range in ranges(tokens) {
        if range.end <= end {
            // A doc comment is parsed as several tokens, and each of these spans the whole comment.
            // The comment was recorded with the first token.
            continue;
        }
        take(end, range.start, true);
        let token = &text[range.clone()];
        take(
            range.start,
            range.end,
            token.starts_with("//") || token.starts_with("/*"),
        );
        end = range.end;
    }
    take(end, text.len(), true);
    comments
}

/// Returns the byte range of every token, in order.
fn ranges(tokens: TokenStream) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                found.push(group.span_open().byte_range());
                found.extend(ranges(group.stream()));
                found.push(group.span_close().byte_range());
            }
            leaf => found.push(leaf.span().byte_range()),
        }
    }
    found
}
