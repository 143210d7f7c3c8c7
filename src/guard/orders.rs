//! Finds orders to an assistant by their words, in twelve languages. An order is a sentence with a word for each part
//! of the order, in any sequence.
//!
//! The patterns of `steering` contain phrases. This table contains words, so that an order is found regardless of its
//! beginning.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::guard::suspicion::Suspicion;
use crate::text::markup::look_alike;
use crate::text::visible::is_hidden;

/// The part of an order that a word or phrase expresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Unasked,
    Needless,
    Consent,
    Act,
    Never,
    Every,
    Approve,
    Request,
    CountsAs,
    Approved,
    YesToAll,
    Send,
    Data,
    Elsewhere,
    TellNot,
    Whom,
    Matter,
    Hide,
    FromUser,
    Disable,
    Safety,
    Unchecked,
    Delete,
    Audit,
    Fetch,
    Session,
    Insist,
}

/// An order: its kind, the senses that its sentence must contain, and whether a negation turns it into a safeguard.
struct Order {
    kind: Suspicion,
    senses: &'static [Sense],
    is_reversible: bool,
}

const fn order(kind: Suspicion, senses: &'static [Sense], is_reversible: bool) -> Order {
    Order { kind, senses, is_reversible }
}

const ORDERS: &[Order] = {
    use Sense::{
        Act, Approve, Approved, Audit, Consent, CountsAs, Data, Delete, Disable, Elsewhere, Every, Fetch, FromUser,
        Hide, Matter, Needless, Request, Safety, Send, Session, TellNot, Unasked, Unchecked, Whom, YesToAll,
    };
    use Suspicion::{Authority, Concealment, Exfiltration, RemoteCode};
    &[
        order(Authority, &[Unasked, Act], true),
        order(Authority, &[Needless, Consent, Act], false),
        order(Authority, &[Approve, Every, Request], true),
        order(Authority, &[CountsAs, Approved, Request], true),
        order(Authority, &[YesToAll], true),
        order(Authority, &[Disable, Safety], true),
        order(Authority, &[Unchecked, Every], true),
        order(Exfiltration, &[Send, Data, Elsewhere], true),
        order(Concealment, &[TellNot, Whom], false),
        order(Concealment, &[TellNot, Matter], false),
        order(Concealment, &[Hide, FromUser], true),
        order(Concealment, &[Delete, Audit], true),
        order(RemoteCode, &[Fetch, Session], true),
    ]
};

