//! Colour on finished text: the words of our own tables that a reader looks for. It adds styles and changes no character;
//! `anstream` takes them out again where nobody sees them.

use anstyle::{AnsiColor, Style};

/// Words that begin a table, and in each the columns whose cells are coloured.
const TABLES: [(&str, &[&str]); 3] = [("ID", &["SEV", "STATUS"]), ("REVIEWER", &["STATE"]), ("CLAUSE", &["CLAUSE"])];

/// A column of the table that is being read: where it begins, and where the next one does.
type Column = (usize, usize);

/// Colours the tables and the verdict in a text.
pub fn paint(text: &str) -> String {
    let mut columns: Vec<Column> = Vec::new();
    let mut out = String::with_capacity(text.len() + 256);
    for line in text.split_inclusive('\n') {
        let words = line.trim_end();
        if words.is_empty() {
            columns.clear();
        }
        match heading(words) {
            Some(found) => {
                columns = found;
                let style = Style::new().bold();
                out.push_str(&format!("{style}{words}{style:#}{}", &line[words.len()..]));
            }
            None => out.push_str(&row(line, &columns)),
        }
    }
    out
}

/// Reads the columns out of a table's first line.
fn heading(line: &str) -> Option<Vec<Column>> {
    let shouted = |c: char| c.is_ascii_uppercase() || c == ' ';
    let (_, wanted) = TABLES.iter().find(|(first, _)| line.split_whitespace().next() == Some(*first))?;
    if !line.chars().all(shouted) {
        return None;
    }
    let mut starts: Vec<usize> = Vec::new();
    let mut before = ' ';
    for (at, c) in line.chars().enumerate() {
        if c != ' ' && before == ' ' {
            starts.push(at);
        }
        before = c;
    }
    let end = |at: usize| starts.iter().copied().find(|start| *start > at).unwrap_or(usize::MAX);
    let chars: Vec<char> = line.chars().collect();
    let word = |at: usize| chars.iter().skip(at).take_while(|c| **c != ' ').collect::<String>();
    // The marks of the gate stand in a column without a heading, between the clause and its reason.
    Some(starts.iter().filter(|at| wanted.contains(&word(**at).as_str())).map(|at| (*at, end(*at))).collect())
}

fn row(line: &str, columns: &[Column]) -> String {
    for before in ["gate: ", ""] {
        // The gate's verdict, and the marks of a check list.
        let word = line.strip_prefix(before).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
        if (!before.is_empty() && !word.is_empty()) || matches!(word, "ok" | "NO" | "?") {
            return format!("{before}{}{}", styled(word), &line[before.len() + word.len()..]);
        }
    }
    let chars: Vec<char> = line.chars().collect();
    // Every row has something in its first column, after one space; what begins later belongs to the row before.
    if chars.first() != Some(&' ') || chars.get(1).is_none_or(|c| *c == ' ') {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len() + 32);
    let mut done = 0;
    for (from, to) in columns {
        let (from, to) = ((*from).min(chars.len()), (*to).min(chars.len()));
        out.extend(&chars[done..from]);
        let cell: String = chars[from..to].iter().collect();
        // In the first column of the gate's table stands the clause, then its mark.
        let painted: Vec<String> = cell.split(' ').map(styled).collect();
        out.push_str(&painted.join(" "));
        done = to;
    }
    out.extend(&chars[done..]);
    out
}

/// Colours a word that says how something stands; any other word stays as it is.
fn styled(word: &str) -> String {
    let colour = match word.trim_end() {
        "P1" | "NO" | "open!" | "blocked" | "failed" | "gone" => AnsiColor::Red,
        "P2" | "open" | "wait" | "waiting" | "?" | "unknown" => AnsiColor::Yellow,
        "not_started" | "running" | "limited" | "skipped" | "silent" => AnsiColor::Yellow,
        "ok" | "ready" | "finished" => AnsiColor::Green,
        "fixed" | "argued" | "stale" | "deferred" | "answered" | "withdrawn" | "duplicate" => AnsiColor::Green,
        _ => return word.to_owned(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{}{style:#}{}", word.trim_end(), &word[word.trim_end().len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::sample;
    use crate::review::severity::Severity;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn colours_stand_in_their_columns_and_change_no_character() {
        let mut open = sample::entry("c1", Severity::P1);
        open.finding.title = "open P1 ok fixed".to_owned();
        let summary = sample::summary(vec![open, sample::entry("c2", Severity::P2)]);
        for width in [80, 120] {
            let text = format!(
                "{}\ngate: blocked at abc\nfree text: P1 open\n",
                super::super::table::findings(&summary, width)
            );
            let painted = paint(&text);
            assert_eq!(plain(&painted), text, "{width}");
            let red = format!("{}", Style::new().fg_color(Some(AnsiColor::Red.into())));
            assert!(painted.contains(&format!("{red}P1")) && painted.contains(&format!("{red}blocked")), "{painted:?}");
            // Titles and free text are nobody's state.
            assert_eq!(painted.matches(&red).count(), 2, "{painted:?}");
        }
    }

    #[test]
    fn the_gate_and_a_check_list_have_coloured_marks() {
        let text = " CLAUSE           REASON      REMEDY\n head        ok   at a1b2     -\n checks      NO   ci is ok    mend it\n";
        let painted = paint(text);
        assert_eq!(plain(&painted), text);
        assert_eq!(painted.matches("\u{1b}[32mok").count(), 1, "{painted:?}");
        assert_eq!(painted.matches("\u{1b}[31mNO").count(), 1, "{painted:?}");
        assert!(paint("NO  git   too old\n").starts_with("\u{1b}[31mNO"));
        for text in ["", "\n", "ok", "a\nb", "  ID is a word\n P1\n"] {
            assert_eq!(plain(&paint(text)), text);
        }
        assert_eq!(paint(" ID is a word\n P1\n"), " ID is a word\n P1\n");
    }
}
