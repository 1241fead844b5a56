//! Code fences of Markdown, line by line: enough to know what is code and to close what was left open.

/// The fence that is open after the lines fed so far, if one is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    open: Option<(u8, usize)>,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineIs {
    /// Ordinary text.
    Text,
    /// Inside a fence, or the fence itself.
    Code,
}

impl Fences {
    /// Takes the next line and tells what it is.
    pub(crate) fn feed(&mut self, line: &str) -> LineIs {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let body = line.trim_start_matches(' ');
        let indent = line.len() - body.len();
        let sign = body.bytes().next().filter(|b| matches!(b, b'`' | b'~'));
        let run = sign.map_or(0, |s| body.bytes().take_while(|b| *b == s).count());
        let rest = &body[run..];
        match (self.open, sign) {
            (Some((open, length)), Some(sign)) => {
                if sign == open && run >= length && indent < 4 && rest.trim().is_empty() {
                    self.open = None;
                }
                LineIs::Code
            }
            (Some(_), None) => LineIs::Code,
            (None, Some(sign)) if run >= 3 && indent < 4 && (sign == b'~' || !rest.contains('`')) => {
                self.open = Some((sign, run));
                LineIs::Code
            }
            (None, _) => LineIs::Text,
        }
    }

    /// Tells whether a fence is open.
    pub(crate) fn open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the line that closes the open fence.
    pub(crate) fn closer(&self) -> Option<String> {
        self.open.map(|(sign, run)| char::from(sign).to_string().repeat(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, open: bool) {
        let mut fences = Fences::default();
        for line in text.lines() {
            fences.feed(line);
        }
        assert_eq!(fences.open(), open, "{text}");
        if let Some(closer) = fences.closer() {
            fences.feed(&closer);
        }
        assert!(!fences.open(), "{text}");
    }

    #[test]
    fn fm_43_fences_open_and_close_as_markdown_says() {
        check("```", true);
        check("```\n```", false);
        check("````\n```", true);
        check("````\n`````", false);
        check("~~~ a`b\nx", true);
        check("``` a`b\nx", false);
        check("```\n~~~", true);
        check("```\n``` not a close", true);
        check("    ```", false);
        check("```\r\n```\r", false);
        check("``", false);
    }
}
