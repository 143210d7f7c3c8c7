# Everything that CI checks
ci:
    .ci/run

# Memories from the bundled logs, offline
demo:
    cargo run -- run fixtures --extractor rules --db demo.db

test *args:
    cargo test {{args}}

lint:
    cargo fmt --all
    cargo clippy --all-targets -- -D warnings

# Ratios against a fixed-delay server, in one run
bench:
    cargo bench --bench pipeline

# Accept changed snapshots after reading them
review:
    cargo insta review
