//! Makes the output of programs readable: no control bytes, no colours, only its end. Decides nothing about its meaning.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

/// Removes escape sequences, control, zero-width and direction characters; a carriage return starts its line anew.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\x1b' => escape(&mut chars),
            '\u{9b}' => csi(&mut chars),
            '\n' => {
                out.push_str(line.trim_end());
                out.push('\n');
                line.clear();
            }
            '\r' if chars.peek() != Some(&'\n') && chars.peek().is_some() => line.clear(),
            '\u{8}' => drop(line.pop()),
            '\t' => line.push(char),
            char if hidden(char) => {}
            char => line.push(char),
        }
    }
    out.push_str(line.trim_end());
    out
}

/// Tells whether a character is not seen, or changes how others are seen.
pub fn hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            csi(chars);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            // A string ends with BEL or ESC \; an unfinished one must not swallow the rest of the output.
            while let Some(char) = chars.next_if(|char| *char != '\n') {
                if char == '\x07' || char == '\u{9c}' {
                    return;
                }
                if char == '\x1b' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        Some(' '..='/') => {
            chars.next();
            chars.next_if(|char| *char != '\n');
        }
        Some('0'..='~') => drop(chars.next()),
        _ => {}
    }
}

fn csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.next_if(|char| matches!(char, ' '..='?')).is_some() {}
    chars.next_if(|char| matches!(char, '@'..='~'));
}

/// Returns the end of a text, whole lines of it, with a mark that says how much is missing.
pub fn tail(text: &str, chars: usize) -> String {
    let count = text.chars().count();
    if count <= chars {
        return text.to_owned();
    }
    let start = text.char_indices().nth(count - chars).map_or(0, |(at, _)| at);
    let start = text[start..]
        .find('\n')
        .map_or(start, |line| if start + line + 1 < text.len() { start + line + 1 } else { start });
    let missing = text[..start].chars().count();
    format!("[... {missing} characters left out ...]\n{}", &text[start..])
}

/// Returns a text as one line of at most so many characters.
pub fn one_line(text: &str, chars: usize) -> String {
    let words = clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= chars {
        return words;
    }
    let mut cut: String = words.chars().take(chars.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Takes secrets out of a file that another program wrote. Returns whether the file is free of them now; what is no
/// regular file is left alone and not free of anything: a link would lead elsewhere, and a pipe would never end.
#[must_use]
pub fn mask_file(path: &camino::Utf8Path, secrets: &[String]) -> bool {
    // Nor is the folder to be a link: it may be one in which the other program works.
    if path.parent().is_some_and(|folder| folder.is_symlink()) {
        return false;
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    let mut file = match opened {
        Ok(file) if file.metadata().is_ok_and(|data| data.is_file()) => file,
        Ok(_) => return false,
        Err(error) => return error.kind() == ErrorKind::NotFound,
    };
    let mut text = Vec::new();
    if file.read_to_end(&mut text).is_err() {
        return false;
    }
    let mut found = false;
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        let word = secret.as_bytes();
        while let Some(at) = text.windows(word.len()).position(|window| window == word) {
            found = true;
            text.splice(at..at + word.len(), *b"***");
        }
    }
    let mut rewrite = || {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&text)
    };
    !found || rewrite().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8PathBuf;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_taken_out_of_regular_files_alone() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = Utf8PathBuf::from_path_buf(temp.path().to_owned()).expect("UTF-8");
        let secrets = ["s3cret".to_owned()];
        let put = |path: &Utf8PathBuf| std::fs::write(path, "a s3cret b").expect("written");
        let text = |path: &Utf8PathBuf| std::fs::read_to_string(path).expect("read");
        let own = root.join("own");
        put(&own);
        assert!(mask_file(&own, &secrets) && mask_file(&root.join("none"), &secrets));
        assert_eq!(text(&own), "a *** b");
        let elsewhere = root.join("elsewhere");
        put(&elsewhere);
        std::os::unix::fs::symlink(&elsewhere, root.join("link")).expect("a link");
        assert!(!mask_file(&root.join("link"), &secrets), "a link is not followed");
        std::fs::create_dir(root.join("folder")).expect("a folder");
        put(&root.join("folder/file"));
        std::os::unix::fs::symlink(root.join("folder"), root.join("to")).expect("a link");
        assert!(!mask_file(&root.join("to/file"), &secrets), "nor one of the folder");
        assert_eq!((text(&elsewhere), text(&root.join("folder/file"))), ("a s3cret b".into(), "a s3cret b".into()));
        let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().expect("mkfifo");
        assert!(made.success() && !mask_file(&root.join("pipe"), &secrets), "a pipe is not waited for");
    }

    #[test]
    fn fm_37_control_sequences_disappear() {
        let check = |text: &str, wanted: &str| assert_eq!(clean(text), wanted, "{text:?}");
        check("a\x1b[31;1mred\x1b[0m b", "ared b");
        check("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\!", "link!");
        check("\x1b]52;c;aGk=\nnext", "\nnext");
        check("10%\r50%\r100%\n", "100%\n");
        check("dos\r\nline\r\n", "dos\nline\n");
        check("done\r", "done");
        check("ab\u{8}c", "ac");
        check("a\u{202e}b\u{200b}c\u{feff}\0d\u{9b}1me", "abcde");
        check("\x1b(Bx\x1b=y\x1b", "xy");
        check("tab\tstays  \n", "tab\tstays\n");
    }

    #[test]
    fn fc_54_a_cut_is_marked_and_falls_between_lines() {
        assert_eq!(tail("abc", 3), "abc");
        assert_eq!(tail("one\ntwo\nthree", 7), "[... 8 characters left out ...]\nthree");
        assert_eq!(tail("éééé", 2), "[... 2 characters left out ...]\néé");
        assert_eq!(one_line(" a\n\tb\x1b[1m  c ", 9), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            let cleaned = clean(&text);
            prop_assert!(cleaned.chars().all(|char| matches!(char, '\n' | '\t') || !hidden(char)));
            prop_assert_eq!(clean(&cleaned), cleaned);
        }
    }
}
