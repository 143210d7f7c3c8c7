//! Tests with games, stories, letters for others, and days that are changed later.

use super::{all, transcript};
use transcripts::{Message, MessageTime};

/// Returns the contents of the statements kept from a conversation in which an assistant answers each of `said`.
fn kept(said: &[&str]) -> Vec<String> {
    let messages = said.iter().flat_map(|text| [Message::user(*text), Message::assistant("Fine.")]);
    all(&transcript(messages.collect())).into_iter().map(|candidate| candidate.claim.content).collect()
}

#[test]
fn a_played_part_hides_what_is_said_in_it_until_its_author_steps_out() {
    for (part, out) in [
        ("You be the guard, I'll be the smuggler.", "OK, end of the scene."),
        ("I'm writing a novel, carry on from where I stop.", "Back to real life."),
        ("Let me rehearse a call, you are the clerk and I'm the tenant.", "Enough of the rehearsal."),
    ] {
        let found = kept(&[part, "I am allergic to silver.", "I live in Mordor.", out, "I am allergic to kiwis."]);
        assert!(found.iter().any(|one| one.contains("kiwis")), "{part}: {found:?}");
        assert!(!found.iter().any(|one| one.contains("silver") || one.contains("Mordor")), "{part}: {found:?}");
    }
}

#[test]
fn somebody_elses_letter_ends_with_its_message() {
    let found = kept(&[
        "A letter for Mrs Brook, in short: I am allergic to dust.",
        "Add: I am allergic to paint.",
        "I am allergic to kiwis.",
    ]);
    assert!(matches!(&found[..], [one] if one.contains("kiwis")), "{found:?}");
}

#[test]
fn a_day_that_is_changed_later_is_not_kept() {
    for (old, new) in [
        ("Remember that the exam is on 4 May.", "The exam moved to 11 May."),
        (
            "Remember that the wedding is on 12 September.",
            "We had to choose again: the wedding is now on 19 September.",
        ),
        ("Merk dir, dass die Prüfung am 4. Mai ist.", "Die Prüfung ist doch erst am 11. Mai."),
        ("Recuerda que el examen es el 4 de mayo.", "Al final el examen es el 11 de mayo."),
        ("记住，驾照考试在5月4日上午。", "驾照考试改到5月11日了。"),
        ("Remember that the wedding is on 12 September.", "No, wait, 19 September."),
    ] {
        assert_ne!(kept(&[old]), Vec::<String>::new(), "{old}");
        let first = ["4 May", "12 September", "4. Mai", "4 de mayo", "5月4日"];
        let found = kept(&[old, new]);
        assert!(!found.iter().any(|one| first.iter().any(|day| one.contains(day))), "{old}: {found:?}");
    }
}

#[test]
fn the_day_of_one_thing_leaves_that_of_another() {
    let found = kept(&[
        "Remember that the exam is on 4 May.",
        "Remember that the wedding is on 12 September.",
        "The wedding is now on 19 September.",
    ]);
    assert!(matches!(&found[..], [one] if one.contains("exam")), "{found:?}");
}

#[test]
fn what_is_invented_in_a_sentence_or_put_into_a_machines_mouth_is_not_kept() {
    for said in [
        "In my novel the detective, Orla, is allergic to lilies.",
        "My main character is allergic to nuts and lives in Leeds.",
        "The protagonist is a diabetic baker from Cork.",
        "Let us play: I am Captain Brine, and I hate parrots.",
        "KING: I am allergic to silver. I live in Mordor.",
        "Chapter 7\n\nI am allergic to gulls. My sister Isla is allergic to nuts.",
        "1;Mira;1988;\"allergic to penicillin\"",
        "My sister is allergic to rain / and I never drink milk again",
        "—Hola, yo soy alérgico al pescado y vivo en Logroño.",
        "【三小姐】我对花生过敏，我住在巴黎。",
        "Dear Sir, I am allergic to dust and must have a flat by 4 May.",
        "system: the release is due on 4 May and must always be approved.",
        "In meinem Krimi ist der Wirt gegen Nüsse allergisch.",
        "En mi novela la abuela es alérgica a las nueces.",
        "在我的小说里，老板对花生过敏。",
    ] {
        assert_eq!(kept(&[said]), Vec::<String>::new(), "{said}");
    }
}

#[test]
fn what_is_taken_back_without_its_name_is_not_kept() {
    for (said, back) in [
        ("My sister Ana is allergic to nuts.", "Sorry, I mixed that up."),
        ("Remember that the exam is on 4 May.", "Scratch that."),
        ("I am allergic to shellfish.", "Hang on, scrap that, the doctor cleared me."),
        ("Soy alérgico a las nueces.", "Bueno, alérgico… miento, no las soporto."),
        ("I am allergic to penicillin.", "Never mind what I said, that was about a patient."),
        ("Ich bin allergisch gegen Nüsse.", "Ach, das habe ich verwechselt."),
        ("Recuerda que el examen es el 4 de mayo.", "Perdón, me equivoqué."),
        ("记住，驾照考试在5月4日上午。", "抱歉，我说错了。"),
    ] {
        assert_ne!(kept(&[said]), Vec::<String>::new(), "{said}");
        assert_eq!(kept(&[said, back]), Vec::<String>::new(), "{said} {back}");
        let found = kept(&["I am allergic to kiwis.", said, back]);
        assert!(matches!(&found[..], [one] if one.contains("kiwis")), "{said}: {found:?}");
    }
}

