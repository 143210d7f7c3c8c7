//! Products and settings with known names, each with the attribute whose value it is.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

/// How strictly the case of a name is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// Case is ignored.
    Any,
    /// The capitals must match the table, since the lower-case word is a common word.
    Exact,
}

/// Attribute, names that ignore case, and names with exactly these capitals. Names are separated by `|`, and
/// alternative spellings of a name by `=`.
#[rustfmt::skip]
const ATTRIBUTES: &[(&str, &str, &str)] = &[
    ("deploy_target", "Heroku|Fly.io=flyio|Vercel|Netlify|AWS=Amazon Web Services|GCP=Google Cloud=Google Cloud Platform|\
      Azure|DigitalOcean=Digital Ocean|Hetzner|Linode|Cloudflare Workers|Cloudflare Pages|Cloudflare|\
      Kubernetes=k8s|Cloud Run|AWS Lambda|Fargate|Railway|Firebase Hosting|GitHub Pages|OVH|Scaleway|\
      Alibaba Cloud=Aliyun=阿里云|Tencent Cloud=腾讯云|Huawei Cloud=华为云|Elastic Beanstalk|App Engine|Dokku|\
      Coolify|Docker Swarm|OpenShift|Nomad", "Fly.io=Fly|Render|ECS|EKS|GKE|EC2|Lambda"),
    ("database", "PostgreSQL=Postgres=PG|MySQL|MariaDB|SQLite|MongoDB=Mongo|DynamoDB|CockroachDB|Supabase|PlanetScale|\
      Neon|Firestore|Cassandra|ClickHouse|DuckDB|SQL Server=MSSQL|Turso|libSQL|TiDB|OceanBase|CouchDB|\
      Neo4j|Snowflake|BigQuery|Redshift|SurrealDB", "Oracle"),
    ("cache", "Redis|Memcached|Valkey|KeyDB", ""),
    ("queue", "Kafka|RabbitMQ|SQS|Celery|BullMQ|Sidekiq|RocketMQ|Pulsar", "NATS"),
    ("language", "TypeScript|JavaScript|Python|Golang|Kotlin|Java|C++|C#|F#|Ruby|PHP|Scala|Haskell|Elixir|Erlang|\
      Clojure|OCaml|Zig|Perl|Lua|Objective-C|Solidity", "Go|Rust|Swift|Dart|Julia|Elm|Nim|R|C"),
    ("framework", "Next.js=NextJS|Nuxt|SvelteKit|Svelte|Vue.js=Vue=VueJS|Angular|Django|Flask|FastAPI|\
      Rails=Ruby on Rails|Laravel|Spring Boot|NestJS|Express.js=ExpressJS|Remix|Astro|SolidJS|Axum|Actix|\
      Phoenix|ASP.NET|Fastify|Hono|React Native|Flutter|Symfony|Qwik|htmx|Tauri|Electron|Leptos", "React|Express.js=Express|Spring|Gin|Rocket"),
    ("package_manager", "pnpm|npm|Yarn|Bun|Poetry|uv|pipenv|Conda|Mamba|Homebrew|Maven|Gradle|Composer|pip|pdm", ""),
    ("test_runner", "Jest|Vitest|Mocha|pytest|unittest|RSpec|JUnit|PHPUnit|nextest|cargo-nextest", "Ava"),
    ("e2e_tests", "Playwright|Cypress|Selenium|Puppeteer", ""),
    ("ci", "GitHub Actions|GitLab CI=GitLab CI/CD|CircleCI=Circle CI|Jenkins|Travis CI=Travis|Buildkite|TeamCity|\
      Drone CI|Azure Pipelines|Bitbucket Pipelines|Woodpecker CI|Concourse CI", ""),
    ("editor", "VS Code=VSCode=Visual Studio Code|Neovim=nvim|Emacs|Vim|IntelliJ=IntelliJ IDEA|PyCharm|WebStorm|\
      GoLand|RustRover|Sublime Text=Sublime|Xcode|Android Studio|Notepad++|JetBrains", "Helix|Zed|Cursor|Atom|Nano|Kakoune"),
    ("os", "macOS=Mac OS=OS X|Ubuntu|Debian|Fedora|Arch Linux|NixOS|Linux|Windows 11|Windows 10|WSL=WSL2|\
      Linux Mint|Pop!_OS|FreeBSD", "Windows|Arch"),
    ("shell", "zsh|bash|PowerShell|nushell", "fish"),
    ("orm", "Prisma|Drizzle|TypeORM|SQLAlchemy|Sequelize|Diesel|sqlx|SeaORM|Hibernate|GORM|MyBatis", ""),
    ("styling", "Tailwind CSS=Tailwind|Bootstrap|Sass=SCSS|styled-components|CSS modules|Chakra UI|Material UI=MUI|\
      shadcn", ""),
    ("formatter", "Prettier|Biome|rustfmt|gofmt|clang-format|dprint", "Black"),
    ("linter", "ESLint|oxlint|Pylint|flake8|Ruff|clippy|golangci-lint|RuboCop", ""),
    ("bundler", "Vite|Webpack|esbuild|Rollup|Turbopack|Parcel|Rspack", ""),
    ("email_provider", "Postmark|SendGrid|Mailgun|Mailchimp", "SES|Resend"),
    ("monitoring", "Datadog|Sentry|Grafana|Prometheus|New Relic|Honeycomb", ""),
    ("issue_tracker", "Jira|GitHub Issues|Trello|Asana|Shortcut|YouTrack", "Linear"),
    ("auth_provider", "Auth0|Clerk|Keycloak|Okta|Cognito|NextAuth", ""),
    ("payments", "Stripe|PayPal|Adyen|Braintree|Alipay=支付宝|WeChat Pay=微信支付", ""),
    ("feature_flags", "LaunchDarkly|Unleash|Flagsmith", ""),
    ("validation", "zod|Pydantic|Joi|Yup|Valibot", ""),
    ("state_management", "Redux|Zustand|MobX|Pinia|Vuex", ""),
    ("search_engine", "Elasticsearch|OpenSearch|Meilisearch|Typesense|Algolia", ""),
    ("container", "Docker|Podman|containerd", ""),
    ("infrastructure", "Terraform|Pulumi|Ansible|CloudFormation|OpenTofu", ""),
    ("api_style", "GraphQL|gRPC|tRPC|REST", ""),
    ("version_control", "Jujutsu|Mercurial", ""),
    ("indentation", "tabs=制表符=tab 缩进=tab缩进|spaces=空格|two spaces=2 spaces=2-space indentation=两个空格=2个空格=2 个空格|\
      four spaces=4 spaces=4-space indentation=四个空格=4个空格=4 个空格", ""),
    ("theme", "dark mode=dark theme=深色模式=暗色主题=深色主题=暗黑模式|light mode=light theme=浅色模式=亮色主题=浅色主题", ""),
    ("quotes", "single quotes=单引号|double quotes=双引号", ""),
    ("naming", "snake_case=snake case=下划线命名|camelCase=camel case=驼峰命名=驼峰|kebab-case|PascalCase", ""),
    ("commit_style", "conventional commits|约定式提交", ""),
    ("merge_style", "squash merges=squash merge=squash-merge|merge commits|rebase merges", ""),
];

