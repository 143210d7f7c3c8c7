//! Words with a capital that are no names of anybody, and pairs of names for the same.

/// Given names and what people say for them.
pub(super) const NICKNAMES: &[(&str, &str)] = &[
    ("bob", "robert"),
    ("rob", "robert"),
    ("bill", "william"),
    ("will", "william"),
    ("mike", "michael"),
    ("tom", "thomas"),
    ("liz", "elizabeth"),
    ("beth", "elizabeth"),
    ("kate", "katherine"),
    ("kate", "catherine"),
    ("jim", "james"),
    ("joe", "joseph"),
    ("dick", "richard"),
    ("rick", "richard"),
    ("tony", "anthony"),
    ("jack", "john"),
    ("peggy", "margaret"),
    ("ted", "edward"),
    ("sepp", "josef"),
    ("pepe", "josé"),
    ("paco", "francisco"),
    ("hans", "johannes"),
    ("harry", "henry"),
    ("steve", "stephen"),
];

/// What betrays a tool, and the name of the tool.
pub(super) const TOOLS: &[(&str, &str)] = &[
    ("k8s", "kubernetes"),
    ("kubectl", "kubernetes"),
    ("helm", "kubernetes"),
    ("rs", "rust"),
    ("cargo", "rust"),
    ("rustc", "rust"),
    ("py", "python"),
    ("pip", "python"),
    ("pytest", "python"),
    ("js", "javascript"),
    ("ts", "typescript"),
    ("tsx", "typescript"),
    ("npm", "node"),
    ("npm", "javascript"),
    ("pg", "postgresql"),
    ("pg", "postgres"),
    ("psql", "postgresql"),
    ("gh", "github"),
    ("vscode", "visual"),
    ("vscode", "studio"),
    ("vscode", "code"),
    ("tf", "terraform"),
    ("gcp", "google"),
    ("aws", "amazon"),
    ("nyc", "york"),
    ("sf", "francisco"),
    ("la", "angeles"),
    ("rb", "ruby"),
    ("golang", "go"),
    ("kt", "kotlin"),
    ("swiftui", "swift"),
    ("jvm", "java"),
    ("dockerfile", "docker"),
    ("tailwindcss", "tailwind"),
    ("gha", "github"),
    ("gha", "actions"),
    ("ci", "actions"),
    ("mac", "macos"),
    ("osx", "macos"),
    ("bday", "birthday"),
    ("xmas", "christmas"),
    ("uk", "britain"),
    ("us", "states"),
    ("usa", "states"),
    ("us", "america"),
    ("usa", "america"),
];

const COMMON: &str = "
    user users assistant person people everyone team project english internet web monday tuesday wednesday thursday friday
    saturday sunday january february march april may june july august september october november december lunes martes
    miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
    diciembre spring summer autumn fall winter christmas easter thanksgiving halloween eve new year day mr mrs ms dr prof
    sir madam north south east west northern southern eastern western europe asia africa america european asian african american
    germany german germans france french spain spanish italy italian china chinese japan japanese korea korean mandarin cantonese
    england britain british kingdom united states scotland scottish ireland irish wales welsh austria austrian switzerland swiss
    netherlands dutch belgium belgian denmark danish sweden swedish norway norwegian finland finnish poland polish russia
    russian ukraine ukrainian turkey turkish greece greek portugal portuguese brazil brazilian mexico mexican argentina
    argentinian chile chilean colombia colombian canada canadian australia australian india indian israel hebrew arabic egypt
    egyptian vietnam vietnamese thailand thai indonesia indonesian hindi latin czech hungarian hungary romanian croatia croatian
    alemania alemán francia francés españa español inglés italiano chino japonés european union catholic christian muslim
    jewish buddhist hindu bible app api ui ux id ids url json yaml html css sql pdf csv http https markdown latex unicode ascii
    utc gmt cet wifi bluetooth usb linux windows macos unix posix ios android google claude chatgpt gpt openai anthropic gemini
    copilot codex cursor ai llm llms git ok tv cd dvd phd msc bsc mba ceo cto cfo covid slack email
    section step steps note notes option part phase version release stage production staging sprint quarter
    conventional commits semver agile scrum kanban unicode gregorian pascal camel snake kebab
";

/// Whether a capitalised word needs no source: a day, a language, a country, an abbreviation.
pub(super) fn is_common(word: &str, folded: &str) -> bool {
    let is_of_a_place = ["ish", "ese", "ian", "ians", "ism", "ist"].iter().any(|ending| folded.ends_with(ending));
    COMMON.split_whitespace().any(|common| common == folded)
        || is_of_a_place && word.chars().count() > 5
        // An identifier: a person's name has one capital.
        || word.chars().skip(1).any(|c| c.is_numeric() || c == '_')
}
