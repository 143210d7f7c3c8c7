//! The words used in comparisons, in English, Chinese, Japanese, Korean, Spanish and German.

/// The meaning of a cue for the claim that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::consolidate) enum Cue {
    /// A phrase that looks like another cue but is not one.
    Neutral,
    /// Negates the claim.
    Negate,
    /// Negates the claim and stands for the given positive word.
    Against(&'static str),
    /// Stands for the given word.
    Means(&'static str),
    /// The claim is about a single event.
    Once,
    /// The claim is usually true.
    Habit,
    /// The claim is true except in some case.
    Except,
    /// The claim is intended but not yet true.
    Planned,
    /// The facts have changed.
    Changed,
    /// The facts have changed, and the claim is negated: `no longer`.
    Ended,
    /// The earlier statement was never true.
    Corrected,
    /// The earlier statement was never true, unless other words say that it changed.
    Actually,
    /// A person other than the user.
    Person(&'static str),
    /// The following words are a reason.
    Reason,
    /// The thing exists alongside others of its kind.
    Also,
    /// A circumstance that distinguishes cases.
    Setting(&'static str),
    /// A number or a day that is written as a word.
    Figure(&'static str),
}

/// Cues by meaning; alternatives are separated by `|`. The longest match at a position wins.
pub(super) const CUES: &[(Cue, &str)] = &[
    // Phrases that contain a cue without its meaning: `不错` (good) contains `不` (not), and `必ず` (certainly) ends in `ず`.
    (
        Cue::Neutral,
        "no problem|not only|why not|if not|不错|不仅|不但|不过|不同|不管|不断|不得不|\
         差不多|要不|不少|不久|不停|没问题|没关系|没错|别人|别的|特别|区别|级别|类别|分别|性别|个别|而不是|无论|无线|非常|\
         少ない|間違いない|なければならない|なければいけない|しかない|かもしれない|問題ない|まず|ずつ|ずっと|必ず|いずれ|はず|ずれ|みず|すず|しずか|仕方ない|欠かせない|안녕|안전|안정|안내|동안|不論",
    ),
    (Cue::Means(""), "can't stop|cannot stop|can't wait|no doubt"),
    (
        Cue::Negate,
        "not|don't|doesn't|didn't|isn't|aren't|wasn't|weren't|won't|can't|cannot|couldn't|shouldn't|mustn't|wouldn't|hasn't|haven't|\
         do not|does not|did not|is not|are not|was not|will not|can not|should not|must not|has not|have not|no|none|neither|\
         nor|lacks|refuses to|fails to|unable to|不会|不要|不能|不可|不应|不|没有|没|未|别|勿|无法|无需|禁止|並不|拒绝|\
         ません|ない|なかった|ず|禁止|않|못|없|안|금지|말라|no quiere|tampoco|ni|nicht|kein|keine|keinen|keiner|keinem|\
         n't|verboten|prohibido|不可以|并不|并没有|从来没|nobody|no one|nothing|nowhere|nadie|nada|ningún|ninguna|\
         ninguno|weder|niemand|nichts|keinerlei|keines|nirgends|지 마",
    ),
    (
        Cue::Ended,
        "no longer|not anymore|not any more|anymore|stopped|quit|gave up|ceased|不再|停止|戒了|戒掉|放弃|やめた|辞めた|그만|\
         끊었|なくなった|なくなり|ya no|ha dejado de|dejó de|dejo de|nicht mehr|aufgehört|hörte auf",
    ),
    (
        Cue::Against("like"),
        "dislikes|dislike|disliked|hates|hate|hated|can't stand|cannot stand|loathes|detests|not a fan of",
    ),
    (Cue::Means("like"), "likes|like|liked|loves|love|enjoys|enjoy|is fond of|is a fan of"),
    (Cue::Against("喜欢"), "讨厌|厌恶|反感|受不了"),
    (Cue::Means("喜欢"), "喜欢|喜爱|爱好|喜歡"),
    (Cue::Against("好き"), "嫌い|苦手"),
    (Cue::Means("好き"), "好き|好む"),
    (Cue::Against("좋아"), "싫어|싫다|질색"),
    (Cue::Against("gust"), "odia|detesta|no le gusta|no le gustan"),
    (Cue::Means("gust"), "le gusta|le gustan"),
    (Cue::Against("mag"), "hasst|verabscheut|mag nicht|mag kein|mag keinen|mag keine"),
    (Cue::Against("use"), "avoids|avoid|avoiding|避免|避ける|피한|evita|vermeidet"),
    (
        Cue::Against("enabl"),
        "disabled|disables|disable|turned off|turns off|禁用|关闭|無効|비활성|desactivado|deaktiviert",
    ),
    (Cue::Means("enabl"), "enabled|enables|enable|turned on|turns on|启用|开启|有効|활성|activado|aktiviert"),
    (Cue::Against("allow"), "forbids|forbidden|prohibits|prohibited|disallows|disallowed|bans|banned"),
    (Cue::Means("allow"), "allows|allowed|permits|permitted"),
    (Cue::Against("须"), "不必|不用"),
    (
        Cue::Once,
        "yesterday|today|tonight|tomorrow|last night|last week|last month|last friday|this morning|this time|this once|just once|\
         once|for now|temporarily|one-off|just this|just for today|昨天|今天|明天|今晚|昨晚|上周|刚才|这次|这一次|这回|一次|临时|暂时|\
         昨日|今日|明日|先週|今回|一度|一時的|어제|오늘|내일|이번에|이번|한번|한 번|임시|ayer|hoy|mañana|anoche|esta vez|una vez|\
         temporalmente|gestern|heute|morgen|diesmal|einmal|letzte woche|vorübergehend",
    ),
    (
        Cue::Habit,
        "always|usually|every day|every morning|every week|every|each day|generally|often|regularly|normally|typically|by default|daily|\
         weekly|habitually|most days|总是|通常|每天|每周|每次|每年|经常|一般|一直|习惯|默认|平时|いつも|毎日|毎朝|毎週|普段|常に|항상|\
         매일|매주|보통|늘|자주|siempre|suele|cada día|cada|normalmente|todos los días|immer|jeden tag|jeden|normalerweise|meistens|\
         üblicherweise|täglich",
    ),
    (
        Cue::Except,
        "except|unless|apart from|other than|but not on|除了|除非|以外|除外|제외|excepto|salvo|a menos que|außer|ausgenommen",
    ),
    (
        Cue::Planned,
        "plans to|planning to|plan to|wants to|would like to|intends to|hopes to|is considering|considering|thinking about|might|may move|\
         will move|打算|计划|考虑|想要|希望|つもり|予定|検討|計画|계획|예정|고려|planea|quiere|piensa|plant|möchte|überlegt|will nach",
    ),
    (
        Cue::Changed,
        "moved|moves|increased|reduced|went from|as of|these days|is back|back to|back on|migrates|taken over|took over|switched|switches|migrated|changed|now|replaced|instead of|instead|used to|formerly|previously|relocated|since then|\
         raised|lowered|renamed|upgraded|became|涨到|降到|增加到|减少到|变成|变为|调到|调整为|换了|接手|搬到|搬家|搬|换成|换到|改用|改成|改为|迁移|现在|如今|升级|以前|曾经|もう|引っ越し|変更|移行|\
         切り替え|になった|増え|減っ|変わっ|変え|乗り換え|代わりに|に替え|今は|現在|더 이상|대신|늘어|줄어|바뀌|이사|바꾸|변경|이제|옮겼|옮기|전환|se mudó|en lugar de|en vez de|pasó a|ha pasado|subió|bajó|cambiado|cambió|ahora|migró|antes|umgezogen|gewechselt|jetzt|umgestellt|\
         gezogen|früher|inzwischen|mittlerweile|neuerdings|nun|statt|anstatt|anstelle|geändert|erhöht|gesenkt|ersetzt|umgestiegen",
    ),
    (
        Cue::Corrected,
        "correction|misread|misheard|mixed up|was never|were never|not true|incorrect|incorrectly|in error|erroneously|typo|was wrong|were wrong|misspoke|by mistake|mistaken|mistakenly|更正|纠正|看错|听错|写错|记混|误以为|有误|口误|说错|记错|搞错|\
         弄错|訂正|間違い|勘違い|思い違い|誤り|間違え|정정|착각|틀렸|실수|잘못|corrección|me equivoqué|se equivocó|equivocación|equivocado|equivocada|fue un error|error de|por error|\
         se confundió|korrektur|geirrt|irrtümlich|irrtum|versehentlich|fälschlich|fälschlicherweise|verwechselt|verlesen",
    ),
    (Cue::Actually, "actually|in fact|rather than|其实|实际上|実は|사실은|en realidad|eigentlich|tatsächlich"),
    // Many languages name relatives by age or by the side of the family, so `姐姐` and `妹妹` are two different people.
    (Cue::Person("sister"), "sister|sister's|sisters|姐妹|姉妹|자매|hermana|schwester"),
    (
        Cue::Person("sister.elder"),
        "elder sister|older sister|big sister|姐姐|姉|언니|누나|hermana mayor|große schwester",
    ),
    (Cue::Person("sister.younger"), "younger sister|little sister|妹妹|妹|여동생|hermana menor|kleine schwester"),
    (Cue::Person("brother"), "brother|brother's|brothers|兄弟|형제|hermano|bruder"),
    (Cue::Person("brother.elder"), "elder brother|older brother|big brother|哥哥|兄|오빠|hermano mayor|großer bruder"),
    (Cue::Person("brother.younger"), "younger brother|little brother|弟弟|弟|남동생|hermano menor|kleiner bruder"),
    (Cue::Person("mother"), "mother|mother's|mom|mum|妈妈|母亲|母|어머니|엄마|madre|mamá|mutter"),
    (Cue::Person("father"), "father|father's|dad|爸爸|父亲|父|아버지|아빠|padre|papá|vater"),
    (Cue::Person("mother-in-law"), "mother-in-law|岳母|丈母娘|婆婆|義母|장모|시어머니|suegra|schwiegermutter"),
    (Cue::Person("father-in-law"), "father-in-law|岳父|公公|義父|장인|시아버지|suegro|schwiegervater"),
    (
        Cue::Person("grandmother"),
        "grandmother|grandmother's|grandma|祖母|おばあさん|おばあちゃん|할머니|abuela|oma|großmutter",
    ),
    (Cue::Person("grandmother.paternal"), "paternal grandmother|奶奶|친할머니|abuela paterna"),
    (Cue::Person("grandmother.maternal"), "maternal grandmother|外婆|姥姥|外祖母|외할머니|abuela materna"),
    (
        Cue::Person("grandfather"),
        "grandfather|grandfather's|grandpa|祖父|おじいさん|おじいちゃん|할아버지|abuelo|opa|großvater",
    ),
    (Cue::Person("grandfather.paternal"), "paternal grandfather|爷爷|친할아버지|abuelo paterno"),
    (Cue::Person("grandfather.maternal"), "maternal grandfather|外公|姥爷|外祖父|외할아버지|abuelo materno"),
    (Cue::Person("aunt"), "aunt|aunt's|阿姨|叔母|伯母|おばさん|tía|tante"),
    (Cue::Person("aunt.paternal"), "姑姑|姑妈|婶婶|고모|숙모"),
    (Cue::Person("aunt.maternal"), "姨妈|舅妈|이모"),
    (Cue::Person("uncle"), "uncle|uncle's|叔父|伯父|おじさん|삼촌|tío|onkel"),
    (Cue::Person("uncle.paternal"), "叔叔|伯伯|姑父|고모부|큰아버지|작은아버지"),
    (Cue::Person("uncle.maternal"), "舅舅|姨父|외삼촌|이모부"),
    (Cue::Person("cousin"), "cousin|cousin's|いとこ|従兄弟|従姉妹|사촌|primo|prima|cousine"),
    (Cue::Person("cousin.he-maternal"), "表哥|表弟"),
    (Cue::Person("cousin.she-maternal"), "表姐|表妹"),
    (Cue::Person("cousin.he-paternal"), "堂哥|堂弟"),
    (Cue::Person("cousin.she-paternal"), "堂姐|堂妹"),
    (Cue::Person("nephew"), "nephew|nephew's|侄子|外甥|甥|조카|sobrino|neffe"),
    (Cue::Person("niece"), "niece|niece's|侄女|外甥女|姪|조카딸|sobrina|nichte"),
    (
        Cue::Person("grandchild"),
        "grandson|granddaughter|grandchild|孙子|孙女|外孙|孫|손자|손녀|nieto|nieta|enkel|enkelin",
    ),
    (Cue::Person("spouse"), "spouse|spouse's|爱人|配偶者|배우자"),
    (
        Cue::Person("spouse.wife"),
        "wife|wife's|妻子|老婆|太太|妻|아내|esposa|mujer del usuario|ehefrau|frau des nutzers",
    ),
    (Cue::Person("spouse.husband"), "husband|husband's|丈夫|老公|夫|남편|marido|esposo|ehemann|mann der nutzerin"),
    (
        Cue::Person("partner"),
        "partner|partner's|girlfriend|boyfriend|女朋友|男朋友|伴侣|恋人|여자친구|남자친구|novia|novio|freundin",
    ),
    (Cue::Person("child"), "child|children|kids|孩子|子ども|子供|아이|자녀|hijos|kinder"),
    (Cue::Person("child.son"), "son|son's|儿子|息子|아들|hijo|sohn|sohnes"),
    (Cue::Person("child.daughter"), "daughter|daughter's|女儿|娘|딸|hija|tochter"),
    (Cue::Person("friend"), "friend|friend's|朋友|友人|友達|친구|amigo|amiga|freund"),
    (Cue::Person("colleague"), "colleague|colleague's|coworker|teammate|同事|同僚|동료|colega|kollege|kollegin"),
    (Cue::Person("boss"), "boss|boss's|manager|manager's|老板|上司|经理|상사|jefe|chef|chefin"),
    (
        Cue::Person("neighbour"),
        "neighbour|neighbor|neighbour's|neighbor's|邻居|隣人|이웃|vecino|vecina|nachbar|nachbarin",
    ),
    (Cue::Reason, "because|porque|weil|denn"),
    (
        Cue::Also,
        "also|too|as well|additionally|in addition|besides|likewise|也|还|另外|此外|にも|もある|もいる|もできる|ほかに|또한|역시|\
         también|además|asimismo|auch|außerdem|zudem|ebenfalls",
    ),
    // The things that something lacks are part of its identity, as in `bread without salt`.
    (Cue::Setting("without"), "without|无|無|sin|ohne|なしで|無しで|없이"),
    (
        Cue::Setting("staging"),
        "staging|stage|test system|test environment|testsystem|testumgebung|entorno de pruebas|preproducción|\
         预发|测试环境|テスト環境|検証環境|테스트 환경|ステージング|스테이징",
    ),
    (
        Cue::Setting("production"),
        "production|prod|live|produktivsystem|produktivumgebung|livesystem|生产|线上|本番|프로덕션|운영|producción|produktion",
    ),
    (
        Cue::Setting("development"),
        "development|dev|local|locally|开发环境|本地|開発|ローカル|개발|desarrollo|entwicklung|lokal",
    ),
    (Cue::Setting("frontend"), "frontend|front-end|client|前端|フロントエンド|프론트엔드"),
    (Cue::Setting("backend"), "backend|back-end|后端|バックエンド|백엔드"),
    (Cue::Setting("mobile"), "mobile|ios|android|手机|移动端|モバイル|모바일|móvil"),
    (Cue::Setting("work"), "at work|at the office|工作时|公司里|职场|職場|회사에서|en el trabajo|bei der arbeit"),
    (Cue::Setting("home"), "at home|在家|家里|家で|집에서|en casa|zu hause"),
    (Cue::Setting("weekend"), "weekend|weekends|周末|週末|주말|fin de semana|wochenende"),
    (Cue::Setting("morning"), "morning|mornings|早上|朝|아침|por la mañana|morgens"),
    (Cue::Setting("evening"), "evening|evenings|night|晚上|夜|저녁|밤|por la noche|abends"),
    (Cue::Figure("mon"), "monday|mondays|周一|星期一|月曜日|월요일|lunes|montag|montags"),
    (Cue::Figure("tue"), "tuesday|tuesdays|周二|星期二|火曜日|화요일|martes|dienstag|dienstags"),
    (Cue::Figure("wed"), "wednesday|wednesdays|周三|星期三|水曜日|수요일|miércoles|mittwoch"),
    (Cue::Figure("thu"), "thursday|thursdays|周四|星期四|木曜日|목요일|jueves|donnerstag"),
    (Cue::Figure("fri"), "friday|fridays|周五|星期五|金曜日|금요일|viernes|freitag|freitags"),
    (Cue::Figure("sat"), "saturday|saturdays|周六|星期六|土曜日|토요일|sábado|samstag"),
    (Cue::Figure("sun"), "sunday|sundays|周日|星期日|星期天|日曜日|일요일|domingo|sonntag"),
    (Cue::Figure("m01"), "january|jan|enero|januar"),
    (Cue::Figure("m02"), "february|feb|febrero|februar"),
    (Cue::Figure("m03"), "march|marzo|märz"),
    (Cue::Figure("m04"), "april|apr|abril"),
    (Cue::Figure("m05"), "may|mayo|mai"),
    (Cue::Figure("m06"), "june|jun|junio|juni"),
    (Cue::Figure("m07"), "july|jul|julio|juli"),
    (Cue::Figure("m08"), "august|aug|agosto"),
    (Cue::Figure("m09"), "september|sep|septiembre"),
    (Cue::Figure("m10"), "october|oct|octubre|oktober"),
    (Cue::Figure("m11"), "november|nov|noviembre"),
    (Cue::Figure("m12"), "december|dec|diciembre|dezember"),
    // In Chinese and Japanese, a numeral is recognised only with a counter, since bare numerals occur in many other
    // words.
    (Cue::Figure("2"), "two|twice|两个|两只|两次|二つ|두|dos|zwei"),
    (Cue::Figure("3"), "three|三个|三只|三次|三つ|세|tres|drei"),
    (Cue::Figure("4"), "four|四个|四只|四つ|네|cuatro|vier"),
    (Cue::Figure("5"), "five|五个|五只|五つ|다섯|cinco|fünf"),
    (Cue::Figure("6"), "six|六个|六只|여섯|seis|sechs"),
    (Cue::Figure("7"), "seven|七个|일곱|siete|sieben"),
    (Cue::Figure("8"), "eight|八个|여덟|ocho|acht"),
    (Cue::Figure("9"), "nine|九个|아홉|nueve|neun"),
    (Cue::Figure("10"), "ten|十个|열|diez|zehn"),
    (Cue::Figure("12"), "twelve|十二个|열두|doce|zwölf"),
    (Cue::Figure("20"), "twenty|二十个|스무|veinte|zwanzig"),
    (Cue::Figure("30min"), "half an hour|半小时|半个小时|반 시간|media hora|halbe stunde|halben stunde"),
    (Cue::Figure("1min"), "one minute|一分钟|一分間|일 분|un minuto|eine minute|einer minute"),
    (Cue::Figure("1h"), "one hour|an hour|一小时|一个小时|一時間|한 시간|una hora|eine stunde|einer stunde"),
    (Cue::Figure("1d"), "one day|一天|하루|un día|einen tag|ein tag|einem tag"),
    (Cue::Figure("1w"), "one week|一周|一週間|일주일|una semana|eine woche|einer woche"),
    (Cue::Figure("1mo"), "one month|一个月|一ヶ月|한 달|un mes|einen monat|ein monat|einem monat"),
    (Cue::Figure("1y"), "one year|一年|일 년|un año|ein jahr|einem jahr"),
];

/// Negations that negate the whole claim and state that this is always so.
pub(super) const NEVER: &str = "never|从不|从来不|从没|从未|绝不|決して|절대|nunca|jamás|nie|niemals";
