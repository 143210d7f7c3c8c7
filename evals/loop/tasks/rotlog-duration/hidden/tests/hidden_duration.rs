use rotlog::duration::parse_duration;
use rotlog::ConfigError;

#[test]
fn durations() {
    assert_eq!(parse_duration("90s"), Ok(90));
    assert_eq!(parse_duration("15m"), Ok(900));
    assert_eq!(parse_duration("6h"), Ok(21600));
    assert_eq!(parse_duration("2d"), Ok(172800));
    assert_eq!(parse_duration("soon"), Err(ConfigError::BadValue("soon".into())));
}
