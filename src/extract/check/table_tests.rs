//! A table with one claim per row: when and what was said, the model's claim, and whether it is accepted.

use jiff::Timestamp;
use serde_json::json;

use super::evidence::{Citation, EvidenceCheck, EvidencePool};
use crate::extract::prompt::Shown;
use crate::extract::schema::Proposal;
use crate::extract::{DropReason, Span, Task};
use transcripts::{Message, MessageTime, Role, Transcript};

/// The day, the messages (`Name: words`, separated by `|`), and the claim. The quote is the part in `«»`, or else the
/// last message.
type Row = (&'static str, &'static str, &'static str);

/// Returns the outcome for a row. The claim may set a field with a leading `from=2025-01; `.
fn outcome(row: Row) -> Option<DropReason> {
    checked(row).err()
}

/// Returns the entry of a row as it is after the check, or why it was rejected.
fn checked((day, said, claim): Row) -> Result<Proposal, DropReason> {
    let stamp: Timestamp = format!("{day}T10:00:00Z").parse().unwrap();
    let messages: Vec<Message> = said
        .split(" | ")
        .map(|line| {
            let named = line.split_once(": ").filter(|(name, _)| name.chars().all(char::is_alphabetic));
            let (speaker, text) = named.map_or((None, line), |(name, text)| (Some(name.to_owned()), text));
            let text = text.replace(['«', '»'], "");
            let role = if speaker.as_deref() == Some("Assistant") { Role::Assistant } else { Role::User };
            Message { speaker, time: Some(MessageTime::logged(stamp)), ..Message::prose(role, text) }
        })
        .collect();
    let mut proposal = proposal(claim);
    let quoted = messages.len() - 1;
    let shown = Shown { first: 1, messages: (0..messages.len()).collect(), known: 0 };
    let transcript = Transcript { messages, project: Some("shop".into()), ..Transcript::default() };
    let span = Span { context_start: 0, start: 0, end: quoted + 1 };
    let task = Task { transcript: &transcript, span, known: &[], instructions: None, categories: &[] };
    let marked = said.split_once('«').and_then(|(_, rest)| rest.split_once('»')).map(|(quote, _)| quote.to_owned());
    let quote = marked.unwrap_or_else(|| transcript.messages[quoted].text.clone());
    let citation = Citation { quoted, others: &[], quote: &quote, replaced: None };
    let pool = EvidencePool::new(std::slice::from_ref(&task), std::slice::from_ref(&shown));
    EvidenceCheck::new(&pool, 0).check(&mut proposal, &citation).map_err(|dropped| dropped.reason)?;
    Ok(proposal)
}

/// Returns an entry that states `claim`, which may set a field with a leading `from=2025-01; `.
fn proposal(claim: &str) -> Proposal {
    let (field, content) = claim.split_once("; ").filter(|(field, _)| field.contains('=')).unwrap_or(("", claim));
    let mut proposal = json!({
        "type": "semantic", "category": "fact", "title": "t", "content": content, "subject": null, "key": null, "value": null,
        "audience": "user", "basis": "stated", "importance": 5, "from": null, "to": null, "expires": null, "messages": [1],
        "quote": "q", "replaces": null, "tags": [], "episode": null, "procedure": null,
    });
    if let Some((name, value)) = field.split_once('=') {
        proposal[name] = json!(value);
    }
    serde_json::from_value(proposal).unwrap()
}

#[track_caller]
fn all(rows: &[Row], expected: Option<DropReason>) {
    let wrong: Vec<_> =
        rows.iter().map(|row| (row, outcome(*row))).filter(|(_, outcome)| *outcome != expected).collect();
    let lines: Vec<String> = wrong.iter().map(|(row, outcome)| format!("{row:?} {outcome:?}")).collect();
    assert!(wrong.is_empty(), "expected {expected:?}:\n{}", lines.join("\n"));
}

const D: &str = "2023-05-08";

#[test]
fn numbers_that_were_said_are_believed() {
    all(
        &[
            (D, "the pool has 250 connections", "The pool has 250 connections."),
            (D, "we have two hundred and fifty users", "The project has 250 users."),
            (D, "limit it to 12k per day", "The limit is 12,000 a day."),
            (D, "I have three kids and a dog", "The user has 3 children and a dog."),
            (D, "Ana: we are on Node v18.2.0", "The project runs on Node 18."),
            (D, "it takes two weeks", "It takes 14 days."),
            (D, "the timeout is half a minute", "The timeout is 30 seconds."),
            (D, "the file is 2 GB", "The file has 2048 MB."),
            (D, "call me at +49 171 1234567", "The user's number is +491711234567."),
            (D, "we ship at 3 pm", "The team ships at 15:00."),
            (D, "half the tests fail", "50% of the tests fail."),
            (D, "between 10 and 15 percent", "The share is 10–15%."),
            (D, "the price went from $1.50 to $2", "The price rose from $1.50 to $2.00."),
            (D, "my cats are called Momo and Nala", "The user has 2 cats, Momo and Nala."),
            (D, "Moritz65: the pool is closed on Mondays", "Moritz65 says that the pool is closed on Mondays."),
            (D, "use a line width of 120", "Lines are at most 120 characters wide."),
            (D, "listen on eighty eighty", "The server listens on port 8080."),
            (D, "数据库连接池是三百二十", "连接池大小为320。"),
            (D, "我们有2.5万用户", "项目有25000名用户。"),
            (D, "预算是一万二", "预算为12000。"),
            (D, "三成用户在用", "30%的用户在使用。"),
            (D, "每晚十一点半备份", "每晚23:30备份。"),
            (D, "wir haben zweihundertfünfzig Kunden", "Das Projekt hat 250 Kunden."),
            (D, "das dauert anderthalb Stunden", "Das dauert 1,5 Stunden."),
            (D, "das Limit liegt bei 1.500 Euro", "Das Limit beträgt 1500 Euro."),
            (D, "tenemos treinta y cinco clientes", "El proyecto tiene 35 clientes."),
            (D, "el límite es de mil quinientos euros", "El límite es de 1500 euros."),
            (D, "nous avons vingt-trois clients", "Le projet a 23 clients."),
            (D, "use base64 and utf-8 for i18n", "The project uses base64 and UTF-8 for i18n."),
            (D, "for my 18th birthday ten years ago", "The user is about 28."),
            (D, "four boxes with 25 each", "There are 100 items in the boxes."),
            (D, "we had 40 users and lost 13", "27 users are left."),
            (D, "I was born in 1981", "The user is about 42 years old."),
            (D, "the fee doubles from 35 euros", "The fee becomes 70 euros."),
            (D, "vier Kisten mit je 25 Flaschen", "Es sind 100 Flaschen."),
            (D, "eran 60 y se fueron 18", "Quedan 42 personas."),
            (D, "每箱24瓶，一共三箱", "一共72瓶。"),
            (D, "我1990年出生", "用户今年33岁。"),
            (D, "下周三上午复查", "2023-05-17上午复查。"),
        ],
        None,
    );
}

#[test]
fn numbers_from_nowhere_are_not() {
    all(
        &[
            (D, "the pool has 250 connections", "The pool has 350 connections."),
            (D, "we have two hundred and fifty users", "The project has 205 users."),
            (D, "limit it to 12k per day", "The limit is 120,000 a day."),
            (D, "3 retries are enough", "Requests are retried with 5 retries."),
            (D, "we are on Node v18.2.0", "The project runs on Node v18.3.0."),
            (D, "it takes two weeks", "It takes 21 days."),
            (D, "the file is 2 GB", "The file has 512 MB."),
            (D, "listen on port 8080", "The server listens on port 80801."),
            (D, "I run often", "The user runs 42 km a week."),
            (D, "数据库连接池是三百二十", "连接池大小为230。"),
            (D, "我们有2.5万用户", "项目有250000名用户。"),
            (D, "预算是一万二", "预算为10200。"),
            (D, "wir haben zweihundertfünfzig Kunden", "Das Projekt hat 520 Kunden."),
            (D, "das Limit liegt bei 1.500 Euro", "Das Limit beträgt 15000 Euro."),
            (D, "tenemos treinta y cinco clientes", "El proyecto tiene 53 clientes."),
            (D, "el límite es de mil quinientos euros", "El límite es de 1050 euros."),
            (D, "four boxes with 25 each", "There are 125 items in the boxes."),
            (D, "for my 18th birthday ten years ago", "The user is about 38."),
            (D, "每箱24瓶，一共三箱", "一共82瓶。"),
            (D, "eran 60 y se fueron 18", "Quedan 52 personas."),
        ],
        Some(DropReason::NumberNotSaid),
    );
}

#[test]
fn dates_that_follow_from_the_message_are_believed() {
    all(
        &[
            (D, "I moved yesterday", "The user moved on 2023-05-07."),
            (D, "I was born in nineteen ninety-eight", "The user was born in 1998."),
            (D, "we married in twenty ten", "The user married in 2010."),
            (D, "it opened on the eleventh of May twenty nineteen", "It opened on 2019-05-11."),
            (D, "Seit zweitausendneunzehn wohne ich hier.", "Der Nutzer wohnt seit 2019 hier."),
            (D, "Nací en mil novecientos noventa y ocho.", "El usuario nació en 1998."),
            (D, "I move tomorrow", "The user moves on 2023-05-09."),
            (D, "since last Friday we use it", "The project has used it since 2023-05-05."),
            (D, "next Monday we ship", "The team ships on 2023-05-15."),
            (D, "in three weeks we ship", "The team ships around 2023-05-29."),
            (D, "two months ago I quit", "The user quit in March 2023."),
            (D, "last year I quit", "The user quit in 2022."),
            (D, "last spring I quit", "The user quit in spring 2022."),
            (D, "I've lived here for four years", "from=2019; The user has lived there since 2019."),
            (D, "the trip is in August", "from=2023-08; The trip is in August 2023."),
            (D, "she turns 40 on 3 June", "She turns 40 on 2023-06-03."),
            (D, "I'm 34", "The user was born in 1988 or 1989, in 1988."),
            (D, "we met on March 5, 2019", "They met on 2019-03-05."),
            (D, "I use tabs", "As of 2023-05-08 the user uses tabs."),
            (D, "the meeting is on the 15th", "The meeting is on 2023-05-15."),
            (D, "we moved in Q1", "from=2023-01; The team moved in Q1 2023."),
            (D, "I quit over Christmas", "The user quit at Christmas 2022."),
            (D, "the report from 03/05/2022 is wrong", "The report of 2022-05-03 is wrong."),
            (D, "a few days ago it broke", "It broke around 2023-05-05."),
            (D, "we freeze for the release", "expires=2023-05-31; There is a freeze for the release."),
            (D, "it was in 2019", "It happened in 2019."),
            (D, "my vacation starts next month", "from=2023-06; The vacation starts in June 2023."),
            (D, "我昨天搬家了", "用户于2023年5月7日搬家。"),
            (D, "上周五发布的", "2023-05-05发布。"),
            (D, "下个月去日本", "用户2023年6月去日本。"),
            (D, "去年结婚的", "用户2022年结婚。"),
            (D, "三年前开始的", "从2020年开始。"),
            (D, "国庆去北京", "用户在2023年10月1日去北京。"),
            (D, "5月20日上线", "2023年5月20日上线。"),
            (D, "Ich bin gestern umgezogen", "Die Person ist am 07.05.2023 umgezogen."),
            (D, "nächste Woche ist Release", "Das Release ist in der Woche ab 2023-05-15."),
            (D, "im März war es fertig", "Im März 2023 war es fertig."),
            (D, "letztes Jahr habe ich gekündigt", "from=2022; Die Person hat 2022 gekündigt."),
            (D, "vor drei Wochen kam es heraus", "Es kam am 17. April 2023 heraus."),
            (D, "ayer me mudé", "El usuario se mudó el 7 de mayo de 2023."),
            (D, "la semana que viene publicamos", "El equipo publica el 2023-05-16."),
            (D, "hace dos años empecé", "El usuario empezó en 2021."),
            (D, "el verano pasado viajé", "El usuario viajó en julio de 2022."),
            (D, "昨日引っ越しました", "2023年5月7日に引っ越した。"),
            ("2024-01-02", "last month we moved", "The team moved in December 2023."),
            (
                "2026-02-20",
                "I'm moving to Turin at the end of March!",
                "The user moves to Turin at the end of March 2026.",
            ),
            ("2025-12-20", "we launch in mid-February", "The launch is in February 2026."),
            (D, "it stays read-only till end of June as a fallback", "It stays read-only until 2023-06-30."),
            (D, "I'm off from Monday 15 May for six weeks", "The user is off until 2023-06-26."),
            (D, "the cut-over is on 27 May | let's move it a week later", "The cut-over is on 2023-06-03."),
            (D, "we go from 20 to 22 May | a week later suits me", "The trip is on 27–29 May 2023."),
            (D, "the trial starts 1 June and lasts half a year", "The trial ends on 2023-12-01."),
            (D, "I fly on March 20 and 22", "The user flies on March 20 and 22."),
            (D, "my gran turns 80 on Saturday", "She turns 80 on 2023-05-13, so she was born in 1943."),
            (D, "my son is four", "The son was born in 2019."),
            (D, "I'm in Bologna over Good Friday", "The user was in Bologna on 2023-04-07."),
            (D, "the lease ends in 18 months", "The lease ends in November 2024."),
            (D, "wir fahren vom 20. bis 22. Mai", "Die Fahrt ist vom 20. bis 22. Mai 2023."),
            (D, "vom 20.–22. Mai | Eine Woche später geht auch", "Die Fahrt wurde auf 27.–29. Mai 2023 verschoben."),
            (D, "wieder Fr bis So", "Es beginnt am 2023-05-12."),
            (D, "bis Monatsende muss es fertig sein", "Es muss bis zum 31.05.2023 fertig sein."),
            (D, "Ende August ziehe ich um", "Der Umzug ist am 31. August 2023."),
            (D, "ab dem 1. Juni bin ich sechs Wochen weg", "Die Abwesenheit endet am 2023-07-13."),
            (D, "vor anderthalb Jahren habe ich angefangen", "Der Beginn war im November 2021."),
            (D, "an Karfreitag bin ich in Ulm", "Am 2024-03-29 ist der Besuch in Ulm."),
            (D, "a finales de agosto me mudo", "El usuario se muda el 31 de agosto de 2023."),
            (D, "empiezo el 5 de junio y son tres semanas", "El curso acaba el 26 de junio de 2023."),
            (D, "en Nochevieja corro", "La carrera es el 31 de diciembre de 2023."),
            (D, "del 3 al 5 de junio", "Es del 3 al 5 de junio de 2023."),
            (D, "dentro de año y medio termino", "El usuario termina en noviembre de 2024."),
            (D, "月底之前交", "2023年5月31日之前交。"),
            (D, "6月1日开始休假三周", "假期到2023年6月22日。"),
            (D, "5月20日到22日出差", "5月20日到22日出差。"),
            (D, "三周后搬家", "用户于2023年5月29日搬家。"),
            (D, "十八个月后合同到期", "合同于2024年11月到期。"),
            (D, "除夕回老家", "用户2024年2月9日回老家。"),
            (D, "下周三上午复查", "于2023-05-17复查。"),
            (D, "我八月要做手术", "用户2023年8月要做手术。"),
            (D, "we go from 20 to 27 June", "The trip is from 2023-06-20 to 2023-06-27."),
            (D, "the trip is June 20-27 | the museum is on the 3rd day", "The trip is from 2023-06-20 to 2023-06-27."),
            (D, "the trip is in the week of 19 June | on Thursday we see the museum", "The museum is on 2023-06-22."),
            (D, "die Reise ist in der Woche ab dem 19. Juni | Donnerstag ins Museum", "Das Museum ist am 2023-06-22."),
            (D, "el viaje es la semana del 19 de junio | el jueves hay museo", "El museo es el 2023-06-22."),
            (D, "el viaje es la semana del 21 de junio | el lunes hay museo", "El museo es el 2023-06-19."),
            (D, "the trip is June 20 to 27 with Ana | the museum is on the 3rd day", "The trip ends on 2023-06-27."),
            (D, "the trip is June 20-27, then work", "The trip ends on 2023-06-27."),
            (D, "6月19日那周去旅行 | 星期四看展览", "2023年6月22日看展览。"),
            (D, "am Ostersonntag essen wir bei Oma", "Am 2024-03-31 wird bei Oma gegessen."),
        ],
        None,
    );
}

/// A typical error is to read an old log today and to resolve "yesterday" against today.
#[test]
fn dates_counted_from_another_day_are_not() {
    all(
        &[
            (D, "I moved yesterday", "The user moved on 2026-11-20."),
            (D, "I moved yesterday", "The user moved in November 2026."),
            (D, "since last Friday we use it", "The project has used it since 2026-11-20."),
            (D, "next Monday we ship", "The team ships on 2026-11-23."),
            (D, "next Monday we ship", "The team ships on 2024-05-13."),
            (D, "in three weeks we ship", "The team ships on 2026-12-12."),
            (D, "two months ago I quit", "The user quit in September 2026."),
            (D, "last year I quit", "The user quit in 2025."),
            (D, "last spring I quit", "The user quit in spring 2026."),
            (D, "she turns 40 on 3 June", "She turns 40 on 2026-06-03."),
            (D, "we met on March 5, 2019", "They met on 2019-03-06."),
            (D, "I use tabs", "The user has used tabs since 2026."),
            (D, "the meeting is on the 15th", "The meeting is on 2023-05-16."),
            (D, "I went from 3 June to 10 conferences", "The conference is on 2023-06-10."),
            (D, "from 13 June to 20 people wrote", "People wrote on 2023-06-20."),
            (D, "我昨天搬家了", "用户于2026年11月20日搬家。"),
            (D, "上周五发布的", "2026-11-13发布。"),
            (D, "下个月去日本", "用户2026年12月去日本。"),
            (D, "去年结婚的", "用户2025年结婚。"),
            (D, "三年前开始的", "从2023年11月开始。"),
            (D, "Ich bin gestern umgezogen", "Die Person ist am 20.11.2026 umgezogen."),
            (D, "nächste Woche ist Release", "Das Release ist in der Woche ab 2026-11-23."),
            (D, "letztes Jahr habe ich gekündigt", "Die Person hat im Jahr 2025 gekündigt."),
            (D, "ayer me mudé", "El usuario se mudó el 20 de noviembre de 2026."),
            (D, "hace dos años empecé", "El usuario empezó en 2024."),
            (D, "昨日引っ越しました", "2026年11月20日に引っ越した。"),
            ("2023-02-20", "I'm moving to Turin at the end of March!", "The user moves to Turin in March 2026."),
            (D, "I'm off from Monday 15 May for six weeks", "The user is off until 2023-08-26."),
            (D, "we go from 20 to 22 May", "The trip is on 27–29 May 2023."),
            (D, "the meeting is on Thursday", "The meeting is on 2023-06-21."),
            (D, "wir fahren vom 20. bis 22. Mai", "Die Fahrt ist vom 20. bis 24. Mai 2023."),
            (D, "the trip is in the week of 19 June | on Thursday we see the museum", "The museum is on 2023-06-23."),
            (D, "the trip is in the week of 19 June | on Thursday we see the museum", "The museum is on 2023-06-29."),
            (D, "the trip is in the week of 19 June | one day we see the museum", "The museum is on 2023-06-22."),
            (D, "we go on 20 and 27 June", "The trip is on 2023-06-23."),
            (D, "wir sehen uns am Donnerstag", "Das Treffen ist am 2023-07-12."),
            (D, "a finales de agosto me mudo", "El usuario se muda en agosto de 2026."),
            (D, "6月1日开始休假三周", "假期到2023年9月22日。"),
            (D, "三周后搬家", "用户于2026年12月12日搬家。"),
        ],
        Some(DropReason::DateNotSaid),
    );
}

/// A field that cannot be traced does not invalidate the rest of a memory.
#[test]
fn fields_that_cannot_be_traced_are_left_out() {
    let filled = |row: Row| {
        let proposal = checked(row).unwrap_or_else(|reason| panic!("{row:?}: {reason:?}"));
        proposal.from.or(proposal.to).or(proposal.expires)
    };
    for row in [
        (D, "I moved yesterday", "from=2026-11-20; The user moved."),
        (D, "the trip is in August", "from=2026-08; The trip is in August."),
        (D, "I use tabs", "from=2026; The user uses tabs."),
        (D, "I use tabs", "to=2025-12-31; The user uses tabs."),
        (D, "we freeze for the release", "expires=2026-12-31; There is a freeze for the release."),
    ] {
        assert_eq!(filled(row), None, "{row:?}");
    }
    for row in [
        (D, "I'm off from Monday 15 May for six weeks", "to=2023-06-25; The user is off for six weeks."),
        (D, "the old API stays till end of May", "to=2023-05-31; The old API stays until the end of May 2023."),
        (
            D,
            "Dev is off for two weeks from 1 June | I cover for him till he is back",
            "to=2023-06-15; The user covers.",
        ),
    ] {
        assert!(filled(row).is_some(), "{row:?}");
    }
}

/// The content of one session explains the others in the same request, except for time expressions with a long range.
#[test]
fn sessions_of_a_request_explain_each_other() {
    let outcome = |first: (&str, &str), (day, said, claim): Row| {
        let transcripts = [first, (day, said)].map(|(day, said)| {
            let time = MessageTime::logged(format!("{day}T10:00:00Z").parse().unwrap());
            Transcript { messages: vec![Message { time: Some(time), ..Message::user(said) }], ..Transcript::default() }
        });
        let span = Span { context_start: 0, start: 0, end: 1 };
        let task = |transcript| Task { transcript, span, known: &[], instructions: None, categories: &[] };
        let tasks = transcripts.each_ref().map(task);
        let shown = [1, 2].map(|first| Shown { first, messages: vec![0], known: 0 });
        let citation = Citation { quoted: 0, others: &[], quote: said, replaced: None };
        let pool = EvidencePool::new(&tasks, &shown);
        EvidenceCheck::new(&pool, 1).check(&mut proposal(claim), &citation).err().map(|dropped| dropped.reason)
    };
    let first = ("2023-05-01", "Oona: cut-over is Sat 13 May at 05:00 UTC, we had 417 orphans");
    for (claim, expected) in [
        ("The cut-over moved from 2023-05-13 05:00 UTC to 2023-05-20 05:00 UTC.", None),
        ("Oona moved the cut-over from 13 May.", None),
        ("There were 417 orphans.", None),
        ("The cut-over is at 07:20 UTC.", Some(DropReason::NumberNotSaid)),
        ("Martina moved the cut-over.", Some(DropReason::NameNotSaid)),
        ("The cut-over is on 2026-11-20.", Some(DropReason::DateNotSaid)),
    ] {
        assert_eq!(outcome(first, (D, "let's move it a week later, same hour", claim)), expected, "{claim}");
    }
    let far = ("2020-05-01", "I learned it some years ago, as a child");
    assert_eq!(outcome(far, (D, "I moved yesterday", "The user moved in 1996.")), Some(DropReason::DateNotSaid));
}

#[test]
fn names_that_were_said_are_believed() {
    all(
        &[
            (D, "Ana: my sister Kristina moved to Split", "Ana's sister Kristina moved to Split."),
            (D, "we use k8s on Hetzner", "The project runs Kubernetes on Hetzner."),
            (D, "i love german food", "The user loves German food."),
            (D, "we switched to postgres", "The project switched to PostgreSQL."),
            (D, "the kuberntes cluster is slow", "The team finds the Kubernetes cluster slow."),
            (D, "deploys run on fridays", "Deploys run on Friday, in the CI."),
            (D, "the shop is slow", "The Shop project is slow."),
            (D, "look at main.rs", "The code is in Rust."),
            (D, "my brother mike is a pilot", "The user's brother Michael is a pilot."),
            (D, "my boss Thomas said so", "The user's boss, Thomas, said so."),
            (D, "Ana: I like tea", "Ana likes tea."),
            (D, "I use the copilot at work", "The user works with Copilot."),
            (D, "we're in new york", "The team is in New York."),
            (D, "Meine Schwester Kristina wohnt in Köln", "Die Schwester Kristina wohnt in Köln und ist Lehrerin."),
            (D, "ich mag Tee", "Die Person mag Tee und Gebäck zum Frühstück mit der Familie."),
            (D, "mi hermana Lucía vive en Lugo", "La hermana del usuario, Lucía, vive en Lugo."),
            (D, "我的同事王小明喜欢喝茶", "王小明喜欢喝茶。"),
            (D, "小林负责前端", "小林负责前端。"),
            (D, "我用Rust", "用户使用 Rust。"),
            (D, "田中さんが担当です", "田中さんが担当。"),
            (D, "meetings are at noon", "Meetings are at noon."),
            (D, "the login page is broken", "The page \"Login\" is broken: Everything fails."),
            (D, "Ana: it moved to Nomad | it works", "Ana's team moved to Nomad."),
            (D, "Soy Nerea | mi padre viene a verme", "El padre de Nerea viene a verla."),
        ],
        None,
    );
}

#[test]
fn names_that_nobody_said_are_not() {
    all(
        &[
            (D, "my sister moved to Split", "The user's sister Martina moved to Split."),
            (D, "my brother is a pilot", "John is a pilot."),
            (D, "we switched the deployment", "The project switched the deployment to Nomad."),
            (D, "we moved the office", "The team moved its office to Lisbon."),
            (D, "my boss said so", "The user's boss, Thomas, said so."),
            (D, "my gym is expensive", "The user goes to Fitworld, an expensive gym."),
            (D, "I like tea", "Sarah likes tea."),
            (D, "Meine Schwester wohnt in Köln", "Die Schwester Kristina wohnt in Köln und ist Lehrerin."),
            (D, "mi hermana vive en Lugo", "La hermana del usuario, Beatriz, vive en Lugo."),
            (D, "vivo en el norte", "El usuario vive en Pontevedra."),
            (D, "我的同事喜欢喝茶", "王小明喜欢喝茶。"),
            (D, "前端有人做", "小林负责前端。"),
            (D, "担当は決まった", "田中さんが担当。"),
        ],
        Some(DropReason::NameNotSaid),
    );
}

#[test]
fn negations_that_are_kept_or_that_deny_nothing_are_believed() {
    all(
        &[
            (D, "never deploy on Friday", "The team never deploys on Friday."),
            (D, "never deploy on Friday", "The team avoids Friday deploys."),
            (D, "don't forget to run the linter", "The linter is run."),
            (D, "not only tests but also docs are required", "Tests and docs are required."),
            (D, "we use axum now, not actix", "The user changed the web framework from actix to axum."),
            (D, "wir nehmen jetzt Fly, nicht Heroku", "Das Projekt hat von Heroku zu Fly gewechselt."),
            (D, "ya no usamos Heroku, usamos Fly", "El proyecto cambió de Heroku a Fly."),
            (D, "I don't use npm, I use pnpm", "The user uses pnpm."),
            (D, "I can't stop eating chocolate", "The user eats chocolate all the time."),
            (D, "we no longer deploy to Heroku", "The project stopped deploying to Heroku."),
            (D, "I don't eat meat any more", "The user gave up meat and eats vegetarian food."),
            (D, "I have no car any more", "The user no longer has a car."),
            (D, "it's great, isn't it?", "The user finds it great."),
            (D, "I can't wait to visit Japan", "The user looks forward to visiting Japan."),
            (D, "why not use tabs?", "The user wants tabs to be used."),
            (D, "don't you use tabs?", "Tabs are used."),
            (D, "I'm allergic to peanuts", "The user cannot eat peanuts."),
            (D, "no problem, use tabs", "Tabs are used."),
            (D, "I stopped smoking", "The user does not smoke."),
            (D, "we use tabs. We don't use spaces", "The project uses tabs."),
            (D, "I never said I don't like tea", "The user likes tea."),
            (D, "从不吃辣", "用户从不吃辣。"),
            (D, "我不吃香菜", "用户避免香菜。"),
            (D, "别忘了跑测试", "要跑测试。"),
            (D, "不仅要测试，还要写文档", "要测试和写文档。"),
            (D, "我不喝咖啡，只喝茶", "用户喝茶。"),
            (D, "没问题，用制表符", "使用制表符。"),
            (D, "niemals am Freitag deployen", "Am Freitag wird niemals deployt."),
            (D, "vergiss nicht, den Linter zu starten", "Der Linter wird gestartet."),
            (D, "nunca desplegamos los viernes", "El equipo nunca despliega los viernes."),
            (D, "no olvides ejecutar las pruebas", "Hay que ejecutar las pruebas."),
            (D, "肉は食べない", "肉を食べない。"),
            (D, "No vitamin D was fine", "The user's vitamin D was fine."),
            (D, "No I like the blue one", "The user likes the blue one."),
            (D, "Nein das Backup ist fertig", "Das Backup ist fertig."),
            (
                D,
                "I'll take it, but please not on Saturday mornings, «that's when I coach the kids at the rowing club»",
                "The user coaches the kids at the rowing club on Saturday mornings.",
            ),
            (D, "PostgreSQL auch nicht, es bleibt bei SQLite", "Es bleibt bei SQLite, PostgreSQL lehnt der Nutzer ab."),
            (D, "no queremos MySQL, seguimos con Postgres", "El equipo descarta MySQL y sigue con Postgres."),
            (D, "不用MySQL，继续用SQLite", "团队否决了MySQL，继续用SQLite。"),
            (
                D,
                "Assistant: You target iOS 17, I assume | iOS 16, the rest is right",
                "The project targets iOS 16, not iOS 17.",
            ),
            (
                D,
                "And Bristol? | Bristol's where my sister is. «We're in Cardiff»",
                "The user lives in Cardiff, not in Bristol.",
            ),
            (D, "Assistant: Also Hamburg? | Lübeck, ganz im Norden", "Der Nutzer wohnt in Lübeck, nicht in Hamburg."),
            (D, "Assistant: ¿Usas Gradle? | Maven, el de siempre", "El usuario usa Maven, no Gradle."),
            (D, "Assistant: 您住在上海？ | 杭州", "用户住在杭州，而不是上海。"),
        ],
        None,
    );
}

#[test]
fn a_denial_in_other_words_is_believed() {
    all(
        &[
            (D, "I don't eat nuts", "The user avoids eating nuts."),
            (D, "Ich mag keine Nüsse.", "Der Nutzer meidet Nüsse."),
            (D, "Vor zehn bitte nicht anrufen.", "Anrufe sind erst ab zehn Uhr erwünscht."),
            (D, "Samstags arbeite ich nicht.", "Der Samstag ist für den Nutzer frei von Arbeit."),
            (D, "No como nueces.", "El usuario evita comer nueces."),
            (D, "我不吃坚果", "用户避免吃坚果。"),
        ],
        None,
    );
}

#[test]
fn negations_that_are_lost_or_made_up_are_not() {
    all(
        &[
            (D, "never deploy on Friday", "The team deploys on Friday."),
            (D, "We don't use tabs here.", "The project uses tabs."),
            (D, "I do not eat meat", "The user eats meat."),
            (D, "I'm not married", "The user is married."),
            (D, "please don't squash commits", "Commits should be squashed."),
            (D, "I never said that we use tabs in Python", "The project uses tabs in Python."),
            (D, "I use tabs in Python", "The user does not use tabs in Python."),
            (D, "we deploy on Friday", "The team never deploys on Friday."),
            (D, "I love hiking alone", "The user doesn't love hiking alone."),
            (D, "we deploy on Monday and Friday evening", "The team deploys on Monday, not Friday evening."),
            (
                D,
                "Assistant: Do you like hiking alone? | Sure, hiking alone",
                "The user likes rowing, not hiking alone.",
            ),
            (D, "从不吃辣", "用户吃辣。"),
            (D, "我不吃香菜", "用户吃香菜。"),
            (D, "我喜欢喝咖啡", "用户不喜欢喝咖啡。"),
            (D, "不要在周五部署", "在周五部署。"),
            (D, "niemals am Freitag deployen", "Das Team will am Freitag deployen."),
            (D, "wir nutzen keine Tabulatoren", "Das Projekt nutzt Tabulatoren."),
            (D, "We do not commonly use tabs", "The team commonly uses tabs."),
            (D, "Wir nutzen außerdem keine Tabulatoren", "Das Projekt nutzt außerdem Tabulatoren."),
            (D, "nunca compilamos los viernes", "El equipo compila los viernes."),
            (D, "no como carne", "El usuario come carne."),
            (D, "That is wrong. We never said that «we deploy on Fridays»", "The team deploys on Fridays."),
            (D, "Ok. I don't think that «I like figs», to be honest", "The user likes figs."),
            (D, "No deploys on Friday", "The team deploys on Friday."),
            (D, "«PostgreSQL auch nicht», es bleibt bei SQLite", "Das Projekt nutzt PostgreSQL."),
            (D, "No he comido carne", "El usuario ha comido carne."),
        ],
        Some(DropReason::PolarityChanged),
    );
}

#[test]
fn what_one_says_of_themselves_is_not_anothers() {
    all(
        &[
            (D, "Bob: hello | Ana: I like figs", "Ana likes figs."),
            (D, "Bob: hello | Ana: Bob likes figs", "Bob likes figs."),
            (D, "Bob: hello | Ana: I told Bob to use tabs", "Bob should use tabs."),
            (D, "Bob: hello | Ana: we use figs", "Bob uses figs."),
            (D, "Bob: hello | Ana: I like figs", "The user likes figs."),
            (D, "Bob: hello | Ana: I like figs and so does bob", "Bob likes figs."),
            (D, "小林: 你好 | 阿梅: 我喜欢喝茶", "阿梅喜欢喝茶。"),
        ],
        None,
    );
    all(
        &[
            (D, "Bob: hello | Ana: I like figs", "Bob likes figs."),
            (D, "Bob: hello | Ana: My dog is called Rex", "Bob's dog is called Rex."),
            (D, "Bob: hallo | Ana: Ich mag Feigen", "Bob mag Feigen."),
            (D, "Bob: hola | Ana: mi perro es viejo", "Bob tiene un perro viejo."),
            (D, "小林: 你好 | 阿梅: 我喜欢喝茶", "小林喜欢喝茶。"),
        ],
        Some(DropReason::OtherSpeaker),
    );
}