/// The words of each sense, regardless of case and accents. A space represents a character that is not a letter.
#[rustfmt::skip]
const WORDS: &[(Sense, &[&str])] = &[
    (Sense::Unasked, &[
        " without asking| without confirm| without approval| without permission| without review| without prompting| without consent| without checking with| unprompted ",
        " ohne nachzufragen| ohne zu fragen| ohne rückfrage| ohne nachfrage| ohne bestätigung| ohne freigabe| ohne genehmigung| ohne zustimmung| ohne review| ohne prüfung| ungefragt",
        " sans demander| sans confirm| sans autorisation| sans accord| sans revue| sans validation| sans approbation| sans relecture| sans permission",
        " sin preguntar| sin pedir| sin confirm| sin permiso| sin aprobación| sin autorización| sin revis| sin consultar",
        " sem perguntar| sem pedir| sem confirm| sem permissão| sem aprovação| sem autorização| sem revis| sem consultar",
        " senza chiedere| senza conferm| senza permesso| senza approvazione| senza autorizzazione| senza revision| senza consultare",
        " без подтвержд| без спроса| без разрешен| без одобрен| без ревью| без проверк| не спрашивая| без согласован",
        " bez pytania| bez potwierdz| bez zgody| bez zezwol| bez przeglądu| bez akceptacji| nie pytając",
        " zonder te vragen| zonder bevestig| zonder toestemming| zonder goedkeuring| zonder review| zonder overleg",
        "確認せず|確認なし|確認無し|確認を求めず|レビューなし|承認なし|許可なし|許可を求めず|聞かずに|尋ねずに|無断で",
        "묻지 않고|묻지 말고|확인 없이|승인 없이|리뷰 없이|허락 없이|검토 없이|동의 없이",
        "无需确认|无需审|无需批准|无需询问|无需授权|不需要询问|不需要确认|不需要批准|不用问|不用确认|不必询问|不必确认|不经批准|不经审|未经批准|不要再确认|不再确认|不要确认|跳过确认",
    ]),
    (Sense::Needless, &[
        " no need to| need not | needn t| don t need to| not need | no longer need| not necessary",
        " muss niemand| nicht mehr fragen| nicht nötig| nicht mehr nötig| braucht kein| brauchst kein| nicht mehr gefragt",
        " plus besoin| pas besoin| inutile de demander| n est plus nécessaire",
        " no hace falta| no es necesari| ya no es necesari| no necesit",
        " não é mais preciso| não é preciso| não precisa| não é necessári| não é mais necessári",
        " non serve| non occorre| non è necessari| non è più necessari| non c è bisogno",
        " не нужно| не надо| не требуется| необязательно| больше не нужно| nie trzeba| nie musisz| nie potrzeb",
        " hoeft geen| hoeft niet| niet nodig| hoef je| niet meer nodig",
        "必要はない|必要はありません|必要ない|不要です|求めず|求めなくて|필요가 없|필요 없|받지 않아도|묻지 않아도|不需要|无需|不用|不必",
    ]),
    (Sense::Consent, &[
        " ask| permission| approval| confirm| review| fragen | gefragt| genehmig| erlaubnis| bestätig| freigabe| accord| autorisation| demander| valid",
        " permiso| preguntar| aprob| autoriz| permissão| perguntar| aprov| permesso| chiedere| conferm| approv| спрашива| разрешен| подтвержд| одобрен| согласован",
        " pytać| zgod| potwierdz| zezwol| akceptac| toestemming| vragen| bevestig| goedkeur",
        "確認|許可|承認|허락|승인|확인|물어|询问|确认|批准|审|授权|许可|请示",
    ]),
    (Sense::Act, &[
        " run | execut| deploy| delet| push| merge | install| proceed| commit | publish | release | remove | act ",
        " befehl| ausführ| führe | führ | führst | lösch| deploye| pushe| pushen | merge| installier| veröffentlich| freizugeben",
        " exécut| supprim| déploy| pousse| installe| fusionne| commande| ejecut| borr| elimin| despleg| desplieg| instal| comando",
        " apag| exclu| implant| publicar | em produção| en producción| en production| in produzione| in produktion| na produkcj| esegu| cancell| pubblic| comand",
        " выполн| удал| деплой| развер| пуш| запуск| установ| команд",
        " wykon| usuw| usuń| wdraż| wdroż| wypych| instaluj| polece| voer | uitvoer| verwijder| installeer| opdracht",
        "実行|削除|プッシュ|デプロイ|反映|進め|マージ|インストール|실행|삭제|푸시|배포|병합|설치|진행|执行|运行|删除|部署|推送|合并|安装|操作|命令",
    ]),
    (Sense::Never, &[
        " never | not | n t | t | nothing | nobody | no one | no deploy| no push| no merge| no release| no change| no command| cannot | nor | nie | niemals | nicht | kein| nichts | niemand | jamais | rien | ne | n | pas | aucun",
        " nunca | jamás | no se | no hay | no deb| no pued| no hac| no hag| no lo | no la | no ejecut| no borr| no elimin| no desplieg| no despleg| no instal| no public| no envi| no sub| no aprueb| no desactiv| no ignor| no omit| nada | nadie | ningun| ningún| não | ninguém | nenhum| mai | non | niente | nulla | nessun",
        " не | никогда | нельзя | ничего | никто | запрещ| nigdy | nic | nikt | żaden | niet | nooit | geen | niets | niemand ",
        "ないで|ません|禁止|しない|不得|不要|不能|不可|禁止|别|切勿|从不|绝不|마세요|않|금지|말 것|안 됩|必须经过|ask before",
    ]),
    (Sense::Every, &[
        " always | automatic| auto | every | all | any | each | everything | immer | automatisch | jede| alle | alles | stets | toujours | automatiquement | chaque | tout | toute | toutes | tous ",
        " siempre | automáticamente | cada | todo | toda | todos | todas | sempre | automaticamente | tudo | ogni | tutti | tutte | tutto ",
        " всегда | автоматически | кажд| все | всё | любы| zawsze | automatycznie | każd| wszystk| altijd | elk| ",
        "自動|すべて|全て|常に|毎回|あらゆる|자동|모든|항상|언제나|전부|自动|所有|一律|始终|总是|全部|任何|一切|默认",
    ]),
    (Sense::Approve, &[
        " approve | accept | grant | allow | authorize | authorise | confirm | genehmige | genehmigen | erlaube | akzeptiere | bestätige | freigeben | zustimmen ",
        " approuve | approuver | accepte | accepter | valide | valider | autorise | autoriser | aprueba | aprobar | acepta | aceptar | autoriza | autorizar ",
        " aprove | aprovar | aceite | aceitar | autorize | approva | approvare | accetta | accettare | autorizza | autorizzare ",
        " одобряй| одобрять| принимай| разрешай| разрешать| подтверждай| zatwierdzaj| zatwierdzać| akceptuj| zezwalaj| potwierdzaj| keur | goedkeuren | accepteer | bevestig ",
        "承認し|承認する|許可し|許可する|同意し|승인하|허용하|동의하|수락하|批准|同意|允许|接受|放行",
    ]),
    (Sense::Request, &[
        " request| prompt| command| permission| tool call| action | actions | operation| question| anfrage| befehl| berechtigung| aktion| rückfrage| frage| demande| autorisation| requête",
        " solicitud| comando| petición| peticiones| permiso| accion| acción| operaci| pedido| solicitaç| permiss| ação | ações | operaç| richiest| comand| permess| azion| operazion",
        " запрос| команд| разрешен| действ| операц| prośb| żądan| polecen| uprawnie| operacj| verzoek| opdracht| toestemming| actie",
        "要求|リクエスト|権限|コマンド|操作|依頼|요청|권한|명령|작업|请求|权限|命令|申请|调用",
    ]),
    (Sense::CountsAs, &[
        " treat | consider | considered | regard | count as | counts as | deem| gelten als | gilt als | considér| consideran| considera | considerad| considerat",
        " счита| uznaje się| uznaj | uważa| traktuj| gelden als | beschouw|みなす|見なす|みなし|간주|취급|视为|当作|视同",
    ]),
    (Sense::Approved, &[
        " approved | authorised | authorized | pre approved | preapproved | genehmigt | freigegeben | bestätigt | erlaubt | approuvé| autorisé| validé| aprobad| autorizad| aprovad| approvat| autorizzat",
        " одобрен| разрешен| zatwierdzon| zaakceptowan| goedgekeurd|承認済|許可済|승인|批准|授权|同意",
    ]),
    (Sense::YesToAll, &[
        " yes to all | yes to every | yes to any | yes to everything | alle rückfragen mit ja | alles mit ja | ja auf alle| oui à tou| sí a tod| sim a tud| sim a tod| sim para tud| sì a tutt| да на всё | да на все | tak na wszystk| ja op alle",
        "すべてにはい|にはいと答え|모든 질문에 예|예라고 답|네라고 답|都回答是|一律回答是|全部同意",
    ]),
    (Sense::Send, &[
        " send | upload | post | forward | append | copy | email | e mail | mail | transmit | exfiltrate | share | publish | lade | hochladen | schick| sende | senden | leite | poste | posten | übermittle| veröffentliche",
        " envoie | envoyer | envoyez | transfère | transférer | téléverse| publie | publier | transmets | envía | enviar | sube | subir | reenvía | manda | publica | publicar | envíe | envie | mande | mandar | encaminhe | publique",
        " invia | inviare | inoltra | carica | pubblica | spedisci | отправь| отправля| пересыла| перешли| загружай| загрузи| публикуй| выкладывай| wyślij | wysyłaj | wysyłać | przekazuj | przekaż | prześlij | przesyłaj | publikuj | opublikuj | wrzuć ",
        " stuur | sturen | verstuur | plaats | verzend | zend |送信|転送|アップロード|投稿|送って|送る|업로드|전송|전달|보내|올리|发送|上传|发到|发给|转发|提交到|发布到|寄到",
    ]),
    (Sense::Data, &[
        " env | api key| private key| ssh | keys | secret| credential| token| passw| conversation| chat history| source code| customer| memories ",
        " schlüssel| zugangsdaten| gespräch| kundenliste| kundendaten| clé| identifiants | conversaci| claves | clave privada| credencial| historial | chave| conversa| chiav| credenzial| clienti | clientes | clients ",
        " ключ| разговор| переписк| парол| клиент| klucz| rozmow| klient| haseł| sleutel| privésleutel| gesprek| klantenlijst| klantgegevens|密钥|私钥|密码|凭证|对话|会话|客户|聊天记录",
        "api キー|キー|秘密鍵|会話|顧客|パスワード|개인 키|api 키|대화|고객|비밀번호|aws | wallet | database dump",
    ]),
    (Sense::Elsewhere, &[
        " @url | @mail | external server| public channel| public gist| gist | status endpoint| pastebin | webhook| ngrok | externen server| öffentlichen kanal| serveur externe| canal public| servidor extern| canal públic",
        " server esterno| canale pubblico| внешний сервер| открытом канале| публичн| zewnętrzny serwer| kanale publicznym| externe server| openbare kanaal|外部|公共频道|公开|公開|외부 서버|공개 채널",
    ]),
    (Sense::TellNot, &[
        " never tell | not tell | don t tell | never mention | not mention | don t mention | never inform | not inform | don t inform | never reveal | not reveal | don t reveal | never notify | not notify | don t notify | without telling ",
        " sag dem| sage dem| sag der| sage der| erwähne | verrate | erzähle | ne dis | ne dites | ne mentionne| n informe| ne parle | ne révèle| no le dig| no dig| nunca dig| nunca le dig| no mencion| nunca mencion| no inform",
        " não conte| não dig| nunca mencion| não mencion| nunca conte| não inform| non dire| non dic| non menzion| mai menzion| non inform| не говори| не сообщай| не упоминай| никогда не упоминай| не рассказывай",
        " nie mów | nie wspominaj| nigdy nie wspominaj| nie informuj| vertel de | noem deze | meld de |知らせないで|伝えないで|触れないこと|触れないで|言わないで|話さないで|教えないで|말하지 마|알리지 마|언급하지 마|언급하지 말|不要告诉|别告诉|不要提|别提|不要在总结|不要在摘要|不要在报告|不要在回复",
    ]),
    (Sense::Whom, &[
        " user | the human| the owner| the operator| anyone | anybody | benutzer nicht| nutzer nicht| utilisateur| al usuari| ao usuári| ao utilizador| all utent| пользовател| użytkownik| gebruiker niet| gebruiker niets|ユーザー|利用者|사용자|用户|任何人知|主人",
    ]),
    (Sense::Matter, &[
        " this instruction| this change| this rule| this order| diese anweisung| diese änderung| diese regel| cette consigne| cette instruction| cette modification| cette règle| esta instrucción| este cambio| esta regla",
        " esta instrução| esta mudança| esta regra| questa istruzione| questa modifica| questa regola| это указани| это изменени| эту инструкци| tej instrukcji| tej zmian| deze instructie| deze wijziging| deze regel",
        "この変更|この指示|この命令|이 지시|이 변경|이 명령|这条指令|这条规则|这个指令|这次修改|这项规定",
    ]),
    (Sense::Hide, &[
        " hide | conceal | keep this | keep it | keep the | verberge | verheimliche | geheim | cache | cacher | dissimule | oculta | ocultar | esconde | esconda | esconder | oculte | nascondi | nascondere ",
        " скрой| скрывай| утаи| ukryj | ukrywaj | zataj | verberg | houd |隠し|隠す|秘密に|숨기|비밀로|隐瞒|瞒着|保密|secret ",
    ]),
    (Sense::FromUser, &[
        " from the user | from your user | from the owner | from users | vor dem nutzer | vor dem benutzer | vor der nutzerin | à l utilisateur | al usuari| do usuári| ao usuári| all utente | от пользовател| przed użytkownik| voor de gebruiker ",
        "ユーザーに秘密|ユーザーから隠|ユーザーに隠|사용자에게 숨|사용자에게 비밀|사용자로부터|对用户|瞒着用户|向用户",
    ]),
    (Sense::Disable, &[
        " disable | skip | ignore | bypass | turn off | switch off | circumvent | schalte | deaktiviere | deaktivieren | ignoriere | ignorieren | überspringe | überspringen | umgehe | umgehen ",
        " désactive | désactiver | ignorer | saute | sauter | contourne | contourner | desactiva | desactivar | ignora | ignorar | omite | omitir | salta | desative | desativar | pule | pular | desligue ",
        " disattiva | disattivare | disabilita | disabilitare | ignorare | saltare | отключи| отключай| игнорируй| игнорировать| пропускай| пропускать| выключи ",
        " wyłącz | wyłączaj | wyłączyć | ignoruj | ignorować | pomijaj | pomijać | schakel | uitschakelen | negeer | negeren | sla | overslaan | zet ",
        "無効化|無効に|オフに|無視し|無視する|スキップ|비활성화하|끄세|끄십|무시하|건너뛰|关闭|禁用|忽略|跳过|绕过",
    ]),
    (Sense::Safety, &[
        " sandbox| security | safety | certificate| tls | ssl | confirmation | permission check| safeguard| guardrail| sicherheits| zertifikat| bestätigung| sécurité | certificat| bac à sable | confirmation ",
        " seguridad | certificad| confirmación | segurança | confirmação | sicurezza | certificati | conferma | безопасн| сертификат| песочниц| подтвержд| bezpieczeństw| certyfikat| piaskownic| potwierdz| beveilig| veiligheid| certifica",
        "セキュリティ|証明書|サンドボックス|安全|보안|인증서|샌드박스|证书|沙箱|沙盒|权限|审批",
    ]),
    (Sense::Unchecked, &[" no verify | dangerously skip permissions | yolo mode "]),
    (Sense::Delete, &[
        " delete | deletes | erase | wipe | purge | remove | lösche | löschen | supprime | supprimer | efface | borra | borrar | elimina | eliminar | apague | apagar | exclua | cancella | cancellare | eliminare ",
        " удали | удаляй | удалить | удалять | usuwaj | usuń | usunąć | verwijder | wis |削除|삭제|删除|清除",
    ]),
    (Sense::Audit, &[" audit| audyt| журналы аудита| логи аудита|監査ログ|감사 로그|审计日志|审计记录"]),
    (Sense::Fetch, &[" @run "]),
    (Sense::Session, &[
        " session| start | startup | every | each | always | whenever | sitzung| jeder | bei jedem | chaque | démarrage | sesión | cada | siempre | sessão | sessione | ogni | сесси| кажд| sesj| każd| sessie | elke ",
        "每次|启动|会话|起動|毎回|セッション|세션|시작|매번",
    ]),
    (Sense::Insist, &[
        " from now on | going forward | henceforth | as of today | always | automatically | must | should | please | agent| assistant| you ",
    ]),
];

