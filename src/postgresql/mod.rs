//! Connections to a PostgreSQL server, which keeps logs of changes and the queue of many workers.
//!
//! All tables are in the schema `afterthought`. Passwords come from the environment or a password file, as for other
//! clients of PostgreSQL, and never from an address, because addresses are stored and shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::postgres::config::Host;
use ::postgres::error::SqlState;
use ::postgres::{Client, Config, Error, NoTls};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Version of the tables; it increases whenever an older program could not use them.
const VERSION: i32 = 1;
/// Maximum wait for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between attempts to reach the server.
const RETRY: Duration = Duration::from_millis(200);
/// Key of the lock under which the tables are created.
const CREATION_LOCK: i64 = 0x6166_7465_7274_6874;

/// Reasons why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    /// The address contains a password.
    #[error(
        "the address contains a password, which would be stored and shown; remove it, and set PGPASSWORD, or use a \
         password file (see PGPASSFILE)"
    )]
    Password,
    /// The address cannot be read. It is not repeated, because it may contain a password.
    #[error("the address of the PostgreSQL server cannot be read; write it like postgres://user@host/database")]
    Address,
    /// Other users can read the password file.
    #[error("other users can read the password file {}; run `chmod 600` on it", .path.display())]
    OpenPasswordFile {
        /// The file.
        path: PathBuf,
    },
    /// The system's certificates cannot be used.
    #[error("cannot use the certificates of this system: {0}")]
    Certificates(rustls::Error),
    /// The server does not answer, or refuses a command.
    #[error("cannot use the PostgreSQL server {address}: {what}; nothing was lost")]
    Server {
        /// The address as the user wrote it.
        address: String,
        /// The message from the server or the system.
        what: String,
    },
    /// The tables belong to a newer version of the program.
    #[error("the tables in {address} belong to a newer version of afterthought; update afterthought on this machine")]
    Newer {
        /// The address as the user wrote it.
        address: String,
    },
}

/// A connection that is opened when it is needed, and reopened after it was lost.
pub(crate) struct Connection {
    config: Config,
    address: String,
    patience: Duration,
    client: Option<Client>,
}

/// An error that another attempt may avoid, or one that ends the work.
enum Failure {
    Passing(PostgresError),
    Lasting(PostgresError),
}

impl Connection {
    /// Returns a connection to the server at `address`, which is not contacted yet. If the connection is lost, attempts
    /// to reopen it continue for at most `patience`.
    ///
    /// # Errors
    /// [`PostgresError`] if the address or the password file cannot be used.
    pub(crate) fn new(address: &str, patience: Duration) -> Result<Self, PostgresError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut config: Config = address.parse().map_err(|_| PostgresError::Address)?;
        if config.get_password().is_some() {
            return Err(PostgresError::Password);
        }
        if config.get_user().is_none()
            && let Some(user) = variable("PGUSER")
        {
            config.user(&user);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.application_name("afterthought");
        let file =
            || variable("PGPASSFILE").map(PathBuf::from).or_else(|| Some(etcetera::home_dir().ok()?.join(".pgpass")));
        let password = match variable("PGPASSWORD") {
            Some(password) => Some(password),
            None => file().map_or(Ok(None), |file| password_in(&file, &config))?,
        };
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Self { config, address: address.to_owned(), patience, client: None })
    }

    /// Returns the result of `work`, which is repeated if the connection is lost or the server restarts. The work must
    /// therefore have the same effect if it is done twice.
    ///
    /// # Errors
    /// [`PostgresError`] if the server does not answer, or refuses a command.
    pub(crate) fn with<T: Send>(
        &mut self,
        work: impl Fn(&mut Client) -> Result<T, Error> + Send + Sync,
    ) -> Result<T, PostgresError> {
        let begun = Instant::now();
        loop {
            // The client uses a separate runtime, which must not be inside the runtime of a caller.
            let done = std::thread::scope(|scope| scope.spawn(|| self.attempt(&work)).join());
            match done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(value) => return Ok(value),
                Err(Failure::Passing(error)) if begun.elapsed() < self.patience => {
                    tracing::warn!("{error}; trying again");
                    std::thread::sleep(RETRY);
                }
                Err(Failure::Passing(error) | Failure::Lasting(error)) => return Err(error),
            }
        }
    }

    fn attempt<T>(&mut self, work: &impl Fn(&mut Client) -> Result<T, Error>) -> Result<T, Failure> {
        let mut client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.connect()?,
        };
        let done = work(&mut client);
        let is_closed = client.is_closed();
        if !is_closed {
            self.client = Some(client);
        }
        done.map_err(|error| self.failure(&error, is_closed))
    }

    fn failure(&self, error: &Error, is_closed: bool) -> Failure {
        let passing = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        let what = error.as_db_error().map_or_else(|| with_source(error), |error| error.message().to_owned());
        let failed = PostgresError::Server { address: self.address.clone(), what };
        match error.code() {
            Some(code) if !passing.contains(code) => Failure::Lasting(failed),
            Some(_) => Failure::Passing(failed),
            None if is_closed || error.is_closed() => Failure::Passing(failed),
            None => Failure::Lasting(failed),
        }
    }

    fn connect(&self) -> Result<Client, Failure> {
        // A server that is starting refuses connections for a few moments.
        let refused = |error: Error| self.failure(&error, true);
        let is_local = |host: &Host| matches!(host, Host::Unix(_));
        let mut client = if self.config.get_hosts().iter().all(is_local) {
            self.config.connect(NoTls).map_err(refused)?
        } else {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .and_then(|builder| Ok(builder.with_platform_verifier()?.with_no_client_auth()))
                .map_err(|error| Failure::Lasting(PostgresError::Certificates(error)))?;
            self.config.connect(MakeRustlsConnect::new(tls)).map_err(refused)?
        };
        let version = create_tables(&mut client).map_err(|error| self.failure(&error, client.is_closed()))?;
        if version > VERSION {
            return Err(Failure::Lasting(PostgresError::Newer { address: self.address.clone() }));
        }
        Ok(client)
    }
}

