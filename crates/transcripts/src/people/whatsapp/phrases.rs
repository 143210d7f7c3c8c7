//! Phrases that the program itself writes in an export, in the languages of phones.

/// Phrases that take the place of an omitted file, by type of file, in lower case and without marks.
///
/// Android uses one phrase for all types, in angle brackets; iOS has one for each type.
const OMITTED: &[(&str, &str)] = &[
    (
        "media",
        "\
         <media omitted>|<medien ausgeschlossen>|<médias omis>|<multimedia omitido>|<archivo omitido>|\
         <media omessi>|<mídia oculta>|<arquivo de mídia oculto>|<ficheiro não revelado>|<media weggelaten>|\
         <media jätettiin pois>|<media utelämnat>|<pominięto multimedia>|<без медиафайлов>|\
         <medya dahil edilmedi>|<省略多媒体文件>|<媒体文件已省略>|<媒體已略去>|<メディアは含まれていません>|<미디어 파일을 생략한 대화내용>|\
         <media tidak disertakan>|<मीडिया के बिना>|<תוכן המדיה לא נכלל>|<המדיה לא נכללה>|<تم استبعاد الوسائط>",
    ),
    (
        "image",
        "\
         image omitted|photo omitted|gif omitted|bild weggelassen|gif weggelassen|imagen omitida|gif omitido|\
         image absente|immagine omessa|imagem ocultada|imagem omitida|afbeelding weggelaten|kuva jätetty pois|\
         图像已忽略|图片已忽略|动图已忽略|התמונה הושמטה|תמונה הושמטה|تم استبعاد الصورة|略過圖片",
    ),
    (
        "video",
        "\
         video omitted|video note omitted|video weggelassen|video omitido|vidéo absente|video omesso|\
         vídeo omitido|video weggelaten|视频已忽略|הסרטון הושמט|تم استبعاد الفيديو|略過影片",
    ),
    (
        "audio",
        "\
         audio omitted|audio weggelassen|audio omitido|audio omis|audio omesso|áudio ocultado|audio weggelaten|\
         音频已忽略|略過音訊",
    ),
    (
        "sticker",
        "\
         sticker omitted|sticker weggelassen|sticker omitido|sticker omis|贴图已忽略",
    ),
    (
        "file",
        "\
         document omitted|dokument weggelassen|documento omitido|document omis|documento omesso|文档已忽略",
    ),
    (
        "contact",
        "\
         contact card omitted|kontaktkarte ausgelassen",
    ),
];

/// Words in brackets after the name of a file that the export contains.
const ATTACHED: &str = "\
    file attached|datei angehängt|archivo adjunto|fichier joint|file allegato|arquivo anexado|ficheiro anexado|\
    bestand bijgevoegd|tiedosto liitetty|bifogad fil|załączono plik|файл добавлен|dosya ekli|文件附件|附件|檔案已附加|\
    添付ファイル|파일 첨부됨";

/// Prefixes of the text that replaces a deleted message, in lower case.
const DELETED: &str = "\
    this message was deleted|you deleted this message|diese nachricht wurde gelöscht|\
    du hast diese nachricht gelöscht|se eliminó este mensaje|eliminaste este mensaje|este mensaje fue eliminado|\
    ce message a été supprimé|vous avez supprimé ce message|questo messaggio è stato eliminato|\
    hai eliminato questo messaggio|mensagem apagada|esta mensagem foi apagada|você apagou esta mensagem|\
    dit bericht is verwijderd|je hebt dit bericht verwijderd|tämä viesti poistettiin|poistit tämän viestin|\
    данное сообщение удалено|вы удалили данное сообщение|bu mesaj silindi|bu mesajı sildiniz|此消息已删除|此消息已被删除|\
    您已删除此消息|你已删除这条消息|這則訊息已刪除|你已刪除這則訊息|このメッセージは削除されました|삭제된 메시지입니다|הודעה זו נמחקה|מחקת הודעה זו|\
    تم حذف هذه الرسالة|لقد حذفت هذه الرسالة";

