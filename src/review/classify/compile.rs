//! Rule files made ready: every pattern compiled once, size-limited and checked. It decides which file speaks for an account.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::pattern::{BadPattern, Pattern};
use super::reviewer::{Reviewer, Shared, bad, regex};
use super::rules::{ReviewerOverride, RuleFile, UserRule};
use super::sieve::Runs;
use crate::review::comment::AccountKind;
use crate::review::ids::Login;
use crate::review::severity::Severity;

/// A rule that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRule {
    /// The file, or `config`.
    pub file: String,
    /// The rule.
    pub rule: String,
    /// The reason, in one line.
    pub why: String,
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}` of {}: {}", self.rule, self.file, self.why)
    }
}

impl std::error::Error for BadRule {}

/// All rules. A copy shares the patterns, and what was compiled of them.
#[derive(Debug, Clone)]
pub struct Rules {
    reviewers: Vec<Reviewer>,
    by_login: Arc<HashMap<Login, usize>>,
    /// Reviewers that speak through accounts of others: through some, and through any.
    carried: Arc<[usize]>,
    anywhere: Arc<[usize]>,
    pub(super) general: Reviewer,
    pub(super) people: Reviewer,
    pub(super) user: Arc<[CompiledUser]>,
}

#[derive(Debug)]
pub(super) struct CompiledUser {
    pub(super) author: Option<String>,
    pub(super) name: String,
    pub(super) pattern: Pattern,
    pub(super) level: Severity,
}

impl Rules {
    /// Compiles rule files, the user's rules and what the user says of single reviewers.
    pub fn compile(
        files: &[RuleFile],
        user: &[UserRule],
        overrides: &BTreeMap<String, ReviewerOverride>,
    ) -> Result<Self, BadRule> {
        let general_file = files.iter().find(|f| f.name == "general").cloned().unwrap_or_default();
        let shared = Shared::of(&general_file)?;
        let (noise, footer) = (Vec::new(), Vec::new());
        let general_file = RuleFile { noise, footer, ..general_file };
        let mut rules = Self {
            reviewers: Vec::new(),
            by_login: Arc::default(),
            carried: Arc::default(),
            anywhere: Arc::default(),
            general: Reviewer::compile(&general_file, &shared)?,
            people: Reviewer::compile(&RuleFile::default(), &Shared::default())?,
            user: Arc::default(),
        };
        let mut by_login = HashMap::new();
        for file in files {
            match file.name.as_str() {
                "general" => {}
                "people" => rules.people = Reviewer::compile(file, &shared.levels())?,
                _ => rules.add(Reviewer::compile(file, &shared)?, &mut by_login)?,
            }
        }
        rules.by_login = Arc::new(by_login);
        rules.carried = rules.places_of(|reviewer| !reviewer.carriers.is_empty());
        rules.anywhere = rules.places_of(|reviewer| reviewer.any_carrier);
        rules.with(user, overrides)
    }

    /// Returns these rules with the user's own, and with what the user says of single reviewers.
    pub fn with(mut self, user: &[UserRule], overrides: &BTreeMap<String, ReviewerOverride>) -> Result<Self, BadRule> {
        self.user = user.iter().enumerate().map(|(n, rule)| user_rule(n + 1, rule)).collect::<Result<_, _>>()?;
        for (name, said) in overrides {
            self.override_reviewer(name, said)?;
        }
        Ok(self)
    }

    fn places_of(&self, is: impl Fn(&Reviewer) -> bool) -> Arc<[usize]> {
        let all = self.reviewers.iter().enumerate();
        all.filter(|(_, reviewer)| is(reviewer)).map(|(place, _)| place).collect()
    }

    fn add(&mut self, reviewer: Reviewer, by_login: &mut HashMap<Login, usize>) -> Result<(), BadRule> {
        let index = self.reviewers.len();
        for login in &reviewer.aliases {
            if let Some(other) = by_login.insert(login.clone(), index) {
                let other = self.reviewers.get(other).map_or("itself", |r| r.name.as_str());
                return Err(bad(&reviewer.name, "logins", &format!("`{login}` belongs to {other} already")));
            }
        }
        self.reviewers.push(reviewer);
        Ok(())
    }

    fn override_reviewer(&mut self, name: &str, said: &ReviewerOverride) -> Result<(), BadRule> {
        if name.eq_ignore_ascii_case("people") {
            self.people.untagged = said.untagged.or(self.people.untagged);
            self.people.levels.extend(said.levels.iter().map(|(level, to)| (level.to_lowercase(), *to)));
            return Ok(());
        }
        let index = self.index_of(name).ok_or_else(|| {
            let why = "no reviewer of this name or login".to_owned();
            BadRule { file: "config".to_owned(), rule: format!("reviewers.{name}"), why }
        })?;
        if let Some(reviewer) = self.reviewers.get_mut(index) {
            reviewer.untagged = said.untagged.or(reviewer.untagged);
            reviewer.reaction_counts |= said.reaction_counts;
            reviewer.levels.extend(said.levels.iter().map(|(level, to)| (level.to_lowercase(), *to)));
        }
        Ok(())
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        let by_name = self.reviewers.iter().position(|r| r.name.eq_ignore_ascii_case(name));
        by_name.or_else(|| self.by_login.get(&Login::new(name)).copied())
    }

    /// Returns a reviewer by its name or one of its logins, case ignored.
    pub fn reviewer(&self, name: &str) -> Option<&Reviewer> {
        self.reviewers.get(self.index_of(name)?)
    }

    /// Compiles every pattern now, which a run does only on need; returns the first bad one.
    pub fn check(&self) -> Result<(), BadRule> {
        let all = self.reviewers.iter().chain([&self.general, &self.people]);
        all.flat_map(|r| r.patterns().into_iter().map(|p| (&r.name, p))).try_for_each(|(file, pattern)| {
            pattern.check().map_err(|BadPattern(why)| bad(file, pattern.source(), &why))
        })
    }

    /// Returns the patterns that fit a text of a body although what the body holds rules them out: there must be none.
    #[cfg(test)]
    pub(crate) fn ruled_out_wrongly(&self, body: &str) -> Vec<String> {
        let text = super::clean::visible(body);
        let page = super::page::Page::read(&text);
        let runs = page.runs(&text);
        let all = self.reviewers.iter().chain([&self.general, &self.people]).flat_map(Reviewer::patterns);
        let texts = || page.texts().chain([body]);
        let by_words = |p: &Pattern| !p.may_fit(&runs) && texts().any(|text| p.is_match(text));
        let tried = || texts().chain(page.flat.lines().take(1));
        let by_start = |p: &Pattern| tried().any(|text| p.plain_place(text) != p.all_places(text).next());
        let wrong = |p: &&Pattern| by_words(p) || by_start(p);
        all.filter(wrong).map(|p| p.source().to_owned()).collect()
    }

    /// Returns all reviewers that the rules know.
    pub fn reviewers(&self) -> &[Reviewer] {
        &self.reviewers
    }

    /// Tells whether a login is that of a reviewer's bot account.
    pub(super) fn has_login(&self, login: &Login) -> bool {
        self.by_login.contains_key(login)
    }

    /// Returns the reviewer behind an account: by exact login of a bot account, else by a mark in the body where the
    /// reviewer is known to speak through such accounts.
    pub fn reviewer_of(&self, login: &Login, kind: AccountKind, body: &str) -> Option<&Reviewer> {
        self.reviewer_behind(login, kind, body, None)
    }

    /// Returns the same, with what the body holds where that is known: it rules most marks out.
    pub(super) fn reviewer_behind(
        &self,
        login: &Login,
        kind: AccountKind,
        body: &str,
        runs: Option<&Runs>,
    ) -> Option<&Reviewer> {
        let may = |set: &&Pattern| runs.is_none_or(|runs| set.may_fit(runs));
        let by_body = |r: &&Reviewer| r.body.as_ref().filter(may).is_some_and(|set| set.is_match(body));
        let at = |place: &usize| self.reviewers.get(*place);
        if kind == AccountKind::Bot {
            let carried = |r: &&Reviewer| r.carriers.contains(login);
            if let Some(reviewer) = self.carried.iter().filter_map(at).filter(carried).find(by_body) {
                return Some(reviewer);
            }
            if let Some(reviewer) = self.by_login.get(login).and_then(at) {
                return Some(reviewer);
            }
        }
        self.anywhere.iter().filter_map(at).find(by_body)
    }
}

fn user_rule(n: usize, rule: &UserRule) -> Result<CompiledUser, BadRule> {
    let name = format!("severity.rule {n}");
    let author = rule.author.clone().filter(|a| a != "*");
    let pattern = regex("config", &name, &rule.pattern)?;
    pattern.check().map_err(|BadPattern(why)| bad("config", &name, &why))?;
    Ok(CompiledUser { author: author.map(|a| a.to_lowercase()), name, pattern, level: rule.level })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_user(pattern: &str) -> Result<Rules, BadRule> {
        let rule = UserRule { author: None, pattern: pattern.to_owned(), level: Severity::P1 };
        Rules::compile(&[], &[rule], &BTreeMap::new())
    }

    #[test]
    fn fm_41_bad_huge_and_empty_user_patterns_are_refused() {
        assert!(with_user(r"^(?i)urgent\b").is_ok());
        for pattern in ["(", "x*", "(?:a{1000}){1000}", &"a".repeat(8_001), r"\p{Nope}"] {
            let refused = with_user(pattern).expect_err(pattern);
            assert_eq!((refused.file.as_str(), refused.rule.as_str()), ("config", "severity.rule 1"));
            assert!(!refused.why.contains('\n'));
        }
    }

    #[test]
    fn an_unknown_reviewer_in_the_config_is_an_error() {
        let overrides = BTreeMap::from([("nobody".to_owned(), ReviewerOverride::default())]);
        assert!(Rules::compile(&[], &[], &overrides).is_err());
    }
}
