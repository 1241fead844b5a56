//! Reads from the output of test programs how many tests ran, and whether any did. It knows formats, not verdicts.

use std::sync::LazyLock;

use regex::Regex;

/// What a test program said about its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Tests that ran, as far as the output tells.
    pub ran: Option<u64>,
    /// Tests that were skipped.
    pub skipped: Option<u64>,
    /// A program said in words that it found nothing to run.
    pub none_found: bool,
    /// Something ran although it was not counted.
    pub uncounted: bool,
}

impl Counts {
    /// Tells whether a successful end was one without a single test.
    pub fn nothing_ran(&self) -> bool {
        match self.ran {
            Some(ran) => ran == 0 && !self.uncounted,
            None => self.none_found && !self.uncounted,
        }
    }
}

/// How the lines of one program go together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Take {
    /// Each is about other tests.
    Sum,
    /// The last one holds the total.
    Last,
}

/// Lines that sum up a run: a pattern a program.
const SUMMARIES: &[(Take, &str)] = &[
    // libtest
    (Take::Sum, r"^test result: (?:ok|FAILED)\. "),
    // cargo-nextest
    (Take::Sum, r"^\s*Summary \[.*?\]\s+\d"),
    // pytest
    (Take::Sum, r"^(?:=+ )?(?:\d+ [a-z]+(?:, )?)+ in \d[\d.:]*s?\b"),
    // unittest; the second line belongs to the first
    (Take::Sum, r"^Ran \d+ tests? in "),
    (Take::Sum, r"^(?:OK|FAILED) \((?:[a-z ]+=\d+(?:, )?)+\)$"),
    // jest, vitest
    (Take::Sum, r"^\s*Tests:?\s+\d+ (?:passed|failed|skipped|todo|total|pending)\b"),
    // mocha, bun, playwright
    (Take::Sum, r"^\s*\d+ (?:passing|failing|pending)\b"),
    (Take::Sum, r"^\s*\d+ (?:pass|fail|skip|todo)$"),
    (Take::Sum, r"^\s*\d+ (?:passed|failed|skipped)(?: \([\d.]+m?s\))?$"),
    // node, TAP
    (Take::Sum, r"^(?:#|ℹ) (?:tests|pass|fail|skipped|todo|cancelled) \d+$"),
    // deno
    (Take::Sum, r"^(?:ok|FAILED) \| \d+ passed"),
    // rspec, ExUnit, minitest
    (Take::Sum, r"^\d+ (?:examples?|tests?|runs), \d+ (?:failures?|assertions)\b"),
    // Surefire, without the lines of single classes
    (Take::Sum, r"^(?:\[[A-Z]+\] )?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$"),
    // PHPUnit
    (Take::Sum, r"^OK \(\d+ tests?, \d+ assertions?\)"),
    (Take::Sum, r"^Tests: \d+, Assertions: \d+"),
    // dotnet
    (Take::Sum, r"^(?:Passed|Failed|Skipped)!\s+-\s+Failed:"),
    // ctest, googletest, gotestsum, XCTest
    (Take::Sum, r"^\d+% tests passed, \d+ tests? failed out of \d+"),
    (Take::Sum, r"^\[=+\] \d+ tests? from \d+ test (?:suites?|cases?) ran\b"),
    (Take::Sum, r"^DONE \d+ tests?\b"),
    (Take::Last, r"^\s*Executed \d+ tests?, with "),
];

/// A number and its word, in either order.
const NUMBER_WORD: &str = r"\b(\d+) (?:tests? )?(passed|pass|passing|failed|fail|failing|failures?|errors?|skipped|skips?|ignored|pending|todo|disabled|measured|xfailed|xpassed|timed out|total|tests?|examples?|runs)\b";
const WORD_NUMBER: &str = r"\b([Pp]assed|pass|[Ff]ailed|fail|[Ff]ailures|[Ee]rrors|[Ss]kipped|todo|cancelled|Incomplete|Total|tests|Tests|Tests run|out of|expected failures)(?:: +|=| )(\d+)\b";

/// Ways to say that there was nothing to run, whatever the exit code.
const NONE_FOUND: &str = r"(?i)\bno tests? (?:ran|found|to run|collected|executed|were found|files found)\b|^\s*tests\s+no tests\b|\bcollected 0 items\b";
/// Ways that only count when the program ended well.
const ZERO: &str = r"(?i)(?:^|[^\d.,])0 (?:tests?|passing|specs|examples)\b|\bthere are no tests\b";

/// Longest line that is looked at.
const LONGEST: usize = 400;

struct Patterns {
    summaries: Vec<(Take, Regex)>,
    number_word: Regex,
    word_number: Regex,
    none_found: Regex,
    zero: Regex,
    go_case: Regex,
    go_package: Regex,
    point: Regex,
    point_skipped: Regex,
}

