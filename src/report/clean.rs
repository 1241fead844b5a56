//! Text from outside on its way to a terminal: no control byte but tab and newline passes, nothing reverses or hides.

/// Returns the text with control, bidirectional and zero-width characters made visible; newlines and tabs stay.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => {}
            c if c.is_control() => out.push('\u{fffd}'),
            c if hidden(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Tells whether a character shows nothing or turns the direction of what follows.
pub fn hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Returns the text on one line, cleaned and cut to `most` characters.
pub fn one_line(text: &str, most: usize) -> String {
    let flat = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= most {
        return flat;
    }
    let mut cut: String = flat.chars().take(most.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fc_74_no_control_byte_reaches_a_terminal() {
        let hostile = "a\u{1b}[2K\u{1b}]8;;http://x\u{7}b\rc\u{9b}d\u{202e}e\u{200b}\tf\n";
        let shown = clean(hostile);
        assert!(shown.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'), "{shown:?}");
        assert_eq!(clean("schöne Grüße 🎉\n"), "schöne Grüße 🎉\n");
    }

    #[test]
    fn one_line_cuts_on_characters() {
        assert_eq!(one_line("ä\nb  c", 9), "ä b c");
        assert_eq!(one_line("äöüäöü", 4), "äöü…");
    }
}
