//! Tasks.
#![allow(clippy::print_stdout, reason = "tasks speak on the terminal")]

mod bench_classes;

fn main() -> anyhow::Result<()> {
    bench_classes::run()
}