#[expect(clippy::expect_used, reason = "patterns are constants, compiled by every test of this module")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern")
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| Patterns {
    summaries: SUMMARIES.iter().map(|(take, text)| (*take, pattern(text))).collect(),
    number_word: pattern(NUMBER_WORD),
    word_number: pattern(WORD_NUMBER),
    none_found: pattern(NONE_FOUND),
    zero: pattern(ZERO),
    go_case: pattern(r"^\s*--- (PASS|FAIL|SKIP): \S+ \("),
    go_package: pattern(r"^(?:ok|FAIL)\s+\S+\s"),
    // One line a test (TAP, and what shell suites print); subtests are indented.
    point: pattern(r"^(?:not )?ok (?:\d+\b|- )"),
    point_skipped: pattern(r"(?i) # (?:skip|todo)"),
});

#[derive(Default, Clone, Copy)]
struct Tally {
    passed: Option<u64>,
    failed: u64,
    skipped: Option<u64>,
    total: Option<u64>,
}

impl Tally {
    fn add(&mut self, word: &str, number: u64) {
        let plus = |sum: &mut Option<u64>| *sum = Some(sum.unwrap_or(0).saturating_add(number));
        match word.to_ascii_lowercase().as_str() {
            "passed" | "pass" | "passing" | "measured" | "xfailed" | "xpassed" => plus(&mut self.passed),
            "failed" | "fail" | "failing" | "failure" | "failures" | "error" | "errors" | "timed out" | "cancelled" => {
                self.failed = self.failed.saturating_add(number);
            }
            "skipped" | "skip" | "skips" | "ignored" | "pending" | "todo" | "disabled" | "incomplete" => {
                plus(&mut self.skipped)
            }
            "total" | "test" | "tests" | "tests run" | "example" | "examples" | "runs" | "out of" => {
                plus(&mut self.total)
            }
            _ => {}
        }
    }

    fn ran(self) -> Option<u64> {
        match (self.passed, self.total) {
            (Some(passed), _) => Some(passed.saturating_add(self.failed)),
            (None, Some(total)) => Some(total.saturating_sub(self.skipped.unwrap_or(0))),
            (None, None) if self.failed > 0 || self.skipped.is_some() => Some(self.failed),
            (None, None) => None,
        }
    }
}

/// Reads an output, colours already removed.
pub fn counts(output: &str) -> Counts {
    // One tally a format: what two programs said may not be mixed.
    let mut tallies = vec![Tally::default(); PATTERNS.summaries.len() + 1];
    let mut counts = Counts::default();
    let mut points = Tally::default();
    for line in output.lines().map(str::trim_end).filter(|line| line.len() <= LONGEST) {
        counts.none_found |= PATTERNS.none_found.is_match(line);
        if let Some(at) = PATTERNS.summaries.iter().position(|(_, summary)| summary.is_match(line)) {
            // The line in brackets of unittest tells of the tests of the line before.
            let slot = if SUMMARIES[at].1.starts_with(r"^(?:OK|FAILED) \(") { at - 1 } else { at };
            if SUMMARIES[at].0 == Take::Last {
                tallies[slot] = Tally::default();
            }
            read(line, &mut tallies[slot]);
        } else if let Some(case) = PATTERNS.go_case.captures(line) {
            let word = match &case[1] {
                "PASS" => "passed",
                "FAIL" => "failed",
                _ => "skipped",
            };
            tallies[PATTERNS.summaries.len()].add(word, 1);
        } else if PATTERNS.point.is_match(line) {
            points.add(if PATTERNS.point_skipped.is_match(line) { "skipped" } else { "passed" }, 1);
        } else if PATTERNS.go_package.is_match(line) && !line.contains("[no test") {
            counts.uncounted = true;
        }
        counts.none_found |= PATTERNS.zero.is_match(line);
    }
    // Where a program sums up, its single lines are counted already.
    if tallies.iter().all(|tally| tally.ran().is_none()) {
        tallies.push(points);
    }
    let ran: Vec<u64> = tallies.iter().filter_map(|tally| tally.ran()).collect();
    let skipped: Vec<u64> = tallies.iter().filter_map(|tally| tally.skipped).collect();
    let sum = |all: &[u64]| (!all.is_empty()).then(|| all.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)));
    counts.ran = sum(&ran);
    counts.skipped = sum(&skipped).or(counts.ran.map(|_| 0));
    counts
}

fn read(line: &str, tally: &mut Tally) {
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    let mut found = false;
    // Behind this word googletest names the number of suites.
    let line = if line.starts_with("[=") { line.split(" from ").next().unwrap_or(line) } else { line };
    for pair in PATTERNS.number_word.captures_iter(line) {
        found = true;
        tally.add(&pair[2], number(&pair[1]));
    }
    if !found || line.contains("out of") {
        for pair in PATTERNS.word_number.captures_iter(line) {
            tally.add(&pair[1], number(&pair[2]));
        }
    }
}

