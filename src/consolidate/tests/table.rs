//! The decision table: known claims, incoming claims, the correct decisions, and the decisions of the rules alone.

use super::testing::{incoming, known, now};
use crate::consolidate::decide::decide;
use crate::consolidate::{Conflict, Ruling};

/// A row: known claim, incoming claim, the correct decision, and the decision of the rules if it differs.
///
/// `grey` means that the rules ask a model; without a model, they add the claim and link it.
#[derive(Clone, Copy)]
pub(in crate::consolidate) struct Row(pub &'static str, pub &'static str, pub &'static str, pub Option<&'static str>);

pub(in crate::consolidate) const fn row(known: &'static str, incoming: &'static str, right: &'static str) -> Row {
    Row(known, incoming, right, None)
}

pub(in crate::consolidate) const fn asks(known: &'static str, incoming: &'static str, right: &'static str) -> Row {
    Row(known, incoming, right, Some("grey"))
}

pub(in crate::consolidate) const fn misses(
    known: &'static str,
    incoming: &'static str,
    right: &'static str,
    rules: &'static str,
) -> Row {
    Row(known, incoming, right, Some(rules))
}

pub(in crate::consolidate) const ROWS: &[Row] = &[
    // The same words.
    row("words=a/1 | The user lives in Berlin.", "words=a/1 | The user lives in Berlin.", "skip"),
    row("words=a/1 | The user lives in Berlin.", "words=b/1 | the user lives in  Berlin", "support"),
    row("words=a/1 | The user lives in Berlin.", "words=a/7 | The user lives in Berlin.", "support"),
    row("words=a/1 | 用户住在柏林。", "words=a/1 | 用户住在柏林", "skip"),
    row("words=a/1 | 用户住在柏林。", "words=b/1 | 用户住在柏林", "support"),
    row("bare | The user lives in Berlin.", "bare | The user lives in Berlin.", "skip"),
    row("words=a/1; status=pending | The user lives in Berlin.", "words=b/1 | The user lives in Berlin.", "support"),
    row("words=a/1; status=superseded | The user lives in Berlin.", "words=a/1 | The user lives in Berlin.", "skip"),
    row(
        "status=superseded; to=2026-02-01 | The user lives in Berlin.",
        "said=2026-01-05 | The user lives in Berlin.",
        "support",
    ),
    row(
        "status=superseded; to=2026-02-01 | The user lives in Berlin.",
        "said=2026-03-05 | The user lives in Berlin.",
        "add",
    ),
    row("status=expired | The user is on leave.", "words=b/1 | The user is on leave.", "add"),
    // Labels and values that are spelt like function words.
    row("bare | Plan A includes support.", "bare | Plan B includes support.", "add"),
    row("bare | Plan B includes support.", "bare | Plan A includes support.", "add"),
    row("bare | C is used in firmware.", "bare | A is used in firmware.", "add"),
    row("bare | The locale of the shop is de.", "bare | The locale of the shop is en.", "grey"),
    row("bare | The feature flag is on.", "bare | The feature flag is off.", "grey"),
    row("bare | Deploys happen before the review.", "bare | Deploys happen after the review.", "grey"),
    row("bare | El código de la tienda es rojo.", "bare | Código de tienda es rojo.", "skip"),
    // The same attribute with the same value.
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Berlin | Berlin is where the user has their home.",
        "support",
    ),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.city; value=berlin | The user's home is Berlin.",
        "support",
    ),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Berlin, Germany | The user lives in Berlin, Germany.",
        "refine",
    ),
    row(
        "key=project.database; value=Postgres | The project uses Postgres.",
        "key=project.database; value=Postgres 16 | The project uses Postgres 16.",
        "refine",
    ),
    row(
        "key=project.database; value=Postgres 16 | The project uses Postgres 16.",
        "key=project.database; value=Postgres | The project's database is Postgres.",
        "support",
    ),
    row(
        "key=user.residence; value=柏林 | 用户住在柏林。",
        "key=user.residence; value=柏林 | 柏林是用户现在的家。",
        "support",
    ),
    row(
        "key=user.employer; value=Acme | The user works at Acme.",
        "key=user.employer; value=Acme | The user works at Acme as a data engineer in the Paris office since 2021.",
        "refine",
    ),
    row(
        "key=user.employer; value=Acme | The user works at Acme in Paris.",
        "key=user.employer; value=Acme | The user joined Acme in 2021.",
        "merge",
    ),
    row(
        "key=user.pet; value=cat | The user has a cat called Mia.",
        "key=user.pet; value=cat | The user's cat is 3 years old.",
        "merge",
    ),
    // The same attribute with a different value.
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Munich | The user lives in Munich.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Munich | The user moved from Berlin to Munich.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=柏林 | 用户住在柏林。",
        "key=user.residence; value=慕尼黑 | 用户搬到了慕尼黑。",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=東京 | ユーザーは東京に住んでいる。",
        "key=user.residence; value=大阪 | ユーザーは大阪に引っ越した。",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=서울 | 사용자는 서울에 산다.",
        "key=user.residence; value=부산 | 사용자는 이제 부산에 산다.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=Madrid | El usuario vive en Madrid.",
        "key=user.residence; value=Sevilla | El usuario se mudó a Sevilla.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=Berlin | Der Nutzer wohnt in Berlin.",
        "key=user.residence; value=Köln | Der Nutzer ist nach Köln umgezogen.",
        "contradict changed",
    ),
    row(
        "key=project.deploy_target; value=Heroku | The project deploys to Heroku.",
        "key=project.deploy_target; value=Fly.io | The project deploys to Fly.io.",
        "contradict changed",
    ),
    row(
        "key=user.name; value=Jon | The user is called Jon.",
        "key=user.name; value=John | The user's name is actually John.",
        "contradict corrected",
    ),
    row(
        "key=user.name; value=Jon | The user is called Jon.",
        "key=user.name; value=John; quote=Correction, it is John | The user's name is John.",
        "contradict corrected",
    ),
    row(
        "key=user.birthday; value=5月3日 | 用户的生日是5月3日。",
        "key=user.birthday; value=5月4日 | 更正：用户的生日是5月4日。",
        "contradict corrected",
    ),
    row(
        "key=project.port; value=8080 | The server listens on 8080.",
        "key=project.port; value=9090 | The server listens on 9090.",
        "contradict changed",
    ),
    // Order by valid time instead of arrival.
    row(
        "key=user.residence; value=Munich; said=2026-03-01 | The user lives in Munich.",
        "key=user.residence; value=Berlin; said=2025-03-01 | The user lives in Berlin.",
        "contradict changed older",
    ),
    row(
        "key=user.residence; value=Munich; from=2026-03-01 | The user lives in Munich.",
        "key=user.residence; value=Berlin; from=2020-01-01; said=2026-05-01 | The user lived in Berlin.",
        "contradict changed older",
    ),
    row(
        "key=user.residence; value=慕尼黑; said=2026-03-01 | 用户住在慕尼黑。",
        "key=user.residence; value=柏林; said=2025-03-01 | 用户住在柏林。",
        "contradict changed older",
    ),
    row(
        "key=user.residence; value=Munich; said=2026-02-10 | The user lives in Munich.",
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "contradict conflict pending",
    ),
    row(
        "key=user.residence; value=Munich; said=2026-02-10 | The user lives in Munich.",
        "key=user.residence; value=Berlin | The user switched to Berlin.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=Munich; said=2026-02-10 | The user moved to Munich.",
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "contradict changed older",
    ),
    row(
        "key=user.residence; value=Munich; undated | The user lives in Munich.",
        "key=user.residence; value=Berlin; undated | The user lives in Berlin.",
        "contradict conflict pending",
    ),
    row(
        "key=user.residence; value=Munich; undated; words=a/3 | The user lives in Munich.",
        "key=user.residence; value=Berlin; undated; words=a/9 | The user lives in Berlin.",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=Munich; undated; words=a/9 | The user lives in Munich.",
        "key=user.residence; value=Berlin; undated; words=a/3 | The user lives in Berlin.",
        "contradict changed older",
    ),
    row(
        "key=user.residence; value=Munich; said=2026-02-10; sure=.95 | The user lives in Munich.",
        "key=user.residence; value=Berlin; sure=.4 | Perhaps the user lives in Berlin now.",
        "contradict conflict pending",
    ),
    row(
        "key=user.residence; value=Munich; sure=.95 | The user lives in Munich.",
        "key=user.residence; value=Berlin; sure=.4 | The user lives in Berlin.",
        "contradict changed",
    ),
    // Pinned and rejected.
    row(
        "pinned; key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Munich | The user moved to Munich.",
        "contradict conflict pending",
    ),
    row(
        "pinned; key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Berlin, Germany | The user lives in Berlin, Germany.",
        "refine pending",
    ),
    row(
        "pinned; key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Berlin | The user's home is Berlin.",
        "support",
    ),
    row("status=forgotten | The user has a dog.", "words=b/1 | The user has a dog.", "skip"),
    row(
        "status=forgotten; key=user.pet; value=dog | The user has a dog.",
        "key=user.pet; value=Dog | A dog belongs to the user.",
        "skip",
    ),
    row(
        "status=forgotten; key=user.pet; value=dog | The user has a dog.",
        "key=user.pet; value=cat | The user has a cat.",
        "add",
    ),
    row(
        "status=forgotten; key=user.pet; value=dog | The user has a dog.",
        "key=user.pet; value=dog | The user has no dog.",
        "add",
    ),
    // Several values exist side by side.
    row(
        "key=user.preference.food; value=sushi | The user likes sushi.",
        "key=user.preference.food; value=pizza | The user likes pizza.",
        "add",
    ),
    row(
        "key=user.preference.food; value=寿司 | 用户喜欢寿司。",
        "key=user.preference.food; value=披萨 | 用户喜欢披萨。",
        "add",
    ),
    row(
        "key=user.languages; value=German | The user speaks German.",
        "key=user.languages; value=French | The user speaks French.",
        "add",
    ),
    row("key=user.pets; value=cat | The user has a cat.", "key=user.pets; value=dog | The user has a dog.", "add"),
    row(
        "key=user.preference.food; value=sushi | The user likes sushi.",
        "key=user.preference.food; value=sushi | The user no longer likes sushi.",
        "contradict changed",
    ),
    row(
        "key=user.preference.food; value=寿司 | 用户喜欢寿司。",
        "key=user.preference.food; value=寿司 | 用户讨厌寿司。",
        "contradict changed",
    ),
    row(
        "key=user.preference.drink; value=tea | The user prefers tea.",
        "key=user.preference.drink; value=coffee | The user switched from tea to coffee.",
        "contradict changed",
    ),
    asks(
        "key=user.preference.editor; value=Vim | The user prefers Vim.",
        "key=user.preference.editor; value=Helix | The user prefers Helix.",
        "contradict changed",
    ),
    row(
        "key=user.preference.editor; value=Vim | The user prefers Vim.",
        "key=user.preference.editor; value=Helix | The user now uses Helix instead of Vim.",
        "contradict changed",
    ),
    row(
        "key=user.preference.editor; value=Vim | The user prefers Vim.",
        "key=user.preference.editor; value=Helix; replaces=k | The user prefers Helix.",
        "contradict changed",
    ),
    asks(
        "key=project.api; value=REST | The API is REST.",
        "key=project.api; value=GraphQL | The API is GraphQL.",
        "contradict changed",
    ),
    asks(
        "key=project.stack; value=React | The project uses React.",
        "key=project.stack; value=React Native | The project uses React Native.",
        "contradict changed",
    ),
    // A sentence that gives an attribute its value needs neither a key nor a word of change.
    row("The default branch is called master.", "The default branch is called main.", "contradict changed"),
    row("The Node version is 18.", "The Node version is 22.", "contradict changed"),
    row("The lead of the billing team is Ana.", "The lead of the billing team is Ben.", "add"),
    row("The billing lead is Ana.", "The billing lead is Ben.", "contradict changed"),
    row("The API is deployed on Heroku.", "The API is deployed on Fly.io.", "contradict changed"),
    row("The user lives in Berlin.", "The user lives in Hamburg.", "contradict changed"),
    row("Use tabs for indentation.", "Do not use tabs for indentation.", "contradict changed"),
    row("The database is slow.", "The database is encrypted.", "add"),
    row("The service listens on port 8080.", "The service listens on port 9090.", "add"),
    row("A reviewer is Ana.", "A reviewer is Ben.", "add"),
    row("CI uses Jenkins.", "CI uses GitHub Actions.", "add"),
    row("The lead is Ana.", "The lead is also Ben.", "add"),
    row("The lead is Ana.", "The owner is Ben.", "add"),
    // A key that was redacted identifies nothing.
    row(
        "key=[redacted:spoken-key]; value=4000 | The service called ada listens on port 4000.",
        "key=[redacted:spoken-key]; value=5000 | The service called bob listens on port 5000.",
        "add",
    ),
    // Polarity without a key.
    row("The user drinks coffee.", "The user does not drink coffee.", "contradict changed"),
    row("The user likes cilantro in salads.", "The user can't stand cilantro in salads.", "contradict changed"),
    row("用户喜欢在早上跑步。", "用户不喜欢在早上跑步。", "contradict changed"),
    row("用户吃香菜。", "用户不吃香菜。", "contradict changed"),
    row("ユーザーはコーヒーを飲みます。", "ユーザーはコーヒーを飲みません。", "contradict changed"),
    row("El usuario bebe café.", "El usuario ya no bebe café.", "contradict changed"),
    row("Der Nutzer trinkt Kaffee.", "Der Nutzer trinkt keinen Kaffee.", "contradict changed"),
    row("사용자는 커피를 마신다.", "사용자는 더 이상 커피를 마시지 않는다.", "contradict changed"),
    row("The build caches dependencies.", "The build can't stop caching dependencies.", "support"),
    asks("The user eats meat.", "The user does not eat any meat at work.", "add"),
    // Lexical neighbours.
    row("The user prefers concise answers.", "The user prefers concise answers in German.", "refine"),
    row("The user prefers concise answers with code samples.", "The user prefers concise answers.", "support"),
    row("The user is preparing for a marathon.", "The user prepares for a marathon.", "support"),
    row("用户喜欢简洁的回答。", "用户喜欢简洁回答。", "support"),
    row("The user enjoys hiking in the mountains.", "Mountain hikes are something the user loves.", "support"),
    asks(
        "The team reviews every pull request before merging.",
        "The team approves every pull request before merging.",
        "add",
    ),
    misses("用户每天早上跑步五公里。", "每天早上用户都会跑5公里。", "support", "add"),
    asks("Ana reports to Bob.", "Bob reports to Ana.", "add"),
    asks("Backups go from Lyon to Oslo.", "Backups go from Oslo to Lyon.", "add"),
    asks("小明比小红高。", "小红比小明高。", "add"),
    asks("The integration tests run on every push.", "The integration tests run on every push in staging.", "add"),
    asks(
        "The user migrates the orders table by hand.",
        "episode | The user migrates the orders table by hand again.",
        "add",
    ),
    // Hard negatives: nothing merges and nothing is retired.
    row("The user likes green tea.", "Ana likes green tea.", "add"),
    row("The user lives in Berlin.", "The user's sister lives in Berlin.", "add"),
    row("用户住在柏林。", "用户的姐姐住在柏林。", "add"),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Munich | The user's sister lives in Munich.",
        "add",
    ),
    row(
        "key=user.residence; value=柏林 | 用户住在柏林。",
        "key=user.residence; value=慕尼黑 | 用户的妹妹住在慕尼黑。",
        "add",
    ),
    row("speaker=Ana | The user likes green tea.", "speaker=Bob | The user likes green tea.", "add"),
    // In a chat, nobody ends what another person said of themselves, unless they name that person.
    row(
        "speaker=rui | Rui is using qTox both on Windows 10 and OS X.",
        "speaker=ana | ana said: \"you need to know the status to merge into the new organisation, not qTox\"",
        "add",
    ),
    row(
        "speaker=rui | Rui is a maintainer.",
        "speaker=rui | rui said: \"Messages are not sent through a daemon in qTox, but rather using the core library\"",
        "add",
    ),
    row(
        "speaker=initramfs | Initramfs is a maintainer.",
        "speaker=initramfs | initramfs said: \"Connectivity to the network is not done through a daemon in qTox, but rather \
         using the toxcore library\"",
        "add",
    ),
    row(
        "speaker=rui | Rui is a maintainer.",
        "speaker=rui | rui said: \"I am no longer a maintainer\"",
        "contradict changed",
    ),
    row("The API allows 100 requests per minute.", "The API allows 200 requests per minute.", "add"),
    row("接口每分钟允许100次请求。", "接口每分钟允许200次请求。", "add"),
    row("The service needs Node 18.", "The service needs Node 20.", "add"),
    row("The cache expires after 30 minutes.", "The cache expires after 30 seconds.", "add"),
    row("The release of the mobile app was on 2026-01-05.", "The release of the mobile app was on 2026-03-05.", "add"),
    row("The team meets on Mondays.", "The team meets on Thursdays.", "add"),
    row("团队周一开会。", "团队周四开会。", "add"),
    row("ns=project/shop | The project deploys to Fly.io.", "ns=project/blog | The project deploys to Fly.io.", "add"),
    row(
        "ns=project/shop; key=project.database; value=MySQL | The project uses MySQL.",
        "ns=project/blog; key=project.database; value=Postgres | The project uses Postgres.",
        "add",
    ),
    row("The user drinks tea every morning.", "The user drank tea yesterday morning.", "add"),
    row("用户每天喝咖啡。", "用户昨天没喝咖啡。", "add"),
    row("The user never eats meat.", "The user ate meat once at a wedding.", "add"),
    row("The user always deploys on Fridays.", "This time the user did not deploy on Friday.", "add"),
    row(
        "episode; from=2026-01-05 | The user fixed the login bug.",
        "episode; from=2026-02-05 | The user fixed the login bug.",
        "add",
    ),
    row("The user lives in Berlin near the park.", "The user plans to live in Lisbon near the park.", "add"),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.residence; value=Lisbon | The user wants to move to Lisbon.",
        "add",
    ),
    row(
        "key=user.residence; value=柏林 | 用户住在柏林。",
        "key=user.residence; value=里斯本 | 用户打算搬到里斯本。",
        "add",
    ),
    row(
        "key=project.deploy_target; value=Heroku | Staging deploys to Heroku.",
        "key=project.deploy_target; value=Fly.io | Production deploys to Fly.io.",
        "add",
    ),
    row(
        "key=project.deploy_target; value=Heroku | 测试环境部署在 Heroku。",
        "key=project.deploy_target; value=Fly.io | 生产环境部署在 Fly.io。",
        "add",
    ),
    row("The project uses Postgres for orders.", "The project uses Redis for sessions.", "add"),
    row("The user is allergic to peanuts.", "The user is allergic to cashews.", "add"),
    row("用户对花生过敏。", "用户对腰果过敏。", "add"),
    row("The user works with GitHub Actions at Acme.", "The user works with GitLab Runners at Acme.", "add"),
    row(
        "key=user.residence; value=Berlin | The user lives in Berlin.",
        "key=user.birthplace; value=Berlin | The user was born in Berlin.",
        "add",
    ),
    row("The linter runs on every commit in src/api.", "The linter runs on every commit in src/web.", "add"),
    row(
        "subject=limits | The API allows 100 requests per minute.",
        "subject=limits | The API now allows 200 requests per minute.",
        "contradict changed",
    ),
];

fn told(ruling: &Ruling) -> String {
    let parts = [
        Some(ruling.decision.as_str()),
        ruling.conflict.map(Conflict::as_str),
        ruling.born_superseded.then_some("older"),
        ruling.pending.then_some("pending"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Fails with every row whose decision differs from the expected one, and prints how many are correct.
pub(in crate::consolidate) fn check(rows: &[Row]) {
    let (mut wrong, mut right, mut grey) = (Vec::new(), 0, 0);
    for Row(old, new, expected, rules) in rows {
        let verdict = decide(&incoming(new), &[known("k", old)], &[], now());
        let outcome = told(&verdict.ruling);
        let said = if verdict.open { "grey".to_owned() } else { outcome.clone() };
        grey += usize::from(said == "grey");
        right += usize::from(outcome == *expected);
        if said != rules.unwrap_or(expected) {
            wrong.push(format!("{old}\n  {new}\n  wanted {}, got {said}: {verdict:?}", rules.unwrap_or(expected)));
        }
    }
    println!("{} rows, {right} right by rules alone, {grey} asked", rows.len());
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_rules_decide_each_row_as_the_table_says() {
    check(ROWS);
}