/// Nouns that name an attribute, with more specific nouns first.
const NOUNS: &[(&str, &str)] = &[
    (
        r"deploy(?:ment)? (?:target|platform|environment)|hosting(?: provider| platform)?|cloud provider|部署(?:目标|平台|环境)?|托管平台|云服务商?",
        "deploy_target",
    ),
    (r"package manager|包管理器|包管理工具", "package_manager"),
    (r"(?:test|testing) (?:runner|framework)|测试框架|测试工具", "test_runner"),
    (r"database|\bDB\b|data store|数据库", "database"),
    (r"(?:default|primary|base) branch|默认分支|主分支", "default_branch"),
    (r"branch nam(?:e|ing)(?: (?:convention|scheme))?|分支命名", "branch_naming"),
    (r"CI(?:/CD)?(?: (?:system|provider|pipeline))?\b|持续集成", "ci"),
    (r"indentation|indent(?: style| size)?|缩进", "indentation"),
    (r"time ?zone|时区", "timezone"),
    (r"(?:code )?editor|\bIDE\b|编辑器", "editor"),
    (r"operating system|操作系统", "os"),
    (r"default shell|\bshell\b", "shell"),
    (r"(?:backend|frontend|web|UI) framework|\bframework\b|框架", "framework"),
    (r"programming language|编程语言|开发语言", "language"),
    (r"(?:message |job |task )?queue|message broker|消息队列", "queue"),
    (r"cache layer|caching layer|\bcache\b|缓存", "cache"),
    (r"\bORM\b", "orm"),
    (r"\blinter\b", "linter"),
    (r"\bformatter\b", "formatter"),
    (r"\bbundler\b|build tool|构建工具", "bundler"),
    (r"issue tracker|bug tracker", "issue_tracker"),
    (r"line length|max(?:imum)? line (?:length|width)|行宽", "line_length"),
    (r"(?:API )?base URL", "base_url"),
    (r"release (?:cadence|schedule|day)|we (?:release|ship|deploy to production)|发布周期", "release_schedule"),
    (r"(?:minimum|supported) (?:\w+ )?version|MSRV", "minimum_version"),
    (r"licen[sc]e|许可证", "license"),
    (r"commit (?:message )?(?:style|format|convention)|提交规范", "commit_style"),
];