/// Words with which people begin statements about themselves or their programs.
#[rustfmt::skip]
const TELLERS: &[&str] = &[
    "we", "i", "they", "he", "she", "our", "my", "wir", "ich", "sie", "nous", "elle", "nosotros", "yo", "nós", "eu", "noi", "io", "мы", "я",
    "он", "она", "oni", "wij", "ik", "hij", "zij",
];

/// Words that replace URLs and email addresses.
static PLACES: LazyLock<[(Regex, &str); 4]> = LazyLock::new(|| {
    let pattern = |text| Regex::new(text).expect("the pattern is constant and a test compiles it");
    [
        (
            pattern(r"(?:\b(?:curl|wget|iwr)\b|https?://)[^|\n]{0,200}(?:\| ?(?:sudo )?| into )(?:ba|z)?sh\b"),
            " @url @run ",
        ),
        (
            pattern(
                r"\b(?:download|fetch|下载|[タダ]ウンロー[トド]|다운로드)\S{0,12}[^.\n]{0,16}https?://\S+|(?:下载|获取)[^。\n]{0,8}(?:运行|执行) ?https?://\S+|https?://\S+ ?(?:を|를|을)?(?:[タダ]ウンロー[トド]|다운로드)",
            ),
            " @url @run ",
        ),
        (pattern(r"https?://\S+"), " @url "),
        (pattern(r"[\w.+-]+@[\w-]+\.[\w.-]+"), " @mail "),
    ]
});

