//! The table of known secrets: the shape of a row, and one row for each kind, with an example that tests assemble.

use crate::guard::named::is_word_list;
use crate::guard::values::{
    NameStrength, has_digit, has_letters_and_digits, is_credential_value, is_made_up, is_opaque, is_random,
    is_slashed_password, is_strong, is_user_password, is_vendor_key,
};

/// One kind of secret.
#[derive(Debug)]
pub struct Secret {
    /// Name in kebab-case; what is removed becomes `[redacted:<name>]`.
    pub name: &'static str,
    /// Literals, in any case, one of which appears in every match; the pattern is tried only where one is found.
    pub hints: &'static [&'static str],
    /// The shape, tried from the start of the hint, or from up to `reach` bytes before it.
    pub pattern: &'static str,
    /// How far before its hint a match may begin, in bytes; 0 ties the pattern to the hint.
    pub reach: usize,
    /// The part of a match that is the secret.
    pub part: Part,
    /// A text of this shape: `{a36}` stands for 36 invented letters and digits, `{h…}` for hexadecimal digits,
    /// `{d…}` for digits, `{u…}` for capitals and digits, `{w…}` for small letters, `{U}` for a UUID.
    pub example: &'static str,
}

/// The part of a match that is the secret.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// The whole match, if it is separate from the letters and digits around it.
    Whole,
    /// The group `secret`, if the function accepts it.
    Group(fn(&str) -> bool),
    /// As for [`Part::Group`], if the match begins a word.
    Apart(fn(&str) -> bool),
    /// The value that follows the match, as after `PASSWORD=`.
    Assigned(NameStrength),
    /// The value that follows the match in a sentence, as after `the password is`.
    Spoken(NameStrength),
    /// The words to the end of the sentence that follow the match, as after `my passphrase is`.
    Phrase,
}

pub(super) const fn token(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Whole, example }
}

pub(super) const fn inner(
    name: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    example: &'static str,
) -> Secret {
    Secret { name, hints, pattern, reach: 0, part: Part::Group(anything), example }
}

pub(super) const fn anything(_: &str) -> bool {
    true
}

impl Secret {
    pub(super) const fn reaching(mut self, bytes: usize) -> Self {
        self.reach = bytes;
        self
    }

    pub(super) const fn taking(mut self, part: Part) -> Self {
        self.part = part;
        self
    }
}

/// A pattern that matches a secret only after its vendor's name and a word such as "key".
macro_rules! behind {
    ($maker:literal, $shape:literal) => {
        concat!(
            "(?i:",
            $maker,
            r#")[^\n]{0,40}?(?i:key|token|secret|auth)[a-zA-Z_]{0,8}[^\nA-Za-z0-9]{1,8}"#,
            r#"(?:(?i:is|was)[^\nA-Za-z0-9]{1,4})?(?P<secret>"#,
            $shape,
            r")(?-u:\b)"
        )
    };
}

/// The text between a secret's name and its value in code, configuration, JSON and on a command line.
macro_rules! assign {
    () => {
        concat!(
            r#"(?P<suffix>[A-Za-z0-9_.-]{0,32})(?:\\{0,3}["'`]|\]|\*\*){0,3}"#,
            r#"(?P<sign>\s{0,8}(?::\s{0,2}&?(?:'static )?[A-Za-z][A-Za-z<>\[\]]{0,16}\s{0,2}=|:=|=>|[:=：＝])\*{0,2}[ \t]{0,8}|[ \t]{1,4})"#
        )
    };
}

/// The text between a secret's name and its value in a sentence.
macro_rules! says {
    () => {
        concat!(
            r#"(?:[ *"'`_][^\n.:!?=&：。！？]{0,48}?|[\x{2e80}-\x{ffef}]{0,8}?)"#,
            r"(?: (?:is|was|ist|war|lautet|es|est|è|é|är|jest)\b(?: (?:now|still|currently|set to|jetzt|ahora|maintenant)\b)?:?|=|：|:",
            r"| ?(?:是|为|為|は、?|은|는|—|→))[ \t]{0,4}"
        )
    };
}

// The table of secrets: one row per kind, each with an example that the tests assemble.