/// Attributes of a person rather than of a project.
const PERSONAL: &[&str] = &["editor", "os", "shell", "theme", "timezone"];

/// A known name in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The attribute that has the name as its value, such as `database`.
    pub(super) attribute: &'static str,
    /// The usual spelling of the name, with the version that follows it in the text.
    pub(super) value: String,
    /// The position of the name in the text.
    pub(super) at: usize,
}

struct Name {
    text: &'static str,
    canonical: &'static str,
    attribute: &'static str,
    spelling: Spelling,
}

struct Table {
    names: Vec<Name>,
    finder: AhoCorasick,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut names = Vec::new();
    for &(attribute, any, exact) in ATTRIBUTES {
        for (entries, spelling) in [(any, Spelling::Any), (exact, Spelling::Exact)] {
            for entry in entries.split('|').filter(|entry| !entry.is_empty()) {
                let canonical = entry.split('=').next().unwrap_or(entry);
                names.extend(entry.split('=').map(|text| Name { text, canonical, attribute, spelling }));
            }
        }
    }
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(names.iter().map(|name| name.text))
        .expect("the names are a short list of constants");
    Table { names, finder }
});

static NOUN_PATTERNS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is a constant");
    NOUNS.iter().map(|&(pattern, attribute)| (compile(pattern), attribute)).collect()
});

/// Returns the known names in `text`, in order.
pub(super) fn named(text: &str) -> Vec<Named> {
    let table = &*TABLE;
    let found = table.finder.find_iter(text).filter_map(|found| {
        let name = &table.names[found.pattern().as_usize()];
        let spelled = &text[found.range()];
        let exact = name.spelling == Spelling::Any || spelled == name.text;
        (exact && stands_alone(text, found.start(), found.end())).then(|| Named {
            attribute: name.attribute,
            value: format!("{}{}", name.canonical, version(&text[found.end()..])),
            at: found.start(),
        })
    });
    found.collect()
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '@');
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let next = after.next();
    // `go.mod` does not name Go, and `react-router` does not name React.
    let dotted = matches!(next, Some('.' | '-' | '+' | '#')) && after.next().is_some_and(|c| c.is_ascii_alphanumeric());
    !before.is_some_and(|c| joins(c) || matches!(c, '-' | '.'))
        && !next.is_some_and(|c| joins(c) || matches!(c, '\'' | '’' | '<'))
        && !dotted
}