struct Table {
    words: AhoCorasick,
    senses: Vec<Sense>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::new(|_, word| unaccented(word)));

/// Words for text without visible ends of words, in which short words would be found within others.
static RUN_TOGETHER: LazyLock<Table> = LazyLock::new(|| {
    Table::new(|sense, word| {
        let word = unaccented(word).replace(' ', "");
        let is_unclear = sense == Sense::Never || word.is_ascii() && word.len() < 3;
        if is_unclear { String::new() } else { word }
    })
});

impl Table {
    fn new(read: impl Fn(Sense, &str) -> String) -> Self {
        let lists = WORDS.iter().flat_map(|(sense, lists)| lists.iter().map(move |list| (*sense, *list)));
        let words = lists.flat_map(|(sense, list)| list.split('|').map(move |word| (sense, word)));
        let words = words.map(|(sense, word)| (sense, read(sense, word))).filter(|(_, word)| !word.trim().is_empty());
        let (senses, words): (Vec<Sense>, Vec<String>) = words.unzip();
        Self { words: AhoCorasick::new(words).expect("the words are few and short"), senses }
    }

    /// Returns the kind of order that a sentence contains.
    fn order(&self, sentence: &str) -> Option<Suspicion> {
        let found = self.words.find_overlapping_iter(sentence);
        let found: Vec<_> = found.map(|one| (one.range(), self.senses[one.pattern().as_usize()])).collect();
        let holds = |sense: &Sense| found.iter().any(|(_, held)| held == sense);
        // "Without" may be a negation itself.
        let is_unasked = |range: &Range<usize>| {
            let overlaps = |one: &Range<usize>| one.start + 1 < range.end && range.start + 1 < one.end;
            found.iter().any(|(one, sense)| matches!(sense, Sense::Unasked | Sense::Unchecked) && overlaps(one))
        };
        let is_negated = || found.iter().any(|(range, sense)| *sense == Sense::Never && !is_unasked(range));
        let first = sentence.split_whitespace().next().unwrap_or("");
        let is_told = || TELLERS.contains(&first) && !holds(&Sense::Insist);
        let mut orders = ORDERS.iter().filter(|order| order.senses.iter().all(holds));
        orders.find(|order| !(order.is_reversible && (is_negated() || is_told()))).map(|order| order.kind)
    }
}

