# Everything that CI checks
ci:
    .ci/run

# Memories from the bundled logs, offline
demo:
    cargo run -- run fixtures --extractor rules --db demo.db

test *args:
    cargo test --workspace {{args}}

# What needs encryption at rest, which builds OpenSSL; then the tests of the store with every file encrypted
encrypted:
    cargo clippy --all-targets --features encryption -- -D warnings
    cargo test --features encryption --lib cipher
    cargo test --features encryption --test it encryption
    AFTERTHOUGHT_DB_KEY=$(openssl rand -hex 32) cargo test --features encryption --lib store

lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- -D warnings

# The library without the program, and the log readers alone
parts:
    cargo build --lib --no-default-features
    cargo test --package transcripts

# Ratios against a fixed-delay server, in one run
bench:
    cargo bench --bench pipeline

# Accept changed snapshots after reading them
review:
    cargo insta review

# Feed a family of formats with damaged logs, e.g. `just fuzz agents`; needs cargo-fuzz
fuzz target seconds="600":
    cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run -s none {{target}} -- -max_total_time={{seconds}} -max_len=65536 -timeout=25 -rss_limit_mb=3072
