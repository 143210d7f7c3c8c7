//! Random claims whose word frequencies follow those of a natural language, and rewordings of these claims.

use std::fmt::Write as _;

use afterthought::memory::{Claim, Evidence, MemoryType};

use super::generate::syllables;
use super::random::Random;

/// Number of distinct content words of each language.
const VOCABULARY: usize = 12_000;
/// Words that are placed between the content words.
const FILLERS: &[&str] = &["the", "of", "a", "in", "with", "for", "and", "to", "on", "by", "from"];
const ENDINGS: &[&str] = &["", "", "s", "ed", "ing"];
const HAN: &str = "人用户部署服务数据库语言测试系统项目团队会议版本缓存接口日志网络安全模型代码文件城市天气咖啡早晨运动音乐电影读书旅行工作时间问题方法\
    计划结果开发设计产品价格客户市场学生老师医院道路海山河火车飞机电脑手机桌椅门窗花树鱼鸟猫狗红黄蓝白黑大小高低长短新旧快慢冷热东西南北";
const GLUE: &[&str] = &["的", "在", "和", "是", "了", "把"];

/// Ways in which one claim rewords another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Twin {
    /// The same words in a different order.
    Order,
    /// One or two words replaced by others.
    Synonym,
    /// Words with other endings, in a different order.
    Inflection,
    /// The same words without the key, or with a key that the other claim lacks.
    Keyless,
    /// The same key in a different spelling, and a synonym in the text.
    Spelling,
    /// The same text in capitals or in full-width letters.
    Case,
}

/// Every kind of rewording.
pub const TWINS: [Twin; 6] = [Twin::Order, Twin::Synonym, Twin::Inflection, Twin::Keyless, Twin::Spelling, Twin::Case];

/// A claim, represented by its words.
#[derive(Debug, Clone)]
pub struct Said {
    words: Vec<String>,
    endings: Vec<usize>,
    is_chinese: bool,
    key: Option<(String, String)>,
    subject: Option<String>,
}

/// A generator of claims, in which the frequency of the word of rank n is proportional to 1/n.
pub struct Speech {
    random: Random,
    english: Vec<String>,
    chinese: Vec<String>,
    sums: Vec<f64>,
    said: usize,
}

impl Speech {
    /// Returns a generator; equal seeds yield the same claims.
    pub fn new(seed: u64) -> Self {
        let mut words = Random::new(90);
        let han: Vec<char> = HAN.chars().filter(|c| !c.is_whitespace()).collect();
        let pair = |random: &mut Random| [0, 1].map(|_| han[random.below(han.len())]).iter().collect();
        // The most frequent words are the shortest.
        let length = |rank: usize| if rank < 150 { 2 } else { 3 + rank % 3 };
        let english = (0..VOCABULARY).map(|rank| syllables(&mut words, length(rank))).collect();
        let chinese = (0..VOCABULARY).map(|_| pair(&mut words)).collect();
        let mut sum = 0.0;
        let sums = (1..=VOCABULARY).map(|rank| {
            sum += 1.0 / super::report::figure(rank);
            sum
        });
        Self { english, chinese, sums: sums.collect(), random: Random::new(seed), said: 0 }
    }

    /// Returns a new claim. A third of all claims are Chinese, and a third have a key.
    pub fn say(&mut self) -> Said {
        self.said += 1;
        let is_chinese = self.random.below(3) == 0;
        let words: Vec<String> = (0..self.random.between(5, 10)).map(|_| self.word(is_chinese)).collect();
        let endings = words.iter().map(|_| self.random.below(ENDINGS.len())).collect();
        let key = (self.random.below(3) == 0).then(|| {
            (format!("project.{}-{}.{}", self.word(false), self.said % 700, self.word(false)), words[0].clone())
        });
        let subject = (self.random.below(2) == 0).then(|| self.word(is_chinese));
        Said { words, endings, is_chinese, key, subject }
    }

