use rotlog::size::parse_size;
use rotlog::ConfigError;

#[test]
fn sizes() {
    assert_eq!(parse_size("5"), Ok(5_000_000));
    assert_eq!(parse_size("64K"), Ok(64_000));
    assert_eq!(parse_size("3M"), Ok(3_000_000));
    assert_eq!(parse_size("2G"), Ok(2_000_000_000));
    assert_eq!(parse_size("many"), Err(ConfigError::BadValue("many".into())));
}