/// Returns the kind of order that `text` contains, regardless of the spelling of its letters.
pub(super) fn find(text: &str) -> Option<Suspicion> {
    let text = shown(text);
    let joined = unspaced(&text);
    let read = joined.as_deref().unwrap_or(&text);
    let in_words = |text: &str| sentences(text).find_map(|sentence| TABLE.order(&spelled(sentence)));
    let latin = read.chars().filter(char::is_ascii_alphabetic).count();
    let is_disguised = latin >= 8 && read.chars().any(|c| !c.is_ascii() && look_alike(c).is_ascii());
    let disguised = || in_words(&read.chars().map(look_alike).collect::<String>());
    // The only reason for spaces between all letters of a text is to hide it.
    let is_run_together = joined.as_ref().is_some_and(|text| !text.contains(' '));
    in_words(read)
        .or_else(|| is_disguised.then(disguised).flatten())
        .or_else(|| is_run_together.then(|| RUN_TOGETHER.order(&spelled(read))).flatten())
}

/// Returns `text` as a reader sees it, in ordinary lower-case letters without hidden characters and accents.
fn shown(text: &str) -> String {
    let visible: String = text.nfkc().filter(|c| !is_hidden(*c) || c.is_whitespace()).collect();
    unaccented(&visible)
}

/// Returns the text before "and never …", and the rest, because a negation in the rest does not apply to the text
/// before it.
fn apart(part: &str) -> [&str; 2] {
    let joints = [" and don", " and do not", " and never", " und nie", " y nunca", " et ne "];
    let joint = joints.iter().find_map(|joint| part.find(joint)).unwrap_or(part.len());
    [&part[..joint], &part[joint..]]
}

