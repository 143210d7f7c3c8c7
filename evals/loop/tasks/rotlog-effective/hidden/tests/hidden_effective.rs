use rotlog::Config;

#[test]
fn effective() {
    let fleet = Config::parse("keep_days = 30\ncompress = yes").unwrap();
    let host = Config::parse("path = /var/log/relay.log\nkeep_days = 3\ncompress = no\nmax_size = 5").unwrap();
    let got = Config::effective(fleet, host);
    assert_eq!(got, Config::parse("path = /var/log/relay.log\nkeep_days = 30\ncompress = yes\nmax_size = 5").unwrap());
}