    /// Returns a rewording of `said`.
    pub fn again(&mut self, said: &Said, twin: Twin) -> Said {
        let mut again = said.clone();
        match twin {
            Twin::Order => self.reorder(&mut again),
            Twin::Synonym => self.exchange(&mut again),
            Twin::Inflection => self.inflect(&mut again),
            Twin::Keyless => {
                self.inflect(&mut again);
                let key = || Some(("project.told".to_owned(), said.words[0].clone()));
                again.key = if said.key.is_some() { None } else { key() };
                again.subject = None;
            }
            Twin::Spelling => {
                self.exchange(&mut again);
                again.key = said.key.as_ref().map(|(key, value)| (key.to_uppercase().replace('-', "_"), value.clone()));
            }
            Twin::Case => {}
        }
        again
    }

    fn reorder(&mut self, said: &mut Said) {
        let (words, at) = (said.words.len(), self.random.between(1, said.words.len() - 1));
        said.words.rotate_left(at);
        said.endings.rotate_left(at);
        let (a, b) = (self.random.below(words), self.random.below(words));
        said.words.swap(a, b);
    }

    fn exchange(&mut self, said: &mut Said) {
        for _ in 0..self.random.between(1, 2) {
            let at = self.random.below(said.words.len());
            said.words[at] = self.word(said.is_chinese);
        }
    }

    fn inflect(&mut self, said: &mut Said) {
        self.reorder(said);
        said.endings.iter_mut().for_each(|ending| *ending = (*ending + 2) % ENDINGS.len());
    }

    fn word(&mut self, is_chinese: bool) -> String {
        let whole = 1_000_000;
        let drawn = super::report::figure(self.random.below(whole)) / super::report::figure(whole);
        let sum = drawn * self.sums.last().unwrap();
        let rank = self.sums.partition_point(|upto| *upto <= sum);
        if is_chinese { self.chinese[rank].clone() } else { self.english[rank].clone() }
    }
}

impl Said {
    /// Returns the claim with one piece of evidence, quoted from message `number` of one of many conversations.
    pub fn claim(&self, number: usize) -> (Claim, Vec<Evidence>) {
        let content = self.content();
        let mut claim = Claim::new(MemoryType::Semantic, "fact", self.words[..2].join(" "), &content);
        (claim.key, claim.value) = self.key.clone().unzip();
        claim.subject.clone_from(&self.subject);
        claim.confidence = 0.8;
        let evidence = Evidence {
            transcript: format!("claude-code:{}", number / 40),
            messages: vec![format!("m{number}")],
            quote: format!("Listen: {content}"),
            speaker: None,
            said_at: None,
            content_hash: format!("{number:08x}"),
        };
        (claim, vec![evidence])
    }

    /// Rewrites the claim in capitals or in full-width letters.
    pub fn disguise(claim: &mut Claim, number: usize) {
        let wide = |c: char| if c.is_ascii_alphanumeric() { char::from_u32(u32::from(c) + 0xfee0).unwrap() } else { c };
        let text = &claim.content;
        claim.content = if number.is_multiple_of(2) { text.to_uppercase() } else { text.chars().map(wide).collect() };
    }

    fn content(&self) -> String {
        let mut text = String::from(if self.is_chinese { "用户" } else { "The user" });
        for (index, word) in self.words.iter().enumerate() {
            if self.is_chinese {
                text.push_str(GLUE[(index * 5 + self.words.len()) % GLUE.len()]);
                text.push_str(word);
            } else {
                let filler = FILLERS[(index * 7 + self.words.len()) % FILLERS.len()];
                let ending = ENDINGS[self.endings[index]];
                let root = if ending.len() > 1 { word.trim_end_matches('e') } else { word };
                write!(text, " {filler} {root}{ending}").unwrap();
            }
        }
        text + if self.is_chinese { "。" } else { "." }
    }
}
