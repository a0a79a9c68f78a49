//! A text that ` #` cuts within its quotes: YAML takes the rest for a comment without a word.

use crate::diagnostic::{Problem, Span};
use crate::spec::tree::{Kind, Node};

/// Every text of the tree that a comment cuts: an odd number of `"`, and one more in the comment.
pub(super) fn find(node: &Node, text: &str, problems: &mut Vec<Problem>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| find(item, text, problems)),
        Kind::Map(entries) => entries.iter().for_each(|(_, value)| find(value, text, problems)),
        Kind::Text(written) if node.is_own() && is_cut(written, &text[node.end..]) => {
            let blanks = text[node.end..].len() - text[node.end..].trim_start_matches([' ', '\t']).len();
            let comment = Span { offset: node.end + blanks, length: 1, ..node.span };
            problems.push(
                Problem::at(comment, "the text ends here, within its quotes")
                    .label("a comment begins")
                    .also(node.span, "this alone is read")
                    .help("quote the whole value, as `'…'`"),
            );
        }
        Kind::Null | Kind::Text(_) => {}
    }
}

fn is_cut(written: &str, after: &str) -> bool {
    let rest = after.lines().next().unwrap_or_default();
    // A quoted text that begins with a quote ends with one; it is not cut.
    !written.contains('\n')
        && written.matches('"').count() % 2 == 1
        && rest.trim_start_matches([' ', '\t']).starts_with('#')
        && rest.starts_with([' ', '\t'])
        && rest.contains('"')
}