/// Words in angle brackets at the end of a message that was edited.
const EDITED: &str = "\
    this message was edited|diese nachricht wurde bearbeitet|se editó este mensaje|este mensaje fue editado|\
    ce message a été modifié|questo messaggio è stato modificato|mensagem editada|esta mensagem foi editada|\
    dit bericht is bewerkt|tätä viestiä muokattiin|данное сообщение изменено|bu mesaj düzenlendi|此消息已编辑|\
    这条消息已经过编辑|這則訊息已編輯|このメッセージは編集されました";

/// Parts of the notice with which each chat begins.
const ENCRYPTED: &[&str] = &[
    "end-to-end", "ende-zu-ende", "extremo a extremo", "bout en bout", "ponta a ponta", "de ponto a ponto",
    "päästä päähän", "totalsträcks", "сквозн", "uçtan uca", "端到端加密", "端對端加密", "エンドツーエンド", "종단간",
    "מקצה לקצה", "بين الطرفين",
];

/// Prefixes of a shared location.
const LOCATIONS: &[&str] = &[
    "location:", "standort:", "ubicación:", "localisation :", "posizione:", "localização:", "locatie:", "sijainti:",
    "位置：", "位置:",
];

/// Prefixes of a poll, whose question and answers were written by the author.
const POLLS: &[&str] =
    &["poll:", "umfrage:", "encuesta:", "sondage :", "sondaggio:", "enquete:", "peiling:", "投票：", "投票:"];

/// Opening quotation marks, each with its closing marks.
const QUOTES: &[(char, &[char])] = &[('‘', &['’']), ('“', &['”']), ('„', &['“', '”']), ('«', &['»']), ('「', &['」'])];

/// Returns the type of the omitted file, if `text` represents one.
pub(crate) fn omitted(text: &str) -> Option<&'static str> {
    let text = text.trim().to_lowercase();
    OMITTED.iter().find(|(_, phrases)| phrases.split('|').any(|phrase| phrase == text)).map(|(kind, _)| *kind)
}

/// Returns whether `text` states that the preceding file is attached.
pub(crate) fn is_attached(text: &str) -> bool {
    ATTACHED.split('|').any(|phrase| phrase == text.trim().to_lowercase())
}

/// Returns whether `text` takes the place of a deleted message.
pub(crate) fn is_deleted(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', '。', '!']).to_lowercase();
    // The phrase may be followed by the name of the person who removed the message: "deleted by admin Ana".
    DELETED
        .split('|')
        .any(|phrase| text.strip_prefix(phrase).is_some_and(|rest| rest.is_empty() || rest.starts_with(" by ")))
}

/// Returns whether `text` is the note that a message was edited.
pub(crate) fn is_edited(text: &str) -> bool {
    EDITED.split('|').any(|phrase| phrase == text.trim().trim_end_matches('.').to_lowercase())
}

/// Returns whether `text` is the notice with which a chat begins.
pub(crate) fn is_encryption_notice(text: &str) -> bool {
    let text = text.to_lowercase();
    text.chars().count() > 15 && ENCRYPTED.iter().any(|phrase| text.contains(phrase))
}

/// Returns whether `text` begins like a shared location.
pub(crate) fn is_location(text: &str) -> bool {
    begins(text, LOCATIONS)
}

/// Returns whether `text` begins like a poll.
pub(crate) fn is_poll(text: &str) -> bool {
    begins(text, POLLS)
}

/// Returns whether `name`, the text before a colon, is not an author but part of a line from the program, such as a
/// quoted subject or a sentence.
pub(crate) fn is_no_author(name: &str) -> bool {
    let name = name.to_lowercase();
    let count = |mark: char| name.matches(mark).count();
    let low = count('„') > 0;
    let is_open = |(open, close): &(char, &[char])| {
        // After a low opening mark, the high mark is a closing mark.
        !(low && *open == '“') && count(*open) > close.iter().map(|mark| count(*mark)).sum()
    };
    let quotes_open = count('"') % 2 == 1 || QUOTES.iter().any(is_open);
    name.split_whitespace().count() > 8 || quotes_open || name.contains("end-to-end")
}

fn begins(text: &str, phrases: &[&str]) -> bool {
    let start = text.trim_start().chars().take(24).collect::<String>().to_lowercase();
    phrases.iter().any(|phrase| start.starts_with(phrase))
}
