//! A third table: each mechanism of comparison in several languages, and similar cases to which it does not apply.

use super::table::{Row, asks, check, row};
use super::testing::{incoming, known, now};
use crate::consolidate::decide::decide;
use crate::consolidate::{Conflict, Decision};

pub(in crate::consolidate) const ROWS: &[Row] = &[
    // Numbers of the same attribute, identified by the key.
    row(
        "key=oven.preheat; value=20 min | The bakery preheats the oven for 20 minutes.",
        "key=oven.preheat; value=35 min | The bakery preheats the oven for 35 minutes.",
        "contradict changed",
    ),
    row(
        "key=club.members; value=120 | Der Verein hat 120 Mitglieder.",
        "key=club.members; value=134 | Der Verein hat inzwischen 134 Mitglieder.",
        "contradict changed",
    ),
    row(
        "key=garden.beds; value=8; said=2026-03-03 | 菜园里有8个菜畦。",
        "key=garden.beds; value=5; said=2025-02-02 | 菜园里有5个菜畦。",
        "contradict changed older",
    ),
    row(
        "key=queue.workers; value=4; sure=.95; said=2026-02-10 | キューのワーカーは4個である。",
        "key=queue.workers; value=6; sure=.4 | キューのワーカーは6個かもしれない。",
        "contradict conflict pending",
    ),
    row(
        "key=class.students; value=18 | 요가 수업의 수강생은 18명이다.",
        "key=class.students; value=23 | 요가 수업의 수강생은 23명이다.",
        "contradict changed",
    ),
    row(
        "key=alquiler.importe; value=850 € | El alquiler del local cuesta 850 euros al mes.",
        "key=alquiler.importe; value=920 € | El alquiler del local cuesta 920 euros al mes.",
        "contradict changed",
    ),
    row(
        "key=limit; value=1,000 | The importer accepts 1,000 rows.",
        "key=limit; value=1000 rows | The importer accepts 1000 rows.",
        "support",
    ),
    asks(
        "key=run.distance; value=5 km; episode | The user ran 5 km in the park.",
        "key=run.distance; value=8 km; episode | The user ran 8 km in the park.",
        "add",
    ),
    asks(
        "key=job.memory; value=2 GB | The job of the indexer in batch-a gets 2 GB.",
        "key=job.memory; value=6 GB | The job of the indexer in batch-b gets 6 GB.",
        "add",
    ),
    row(
        "key=backup.days; value=7 | On the test system backups are kept for 7 days.",
        "key=backup.days; value=30 | On the production system backups are kept for 30 days.",
        "add",
    ),
    // Numbers of the same attribute, identified by the same words, without a key.
    row(
        "subject=Sauna | Die Sauna des Hotels wird auf 80 Grad geheizt.",
        "subject=Sauna | Die Sauna des Hotels wird auf 90 Grad geheizt.",
        "contradict changed",
    ),
    row(
        "words=chat; said=2026-02-10; speaker=Uta | The bus to the seaside leaves at 7:30.",
        "words=chat; speaker=Piet | The bus to the seaside leaves at 8:15.",
        "contradict conflict pending",
    ),
    row("The bus to the seaside leaves at 7:30.", "The bus to the seaside leaves at 8:15.", "add"),
    row("subject=printer | Printer 2 is jammed.", "subject=printer | Printer 5 is jammed.", "add"),
    row("subject=电梯 | 2号电梯正在维修。", "subject=电梯 | 3号电梯正在维修。", "add"),
    row("subject=엘리베이터 | 2번 엘리베이터는 고장이다.", "subject=엘리베이터 | 3번 엘리베이터는 고장이다.", "add"),
    asks("subject=Zimmer | Zimmer 12 hat einen Balkon.", "subject=Zimmer | Zimmer 14 hat jetzt einen Balkon.", "add"),
    asks("subject=sala | La sala 3 tiene piano.", "subject=sala | La sala 5 ahora tiene piano.", "add"),
    // A different word in the position of a single value.
    row(
        "key=release.branch; value=stable | Releases are cut from the branch stable.",
        "Releases are cut from the branch next.",
        "contradict changed",
    ),
    row(
        "key=docs.language; value=Deutsch | Die Anleitung wird auf Deutsch geschrieben.",
        "key=docs.language; value=Englisch | Die Anleitung wird auf Englisch geschrieben.",
        "contradict changed",
    ),
    asks("key=club.tools; value=drill | The club lends out a drill.", "The club lends out a ladder.", "add"),
    row(
        "key=shop.repairs; value=clocks | The shop repairs clocks.",
        "key=shop.repairs; value=watches | The shop also repairs watches.",
        "add",
    ),
    row(
        "key=user.sport; value=tennis | La usuaria juega al tenis.",
        "key=user.sport; value=padel | La usuaria también juega al pádel.",
        "add",
    ),
    asks("key=user.sport; value=羽毛球 | 用户打羽毛球。", "key=user.sport; value=网球 | 用户打网球。", "add"),
    // Changes that are stated in words.
    row(
        "key=team.chat; value=Zulip | The team chats on Zulip.",
        "key=messenger; value=Element | The team chats on Element instead of Zulip.",
        "contradict changed",
    ),
    row(
        "key=tienda.banco; value=Caja Sur | La tienda trabaja con Caja Sur.",
        "subject=bancos | La tienda trabaja con Banco Azul y ya no con Caja Sur.",
        "contradict changed",
    ),
    row(
        "key=팀.도구; value=노션 | 팀은 문서를 노션에 적는다.",
        "key=문서; value=위키 | 팀은 문서를 노션 대신 위키에 적는다.",
        "contradict changed",
    ),
    row(
        "subject=Verein | Der Verein trainiert in der Nordhalle.",
        "subject=Verein | Der Verein trainiert in der Südhalle statt in der Nordhalle.",
        "contradict changed",
    ),
    row(
        "subject=合唱团 | 合唱团在老礼堂排练。",
        "subject=合唱团 | 合唱团从老礼堂搬到新礼堂排练。",
        "contradict changed",
    ),
    row(
        "subject=fisio; key=fisio.nombre; value=Rubén | El fisio de la usuaria se llama Rubén.",
        "subject=fisio; key=fisio.nombre; value=Adán | El fisio de la usuaria se llama Adán; lo de Rubén fue un error.",
        "contradict corrected",
    ),
    row(
        "key=server.location; value=福岡 | バックアップサーバーは福岡にある。",
        "key=server.location; value=札幌 | バックアップサーバーは札幌にあり、福岡というのは勘違いだった。",
        "contradict corrected",
    ),
    row("The team deploys with Ansible.", "The team plans to deploy with Nix instead of Ansible.", "add"),
    row("Das Team nutzt Jenkins.", "Das Team überlegt, statt Jenkins Woodpecker zu nutzen.", "add"),
    // Claims that each add a different detail to one fact.
    row(
        "The book club meets every first Monday at Ola's house.",
        "The book club meets every first Monday because the library is free then.",
        "merge",
    ),
    row(
        "Der Kurs für Töpfern findet jeden Samstag mit Frau Lind statt.",
        "Der Kurs für Töpfern findet jeden Samstag im alten Bahnhof statt.",
        "merge",
    ),
    row("用户每周五晚上跟王老师学书法。", "用户每周五晚上在文化宫学书法。", "merge"),
    row(
        "ユーザーの娘は毎週水曜日に田中先生から水泳を習っている。",
        "ユーザーの娘は毎週水曜日に市民プールで水泳を習っている。",
        "merge",
    ),
    row(
        "La reunión de padres es el jueves en el comedor del colegio.",
        "La reunión de padres es el jueves con la directora nueva.",
        "merge",
    ),
    row("The book club meets every first Monday in Oslo.", "The book club meets every first Monday in Bergen.", "add"),
    asks("The choir rents chairs for the spring concert.", "The choir rents lights for the spring concert.", "add"),
    row("用户每周五晚上跟王老师学书法。", "用户每周五晚上跟李老师学国画。", "add"),
    // More detail and less.
    row("The backup job sometimes stalls.", "The backup job stalls when the disk is nearly full.", "refine"),
    row("El usuario cultiva tomates.", "El usuario cultiva tomates en la terraza desde 2023.", "refine"),
    row("사용자는 된장을 직접 담근다.", "사용자는 해마다 봄에 된장을 직접 담근다.", "refine"),
    row("The choir left the hall.", "The choir left the hall because nobody heated it.", "refine"),
    row("Die Werkstatt ist freitags ab 15 Uhr geschlossen.", "Die Werkstatt ist freitags geschlossen.", "support"),
    row("Los ensayos empiezan puntuales.", "El ensayo empieza puntual.", "support"),
    row("The user waits half an hour.", "The user waits 30 min.", "support"),
    // Different people.
    row("用户的岳母住在南京。", "用户的母亲住在南京。", "add"),
    row("ユーザーの姉は教師だ。", "ユーザーの妹は教師だ。", "add"),
    row("사용자의 할머니는 부산에 산다.", "사용자의 이모는 부산에 산다.", "add"),
    row("La tía de la usuaria tiene asma.", "La prima de la usuaria tiene asma.", "add"),
    row("Der Onkel des Nutzers sammelt Uhren.", "Der Neffe des Nutzers sammelt Uhren.", "add"),
    row("The user's daughter sings.", "The user's son sings.", "add"),
    row(
        "subject=Mira; key=allergy; value=nuts | Mira is allergic to nuts.",
        "subject=Joris; key=allergy; value=nuts | Joris is allergic to nuts.",
        "add",
    ),
    row(
        "subject=陈晓; key=owner; value=仓库 | 陈晓管理仓库。",
        "subject=陈霄; key=owner; value=门店 | 陈霄管理门店。",
        "add",
    ),
    // Negations in every language.
    row("사용자는 고기를 먹는다.", "사용자는 고기를 먹지 않는다.", "contradict changed"),
    row("La usuaria come carne.", "La usuaria no come carne.", "contradict changed"),
    row("Die Nutzerin isst Fleisch.", "Die Nutzerin isst kein Fleisch.", "contradict changed"),
    row("ユーザーは肉を食べる。", "ユーザーは肉を食べない。", "contradict changed"),
    row("用户吃牛肉。", "用户不再吃牛肉。", "contradict changed"),
    asks("The user smokes.", "The user does not smoke in the car.", "add"),
];

