//! Pieces of HTML: escaped text and tables.

/// Returns `text` escaped for the content of an element and for a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    html_escape::encode_double_quoted_attribute(text).into_owned()
}

/// Table under construction. Its cells are HTML.
pub(super) struct Table {
    lines: Vec<String>,
}

impl Table {
    /// Starts a table with `heads` as its column headings.
    pub(super) fn new(heads: &[&str]) -> Table {
        let heads: String = heads.iter().map(|head| format!("<th>{head}")).collect();
        Table {
            lines: vec![format!("<thead><tr>{heads}</thead>\n<tbody>")],
        }
    }

    /// Appends a row. `class` is its class in the style sheet; it may be empty.
    pub(super) fn row(&mut self, class: &str, cells: &[String]) {
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}")).collect();
        self.lines.push(format!("<tr class=\"{class}\">{cells}"));
    }

    /// Returns the table, in a box that scrolls sideways if the page is narrower than the table.
    pub(super) fn html(&self) -> String {
        format!(
            "<div class=\"wide\" tabindex=\"0\"><table>\n{}\n</tbody></table></div>\n",
            self.lines.join("\n")
        )
    }
}
