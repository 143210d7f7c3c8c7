//! English cues, tried in order at the start of each clause.

use super::language::Act::{
    Decision, Dislike, Habit, Mention, NamedDecision, Preference, ProjectFact, Remember, SelfFact, Standing, Switch,
    Wish,
};
use super::language::{Cue, cue};

pub(super) const CUES: &[Cue] = &[
    // Asked to be remembered.
    cue(
        Remember,
        90,
        r"(?:please |also |and )*(?:remember|keep in mind|bear in mind|don't forget|do not forget|make a note|take note|note for (?:later|the future|future reference)|for (?:future )?reference|for the record)(?:,|:| that|, that)+\s+(?:that )?(?P<rest>.{8,})",
    ),
    cue(Remember, 85, r"(?:please |also )*remember (?P<rest>(?:i|i'm|we|we're|my|our)\b.{8,})"),
    cue(
        Mention,
        80,
        r"(?:please |also )*(?:note|fyi|n\.?b\.?|important|reminder|you should know|just so you know)(?:,|:| that)+\s+(?P<rest>.{8,})",
    ),
    // Standing instructions.
    cue(
        Standing,
        85,
        r"(?:from now on|going forward|from here on(?: out)?|in (?:the )?future|as a (?:general )?rule|by default),?\s+(?:please\s+)?(?P<do>.{6,})",
    ),
    cue(
        Standing,
        85,
        r"(?P<when>(?:whenever|every time|each time|any time|anytime)\s[^,]{4,120}),\s+(?:please\s+|always\s+|you (?:should|must|need to)\s+|make sure (?:to|you|that you)\s+)*(?P<do>.{4,})",
    ),
    cue(
        Standing,
        80,
        r"(?P<when>(?:before|after|when)\s(?:\w+ing)\s?[^,]{0,100}),\s+(?:please\s+)?(?P<do>(?:always|never|make sure|please|run|use|check|add|update|write|ask|open|create|rebase|bump|tag|commit|format|lint|test|verify|read|do not|don't|include|keep|prefer|confirm|restart|run|regenerate)\b.{4,})",
    ),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?:always|never)\s+(?P<verb>[a-z'-]+)\b.{3,})"),
    cue(Standing, 80, r"(?:please\s+)?(?P<do>(?:do not|don't) (?:ever|under any circumstances)\s+.{4,})"),
    cue(
        Standing,
        75,
        r"(?:please\s+)?(?P<do>(?:do not|don't) (?P<verb>[a-z]+) .{3,120}?\b(?:without|unless|before|directly to)\b.{3,})",
    ),
    cue(
        Standing,
        75,
        r"(?:please\s+)?(?P<do>(?:make sure|be sure|ensure)(?: to| that you| you| that)?\s+(?:\w+\s+)?(?:always|never|every|each)\b.{4,})",
    ),
    cue(Standing, 80, r"you (?:should|must|need to|have to)\s+(?P<do>(?:always|never)\s.{4,})"),
    cue(Standing, 80, r"i (?:want|need|expect|would like|'d like) you to\s+(?P<do>(?:always|never)\s.{4,})"),
    cue(
        Standing,
        75,
        r"(?P<do>(?:all|every|each|any|no) (?:new |public )?(?:commits?|prs?|pull requests?|functions?|modules?|endpoints?|migrations?|tests?|branch(?:es)?|releases?|commit messages?|files?|components?|bug ?fix(?:es)?|features?|changes?|code)\s+(?:\w+\s+){0,3}?(?:must|should|needs? to|has to|have to|may|can|goes|go)\s.{4,})",
    ),
    cue(Standing, 75, r"(?P<do>we (?:always|never)\s+(?P<verb>[a-z-]+)\s.{3,})"),
    // Decisions.
    cue(
        Switch,
        90,
        r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today |on [\d-]+ )*(?:moved|switched|migrated|changed|went|transitioned|converted|ported)\s(?:over )?(?:\w+ ){0,4}?from\s(?P<old>[^,.;]{2,80}?)\s(?:over )?to\s(?P<v>.{2,})",
    ),
    cue(
        Switch,
        85,
        r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today )*(?:replaced|swapped(?: out)?)\s(?P<old>[^,.;]{2,80}?)\s(?:with|for|by)\s(?P<v>.{2,})",
    ),
    cue(
        NamedDecision,
        90,
        r"(?:i|we)(?:'ve| have)?\s(?:just |recently |finally |now |already |also |all |officially |yesterday |today )*(?:moved|switched|migrated|changed|upgraded|transitioned|converted|ported)\s(?:over |everything |(?:the |our |my )?(?:\w+ ){0,3}?)?(?:to|onto)\s(?P<v>.{2,})",
    ),
    cue(
        Switch,
        85,
        r"(?:i|we)(?:'re| are|'ll| will| am|'m)\s(?:now |going to be )?(?:moving|switching|migrating|move|switch|migrate)\s(?:over )?(?:\w+ ){0,4}?from\s(?P<old>[^,.;]{2,80}?)\s(?:over )?to\s(?P<v>.{2,})",
    ),
    cue(
        NamedDecision,
        85,
        r"(?:i|we)(?:'re| are|'ll| will| am|'m)\s(?:now )?(?:moving|switching|migrating|move|switch|migrate)\s(?:over |everything |(?:the |our |my )?(?:\w+ ){0,3}?)?(?:to|onto)\s(?P<v>.{2,})",
    ),
    cue(
        Decision,
        90,
        r"(?:i|we|the team)(?:'ve| have| has)?\s(?:just |recently |finally |now |already |also |all |both |ultimately |collectively |yesterday |today )*(?:decided|agreed|settled|chose|chosen|opted|resolved|voted|committed|standardi[sz]ed)\s(?:that (?:we|i)(?:'ll| will)?\s|(?:to|on|for|upon|against)\s)?(?:be\s)?(?P<v>.{3,})",
    ),
    cue(Decision, 85, r"(?:the|our|my) (?:final )?decision (?:is|was)(?: to| that we)?:?\s(?P<v>.{4,})"),
    cue(Decision, 80, r"(?:it's|it is|it was) (?:been )?(?:decided|agreed|settled)(?: that|: |, )\s?(?P<v>.{4,})"),
    cue(
        NamedDecision,
        85,
        r"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to|'re going| are going|'re)\s(?:just |now |definitely )?(?:go(?:ing)? with|use|us(?:e|ing)|adopt(?:ing)?|stick(?:ing)? (?:with|to)|stay(?:ing)? (?:with|on)|standardi[sz](?:e|ing) on|pick(?:ing)?)\s(?P<v>.{2,})",
    ),
    cue(
        NamedDecision,
        75,
        r"let's\s(?P<do>(?:just )?(?:go with|use|switch to|move to|migrate to|adopt|stick (?:with|to)|standardi[sz]e on|deploy (?:to|on)|host (?:it |this )?on)\s(?P<v>.{2,}))",
    ),
    cue(NamedDecision, 85, r"(?:we|i)\s(?:picked|went with|adopted|selected)\s(?P<v>.{2,})"),
    cue(
        NamedDecision,
        80,
        r"(?:we|i)\s(?:dropped|ditched|abandoned|got rid of|no longer use|stopped using|don't use)\s(?P<gone>.{2,})",
    ),
    // Facts about the project.
    cue(
        ProjectFact,
        85,
        r"(?P<what>(?:our|the|this) (?:[\w/.-]+ ){0,4}?(?:[\w/-]+))\s(?:is|are)\s(?:now |currently |still |always |set to |called |named )*(?:(?P<how>hosted on|hosted at|hosted in|deployed to|deployed on|deployed at|written in|built with|built on|built in|powered by|running on|based on|managed by|managed with|served from|at|on|in)\s)?(?P<v>[^\s].+)",
    ),
    cue(
        ProjectFact,
        85,
        r"(?P<what>(?:our|the|this) (?:[\w/.-]+ ){0,4}?(?:[\w/-]+))\s(?:now |currently |still |also |only )*(?P<how>uses|use|runs on|run on|runs|deploys to|deploys on|lives on|lives in|lives at|targets|requires|depends on|relies on|supports|stores)\s(?P<v>.{2,})",
    ),
    cue(
        ProjectFact,
        85,
        r"(?P<what>we)\s(?:now |currently |still |also |only |mainly |mostly |primarily |always |exclusively |all )*(?P<how>deploy (?:everything |it |the \w+ )?(?:to|on|via|with)|host (?:everything |it |the \w+ )?(?:on|with|at|in)|run (?:everything |it |the \w+ )?on|run|use|store \w+(?: \w+)? in|write (?:everything |the \w+ )?in|build (?:everything |the \w+ )?(?:with|on)|test with|lint with|format with|target|develop in|indent with|rely on|depend on)\s(?P<v>.{2,})",
    ),
    cue(
        ProjectFact,
        85,
        r"(?P<what>we)(?:'re| are)\s(?:now |currently |still |all )*(?P<how>on|hosted on|deployed on|deployed to|running on|running|using|hosting on|deploying to|deploying on)\s(?P<v>.{2,})",
    ),
    cue(
        ProjectFact,
        80,
        r"(?P<what>i)\s(?:now |currently |still |also )*(?P<how>deploy (?:everything |it |the \w+ )?(?:to|on)|host (?:everything |it |the \w+ )?(?:on|with|at))\s(?P<v>.{2,})",
    ),
    cue(
        ProjectFact,
        75,
        r"(?P<what>staging|production|prod|ci|the api|the repo|the frontend|the backend)\s(?:is|runs|lives|uses|deploys)\s(?:now |currently )?(?P<how>at |on |in |to )?(?P<v>.{2,})",
    ),
    // Preferences.
    cue(
        Preference,
        90,
        r"i(?:'d| would)?\s(?:(?:much|strongly|really|generally|usually|personally|always|definitely|still|also|now|typically|vastly|actually|greatly|tend to)\s)*(?:prefer|favou?r)\s(?:to (?:use|have|see|get|write|work with)\s|using\s|having\s|seeing\s)?(?P<v>[^,;]+?)(?:\s(?:over|to|rather than|instead of|than)\s(?P<over>[^,;]+))?[.!]*$",
    ),
    cue(
        Preference,
        90,
        r"my (?:(?:strong|personal|general|usual)\s)*preference (?:is|would be)(?: for| to use| to)?\s(?P<v>.{2,})",
    ),
    cue(Preference, 85, r"my (?:all[- ]time )?favou?rite (?:[\w-]+ ){1,4}?(?:is|are)\s(?P<v>.{2,})"),
    cue(
        Preference,
        80,
        r"i\s(?:(?:really|always|also|still|absolutely|generally|just|particularly|especially|usually|personally|do)\s)*(?:like|love|enjoy|adore)\s(?:to (?:use|work with|work in)\s|using\s|working with\s|working in\s)?(?P<v>[^,;]+)",
    ),
    cue(
        Preference,
        80,
        r"i'm (?:(?:really|also|very|such|quite)\s)*(?:(?:a )?(?:big|huge) fan of|fond of|keen on|passionate about)\s(?P<v>.{2,})",
    ),
    cue(
        Dislike,
        85,
        r"i(?:'m)?\s(?:(?:really|absolutely|also|just|generally|strongly|personally|still)\s)*(?:hate|dislike|can't stand|cannot stand|detest|despise|loathe|don't like|do not like|not a fan of|don't enjoy|don't care for|avoid)\s(?:to use\s|using\s)?(?P<v>.{2,})",
    ),
    cue(
        Wish,
        80,
        r"please\s(?:always )?(?:use|stick (?:to|with)|write)\s(?P<v>[^,;]{2,60}?)(?:\s(?:instead of|rather than|over|not)\s(?P<over>[^,;]+))?[.!]*$",
    ),
    cue(
        Wish,
        75,
        r"(?:use|stick (?:to|with))\s(?P<v>[^,;]{2,40}?)(?:,? (?:instead of|rather than|over|not)\s(?P<over>[^,;]{2,40}))[.!]*$",
    ),
    cue(
        Preference,
        75,
        r"i (?:want|like|need|expect) (?P<v>(?:short|concise|brief|detailed|direct|plain|terse)\s[^,;]*\b(?:answers?|replies|responses?|explanations?|summaries|commit messages)\b[^,;]*)",
    ),
    // Facts about the speaker.
    cue(
        SelfFact("user.name"),
        90,
        r"(?:my (?:full |first )?name is|my name's|please call me|you can call me|call me)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’.-]*){0,2}))",
    ),
    cue(
        SelfFact("user.name"),
        80,
        r"i(?:'m| am)\s(?P<v>(?-i:\p{Lu}[\p{Ll}'’-]+(?: \p{Lu}[\p{Ll}'’-]+)?)),\s(?:an?|the|and i)\s",
    ),
    cue(SelfFact("user.pronouns"), 90, r"my pronouns are\s(?P<v>\w+/\w+(?:/\w+)?)"),
    cue(
        SelfFact("user.residence"),
        85,
        r"i(?:'m| am)?\s(?:(?:currently|now|still)\s)*(?:live|living|reside|based|located)\s(?:(?:out )?(?:in|at|near|outside))\s(?P<v>(?:the )?(?-i:\p{Lu})[\p{L}'’. -]*?(?:, (?-i:\p{Lu})[\p{L}'’. -]*?)?)(?:\s(?:with|and|for|now|since|on|in|where|near|but|as|these days|at the)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.residence"),
        85,
        r"(?:i|we)(?:'ve| have)?\s(?:(?:just|recently|finally|now)\s)*(?:moved|relocated)(?: back)?\s(?:from (?P<old>(?-i:\p{Lu})[\p{L}' -]*?) )?(?:to|back to)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2}))(?:\s(?:on|in|around|with|for|from|at|to|last|this|yesterday|and|since|because|where)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.employer"),
        85,
        r"i\s(?:(?:currently|now|still)\s)*work\s(?:as an? (?P<role>[\w /-]{3,40}?) )?(?:at|for)\s(?P<v>(?-i:\p{Lu}[\w&.'’-]*(?: (?:\p{Lu}|&|of)[\w&.'’-]*){0,3}))(?:\s(?:as|in|on|and|doing|since|where|with)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.employer"),
        85,
        r"(?:i (?:just |recently )?(?:joined|started (?:working )?at|got a job at|got hired (?:at|by))|my (?:new )?(?:employer|company) is(?: called)?)\s(?P<v>(?-i:\p{Lu}[\w&.'’-]*(?: (?:\p{Lu}|&)[\w&.'’-]*){0,3}))(?:\s(?:as|in|on|and|since|last|this)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.role"),
        85,
        r"(?:i (?:currently |now )?work as|my (?:job|role|title|job title|profession|occupation) is|i(?:'m| am) employed as)\s(?:an? |the )?(?P<v>[\p{L}][\p{L} /-]{2,50}?)(?:\s(?:at|for|in|with|and|on|from)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.role"),
        80,
        r"i(?:'m| am)\s(?:currently |now )?(?:an?|the)\s(?P<v>(?:[\p{L}-]+\s){0,4}?(?:engineer|developer|programmer|designer|manager|scientist|analyst|architect|student|teacher|professor|researcher|doctor|nurse|lawyer|writer|consultant|founder|ceo|cto|sre|devops|admin(?:istrator)?|freelancer|contractor|accountant|artist|musician|journalist|photographer|chef|translator|librarian|counsell?or|therapist|pharmacist|physicist|biologist|chemist|mathematician|economist|maintainer|intern|postdoc|tester|dancer|nutritionist|electrician|carpenter|pilot|veterinarian|dentist|psychologist|tech lead|team lead))\b(?:\s(?:at|in|for|by|from|based|on|of|who|with|and|working)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.experience"),
        80,
        r"i(?:'ve| have)\s(?:been )?(?:(?:coding|programming|writing \S+|working (?:as|with|in) [^,.;]{2,40}|doing \S+|using \S+|teaching|painting|running|dancing)\s(?:for )?(?P<v>(?:over |about |around |almost |nearly )?(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twenty|fifteen) years)|(?P<years>\d+\+? years of experience)).*",
    ),
    cue(
        SelfFact("user.timezone"),
        85,
        r"(?:my (?:time ?zone) is|i(?:'m| am) (?:in|on) (?:the )?(?:time ?zone )?)\s?(?P<v>(?-i:UTC|GMT|CET|CEST|EST|EDT|PST|PDT|CST|MST|JST|IST|BST|AEST|Europe/\w+|America/\w+|Asia/\w+|Australia/\w+|Africa/\w+|Pacific|Eastern|Central)(?:[+-]\d{1,2}(?::\d\d)?)?)(?: time(?: ?zone)?)?\b.*",
    ),
    cue(
        SelfFact("user.language"),
        85,
        r"(?:my (?:native|first|mother) (?:language|tongue) is|i(?:'m| am) a native speaker of|i (?:also |can )?speak)\s(?:fluent )?(?P<v>(?-i:English|German|French|Spanish|Italian|Portuguese|Dutch|Swedish|Danish|Norwegian|Finnish|Polish|Czech|Russian|Ukrainian|Turkish|Arabic|Hebrew|Hindi|Urdu|Bengali|Chinese|Mandarin|Cantonese|Japanese|Korean|Vietnamese|Thai|Greek|Hungarian|Romanian|Catalan|Swahili)(?:[^.;!]*))",
    ),
    cue(
        SelfFact("user.origin"),
        80,
        r"(?:i(?:'m| am) (?:originally )?from|i come from|i was born in|i grew up in|my home ?town is)\s(?P<v>(?-i:\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}'’-]+){0,2}))(?:\s(?:and|but|in|originally|though|on)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.birthday"),
        85,
        r"(?:my birthday is|my birthday's|i was born)\s(?:on )?(?:the )?(?P<v>(?-i:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|\d{1,4})[\w ,./-]*)",
    ),
    cue(SelfFact("user.age"), 80, r"i(?:'m| am)\s(?P<v>[1-9]\d)(?: years? old)[.!]*$"),
    cue(
        SelfFact("user.allergy"),
        90,
        r"i(?:'m| am)\s(?:(?:severely|very|badly|mildly|also)\s)?allergic to\s(?P<v>.{2,60})",
    ),
    cue(SelfFact("user.allergy"), 85, r"i have (?:a|an) (?:severe )?(?P<v>[\w ]{2,30}?) allergy"),
    cue(
        SelfFact("user.diet"),
        90,
        r"i(?:'m| am)\s(?:(?:a|strictly|mostly|now|also)\s)*(?P<v>vegan|vegetarian|pescatarian|lactose[- ]intolerant|gluten[- ]free|celiac|coeliac|diabetic|halal|kosher)\b.*",
    ),
    cue(SelfFact("user.diet"), 85, r"i (?:don't|do not|never) eat\s(?P<v>[\w ,]{3,40})"),
    cue(
        SelfFact("user.pet"),
        85,
        r"i\s(?:(?:also|just|recently)\s)?(?:have|own|adopted|got)\s(?P<v>(?:an?|two|three|four|2|3|4)\s(?:[\w-]+ ){0,3}?(?:dogs?|cats?|puppy|puppies|kittens?|rabbits?|parrots?|hamsters?|horses?|turtles?|tortoises?|guinea pigs?|fish|snakes?|birds?)(?: (?:named|called) (?-i:\p{Lu})[\w ,&]+)?)\b.*",
    ),
    cue(
        SelfFact("user.pet"),
        85,
        r"my (?:dog|cat|puppy|kitten|rabbit|parrot|hamster|horse|turtle|pet)(?:'s name is| is (?:named|called))\s(?P<v>(?-i:\p{Lu})\w+)",
    ),
    cue(
        SelfFact("user.family"),
        85,
        r"i\s(?:(?:also)\s)?(?:have|'ve got)\s(?P<v>(?:an?|one|two|three|four|five|\d)\s(?:[\w-]+ ){0,2}?(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|twins?|stepkids?|grandchildren|grandkids|wife|husband))\b.*",
    ),
    cue(
        SelfFact("user.family"),
        85,
        r"my (?:wife|husband|partner|son|daughter|brother|sister|mother|mom|mum|father|dad|girlfriend|boyfriend|fianc[ée]e?)(?:'s name is| is (?:named|called))\s(?P<v>(?-i:\p{Lu})\w+)",
    ),
    cue(
        SelfFact("user.marital_status"),
        80,
        r"i(?:'m| am)\s(?P<v>married|single|divorced|engaged|widowed)\b(?: (?:with|to|and|for)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.study"),
        80,
        r"i(?:'m| am)?\s(?:(?:currently|now)\s)?(?:study|studying|majoring in|majored in|studied)\s(?P<v>[\p{L} ]{4,50}?)(?:\s(?:at|in|with|and|on)\b.*)?[.!]*$",
    ),
    cue(
        SelfFact("user.os"),
        80,
        r"(?:i(?:'m| am) on|i'm running|my (?:laptop|machine|computer|workstation) (?:runs|is running|is))\s(?:an? )?(?P<v>(?:macOS|Linux|Ubuntu|Debian|Fedora|NixOS|Arch Linux|Windows 1[01]|WSL2?|FreeBSD|Linux Mint)\b[^,;]*)",
    ),
    // What the speaker works with.
    cue(
        Habit,
        75,
        r"i(?:'m)?\s(?:(?:mostly|usually|always|mainly|currently|now|still|also|primarily|generally|typically|only|normally)\s)*(?:use|using|work with|code in|write|program in|develop in|develop on|work in)\s(?P<v>.{2,})",
    ),
    cue(
        Habit,
        80,
        r"my (?:[\w-]+ )?(?P<what>editor|ide|os|operating system|shell|terminal|time ?zone|package manager|language|framework) (?:of choice )?is\s(?:now )?(?P<v>.{2,})",
    ),
];
