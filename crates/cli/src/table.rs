//! Aligned columns.

/// The rows as lines, the heads first, each column as wide as its widest cell. No lines without rows.
pub(crate) fn table(indent: usize, heads: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&heads).chain(rows).collect();
    aligned(indent, &all)
}

/// Rows without heads as lines.
pub(crate) fn columns(indent: usize, rows: &[Vec<String>]) -> Vec<String> {
    aligned(indent, &rows.iter().collect::<Vec<_>>())
}

fn aligned(indent: usize, rows: &[&Vec<String>]) -> Vec<String> {
    let count = rows.iter().map(|row| row.len()).max().unwrap_or(0);
    let width = |n: usize| rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|n| width(n).unwrap_or(0)).collect();
    let line = |row: &&Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        format!("{}{}", " ".repeat(indent), cells.join("  ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