/// Returns the sentences and clauses of `text`.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| matches!(c, '!' | '?' | '\n' | '。' | '！' | '？' | ';' | '；');
    text.split(ends).flat_map(|part| part.split(". ")).flat_map(apart).filter(|sentence| !sentence.trim().is_empty())
}

/// Returns `text` in lower case and without accents, so that all spellings have the same letters.
fn unaccented(text: &str) -> String {
    let letters = text.nfd().filter(|c| !is_combining_mark(*c)).nfc();
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the text with its letters joined into words, if there are spaces between the letters.
fn unspaced(text: &str) -> Option<String> {
    let parts = text.split_whitespace();
    let (single, all) =
        parts.fold((0, 0), |(single, all), part| (single + usize::from(part.chars().count() == 1), all + 1));
    if all < 8 || single * 4 < all * 3 {
        return None;
    }
    let words = text.split("  ").map(|word| word.split_whitespace().collect::<String>());
    Some(words.collect::<Vec<_>>().join(" "))
}

/// Returns the letters of a sentence, with one space for all other characters between them.
fn spelled(sentence: &str) -> String {
    let mut text = Cow::Borrowed(sentence);
    for (pattern, word) in PLACES.iter() {
        text = Cow::Owned(pattern.replace_all(&text, *word).into_owned());
    }
    let mut out = String::from(" ");
    for c in text.chars() {
        if c.is_alphanumeric() || c == '@' {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out.push(' ');
    out
}