/// Tells whether an output says that nothing was found to run, in words that no failing test has.
pub(super) fn says_none_found(output: &str) -> bool {
    output.lines().any(|line| PATTERNS.none_found.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r28_tests_and_skips_are_counted() {
        let check = |output: &str, ran: u64, skipped: u64| {
            let counts = counts(output);
            assert_eq!((counts.ran, counts.skipped), (Some(ran), Some(skipped)), "{output}");
            assert!(!counts.nothing_ran(), "{output}");
        };
        let libtest = "running 3 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s\n";
        check(libtest, 2, 1);
        check(
            &format!(
                "{libtest}\n   Doc-tests x\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
            ),
            2,
            1,
        );
        check("test result: FAILED. 2 passed; 1 failed; 0 ignored; 1 measured; 0 filtered out", 4, 0);
        check("     Summary [   5.658s] 38 tests run: 37 passed (1 slow, 1 flaky), 1 failed, 5 skipped", 38, 5);
        check("     Summary [   0.1s] 3/9 tests run: 1 passed, 1 failed, 1 timed out, 0 skipped", 3, 0);
        check("===== 1 failed, 9 passed, 2 skipped, 1 xfailed, 3 warnings in 0.12s =====", 11, 2);
        check("9 passed in 61.20s (0:01:01)", 9, 0);
        check("1 failed, 2 errors in 0.10s", 3, 0);
        check("Ran 5 tests in 0.001s\n\nOK", 5, 0);
        check("Ran 5 tests in 0.001s\n\nFAILED (failures=1, skipped=2)", 3, 2);
        check(
            "Test Suites: 1 passed, 1 total\nTests:       1 failed, 2 skipped, 9 passed, 12 total\nSnapshots:   0 total",
            10,
            2,
        );
        check("Tests:       2 failed, 2 total", 2, 0);
        check(" Test Files  1 passed (1)\n      Tests  1 failed | 9 passed | 2 skipped (12)", 10, 2);
        check("  9 passing (20ms)\n  2 pending\n  1 failing\n", 10, 2);
        check(" 5 pass\n 1 skip\n 0 fail\n 7 expect() calls\nRan 6 tests across 1 files.", 5, 1);
        check("  1 failed\n  2 skipped\n  5 passed (2.3s)", 6, 2);
        check("# tests 6\n# suites 0\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0", 5, 1);
        check("ok | 5 passed | 1 failed | 2 ignored (10ms)", 6, 2);
        check("10 examples, 1 failure, 2 pending", 8, 2);
        check("7 tests, 0 failures, 1 skipped", 6, 1);
        check("8 runs, 12 assertions, 0 failures, 0 errors, 1 skips", 7, 1);
        check(
            "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in A\n[INFO] Tests run: 5, Failures: 1, Errors: 0, Skipped: 1\n",
            4,
            1,
        );
        check("OK (5 tests, 10 assertions)", 5, 0);
        check("Tests: 5, Assertions: 10, Failures: 1, Skipped: 1.", 4, 1);
        check("Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 3 ms", 5, 1);
        check("80% tests passed, 1 tests failed out of 5", 5, 0);
        check("[==========] 3 tests from 1 test suite ran. (0 ms total)", 3, 0);
        check("DONE 12 tests, 1 skipped in 0.2s", 11, 1);
        check("TAP version 13\nok 1 - a\n    ok 1 - inner\nnot ok 2 - b\nok 3 - c # SKIP not here\n1..3", 2, 1);
        check("ok - an adult pays\nnot ok - a child pays half\nok", 2, 0);
        check("ok 1 - a\nok 2 - b # skip\n# tests 2\n# pass 1\n# skipped 1", 1, 1);
        check(
            "Executed 2 tests, with 0 failures (0 unexpected) in 0.1 seconds\nExecuted 5 tests, with 1 failure (0 unexpected) in 0.1 seconds",
            5,
            0,
        );
        check("--- PASS: TestA (0.00s)\n    --- SKIP: TestA/b (0.00s)\n--- FAIL: TestC (0.00s)\nFAIL\tx\t0.1s", 2, 1);
    }

    #[test]
    fn fc_42_no_test_at_all_is_seen() {
        for output in [
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out",
            "test result: ok. 0 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out",
            "Summary [ 0.0s] 0 tests run: 0 passed, 5 skipped\nerror: no tests to run",
            "collected 0 items\n\n===== no tests ran in 0.01s =====",
            "===== 3 skipped in 0.01s =====",
            "Ran 0 tests in 0.000s\n\nOK",
            "No tests found, exiting with code 0",
            "No test files found, exiting with code 0",
            "      Tests  no tests",
            "  0 passing (1ms)",
            "?   \tx\t[no test files]\nok  \tx/y\t0.01s [no tests to run]",
            "testing: warning: no tests to run\nPASS",
            "0 tests",
            "0 tests, 0 failures",
            "No tests were found!!!",
            "# tests 0\n# pass 0\n# fail 0",
            "OK (0 tests, 0 assertions)",
        ] {
            assert!(counts(output).nothing_ran(), "{output}: {:?}", counts(output));
        }
    }

    #[test]
    fn what_tells_nothing_is_not_zero() {
        for output in [
            "",
            "warning: unused\n    Finished `dev` profile",
            "ok  \tx\t0.01s\n?   \tx/y\t[no test files]",
            "ok  \tx\t(cached)",
            "10 tests",
            "FAIL\tx [build failed]\n?   \tx/y\t[no test files]",
        ] {
            let counts = counts(output);
            assert!(counts.ran.is_none() && !counts.nothing_ran(), "{output}: {counts:?}");
        }
    }
}