#[test]
fn each_mechanism_does_in_every_language_what_is_recorded() {
    check(ROWS);
}

#[test]
fn what_is_not_contradicted_of_a_memory_stays() {
    let rows = [
        (
            "key=user.employer; value=Acme | The user works at Acme and lives in Paris with two cats.",
            "key=user.employer; value=Globex | The user works at Globex.",
            Some("The user lives in Paris with two cats."),
        ),
        (
            "subject=Verein | Der Verein probt in der Nordhalle und gibt jedes Jahr ein Heft heraus.",
            "subject=Verein | Der Verein probt statt in der Nordhalle in der Südhalle.",
            Some("Der Verein gibt jedes Jahr ein Heft heraus."),
        ),
        (
            "key=user.residence; value=杭州 | 用户住在杭州，在一家银行上班。",
            "key=user.residence; value=苏州 | 用户住在苏州。",
            Some("用户在一家银行上班。"),
        ),
        (
            "key=user.residence; value=東京 | ユーザーは東京に住み、銀行で働いている。",
            "key=user.residence; value=大阪 | ユーザーは大阪に住んでいる。",
            Some("ユーザーは銀行で働いている。"),
        ),
        (
            "key=user.residence; value=Vigo | La usuaria vive en Vigo y trabaja en un banco pequeño.",
            "key=user.residence; value=Lugo | La usuaria vive en Lugo.",
            Some("La usuaria trabaja en un banco pequeño."),
        ),
        (
            "subject=Tante | Die Tante des Nutzers war Köchin und kam aus Bozen.",
            "subject=Tante | Die Tante des Nutzers kam aus Meran und nicht, wie irrtümlich gesagt, aus Bozen.",
            Some("Die Tante des Nutzers war Köchin."),
        ),
        (
            "key=user.residence; value=Berlin | The user lives in Berlin, near the park.",
            "key=user.residence; value=Munich | The user lives in Munich.",
            None,
        ),
    ];
    for (old, new, rest) in rows {
        let ruling = decide(&incoming(new), &[known("k", old)], &[], now()).ruling;
        assert_eq!((ruling.decision, ruling.pending), (Decision::Contradict, false), "{old}");
        let kept = ruling.rest.map(|rest| (rest.content, rest.key));
        assert_eq!(kept, rest.map(|rest| (rest.to_owned(), None)), "{old}");
    }
}

#[test]
fn a_part_that_is_no_sentence_of_its_own_waits_for_a_person() {
    let old = known("k", "The office has a coffee machine and a piano from 1920.");
    let ruling = decide(&incoming("The office no longer has a coffee machine."), &[old], &[], now()).ruling;
    assert_eq!((ruling.conflict, ruling.pending, ruling.rest), (Some(Conflict::Conflict), true, None));
}