/// Returns the version number that `rest` begins with, with its space, or an empty string.
fn version(rest: &str) -> &str {
    static VERSION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^ v?\d{1,4}(?:\.\d{1,4}){0,3}\b").expect("the pattern is a constant"));
    // In `Rust 90%` and `Go 10:30`, the number is not a version.
    let end = VERSION.find(rest).map_or(0, |found| found.end());
    if rest[end..].starts_with(['%', '0', ':']) { "" } else { &rest[..end] }
}

/// Returns the attribute that the last words of `text` name, such as `deploy_target` for "our deploy target".
pub(super) fn attribute(text: &str) -> Option<&'static str> {
    let text = text.trim_end();
    let ends = |pattern: &Regex| pattern.find_iter(text).last().is_some_and(|found| found.end() == text.len());
    NOUN_PATTERNS.iter().find(|(pattern, _)| ends(pattern)).map(|&(_, attribute)| attribute)
}

/// Whether `value` may be a value of `attribute`, although it is not a known name.
///
/// If most values of the attribute are known names, any other value must at least look like a name.
pub(super) fn is_plausible(attribute: &str, value: &str) -> bool {
    const STATES: &[&str] =
        &["a", "an", "the", "no", "not", "now", "being", "very", "too", "so", "already", "also", "only", "still"];
    let listed = ATTRIBUTES.iter().any(|(name, _, _)| *name == attribute);
    let words = value.split(' ').count();
    let first = value.split(' ').next().unwrap_or("");
    let name = !value.is_ascii() || value.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit() || c == '`');
    let state = STATES.contains(&first) || (first.len() > 3 && (first.ends_with("ed") || first.ends_with("ing")));
    words <= 6 && !state && (!listed || name)
}

/// Well-known services and companies. A statement about one of them is not a fact about the user's own project.
#[rustfmt::skip]
const ELSEWHERE: &[&str] = &[
    "Airbnb", "Amazon", "Anthropic", "Apple", "ChatGPT", "Claude", "Discord", "Dropbox", "Etsy", "Facebook", "Figma", "GitHub", "GitLab",
    "Google", "Instagram", "LinkedIn", "Meta", "Microsoft", "Mozilla", "Netflix", "Nintendo", "Notion", "OpenAI", "Pinterest", "Reddit",
    "Shopify", "Signal", "Slack", "Sony", "Spotify", "Stack", "Steam", "Telegram", "TikTok", "Twitch", "Twitter", "Uber", "WhatsApp",
    "Wikipedia", "WordPress", "YouTube", "Zoom",
];
/// Words that are capitalised at the start of a sentence but are not names.
#[rustfmt::skip]
const PRONOUNS: &[&str] = &[
    "Amazing", "Awesome", "Cool", "Excellent", "Great", "Nice", "Perfect", "Wonderful", "A", "All", "Another", "Anything", "Both", "Each", "Either", "Every", "Everybody", "Everyone", "Everything", "He", "I", "It", "Most", "My",
    "And", "Also", "But", "Her", "His", "If", "Its", "Is", "Our", "So", "Their", "Today", "Tomorrow", "When", "Yesterday", "Your", "Neither", "Nobody", "None", "Nothing", "One", "She", "Some", "Somebody", "Someone", "Something", "That", "The", "There", "These", "They",
    "This", "Those", "We", "What", "Which", "Who", "You",
];

/// Whether `what` begins with the name of something that does not belong to the user.
pub(super) fn is_elsewhere(what: &str) -> bool {
    let first = what.split([' ', '\'', '’']).next().unwrap_or("");
    let capital = first.starts_with(char::is_uppercase);
    ELSEWHERE.contains(&first) || (capital && named(what).first().is_some_and(|named| named.at == 0))
}

/// Whether `what` may be the name of the user's own project, or of a part of it: "Marlin", "Marlin's staging".
pub(super) fn is_project(what: &str) -> bool {
    let first = what.split([' ', '\'', '’']).next().unwrap_or("");
    let long = first.chars().count() >= 3 && first.starts_with(char::is_uppercase);
    long && !PRONOUNS.contains(&first) && !is_elsewhere(what) && !is_people(first)
}

