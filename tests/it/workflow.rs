//! The workflow to copy: what an action linter does not ask for.

#[test]
fn the_ready_made_workflow_is_pinned_and_asks_for_little() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/github-actions/pushback.yml");
    let text = std::fs::read_to_string(path).expect("the workflow");
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let has = |what: &str| code.iter().any(|line| line.trim_start().starts_with(what));
    for event in [
        "push:",
        "pull_request_review:",
        "pull_request_review_comment:",
        "issue_comment:",
        "check_run:",
        "check_suite:",
        "merge_group:",
        "schedule:",
    ] {
        assert!(has(event), "{event}");
    }
    assert!(!code.iter().any(|line| line.contains("pull_request_target")), "never with the code of a pull request");
    let pin = regex::Regex::new(r"^uses: [\w./-]+@[0-9a-f]{40} # v\d").expect("a pattern");
    let uses: Vec<&str> = code.iter().map(|line| line.trim_start()).filter(|line| line.starts_with("uses:")).collect();
    assert!(!uses.is_empty() && uses.iter().all(|line| pin.is_match(line)), "{uses:?}");
    assert!(code.contains(&"permissions: {}"), "nothing by default");
    let rights: Vec<&str> = code.iter().map(|line| line.trim()).filter(|line| line.ends_with(": write")).collect();
    assert_eq!(rights, ["statuses: write"], "one thing is written");
    // What an event says reaches the shell as a variable only, never as text of the script.
    let mut in_script = None;
    for line in &code {
        let depth = line.len() - line.trim_start().len();
        match in_script {
            Some(start) if depth > start || line.trim().is_empty() => assert!(!line.contains("${{"), "{line}"),
            _ => in_script = line.trim_start().starts_with("run:").then_some(depth),
        }
    }
}
