//! Text tables for the terminal.

#[cfg(test)]
mod tests;

/// Prints a title, column headings and rows. The first column contains text, aligned left; all
/// other columns contain numbers, aligned right.
pub(crate) fn print(title: &str, head: &[&str], rows: &[Vec<String>]) {
    println!("\n{title}\n\n{}", render(head, rows));
}

fn render(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().copied().map(str::to_owned).collect();
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| {
        let widths = all().map(|row| row.get(column).map_or(0, |cell| cell.chars().count()));
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, &width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