/// Whether `value` can be a person's name after "I'm".
pub(super) fn is_name(value: &str) -> bool {
    const FEELINGS: &[&str] =
        &["Ok", "Okay", "Fine", "Good", "Sorry", "Sure", "Back", "Done", "Here", "Happy", "New", "Not", "Just"];
    let first = value.split(' ').next().unwrap_or("");
    !is_people(first) && !FEELINGS.contains(&first) && !PRONOUNS.contains(&first) && !is_elsewhere(value)
}

/// Whether `word` says where somebody is from, or what they believe in.
fn is_people(word: &str) -> bool {
    #[rustfmt::skip]
    const PEOPLE: &[&str] = &[
        "American", "Arab", "Argentinian", "Asian", "African", "Australian", "Austrian", "Belgian", "Black", "Brazilian", "British", "Buddhist",
        "Bulgarian", "Canadian", "Catholic", "Chilean", "Chinese", "Christian", "Colombian", "Croatian", "Czech", "Danish", "Dutch", "Egyptian",
        "English", "Estonian", "European", "Filipino", "Finnish", "French", "German", "Greek", "Hindu", "Hungarian", "Indian", "Indonesian",
        "Iranian", "Irish", "Israeli", "Italian", "Japanese", "Jewish", "Kenyan", "Korean", "Latino", "Latvian", "Lithuanian", "Malaysian",
        "Mexican", "Moroccan", "Muslim", "Nigerian", "Norwegian", "Pakistani", "Peruvian", "Polish", "Portuguese", "Protestant", "Romanian",
        "Russian", "Scottish", "Serbian", "Slovak", "Slovenian", "Spanish", "Swedish", "Swiss", "Thai", "Turkish", "Ukrainian", "Vietnamese",
        "Welsh", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays", "Monday", "Tuesday", "Wednesday",
        "Thursday", "Friday", "Saturday", "Sunday",
    ];
    PEOPLE.contains(&word)
}

/// Whether `attribute` belongs to the person rather than to the project.
pub(super) fn is_personal(attribute: &str) -> bool {
    PERSONAL.contains(&attribute)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn pairs(text: &str) -> Vec<(&'static str, String)> {
        named(text).into_iter().map(|named| (named.attribute, named.value)).collect()
    }

    #[test]
    fn names_are_found_in_any_capitals_with_their_version() {
        assert_eq!(
            pairs("postgres 16 on fly.io, with nextjs"),
            [
                ("database", "PostgreSQL 16".to_owned()),
                ("deploy_target", "Fly.io".to_owned()),
                ("framework", "Next.js".to_owned())
            ]
        );
    }

    #[test]
    fn everyday_words_and_parts_of_words_are_no_names() {
        assert_eq!(pairs("I go and express a swift reaction to rusty cursors; render it in src/vim.rs"), []);
    }

    #[test]
    fn every_name_finds_itself_and_stands_once() {
        let mut seen = BTreeSet::new();
        for name in &TABLE.names {
            assert_eq!(pairs(name.text), [(name.attribute, name.canonical.to_owned())], "{}", name.text);
            let fresh = seen.insert(name.text.to_lowercase());
            assert!(fresh || name.spelling == Spelling::Exact, "{} stands twice", name.text);
        }
    }

    #[test]
    fn unknown_values_must_look_like_one() {
        assert!(is_plausible("default_branch", "trunk") && is_plausible("database", "FooDB"));
        assert!(!is_plausible("database", "slow") && !is_plausible("minimum_version", "bumped to 1.49"));
    }

    #[test]
    fn nouns_name_their_attribute() {
        assert_eq!(attribute("Our deploy target"), Some("deploy_target"));
        assert_eq!(attribute("the package manager"), Some("package_manager"));
        assert_eq!(attribute("生产数据库"), Some("database"));
        assert_eq!(attribute("our lunch"), None);
    }
}