/// Every kind, specific before general: if two match the same place, the earlier row names it.
#[rustfmt::skip]
pub const SECRETS: &[Secret] = &[
    // Key blocks. The first alternative needs the END line; the second takes the key lines of a block that was cut.
    token("private-key", &["-----BEGIN "],
        concat!(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-[^-])*-----END [A-Z0-9 ]{0,40}-----",
            r#"|(?:(?:\\+[nrt]|[\s>|+:"',\d→]){1,24}(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,80}|[A-Za-z0-9+/]{16,}={0,2}))*"#,
            r"(?:(?:\\+[nr]|\s){1,4}(?:=?[A-Za-z0-9+/]{1,15}={1,2}|[A-Za-z0-9+/]{1,15}\s*\z))?)"),
        "-----BEGIN RSA PRIVATE KEY-----\n{a64}\n{a64}\n{a20}==\n-----END RSA PRIVATE KEY-----"),
    token("private-key-tail", &["-----END "],
        r"(?:[A-Za-z0-9+/]{32,}={0,2}(?:\\+[nr]|\s){1,4})+(?:=?[A-Za-z0-9+/]{1,31}={0,2}(?:\\+[nr]|\s){1,4}){0,2}-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----",
        "{a64}\n{a64}\n-----END OPENSSH PRIVATE KEY-----").reaching(4096),
    inner("putty-key", &["Private-Lines:"], r"Private-Lines: \d{1,4}(?:\\+[nr]|\s)+(?P<secret>[A-Za-z0-9+/=]{32,}(?:(?:\\+[nr]|\s)+[A-Za-z0-9+/=]{32,})*(?:(?:\\+[nr]|\s)+[A-Za-z0-9+/]{1,31}={0,2})?)",
        "Private-Lines: 2\n{a64}\n{a60}"),
    token("age-key", &["AGE-SECRET-KEY-"], r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}", "AGE-SECRET-KEY-1{u58}"),
    token("openvpn-key", &["-----BEGIN OpenVPN"], r"-----BEGIN OpenVPN Static key V1-----(?:(?:\\+[nr]|\s){1,4}[0-9a-f]{32})+", "-----BEGIN OpenVPN Static key V1-----\n{h32}\n{h32}"),
    token("extended-private-key", &["xprv", "zprv"], r"[xz]prv[1-9A-HJ-NP-Za-km-z]{100,}", "xprv{a107}"),

    // Clouds.
    token("aws-access-key-id", &["AKIA", "ASIA", "ABIA", "ACCA"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", "AKIA{u16}"),
    inner("aws-secret-key", &["aws_secret", "aws secret", "secret_access_key", "secretaccesskey", "secret access key"],
        r#"(?i:aws[_ ]secret|secret_?access_?key|secret access key)[^\n]{0,40}?[\s"'=:`](?P<secret>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#,
        "aws_secret_access_key = {a40}"),
    token("aws-bedrock-key", &["ABSK"], r"ABSK[A-Za-z0-9+/]{80,}={0,2}", "ABSK{a120}"),
    token("google-api-key", &["AIza"], r"AIza[A-Za-z0-9_-]{35,}", "AIza{a35}"),
    token("google-oauth-token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{20,}", "ya29.{a60}"),
    token("google-client-secret", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{20,}", "GOCSPX-{a28}"),
    token("google-refresh-token", &["1//0"], r"1//0[A-Za-z0-9_-]{20,}", "1//0{a60}"),
    inner("azure-storage-key", &["AccountKey="], r"(?i:AccountKey)=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})", "AccountName=shop;AccountKey={a86}==;"),
    inner("azure-shared-access-key", &["SharedAccessKey="], r"(?i:SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})", "SharedAccessKey={a43}="),
    inner("azure-sas-signature", &["sig="], r"sig=(?P<secret>[A-Za-z0-9%+/]{20,}={0,2})", "https://shop.blob.core.windows.net/a?sv=2024&sig={a43}%3D"),
    token("azure-client-secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], r"(?-u:\b)[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", "{a3}8Q~{a34}").reaching(4),
    token("azure-devops-token", &["AZDO"], r"(?-u:\b)[A-Za-z0-9]{75,76}AZDO[A-Za-z0-9]{4}", "{a76}AZDO{a4}").reaching(77),
    token("alibaba-key-id", &["LTAI"], r"LTAI[A-Za-z0-9]{12,20}", "LTAI{a20}"),
    token("tencent-secret-id", &["AKID"], r"AKID[A-Za-z0-9]{32}", "AKID{a32}"),
    token("baidu-key", &["bce-v3/"], r"bce-v3/ALTAK-[A-Za-z0-9]{20,}/[a-f0-9]{40}", "bce-v3/ALTAK-{a21}/{h40}"),
    token("volcengine-key", &["AKLT"], r"AKLT[A-Za-z0-9]{40,}={0,2}", "AKLT{a44}"),
    token("yandex-key", &["AQVN", "t1.9eu"], r"(?:AQVN[A-Za-z0-9_-]{34,}|t1\.9eu[A-Za-z0-9_.-]{60,})", "AQVN{a36}"),
    token("scaleway-key", &["SCW"], r"SCW[A-Z0-9]{17}", "SCW{u17}"),
    inner("presigned-url", &["x-amz-signature=", "x-goog-signature=", "x-amz-security-token="], r"(?i:x-(?:amz|goog)-(?:signature|security-token))=(?P<secret>[A-Za-z0-9%/+_-]{32,})", "https://b.example/a?X-Amz-Signature={h64}"),
    inner("kubernetes-client-key", &["client-key-data"], r#"client-key-data\\{0,3}"?:\s{0,4}\\{0,3}"?(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"#, "client-key-data: {a80}=="),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{60,}", "dop_v1_{h64}"),
    token("heroku-token", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{36,}", "HRKU-{a60}"),
    inner("heroku-key", &["heroku"], behind!("heroku", "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"), "HEROKU_API_KEY={U}"),
    token("fly-token", &["FlyV1", "fm1a_", "fm1r_", "fm2_", "fo1_"], r"(?:FlyV1 (?:fm[12][ar]?_)?|fm1[ar]_|fm2_|fo1_)[A-Za-z0-9_=,+/-]{40,}", "FlyV1 fm2_{a80}"),
    token("vercel-token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"vc[piark]_[A-Za-z0-9]{24,}", "vcp_{a56}"),
    inner("vercel-key", &["vercel"], behind!("vercel", "[A-Za-z0-9]{24}"), "VERCEL_TOKEN={a24}").taking(Part::Group(has_letters_and_digits)),
    token("netlify-token", &["nfp_", "nfc_", "nfu_", "nfb_", "nfo_"], r"nf[pcubo]_[A-Za-z0-9]{32,}", "nfp_{a36}"),
    token("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,}", "rnd_{a32}"),
    token("neon-key", &["napi_"], r"napi_[a-z0-9]{50,}", "napi_{h64}"),
    token("aiven-password", &["AVNS_"], r"AVNS_[A-Za-z0-9_-]{16,}", "AVNS_{a19}"),
    token("mongodb-atlas-secret", &["mdb_sa_sk_"], r"mdb_sa_sk_[A-Za-z0-9_-]{30,}", "mdb_sa_sk_{a40}"),
    token("confluent-secret", &["cflt"], r"cflt[A-Za-z0-9+/]{60}", "cflt{a60}"),
    token("runpod-key", &["rpa_"], r"rpa_[A-Za-z0-9]{36,}", "rpa_{u44}"),
    token("cloudflare-origin-key", &["v1.0-"], r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}", "v1.0-{h24}-{h146}"),
    inner("cloudflare-key", &["cloudflare", "CF_API"], behind!("cloudflare|CF_API", "[A-Za-z0-9_-]{37,40}"), "CLOUDFLARE_API_TOKEN={a40}").taking(Part::Group(has_letters_and_digits)),
    token("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth|app_secret)_[A-Za-z0-9_=.-]{30,}", "pscale_tkn_{a43}"),
    token("supabase-token", &["sbp_", "sb_secret_"], r"(?:sbp_(?:v0_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})", "sbp_{h40}"),
    token("databricks-token", &["dapi"], r"dapi[a-f0-9]{32}(?:-\d)?", "dapi{h32}"),
    token("terraform-token", &[".atlasv1."], r"(?-u:\b)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", "{a14}.atlasv1.{a67}").reaching(15),
    token("pulumi-token", &["pul-"], r"pul-[a-f0-9]{40}", "pul-{h40}"),
    token("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{20,}", "hvs.{a90}"),
    token("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim."], r"dp\.(?:pt|st|ct|sa|scim)\.[A-Za-z0-9_.-]{40,}", "dp.pt.{a43}"),
    token("tailscale-key", &["tskey-"], r"tskey-(?:auth|api|client|webhook|scim)-[A-Za-z0-9-]{20,}", "tskey-auth-{a17}-{a32}"),
    token("onepassword-token", &["ops_eyJ"], r"ops_eyJ[A-Za-z0-9+/=_-]{50,}", "ops_eyJ{a120}"),
    token("onepassword-secret-key", &["A3-"], r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}", "A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5}"),

    // Code and packages.
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9_]{30,}", "ghp_{a36}"),
    token("github-fine-grained-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,}", "github_pat_{a22}_{a59}"),
    token("gitlab-token", &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glimt-", "glagent-", "gloas-", "glft-", "glsoat-", "glffct-"],
        r"gl(?:pat|ptt|dt|rt|cbt|imt|agent|oas|ft|soat|ffct)-[A-Za-z0-9_.-]{20,}", "glpat-{a20}"),
    token("bitbucket-token", &["ATBB"], r"ATBB[A-Za-z0-9_=-]{28,}", "ATBB{a32}"),
    token("gitlab-runner-token", &["GR1348941"], r"GR1348941[A-Za-z0-9_-]{20,}", "GR1348941{a20}"),
    token("atlassian-token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[A-Za-z0-9_=-]{50,}", "ATATT3{a120}"),
    token("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36,}", "npm_{a36}"),
    token("pypi-token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{50,}", "pypi-AgEIcHlwaS5vcmc{a80}"),
    token("crates-io-token", &["cio"], r"cio[A-Za-z0-9]{32}", "cio{a32}").taking(Part::Whole),
    token("rubygems-key", &["rubygems_"], r"rubygems_[a-f0-9]{48}", "rubygems_{h48}"),
    token("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}", "oy2{h43}"),
    token("clojars-token", &["CLOJARS_"], r"CLOJARS_[a-z0-9]{60}", "CLOJARS_{h60}"),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{20,}", "dckr_pat_{a27}"),
    token("circleci-token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9]{10,}_[a-f0-9]{40}", "CCIPAT_{a22}_{h40}"),
    token("buildkite-token", &["bkua_", "bkct_"], r"bk(?:ua|ct)_[A-Za-z0-9]{32,}", "bkua_{h40}"),
    token("postman-key", &["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "PMAK-{h24}-{h34}"),
    token("sourcegraph-token", &["sgp_"], r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}", "sgp_{h16}_{h40}"),
    token("segment-token", &["sgp_"], r"sgp_[A-Za-z0-9]{64}", "sgp_{a64}"),
    token("sonar-token", &["squ_", "sqp_", "sqa_"], r"sq[upa]_[a-f0-9]{40}", "squ_{h40}"),
    token("artifactory-key", &["AKCp", "cmVmdGtuOj"], r"(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtuOj[A-Za-z0-9]{50,})", "AKCp{a69}"),
    token("harness-token", &["pat.", "sat."], r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}", "pat.{a22}.{h24}.{a20}"),
    token("octopus-key", &["API-"], r"API-[A-Z0-9]{26,}", "API-{u30}"),
    token("prefect-key", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}", "pnu_{a36}"),
    token("dbt-token", &["dbtc_", "dbtu_"], r"dbt[cu]_[A-Za-z0-9_=-]{36,}", "dbtc_{a44}"),
    inner("snyk-token", &["snyk"], behind!("snyk", "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "SNYK_TOKEN={U}"),
    token("launchdarkly-key", &["sdk-", "api-"], r"(?:sdk|api)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "sdk-{U}"),
    token("readme-key", &["rdme_"], r"rdme_[a-z0-9]{60,}", "rdme_{h70}"),

    // Models.
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{16,}", "sk-ant-api03-{a93}AA"),
    token("openrouter-key", &["sk-or-"], r"sk-or-(?:v\d-)?[A-Za-z0-9]{20,}", "sk-or-v1-{h64}"),
    token("langfuse-key", &["sk-lf-"], r"sk-lf-[a-f0-9-]{30,}", "sk-lf-{U}"),
    token("openai-project-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{16,}", "sk-proj-{a74}"),
    token("openai-key", &["sk-"], r"sk-[A-Za-z0-9]{20,}", "sk-{a48}"),
    token("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}", "gsk_{a52}"),
    token("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{60,}", "xai-{a80}"),
    token("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{36,}", "r8_{a37}"),
    token("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}", "pplx-{a48}"),
    token("huggingface-token", &["hf_", "api_org_"], r"(?:hf|api_org)_[A-Za-z0-9]{30,}", "hf_{a34}"),
    token("fireworks-key", &["fw_"], r"fw_[A-Za-z0-9]{20,}", "fw_{a24}"),
    token("cerebras-key", &["csk-"], r"csk-[a-z0-9]{40,}", "csk-{h48}"),
    token("nvidia-key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{40,}", "nvapi-{a64}"),
    token("together-key", &["tgp_v1_"], r"tgp_v1_[A-Za-z0-9_-]{40,}", "tgp_v1_{a43}"),
    token("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{40,}", "pcsk_{a64}"),
    token("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}", "tvly-{a32}"),
    token("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", "lsv2_pt_{h32}_{h10}"),
    token("jina-key", &["jina_"], r"jina_[A-Za-z0-9_-]{40,}", "jina_{a60}"),
    token("elevenlabs-key", &["sk_"], r"sk_[a-f0-9]{48}", "sk_{h48}"),
    token("openai-session", &["sess-"], r"sess-[A-Za-z0-9]{40}", "sess-{a40}"),
    token("anyscale-key", &["esecret_"], r"esecret_[A-Za-z0-9]{20,}", "esecret_{a28}"),
    token("firecrawl-key", &["fc-"], r"fc-[a-f0-9]{32}", "fc-{h32}"),
    token("e2b-key", &["e2b_"], r"e2b_[a-f0-9]{40}", "e2b_{h40}"),
    token("llamacloud-key", &["llx-"], r"llx-[A-Za-z0-9]{40,}", "llx-{a48}"),
    token("mem0-key", &["m0-"], r"m0-[A-Za-z0-9]{36,}", "m0-{a40}"),
    token("voyage-key", &["pa-"], r"pa-[A-Za-z0-9_-]{42,}", "pa-{a43}"),
    inner("wandb-key", &["wandb"], behind!("wandb", "[a-f0-9]{40}"), "WANDB_API_KEY={h40}"),

    // Payment and commerce.
    token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", "sk_live_{a24}"),
    token("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{24,}", "whsec_{a32}"),
    token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}", "shpat_{h32}"),
    token("square-token", &["EAAA", "sq0atp-", "sq0csp-"], r"(?:EAAA[A-Za-z0-9_-]{56,}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,})", "sq0csp-{a43}"),
    token("paypal-token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[a-z0-9]{12,20}\$[0-9a-f]{32}", "access_token$production${h16}${h32}"),
    token("razorpay-key", &["rzp_live_", "rzp_test_"], r"rzp_(?:live|test)_[A-Za-z0-9]{14,}", "rzp_live_{a14}"),
    token("flutterwave-key", &["FLWSECK"], r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?", "FLWSECK-{h32}"),
    token("mercadopago-token", &["APP_USR-"], r"APP_USR-\d{12,}-\d{6}-[a-f0-9]{32}-\d{4,}", "APP_USR-{d16}-{d6}-{h32}-{d9}"),
    token("plaid-token", &["access-sandbox-", "access-development-", "access-production-"], r"access-(?:sandbox|development|production)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "access-production-{U}"),
    token("easypost-key", &["EZAK", "EZTK"], r"EZ[AT]K[A-Za-z0-9]{54}", "EZAK{a54}"),
    token("shippo-token", &["shippo_live_", "shippo_test_"], r"shippo_(?:live|test)_[a-f0-9]{40}", "shippo_live_{h40}"),
    token("klaviyo-key", &["pk_"], r"pk_(?:[a-f0-9]{34}|\d{6,9}_[A-Z0-9]{32})", "pk_{h34}"),

    // Messages and mail.
    token("slack-token", &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-"], r"xox[abcdeoprs][.-][A-Za-z0-9%./+-]{10,}", "xoxb-{d12}-{d12}-{a24}"),
    token("slack-app-token", &["xapp-"], r"xapp-\d-[A-Z0-9]{5,}-\d{5,}-[a-f0-9]{32,}", "xapp-1-{u11}-{d13}-{h64}"),
    inner("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/+]{20,})", "https://hooks.slack.com/services/T{u10}/B{u10}/{a24}"),
    token("telegram-bot-token", &[":AA"], r"(?-u:\b)\d{8,10}:AA[A-Za-z0-9_-]{32,33}", "{d10}:AA{a33}").reaching(11),
    token("discord-bot-token", &["MT", "Mz", "Mj", "NT", "Nj", "Nz", "ND", "OD", "OT"], r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", "MT{a24}.{a6}.{a38}"),
    inner("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/\d{15,20}/(?P<secret>[A-Za-z0-9_-]{40,})", "https://discord.com/api/webhooks/112233445566778899/{a68}"),
    inner("teams-webhook", &["/IncomingWebhook/"], r"/IncomingWebhook/(?P<secret>[a-f0-9]{32}/[a-f0-9-]{36}(?:/[A-Za-z0-9_-]+)?)", "https://shop.webhook.office.com/webhookb2/x/IncomingWebhook/{h32}/{U}"),
    token("twilio-key", &["SK"], r"SK[0-9a-f]{32}", "SK{h32}"),
    inner("twilio-auth-token", &["twilio"], behind!("twilio", "[0-9a-f]{32}"), "TWILIO_AUTH_TOKEN={h32}"),
    token("sendgrid-key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", "SG.{a22}.{a43}"),
    token("mailgun-key", &["key-"], r"key-[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?", "key-{h32}"),
    token("mailchimp-key", &["-us"], r"(?-u:\b)[0-9a-f]{32}-us\d{1,2}", "{h32}-us12").reaching(33),
    token("brevo-key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", "xkeysib-{h64}-{a16}"),
    token("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", "re_{a8}_{a24}"),
    token("mailersend-token", &["mlsn."], r"mlsn\.[a-f0-9]{64}", "mlsn.{h64}"),
    token("onesignal-key", &["os_v2_"], r"os_v2_(?:app|org)_[a-z0-9]{60,}", "os_v2_app_{h103}"),
    token("firebase-server-key", &[":APA91"], r"(?-u:\b)AAAA[A-Za-z0-9_-]{7}:APA91[A-Za-z0-9_-]{130,}", "AAAA{a7}:APA91{a135}").reaching(12),
    token("twitch-token", &["oauth:"], r"oauth:[a-z0-9]{30}", "oauth:{h30}"),

    // Monitoring, and office tools.
    inner("datadog-key", &["datadog", "DD_API", "DD_APP"], behind!("datadog|DD_API|DD_APP", "[a-f0-9]{40}|[a-f0-9]{32}"), "DATADOG_API_KEY={h32}"),
    token("newrelic-key", &["NRAK-", "NRII-", "NRJS-", "NRRA-"], r"NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,}", "NRAK-{u27}"),
    token("sentry-token", &["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9+/=_-]{40,}", "sntrys_{a100}"),
    token("grafana-token", &["glsa_", "glc_"], r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}", "glsa_{a32}_{h8}"),
    token("grafana-old-key", &["eyJrIjoi"], r"eyJrIjoi[A-Za-z0-9+/]{60,}={0,2}", "eyJrIjoi{a80}"),
    token("honeycomb-key", &["hcaik_", "hcbik_", "hcxik_"], r"hc[abx]ik_[a-z0-9]{26,}", "hcaik_{h58}"),
    token("axiom-token", &["xaat-", "xapt-"], r"xa[ap]t-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "xaat-{U}"),
    token("elastic-key", &["essu_"], r"essu_[A-Za-z0-9+/=_-]{40,}", "essu_{a60}"),
    token("salesforce-token", &["00D"], r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}", "00D{a12}!{a96}"),
    inner("algolia-key", &["algolia"], behind!("algolia", "[a-f0-9]{32}"), "ALGOLIA_ADMIN_KEY={h32}"),
    inner("okta-token", &["okta"], behind!("okta", "00[A-Za-z0-9_-]{40}"), "OKTA_TOKEN=00{a40}"),
    token("dynatrace-token", &["dt0c01.", "dt0s01."], r"dt0[cs]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0c01.{u24}.{u64}"),
    token("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", "lin_api_{a40}"),
    token("notion-token", &["ntn_", "secret_"], r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})", "ntn_{a46}"),
    token("figma-token", &["figd_", "figu_", "figo_"], r"fig[duo]_[A-Za-z0-9_-]{36,}", "figd_{a40}"),
    token("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "pat{a14}.{h64}"),
    token("hubspot-token", &["pat-na", "pat-eu"], r"pat-(?:na|eu)\d-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "pat-na1-{U}"),
    token("dropbox-token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}", "sl.{a130}"),
    token("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{32,}", "phx_{a43}"),
    token("typeform-token", &["tfp_"], r"tfp_[A-Za-z0-9_.-]{40,}", "tfp_{a59}"),
    token("contentful-token", &["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{40,}", "CFPAT-{a43}"),
    token("mapbox-secret-token", &["sk.eyJ"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}", "sk.eyJ{a60}.{a22}"),
    token("facebook-token", &["EAA"], r"EAA[A-Za-z0-9]{80,}", "EAA{a160}"),

    // Formats that can contain any vendor's secret.
    token("jwt", &["eyJ"], r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?|[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){3})", "eyJ{a33}.eyJ{a60}.{a43}"),
    inner("url-password", &["://"], r#"://[^\s/?#:@"'<>`]{0,96}:(?P<secret>[^\s/"'<>`]{1,128})@[A-Za-z0-9\[]"#, "postgres://app:{a16}@db.internal:5432/shop")
        .taking(Part::Group(is_credential_value)),
    inner("url-token", &["://"], r"://(?P<secret>[A-Za-z0-9_-]{20,})@[A-Za-z0-9]", "https://{a32}@git.internal/shop.git").taking(Part::Group(is_opaque)),
    inner("authorization", &["authorization"],
        r#"(?i:authorization)\\?["']?\s{0,4}[:=,]\s{0,4}\\?["']?(?:(?i:basic|bearer|token|digest|apikey|bot)\s{1,4})?(?P<secret>[A-Za-z0-9._~+/=-]{8,})"#,
        "Authorization: Basic {a24}==").taking(Part::Group(is_opaque)),
    inner("bearer", &["bearer"], r"(?i:bearer)\s{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{8,})", "curl -H 'x: Bearer {a32}'").taking(Part::Group(is_opaque)),
    inner("basic-auth", &["basic"], r"(?i:basic)\s(?P<secret>[A-Za-z0-9+/]{8,}={1,2})", "Basic {a22}==").taking(Part::Group(is_opaque)),
    inner("cookie", &["cookie:"], r#"(?i:cookie):\s{0,4}(?P<secret>[A-Za-z0-9_.-]{1,64}=[^\s;"',]{6,}(?:;\s{0,2}[A-Za-z0-9_.-]{1,64}(?:=[^\s;"',]*)?)*)"#, "Cookie: session={a32}; theme=dark"),
    inner("session-cookie", &["sessionid=", "connect.sid=", "phpsessid=", "jsessionid=", "session_id=", "sessid="],
        r"(?i:(?:php|j)?sess(?:ion_?)?id|connect\.sid)=(?P<secret>[^\s;&,]{16,})", "sessionid={a32}").taking(Part::Group(is_opaque)),
    inner("curl-user", &["curl -u", "-u ", "--user "], r#"(?:curl -u|(?:-u|--user)\s{1,4})["']?[^\s:"'$]{1,64}:(?P<secret>[^\s"']{4,})"#, "curl -u ana:{a16} https://x").taking(Part::Group(is_user_password)),
    token("password-hash", &["$apr1$", "$1$", "$5$", "$6$", "$2a$", "$2b$", "$2y$", "$argon2"],
        r"(?:\$(?:apr1|1|5|6)\$(?:rounds=\d{1,9}\$)?[A-Za-z0-9./]{1,16}\$[A-Za-z0-9./]{22,86}|\$2[aby]\$\d\d\$[A-Za-z0-9./]{53}|\$argon2(?:id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{20,128})",
        "ana:$apr1${a8}${a22}"),
    inner("pgpass", &[":5432:"], r":5432:[^:\s]{1,64}:[^:\s]{1,64}:(?P<secret>[^\s:]{6,64})", "db.internal:5432:shop:ana:{a16}").taking(Part::Group(is_credential_value)),
    inner("sshpass", &["sshpass -p"], r#"sshpass -p\s{0,4}["']?(?P<secret>[^\s"'$]{4,})"#, "sshpass -p {a16} ssh box"),

    // On command lines and in files of tools.
    inner("command-password", &["mysql", "mariadb", "redis-cli", "docker login", "podman login", "az login"],
        r#"(?:(?:mysql(?:dump|admin)?|mariadb)[ -~]{0,96}? -p|redis-cli[ -~]{0,96}? -a |(?:docker|podman|az) login[ -~]{0,96}? -p )["']?(?P<secret>[^\s"'$]{4,})"#,
        "mysql -u root -p{a14} shop").taking(Part::Group(is_made_up)),
    inner("piped-password", &["echo "], r#"echo ["']?(?P<secret>[^\s"'$|]{4,64})["']? ?\| ?(?:sudo (?:-[a-zA-Z]+ )?-S|[a-z]{2,12} login)"#,
        "echo {a14} | sudo -S ls").taking(Part::Group(is_credential_value)),
    inner("netrc-password", &["machine "], r"machine [^\s]{1,96}(?:\\n|\s){1,4}login [^\s]{1,64}(?:\\n|\s){1,4}password (?P<secret>[^\s\\]{4,})", "machine ci.internal login ana password {a14}")
        .taking(Part::Group(is_credential_value)),
    inner("openssl-password", &["pass:"], r"pass:(?P<secret>[^\s]{4,64})", "-pass pass:{a14}").taking(Part::Group(is_strong)),
    inner("registry-auth", &["_auth", "\"auth\\", "\"auth\""], r#"(?:_auth|"auth)\\{0,3}"?\s{0,3}[:=]\s{0,3}\\{0,3}"?(?P<secret>[A-Za-z0-9+/]{12,}={0,2})"#, "_auth = {a20}==")
        .taking(Part::Group(is_opaque)),
    inner("oracle-password", &["jdbc:oracle:thin:"], r"jdbc:oracle:thin:[A-Za-z0-9_]{1,64}/(?P<secret>[^\s@/]{4,64})@", "jdbc:oracle:thin:ana/{a14}@db:1521/shop"),
    inner("environment-key", &["setx ", "ENV "], r#"(?i:setx|env) [A-Z0-9_]{0,32}(?:KEY|TOKEN|SECRET|PASSWORD|PASS)[A-Z0-9_]{0,16} ["']?(?P<secret>[^\s"']{6,})"#, "setx API_KEY {a16}")
        .taking(Part::Group(is_opaque)),
    inner("xml-password", &["password>", "passwd>", "secret>", "token>"], r"(?i:password|passwd|secret|token)>(?P<secret>[^<>\s]{4,200})</", "<password>{a14}</password>")
        .taking(Part::Group(is_made_up)),
    inner("paired-password", &["password", "passwd", "secret", "token", "api_key", "apikey"],
        r#"(?i:password|passwd|secret|token|api_?key)\\{0,3}["']?,?(?:\\n|\s){1,12}\\{0,3}["']?value\\{0,3}["']?\s{0,2}[:=]\s{0,2}\\{0,3}["']?(?P<secret>[^\s"'<>\\]{4,})"#,
        "- name: DB_PASSWORD\n  value: {a14}").taking(Part::Group(is_made_up)),
    inner("default-password", &["password\" {", "secret\" {", "token\" {", "password\\\" {", "secret\\\" {", "token\\\" {", "password\\\\\\\" {"],
        r#"(?i:password|secret|token)\\{0,3}" \{[^}]{1,200}?default\s{0,8}=\s{0,4}\\{0,3}"(?P<secret>[^"\n\\]{4,})\\{0,3}""#,
        "variable \"db_password\" {(}\n  default = \"{a14}\"\n{)}").taking(Part::Group(is_credential_value)),
    inner("table-password", &["password", "passwort", "contraseña", "密码"], r"(?i:password|passwort|contraseña|密码)[ *`]{0,4}\|[ \t]{0,4}[`*]{0,3}(?P<secret>[^\s|`*]{4,64})[`*]{0,3}[ \t]{0,24}\|",
        "| DB password | {a14} |").taking(Part::Group(is_made_up)),
    inner("block-password", &["password", "passwd", "secret", "token"], r#"(?i:password|passwd|secret|token)\\{0,3}["']?: [|>][+-]?(?:\\{1,3}n|[ \t]{0,4}\r?\n)[ \t]{1,12}(?P<secret>[^\s\\]{4,})"#,
        "password: |\n  {a14}\nuser: ana").taking(Part::Group(is_made_up)),
    inner("short-named-password", &["pass:", "pass=", "pass =", "pass: ", "pw:", "pw=", "creds:", "creds are", "credentials are"],
        r#"(?i:pass|pw|creds|credentials)(?: ?[:=]| are) ?["'`]?(?:[A-Za-z0-9._@-]{1,40}(?: ?/ ?|:))?(?P<secret>[^\s"'`,;]{6,64})"#, "login ana, pass: {a14}").taking(Part::Apart(is_strong)),

    // Named values: NAME=value in all its spellings.
    Secret {
        name: "password", reach: 0, part: Part::Assigned(NameStrength::Password),
        hints: &["password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contraseña", "contrasena", "senha", "mot de passe", "parola d'ordine", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호"],
        pattern: concat!(r"(?i:password|passwd|passphrase|passcode|pwd|passwort|kennwort|contraseña|contrasena|senha|mot de passe|parola d'ordine|wachtwoord|hasło|пароль|密码|密碼|口令|パスワード|비밀번호)",
            assign!()),
        example: "DB_PASSWORD={a12}",
    },
    Secret {
        name: "secret", reach: 0, part: Part::Assigned(NameStrength::Key),
        hints: &["secret", "token", "api_key", "apikey", "api-key", "api key", "access_key", "accesskey", "access-key", "private_key", "privatekey", "auth_key", "authkey", "account_key", "accountkey", "encryption_key", "signing_key", "credential", "密钥", "令牌"],
        pattern: concat!(r"(?i:secret|token|api[_ -]?key|access[_-]?key|private_?key|auth_?key|account_?key|encryption_key|signing_key|credential|密钥|令牌)",
            assign!()),
        example: "CLIENT_SECRET: \"{a24}\"",
    },

    // Stated in a sentence.
    WIFI_KEY, ACCESS_CODE, ONE_TIME_CODE,
    Secret {
        name: "spoken-passphrase", reach: 0, part: Part::Phrase, hints: &["passphrase", "seed phrase", "recovery phrase", "mnemonic", "助记词"],
        pattern: concat!(r"(?i:passphrase|seed phrase|recovery phrase|mnemonic|助记词)", says!()),
        example: "my passphrase is {w8} {w9} {w8} {w10}",
    },
    Secret {
        name: "spoken-password", reach: 0, part: Part::Spoken(NameStrength::Password),
        hints: &["password", "passwd", "passcode", "passwort", "kennwort", "contraseña", "contrasena", "senha", "mot de passe", "wachtwoord", "hasło", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호"],
        pattern: concat!(r"(?i:password|passwd|passcode|passwort|kennwort|contraseña|contrasena|senha|mot de passe|wachtwoord|hasło|пароль|密码|密碼|口令|パスワード|비밀번호)", says!()),
        example: "the password for the staging box is {a12}",
    },
    Secret {
        name: "spoken-pin", reach: 0, part: Part::Spoken(NameStrength::Pin), hints: &["pin", "otp", "security code"],
        pattern: concat!(r"(?i:pin(?:[ -]?code| number|-nummer)?|otp|security code)", says!()),
        example: "my PIN is {d8}",
    },
    Secret {
        name: "spoken-key", reach: 0, part: Part::Spoken(NameStrength::Key), hints: &["key", "token", "secret", "credential", "schlüssel", "密钥", "令牌"],
        pattern: concat!(r"(?i:keys?|tokens?|secrets?|credentials?|schlüssel|密钥|令牌)", says!()),
        example: "our API key for maps is {a24}",
    },
    CARD_CODE, YOUR_CODE, CODE_NAMED_AFTER,
    RECOVERY_WORDS, CLAVE, CLAVE_NUMBER,
    inner("recovery-code", &["backup code", "recovery code"], r"(?i:backup|recovery) codes?(?: (?:is|are))?[: ]{1,3}(?:\\n|\s){0,2}(?P<secret>[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}(?:(?:\\n|[\s,]){1,3}[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}){0,20})",
        "backup codes: {d4}-{d4} {d4}-{d4}").taking(Part::Group(has_digit)),
    inner("given-password", &["password", "passwort", "kennwort", "contraseña", "mot de passe", "密码", "口令", "パスワード"],
        r#"(?i:password|passwort|kennwort|contraseña|mot de passe|密码|口令|パスワード)(?: (?:to|as|auf|a|bleibt|sigue siendo)|改成了?|改为|设成了?|设为| -|=| →| ->)? ?["'“`]?(?P<secret>[A-Za-z0-9!#%&*+/:?@_^~-]{8,64})"#,
        "I changed my password to {a14}").taking(Part::Group(is_strong)),
    inner("numeric-password", &["密码 ", "密碼 ", "口令 "], r"(?:密码|密碼|口令) {1,2}(?P<secret>\d{6})(?: [^ \d位个個次年元字版]|[^ \d位个個次年元字版A-Za-z.:-]| ?\z)", "取款密码 {d6}"),
    inner("password-named-after", &[" as the password", " as password", " is my password", " is the password", " als passwort", " als kennwort", " de contraseña", " como contraseña"],
        r#"(?P<secret>[A-Za-z0-9!#%&*+/:?@_^~-]{8,64})["'”`]? (?:(?:as|is) (?:(?:the|my) )?password|(?i:als (?:passwort|kennwort)|(?:de|como) contraseña))"#, "use {a14} as the password").reaching(66).taking(Part::Group(is_strong)),
    inner("near-secret-word", &["key", "token", "secret", "password", "credential", "密码", "密钥", "令牌"],
        r"(?i:key|token|secret|password|credential|密码|密钥|令牌)s?(?:[^\n]{0,24}?[^\nA-Za-z0-9+/_=.-]|[^\nA-Za-z0-9+/_=.-])(?P<secret>[A-Za-z0-9+/_=-]{24,})",
        "use this key instead -> {a40}").taking(Part::Group(is_random)),
    LOGIN_PAIR, SLASHED_LOGIN, MAKER_KEY,
];

// Rows of the table for secrets that people mention in chats: Wi-Fi keys, codes of doors and alarms, one-time codes,
// logins.

/// The text between the name of a secret and its value in a chat, where there is often none. A number ends the words in
/// between, since it is the value.
macro_rules! joining_words {
    () => {
        concat!(
            r#"(?:(?:[ *"'`_][^\n.:!?=&：。！？\d]{0,40}?)?(?: (?:is|was|ist|war|lautet|es|est|è|é|c'est|to|auf|a|à)\b"#,
            r#"(?: (?:now|still|jetzt|ahora|maintenant)\b)?:?|=|[:：]| ?(?:→|—))[ \t]{0,4}"#,
            r"|[\x{2e80}-\x{ffef}]{0,6}?(?:是|为|為|改成了?|改为|换成了?|：) ?|[ \t]{0,2})"
        )
    };
}

/// What a code opens.
macro_rules! place {
    () => {
        concat!(
            r"(?:alarm|door|gate|garage|keypad|lock ?box|key ?box|key ?safe|safe|locker|padlock|intercom|entrance|entry|elevator|disarm)",
        )
    };
}

#[rustfmt::skip]
pub(super) const WIFI_KEY: Secret = Secret {
    name: "wifi-key",
    hints: &[
        "wifi", "wi-fi", "wlan", "key for", "key to", "key of", "clave d", "contra d", "clé d", "chave d",
        "chiave d", "schlüssel f", "schlüssel z", "schlüssel v", "无线",
    ],
    pattern: concat!(
        r"(?i:(?:wi-?fi|wlan)(?:'s|’s)?[ -]?(?:passkey|passphrase|network key|key|code|schlüssel|密码)",
        r"|key (?:for|to|of) [^\n.:!?=\d]{0,20}?(?:wi-?fi|wlan|hotspot)",
        r"|(?:clave|contra|clé|chave|chiave) d[a-z']{1,4} ?(?:l[ao] |l')?(?:wi-?fi|red|wlan|router|internet|réseau|box)",
        r"|schlüssel (?:fürs|für das|zum|vom) (?:wlan|wi-?fi)|无线(?:网络?)?密码)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Login),
    example: "the wifi key is {a6}-{a12}",
};

#[rustfmt::skip]
pub(super) const ACCESS_CODE: Secret = Secret {
    name: "access-code",
    hints: &[
        "alarm", "door c", "door p", "door's c", "gate c", "gate p", "gate's c", "garage", "keypad", "lockbox",
        "lock box", "keybox", "key box", "key safe", "safe c", "safe p", "safe's c", "safe’s c", "locker", "padlock",
        "intercom", "entrance c", "entry c", "elevator c", "disarm c", "code for ", "code to ", "code of ",
        "combination ", "code für ", "code fürs ", "code der ", "code des ", "code vom ", "code zum ",
        "kombination ", "türcode", "haustürcode", "tür-code", "torcode", "safe-code", "tresorcode", "código d",
        "codigo d", "clave de la ", "combinación ", "code de l", "code du ", "code d'", "digicode", "codice d", "门禁",
        "门锁", "大门", "开门", "保险", "报警", "警报", "车库",
    ],
    pattern: concat!(
        r"(?i:",
        place!(),
        r"(?:'s|’s)?[ -]?(?:system |panel |pad )?(?:code|pin|combination|combo)",
        r"|(?:code|combination) (?:for|to|of) (?:[^\n.:!?=\d]{0,24}? )?",
        place!(),
        r"|(?:code|kombination) (?:für|fürs|der|des|vom|zum) (?:[^\n.:!?=\d]{0,16}?)(?:tür|tor|garage|tresors?|safes?|alarmanlage|alarm|schließfach|schlüsselbox|schlüsselkasten|eingang)",
        r"|haustürcode|türcode|tür-code|torcode|safe-code|tresorcode",
        r"|(?:c[oó]digo|clave|combinación) d(?:e la|e el|el|e) (?:puerta|alarma|portal|portón|garaje|entrada|caja fuerte|candado|reja|verja)",
        r"|código d[oae] (?:porta|portão|alarme|cofre|garagem)|digicode",
        r"|code (?:de la |de l'|du |d')(?:porte|portail|entrée|alarme|coffre|garage|immeuble|interphone)",
        r"|codice d(?:el|ella|ell'|i) ?(?:porta|portone|cancello|allarme|cassaforte|garage))",
        r"(?-u:\b)",
        joining_words!(),
        r"|(?:门禁|门锁|大门|开门|保险[箱柜]|报警器?|警报器?|车库)的?(?:密?码|PIN)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Code),
    example: "the alarm code is {d8}",
};

#[rustfmt::skip]
pub(super) const ONE_TIME_CODE: Secret = Secret {
    name: "one-time-code",
    hints: &[
        "verification code", "confirmation code", "one-time code", "login code", "2fa code", "mfa code", "sms code",
        "authenticator code", "card pin", "sim pin", "phone pin", "bestätigungscode", "sicherheitscode",
        "einmalcode", "verifizierungscode", "geheimzahl", "zugangscode", "zutrittscode", "entsperrcode",
        "número secreto", "numero secreto", "código de ", "codigo de ", "code de vérification", "codice di verifica",
        "验证码", "动态码", "动态口令",
    ],
    pattern: concat!(
        r"(?i:(?:verification|confirmation|one-time|login|2fa|mfa|sms|authenticator) code|(?:card|sim|phone) pin",
        r"|bestätigungscode|sicherheitscode|einmalcode|verifizierungscode|geheimzahl|zugangscode|zutrittscode|entsperrcode|n[uú]mero secreto",
        r"|c[oó]digo de (?:verificaci[oó]n|confirmaci[oó]n|seguridad|acceso|un solo uso|verificação)",
        r"|code de vérification|codice di verifica|验证码|动态码|动态口令)",
        joining_words!()
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Pin),
    example: "verification code {d8}",
};

#[rustfmt::skip]
pub(super) const YOUR_CODE: Secret = Secret {
    name: "your-code",
    hints: &[
        "your code", "tu código", "su código", "dein code", "ihr code", "die tan", "deine tan", "ihre tan",
        "meine tan",
    ],
    pattern: r"(?i:your code|[ts]u código|dein code|ihr code|(?:die|deine|ihre|meine) tan)(?: (?:is|es|ist|war|lautet)|:) ",
    reach: 0,
    part: Part::Spoken(NameStrength::Pin),
    example: "your code is {d8}",
};

pub(super) const CODE_NAMED_AFTER: Secret = inner(
    "code-named-after",
    &[" is your ", " es tu c", " es su c", " ist ihr ", " ist dein ", "是您的", "是你的"],
    concat!(
        r"(?-u:\b)(?P<secret>\d{4,8})(?i: is your [a-z0-9 -]{0,32}?(?:code|pin|otp|passcode)",
        r"| es [ts]u código| ist (?:ihr|dein) [a-zäöüß-]{0,24}code| ?是[您你]的[\x{2e80}-\x{ffef}]{0,6}?码)"
    ),
    "{d8} is your verification code",
)
.reaching(12);

pub(super) const CARD_CODE: Secret = inner(
    "card-code",
    &["cvv", "cvc", "security code", "sicherheitscode", "código de seguridad", "prüfnummer", "安全码"],
    concat!(
        r"(?:(?i:cv[vc]2?)(?: (?:code|number))?(?: (?:is|es|ist|lautet|est|è|é))?(?:[ :=：]{1,3}|(?:是|为) ?)",
        r"|(?i:security code|sicherheitscode|código de seguridad|prüfnummer|安全码)",
        r"(?: (?:on|of|auf|der|de|en)\b[^\n.:!?=\d]{0,24}?)?(?: (?:is|es|ist|lautet) |是))(?P<secret>\d{3,4})(?-u:\b)"
    ),
    "the CVV is {d4}",
)
.taking(Part::Apart(anything));

#[rustfmt::skip]
pub(super) const LOGIN_PAIR: Secret = Secret {
    name: "login-pair",
    hints: &[
        "user ", "user:", "user=", "username", "login ", "login:", "usuario", "usuária", "usuário", "benutzer",
        "utilisateur", "identifiant", "utente", "用户", "账号", "帐号", "账户",
    ],
    pattern: concat!(
        r"(?i:user(?:name)?|login|usuari[oa]|usuári[oa]|benutzer(?:name)?|utilisateur|identifiant|utente|用户名?|账[号户]|帐号)",
        r#"(?:(?: (?:is|es|ist|est|è|é))?[:=：]?|[是为]) ?["'`]?[A-Za-z0-9._@+-]{1,40}["'`]?(?: ?[,;，；、/|]|\\n|\s)(?:\\n|\s){0,2}"#,
        r"(?:(?:and|y|und|et|e|with|mit|con|the|la|das|le) ){0,2}",
        r"(?i:password|passwd|passwort|pass|pwd|pw|contraseña|contrasena|clave|kennwort|mot de passe|mdp|senha|密码|口令)",
        r"(?:(?: (?:is|es|ist|lautet|est|è|é))?[:=：]? ?|[是为] ?)"
    ),
    reach: 0,
    part: Part::Spoken(NameStrength::Login),
    example: "usuario ana, clave {a8}-{d8}",
};

pub(super) const SLASHED_LOGIN: Secret = inner(
    "slashed-login",
    &[
        "admin /", "administrator /", "root /", "login:", "login is", "credentials", "creds", "zugangsdaten",
        "anmeldedaten", "logindaten", "login ist", "login es", "credenciales", "acceso:", "de acceso", "identifiants", "credenziali", "登录：",
    ],
    concat!(
        r"(?:(?i:admin(?:istrator)?|root) / |(?i:login|credentials|creds|zugangsdaten|anmeldedaten|logindaten|credenciales|acceso|identifiants|credenziali|登录)",
        r"(?: (?:is|are|ist|sind|lauten|es|son|sont|sono))?[:：]? ?[A-Za-z0-9._@+-]{2,40} ?[/:] ?)",
        r#"["'`]?(?P<secret>[^\s/"'`,;\\\x{2e80}-\x{ffef}]{7,63}[^\s/"'`,;.:!?)\\\x{2e80}-\x{ffef}])"#
    ),
    "the router is admin / {a10}!{d8}",
)
.taking(Part::Apart(is_slashed_password));

/// Keys of vendors without a row of their own: `<vendor>_live_…`.
pub(super) const MAKER_KEY: Secret = inner(
    "maker-key",
    &["_live_", "_prod_", "_test_"],
    r"(?-u:\b)(?P<secret>[A-Za-z][A-Za-z0-9]{1,11}_(?:live|prod|test)_[A-Za-z0-9]{16,})(?-u:\b)",
    "bwk_live_{a24}",
)
.reaching(12)
.taking(Part::Group(is_vendor_key));

pub(super) const RECOVERY_WORDS: Secret = inner("recovery-words", &["seed phrase", "recovery phrase", "mnemonic", "seed words", "seed-phrase", "frase de recuperación", "frase semilla", "wiederherstellungsphrase", "助记词"],
        r"(?i:mnemonic|seed[ -](?:words|phrase)|recovery phrase|frase de recuperación|frase semilla|wiederherstellungsphrase|助记词)(?: (?:is|are|es|ist|lautet)|是)?(?:[:：](?:\\n|\s){0,4}|(?:\\n|\s){1,4})(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})(?-u:\b)",
        "seed words are {w5} {w6} {w5} {w7} {w5} {w6} {w5} {w7} {w5} {w6} {w5} {w7}").taking(Part::Group(is_word_list));

pub(super) const CLAVE: Secret = inner(
    "spoken-clave",
    &["clave"],
    r#"(?i:clave)[^\n.:]{0,32}?(?: es|:) (?P<secret>[^\s,;&"'`<>\\\x{2e80}-\x{ffef}]{6,64})"#,
    "la clave del correo es {a14}",
)
.taking(Part::Group(is_made_up));

/// `clave` also means the key point, so a number is a secret only if the sentence ends with it.
pub(super) const CLAVE_NUMBER: Secret = inner(
    "spoken-clave-number",
    &["clave"],
    r"(?i:clave)(?: d[^\n.:!?=\d]{0,28}?)?(?: es|:) (?P<secret>\d{4,8})(?:[.,;!?)]|\s{0,2}(?:\n|\z))",
    "la clave de la tarjeta es {d4}.",
)
.taking(Part::Group(has_digit));
