//! Which files are read, and which are not.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fixture::Folder;
use report::Sources;

use super::{SourceRoots, path_below_root};

fn roots(folder: &Folder) -> SourceRoots {
    SourceRoots::given(&[folder.path("root")]).expect("the root is there")
}

fn first_line(roots: &SourceRoots, class: &str, file: &str) -> Option<String> {
    roots.find(class, file).map(|file| file.line(1).unwrap_or("").to_owned())
}

#[test]
fn a_source_stands_below_its_package() {
    let folder = Folder::new();
    folder.file("root/bank/Account.java", "class Account");
    folder.file("root/Top.java", "class Top");
    let roots = roots(&folder);
    assert_eq!(first_line(&roots, "bank.Account$Inner", "Account.java").as_deref(), Some("class Account"));
    assert_eq!(first_line(&roots, "Top", "Top.java").as_deref(), Some("class Top"));
    assert_eq!(first_line(&roots, "Account", "Account.java"), None);
}

#[test]
fn names_that_lead_out_are_refused() {
    let folder = Folder::new();
    folder.file("secret", "password");
    folder.file("root/bank/Account.java", "class Account");
    let roots = roots(&folder);
    for (class, file) in [
        ("bank.Account", "../../secret"),
        ("bank.Account", "../../../../../../../../etc/passwd"),
        ("bank.Account", "/etc/passwd"),
        ("bank.Account", ".."),
        ("bank.Account", ""),
        ("bank.Account", "a\0b"),
        ("bank.Account", "..\\secret"),
        ("../x.Account", "secret"),
        ("..x.Account", "secret"),
        ("bank..Account", "Account.java"),
    ] {
        assert_eq!(path_below_root(class, file), None, "{class} {file}");
        assert!(roots.find(class, file).is_none(), "{class} {file}");
    }
}

#[test]
fn links_out_of_the_root_are_refused_and_links_within_are_followed() {
    let folder = Folder::new();
    let secret = folder.file("secret", "password");
    folder.file("outside/Folder.java", "password");
    let real = folder.file("root/bank/Real.java", "class Real");
    symlink(&secret, folder.path("root/bank/Link.java")).unwrap();
    symlink(&real, folder.path("root/bank/Inside.java")).unwrap();
    symlink(folder.path("outside"), folder.path("root/linked")).unwrap();
    let roots = roots(&folder);
    assert_eq!(first_line(&roots, "bank.A", "Link.java"), None);
    assert_eq!(first_line(&roots, "linked.A", "Folder.java"), None);
    assert_eq!(first_line(&roots, "bank.A", "Inside.java").as_deref(), Some("class Real"));
}

#[test]
fn pipes_folders_and_big_files_are_not_read() {
    let folder = Folder::new();
    folder.file("root/Big.java", &"x".repeat((1 << 20) + 1));
    folder.file("root/JustFits.java", &"x".repeat(1 << 20));
    fs::create_dir(folder.path("root/Folder.java")).unwrap();
    let made = Command::new("mkfifo").arg(folder.path("root/Pipe.java")).status().unwrap();
    assert!(made.success());
    let roots = roots(&folder);
    assert!(roots.find("A", "Pipe.java").is_none());
    assert!(roots.find("A", "Folder.java").is_none());
    assert!(roots.find("A", "Big.java").is_none());
    assert!(roots.find("A", "JustFits.java").is_some());
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    let folder = Folder::new();
    let path = folder.file("root/Latin.java", "");
    fs::write(path, b"// caf\xe9\nclass Latin").unwrap();
    assert_eq!(first_line(&roots(&folder), "Latin", "Latin.java").as_deref(), Some("// caf\u{fffd}"));
}

#[test]
fn roots_are_found_beside_and_above_the_input() {
    let folder = Folder::new();
    for root in ["main/java", "main/kotlin", "test/java", "jmh/scala"] {
        folder.file(&format!("maven/src/{root}/p/{}.java", root.replace('/', "")), root);
    }
    for input in ["maven/target/classes/p", "maven/build/classes/java/main/p"] {
        fs::create_dir_all(folder.path(input)).unwrap();
        let roots = SourceRoots::found(&[folder.path(input).parent().unwrap().to_owned()]);
        assert_eq!(first_line(&roots, "p.A", "mainjava.java").as_deref(), Some("main/java"), "{input}");
        assert_eq!(first_line(&roots, "p.A", "mainkotlin.java").as_deref(), Some("main/kotlin"), "{input}");
        assert_eq!(first_line(&roots, "p.A", "testjava.java").as_deref(), Some("test/java"), "{input}");
        assert_eq!(first_line(&roots, "p.A", "jmhscala.java").as_deref(), Some("jmh/scala"), "{input}");
    }
}

#[test]
fn the_nearest_folder_with_sources_ends_the_search_and_so_does_a_repository() {
    let folder = Folder::new();
    folder.file("src/Far.java", "far");
    folder.file("near/src/Near.java", "near");
    let jar = folder.file("near/target/app.jar", "");
    let roots = SourceRoots::found(std::slice::from_ref(&jar));
    assert_eq!(first_line(&roots, "A", "Near.java").as_deref(), Some("near"));
    assert_eq!(first_line(&roots, "A", "Far.java"), None);

    let jar = folder.file("other/app.jar", "");
    assert_eq!(first_line(&SourceRoots::found(std::slice::from_ref(&jar)), "A", "Far.java").as_deref(), Some("far"));
    fs::create_dir(folder.path("other/.git")).unwrap();
    assert_eq!(first_line(&SourceRoots::found(&[jar]), "A", "Far.java"), None);
}

#[test]
fn a_given_root_must_be_a_folder() {
    let folder = Folder::new();
    let file = folder.file("Account.java", "");
    assert!(SourceRoots::given(&[file]).is_err());
    assert!(SourceRoots::given(&[Path::new("/nowhere/at/all").to_owned()]).is_err());
}
