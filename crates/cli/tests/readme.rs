//! The README shows what the tool really says of the bundled example. `./x bless` refreshes it.

use std::fs;
use std::process::Command;

use fixture::{Fixture, cache, compile, test_jdk, workspace};

/// The output stands in the code block after this line.
const START: &str = "<!-- the output of ./x demo -->\n```text\n";
const END: &str = "```\n";

#[test]
fn the_readme_shows_the_output_of_the_demo() {
    let sources = ["Account", "Family", "Ledger"];
    let sources = sources.map(|name| workspace().join(format!("examples/bank/src/bank/{name}.java")));
    let fixture = [Fixture::new("examples/bank".to_owned(), &sources).unwrap()];
    let compiled = compile(&fixture, &test_jdk().unwrap(), &cache()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fissure"))
        .args(["check", "--source-root", "examples/bank/src"])
        .arg(&compiled[0].classes)
        .current_dir(workspace())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();

    let path = workspace().join("README.md");
    let readme = fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(START).expect("README.md has a block for the output");
    let (shown, after) = rest.split_once(END).expect("the block ends");
    if std::env::var_os("FISSURE_BLESS").is_some() {
        fs::write(&path, format!("{before}{START}{output}{END}{after}")).unwrap();
    } else {
        assert_eq!(shown, output, "README.md shows old output: run ./x bless");
    }
}
