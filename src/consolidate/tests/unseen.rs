//! A second table, written before the rules were run on it: it measures the rules alone on claims for which they were
//! not developed. Each row gives the correct decision and, if it differs, the actual one.

use super::table::{Row, asks, check, misses, row};

const ROWS: &[Row] = &[
    // Support.
    row(
        "key=user.employer; value=Globex | The user is employed by Globex.",
        "key=user.employer; value=Globex | The user's job is at Globex.",
        "support",
    ),
    misses(
        "The user wants commit messages in English.",
        "Commit messages in English are what the user wants.",
        "support",
        "refine",
    ),
    misses("The user plays the violin.", "The user is a violin player.", "support", "add"),
    row("用户会弹钢琴。", "用户会弹钢琴", "support"),
    misses("用户不吃辣。", "用户不能吃辣的食物。", "support", "refine"),
    asks(
        "key=user.diet; value=vegetarian | The user is a vegetarian.",
        "key=user.diet; value=vegetarian | The user does not eat meat because they are vegetarian.",
        "support",
    ),
    misses(
        "key=user.timezone; value=Asia/Tokyo | ユーザーのタイムゾーンは Asia/Tokyo。",
        "key=user.tz; value=asia/tokyo | ユーザーは東京時間で働く。",
        "support",
        "merge",
    ),
    row("El usuario prefiere respuestas cortas.", "El usuario prefiere las respuestas cortas.", "support"),
    row("Der Nutzer bevorzugt kurze Antworten.", "Kurze Antworten bevorzugt der Nutzer.", "support"),
    row("사용자는 짧은 답변을 선호한다.", "사용자는 짧은 답변을 선호합니다.", "support"),
    row("The repository has 120 open issues.", "120 issues are open in the repository.", "support"),
    // Refine and merge.
    row("The user is learning Rust.", "The user is learning Rust for embedded work on the ESP32.", "refine"),
    row("用户在学习 Rust。", "用户在学习 Rust，用于嵌入式开发。", "refine"),
    row(
        "key=project.ci; value=GitHub Actions | CI runs on GitHub Actions.",
        "key=project.ci; value=GitHub Actions | CI runs on GitHub Actions with 4 parallel jobs and a cache of 10 GB.",
        "refine",
    ),
    row("The user owns a bicycle.", "The user owns a red bicycle bought in 2024.", "refine"),
    row("El usuario tiene un perro.", "El usuario tiene un perro llamado Toby.", "refine"),
    // Contradictions.
    row(
        "key=user.job_title; value=developer | The user is a developer.",
        "key=user.role; value=team lead | The user became team lead.",
        "contradict changed",
    ),
    row(
        "key=project.package_manager; value=npm | The project uses npm.",
        "key=project.package_manager; value=pnpm | The project migrated from npm to pnpm.",
        "contradict changed",
    ),
    row(
        "key=project.license; value=MIT | The project is under MIT.",
        "key=project.license; value=Apache-2.0 | The licence is Apache-2.0, MIT was a mistake; correction.",
        "contradict corrected",
    ),
    row(
        "key=user.residence; value=上海 | 用户住在上海。",
        "key=user.residence; value=深圳 | 用户上个月从上海搬到深圳。",
        "contradict changed",
    ),
    row(
        "key=user.residence; value=上海; said=2026-03-01 | 用户住在上海。",
        "key=user.residence; value=深圳; said=2026-02-01 | 用户住在深圳。",
        "contradict changed older",
    ),
    row("The user eats breakfast.", "The user no longer eats breakfast.", "contradict changed"),
    row("The user uses a standing desk.", "The user stopped using a standing desk.", "contradict changed"),
    row("用户抽烟。", "用户不再抽烟。", "contradict changed"),
    row("用户喜欢看恐怖电影。", "用户不喜欢看恐怖电影。", "contradict changed"),
    row("사용자는 매운 음식을 좋아한다.", "사용자는 매운 음식을 싫어한다.", "contradict changed"),
    row("ユーザーは納豆が好きだ。", "ユーザーは納豆が嫌いだ。", "contradict changed"),
    row("Telemetry is enabled in the app.", "Telemetry is disabled in the app.", "contradict changed"),
    row(
        "subject=meetings | The team holds a daily standup at 9.",
        "subject=meetings | The team moved the daily standup from 9 to 10.",
        "contradict changed",
    ),
    row(
        "subject=hosting | The website is hosted on Netlify.",
        "subject=hosting | The website moved from Netlify to Vercel.",
        "contradict changed",
    ),
    row(
        "key=project.framework; value=Express | The API is built with Express.",
        "key=project.framework; value=Fastify | The API is built with Fastify.",
        "contradict changed",
    ),
    // Different things.
    row("The user's brother works at Globex.", "The user works at Globex.", "add"),
    asks("Maria prefers tea in the morning.", "Jonas prefers tea in the morning.", "add"),
    row("用户的妈妈不吃辣。", "用户不吃辣。", "add"),
    row("The user runs 5 km every day.", "The user runs 10 km every day.", "add"),
    row("The free plan includes 3 seats.", "The free plan includes 5 seats.", "add"),
    row("Version 2.1 of the client fixes the leak.", "Version 2.2 of the client fixes the leak.", "add"),
    row("备份保留7天。", "备份保留30天。", "add"),
    row("The user usually works from home.", "Today the user works from the office.", "add"),
    row("用户一般七点起床。", "用户今天九点起床。", "add"),
    row("The user wants to learn Japanese.", "The user learned Japanese.", "add"),
    row("The frontend is written in TypeScript.", "The backend is written in TypeScript.", "add"),
    row(
        "key=user.likes; value=jazz | The user likes jazz.",
        "key=user.likes; value=opera | The user likes opera.",
        "add",
    ),
    row(
        "key=user.skill; value=SQL | The user knows SQL.",
        "key=user.skill; value=Python | The user knows Python.",
        "add",
    ),
    row("The user is allergic to penicillin.", "The user is allergic to ibuprofen.", "add"),
    row("The staging database runs Postgres 15.", "The production database runs Postgres 15.", "add"),
    row("The user likes working with Anna.", "The user likes working with Anders.", "add"),
    asks("Import jobs run before export jobs.", "Export jobs run before import jobs.", "add"),
    row("The user visited Rome in 2019.", "The user visited Rome in 2023.", "add"),
    row("Deploys to eu-west-1 need approval.", "Deploys to us-east-1 need approval.", "add"),
    asks("用户喜欢张伟推荐的书。", "用户喜欢李娜推荐的书。", "add"),
    row("Der Nutzer fährt jeden Tag Rad.", "Der Nutzer fuhr gestern nicht Rad.", "add"),
    row("El usuario siempre cena a las 21.", "El usuario cenó ayer a las 23.", "add"),
    row("ns=project/a | Tests run with nextest.", "ns=project/b | Tests run with nextest.", "add"),
    asks("The user prefers dark mode.", "The user prefers dark mode except when presenting.", "refine"),
    asks(
        "key=user.preference.theme; value=dark | The user prefers a dark theme.",
        "key=user.preference.theme; value=light | The user prefers a light theme.",
        "contradict changed",
    ),
];

#[test]
fn the_rules_do_on_unseen_rows_what_is_recorded() {
    check(ROWS);
}
