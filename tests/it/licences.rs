//! Every crate that is built into the program has a licence on the list.

use std::process::Command;

/// Licences that may be linked in. The README says more about libgit2.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "MIT-0",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "MPL-2.0",
];

/// Tells whether one alternative of an expression is made of allowed licences.
fn fine(expression: &str) -> bool {
    let expression = expression.replace(['(', ')'], " ").replace('/', " OR ");
    let known = |licence: &str| ALLOWED.contains(&licence.trim());
    expression.split(" OR ").any(|alternative| alternative.split(" AND ").all(known))
        || expression.split(" AND ").all(|part| part.split(" OR ").any(known))
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo metadata");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let all: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = all["packages"].as_array().expect("packages");
    assert!(packages.len() > 50, "a look at {} packages proves nothing", packages.len());
    let bad: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(fine))
        .map(|package| format!("{} {}", package["name"], package["license"]))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

#[test]
fn copyleft_is_refused() {
    assert!(fine("MIT OR Apache-2.0") && fine("(MIT OR Apache-2.0) AND Unicode-3.0") && fine("MIT/Apache-2.0"));
    assert!(!fine("GPL-3.0-only") && !fine("MIT AND GPL-2.0") && !fine(""));
}