/// Creates the tables if they are missing, and returns their version.
fn create_tables(client: &mut Client) -> Result<i32, Error> {
    let exists = |client: &mut Client| -> Result<bool, Error> {
        let row = client.query_one("SELECT to_regclass('afterthought.version') IS NOT NULL", &[])?;
        Ok(row.get(0))
    };
    if !exists(client)? {
        // Machines that start at the same time must create the tables only once.
        client.execute("SELECT pg_advisory_lock($1)", &[&CREATION_LOCK])?;
        let created = match exists(client) {
            Ok(false) => client.batch_execute(&format!(
                "BEGIN; CREATE SCHEMA IF NOT EXISTS afterthought; {} COMMIT",
                include_str!("schema.sql")
            )),
            other => other.map(drop),
        };
        if created.is_err() {
            client.batch_execute("ROLLBACK").ok();
        }
        client.execute("SELECT pg_advisory_unlock($1)", &[&CREATION_LOCK])?;
        created?;
    }
    Ok(client.query_one("SELECT version FROM afterthought.version", &[])?.get(0))
}

/// Returns the message of an error together with that of its source, which contains the message of the system.
fn with_source(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Returns the password for a server from a password file; `None` if the file does not exist or names another server.
fn password_in(file: &Path, config: &Config) -> Result<Option<String>, PostgresError> {
    let Ok(text) = fs::read_to_string(file) else { return Ok(None) };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o077 != 0) {
            return Err(PostgresError::OpenPasswordFile { path: file.to_owned() });
        }
    }
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        // Sockets are listed under this name.
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let wanted = [host.as_str(), &port, config.get_dbname().unwrap_or(user), user];
    let fits = |fields: &[String]| {
        fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
    };
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(fields_of);
    Ok(lines.filter(|fields| fits(fields)).find_map(|fields| fields.into_iter().next_back()))
}

/// Returns the fields of a line, which are separated by colons; a backslash protects the next character.
fn fields_of(line: &str) -> Vec<String> {
    let (mut fields, mut characters) = (vec![String::new()], line.chars());
    while let Some(character) = characters.next() {
        match character {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().into_iter().for_each(|field| field.extend(characters.next())),
            other => fields.last_mut().into_iter().for_each(|field| field.push(other)),
        }
    }
    fields
}

#[cfg(test)]
#[path = "server_tests.rs"]
pub(crate) mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_in_a_file_and_refused_in_an_address() {
        let secret = ["correct", "horse"].join("-");
        for address in [format!("postgres://ana:{secret}@db/x"), format!("postgres:///x?host=/run&password={secret}")] {
            let error = Connection::new(&address, Duration::ZERO).err().unwrap().to_string();
            assert!(error.contains("PGPASSWORD") && !error.contains(&secret), "{error}");
        }
        let wrong = format!("postgres://ana:{secret}@db:port/x");
        let error = Connection::new(&wrong, Duration::ZERO).err().unwrap().to_string();
        assert!(error.contains("cannot be read") && !error.contains(&secret), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pgpass");
        fs::write(&file, format!("# servers\nother:5432:x:ana:no\ndb:*:x:ana:{}:e\\\\\\:\n", "a\\:b")).unwrap();
        let config: Config = "postgres://ana@db/x".parse().unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o644);
            assert!(matches!(password_in(&file, &config), Err(PostgresError::OpenPasswordFile { .. })));
            mode(0o600);
        }
        // The fifth field contains a colon, so the line has one field too many and is not used.
        assert_eq!(password_in(&file, &config).unwrap(), None);
        fs::write(&file, "db:*:x:ana:a\\:b\\\\\n").unwrap();
        assert_eq!(password_in(&file, &config).unwrap().as_deref(), Some("a:b\\"));
        assert_eq!(password_in(&folder.path().join("none"), &config).unwrap(), None);
    }

    #[test]
    fn a_server_that_does_not_answer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("postgres:///x?user=ana&host={}", folder.path().display());
        let mut connection = Connection::new(&address, Duration::ZERO).unwrap();
        let error = connection.with(|client| client.batch_execute("SELECT 1")).unwrap_err().to_string();
        assert!(error.contains(&address) && error.contains("nothing was lost"), "{error}");
    }
}
