use rotlog::{Config, ConfigError};

#[test]
fn reads_settings() {
    let c = Config::parse("# app\npath = /var/log/app.log  # main\nkeep_days = 30\ncompress = on\n").unwrap();
    assert_eq!(c.path.as_deref(), Some("/var/log/app.log"));
    assert_eq!(c.keep_days, Some(30));
    assert_eq!(c.compress, Some(true));
    assert_eq!(c.max_size, None);
}

#[test]
fn says_what_is_wrong() {
    assert_eq!(Config::parse("path"), Err(ConfigError::NoValue(1)));
    assert_eq!(Config::parse("pth = x"), Err(ConfigError::UnknownKey("pth".into())));
    assert_eq!(Config::parse("keep_days = soon"), Err(ConfigError::BadValue("soon".into())));
}