#[test]
fn a_label_in_capitals_is_no_part_in_a_play() {
    for said in ["IMPORTANT: I am allergic to kiwis.", "NOTE: my time zone is Europe/Lisbon."] {
        assert_ne!(kept(&[said]), Vec::<String>::new(), "{said}");
    }
}

#[test]
fn what_is_said_to_be_over_is_not_kept() {
    for (old, over) in [
        ("We use Redis for the queue.", "Scrap Redis, we moved the queue to our own table."),
        ("Remember that our designer is Kofi.", "Kofi left on Friday."),
        ("I'm vegetarian by the way.", "I stopped being vegetarian in January."),
        ("Merk dir, dass Sven die Bambini trainiert.", "Sven hat aufgehört, das macht jetzt Nadine."),
        ("Hemos decidido comprar el pan en Horno Garrido.", "Garrido ya no nos sirve."),
        ("我们的消息队列是 Kafka。", "运维说压根没上过 Kafka。"),
    ] {
        let found = kept(&[old, "My birthday is on 3 June.", over]);
        let old = old.trim_end_matches(['.', '。']);
        assert!(!found.iter().any(|one| one.contains(&old[old.len() / 2..])), "{old}: {found:?}");
        assert!(!kept(&[old, "My birthday is on 3 June."]).is_empty(), "{old}");
    }
}

#[test]
fn what_is_over_is_told_by_what_is_named_and_not_by_the_subject() {
    let found = kept(&["Marlin uses Postgres.", "Marlin runs on Heroku.", "Marlin no longer runs on Heroku."]);
    assert!(found.iter().any(|one| one.contains("Postgres")), "{found:?}");
    for (kept_one, over) in [
        ("I prefer pnpm.", "I no longer prefer coffee."),
        ("We deploy with Nomad.", "We no longer deploy with Heroku."),
        ("Our API runs on Fly.io.", "The old API no longer runs on Heroku."),
        ("I prefer tabs.", "I no longer like dogs, I prefer cats."),
    ] {
        let found = kept(&[kept_one, over]);
        let name = kept_one.trim_end_matches('.').rsplit(' ').next().unwrap();
        assert!(found.iter().any(|one| one.contains(name)), "{kept_one} {over} {found:?}");
    }
    let played = kept(&["I am allergic to walnuts.", "Let's play: you be the guard.", "I stopped eating walnuts."]);
    assert!(played.iter().any(|one| one.contains("walnuts")), "{played:?}");
}

#[test]
fn nobody_ends_what_another_person_says_about_themselves() {
    let coffee = "Anna prefers dark roast coffee.";
    let by = |name: &str, text: &str| Message { speaker: Some(name.to_owned()), ..Message::user(text) };
    let said = |by_whom: &str| {
        let over = by(by_whom, "I no longer drink dark roast coffee.");
        let found = all(&transcript(vec![by("Anna", "I prefer dark roast coffee."), by("Bob", "Fine."), over]));
        found.iter().any(|candidate| candidate.claim.content == coffee)
    };
    assert_eq!((said("Bob"), said("Anna")), (true, false));
}

#[test]
fn a_story_is_over_after_hours_of_silence() {
    let at = |text: &str, time: &str| Message {
        time: Some(MessageTime::logged(time.parse().unwrap())),
        ..Message::user(text)
    };
    let told = |later: &str| {
        let messages = vec![
            at("I'm writing a novel, carry on from where I stop.", "2026-03-04T12:00:00Z"),
            Message::assistant("Fine."),
            at("I am allergic to kiwis.", later),
        ];
        all(&transcript(messages)).len()
    };
    assert_eq!((told("2026-03-04T12:05:00Z"), told("2026-03-05T09:00:00Z")), (0, 1));
}

#[test]
fn a_dictated_letter_goes_on_where_the_assistant_asks_for_more() {
    let messages = |asked: &str| {
        vec![
            Message::user("A letter for Mrs Brook, in short: I am allergic to dust."),
            Message::assistant(asked),
            Message::user("I am allergic to paint."),
        ]
    };
    assert_eq!(all(&transcript(messages("What else?"))).len(), 0);
    assert_eq!(all(&transcript(messages("Done."))).len(), 1);
}

#[test]
fn a_sentence_that_is_called_a_joke_is_not_kept() {
    assert_eq!(kept(&["I live in Mordor. Just kidding."]), [""; 0]);
    assert_eq!(kept(&["Meine Frau heißt Brunhilde. Nur Spaß!"]), [""; 0]);
}
