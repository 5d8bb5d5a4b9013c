//! Words that describe, require or report a signal, and words that connect lines of one sentence.

pub(crate) const EXAMPLE_PHRASES: &[&str] = &[
    "like so",
    "is written",
    "spelled",
    "spelt",
    "example",
    "examples",
    "e.g",
    "for instance",
    "sample",
    "template",
    "syntax",
    "format",
    "placeholder",
    "dummy",
    "illustration",
    "illustrates",
    "illustrate",
    "illustrating",
    "demonstrate",
    "looks like",
    "look like",
    "would look",
    "shape of",
    "demo",
    "such as",
    "mock",
    "fixture",
    "cheat sheet",
    "legend",
    "glossary",
    "quote",
    "quoted",
    "quoting",
    "verbatim",
    "excerpt",
    "snippet",
    "escaped",
    "literal",
    "so-called",
    "namely the string",
    "like this",
    "test case",
    "test data",
    "unit test",
    "test string",
    "assertion",
];

/// Phrases about the duties of agents in general.
pub(crate) const AGENT_DUTIES: &[&str] = &[
    "must",
    "should",
    "has/have/had to",
    "need/needs to",
    "supposed to",
    "ought to",
    "is/are/was/were to",
    "expected to",
    "required to",
    "asked to",
    "told to",
    "instructed to",
    "obliged to",
    "allowed to",
    "permitted to",
    "meant to",
    "bound to",
    "asks for",
    "asks me",
    "asks the",
    "calls for",
    "calls me",
    "wants me",
    "wants the",
    "want me",
    "tells me",
    "tells the",
    "requires",
    "require",
    "demands",
    "demand",
    "instructs",
    "shall",
];

/// Phrases that describe the protocol.
pub(crate) const PROTOCOL_DESCRIPTIONS: &[&str] = &[
    "how to",
    "contract",
    "protocol",
    "rule",
    "rules",
    "instruction",
    "instructions",
    "specification",
    "convention",
    "prompt",
    "stop/exit/completion/termination/end condition",
    "stop/exit/termination rule",
    "means",
    "denotes",
    "stands for",
    "used to",
    "is how",
    "is what",
    "documented",
    "documents",
    "describes",
    "explains",
    "defined as",
    "reminder",
    "note to self",
    "note for/to",
    "for reference",
    "loop/runner/harness/orchestrator/detector/engine/supervisor/\
    wrapper/script/driver/parser/machine/workflow/pipeline/controller .. stops/ends/exits/looks/waits/watches/expects/checks/scans/greps/\
    needs/reacts/recognises/recognizes/wants/reads/matches/terminates/quits/searches/breaks/listens/knows/\
        looking/waiting/watching/scanning/searching",
    "agents.md",
    "claude.md",
    "readme",
    "prompt.md",
    "policy",
    "guideline",
    "guidelines",
    "manual",
    "brief",
    "task description",
    "acceptance rule",
    "agreement",
    "checklist",
    "allowed",
    "vocabulary",
    "options",
    "possible answers/signals/replies",
    "choices",
];

/// Verbs that report speech when they come right before the tag.
pub(crate) const REPORTING_VERBS: &str = "says/said/reads/wrote/printed/prints/contains/contained/contain/\
containing/shows/showed/showing/\
    reported/returned/returns/replied/answered/emitted/expects/expected/asserts/asserted/matches/greps/found/quotes/\
    quoted/yields/logged/echoed/echoes/outputs/ended/ends/claimed/posted/sent/wrote/holds/had/mentions/mentioned/\
    produced/got/read/stated/gave/declared/wants/looks/searches/detects/recognises/recognizes/handles/parses/strips/\
    ignores/rejects/accepts/verifies/renders/escapes/removes/added/documented/changed/renamed/replaced";

/// Phrases that place a statement at an earlier time.
pub(crate) const OTHER_TIME_PHRASES: &[&str] = &[
    "previous",
    "previously",
    "earlier",
    "last run/iteration/time/turn/session/message/attempt/week/night/week's/run's",
    "yesterday",
    "yesterday's",
    "old",
    "run before",
    "history",
    "ago",
    "the first run",
    "another run",
    "prior",
    "formerly",
    "back then",
];

/// Other speakers and sources of a statement.
pub(crate) const OTHER_SPEAKERS: &[&str] = &[
    "the log",
    "logs",
    "transcript",
    "the diff",
    "commit message",
    "the helper",
    "sub-agent",
    "subagent",
    "sub-agents",
    "reviewer",
    "teammate",
    "colleague",
    "someone",
    "the user",
    "your message",
    "the ticket",
    "the issue",
    "the file",
    "the test",
    "the tests",
    "the script",
    "the docs",
    "documentation",
    "changelog",
    "the page",
    "the fixture",
    "the repository",
    "the repo",
    "source code",
    "the readme",
];

/// Words that cannot end a sentence, so the next line belongs to it.
pub(crate) const DANGLING_WORDS: &str = "the/a/an/this/my/your/its/their/our/of/to/for/by/via/with/without/in/on/\
at/as/from/than/like/\
    into/about/is/are/be/was/were/been/am/will/would/shall/should/can/could/may/might/must/not/no/never/and/or/but/nor/because/\
    since/so/if/unless/until/when/once/that/which/namely/i.e/e.g/viz/say/says/said/print/prints/printing/emit/emits/emitting/\
    output/outputs/outputting/give/gives/giving/earn/earns/earning/deserve/deserves/write/writes/writing/send/sends/sending/\
    answer/answering/reply/replying/declare/declaring/claim/claiming/announce/announcing/return/returning/issue/issuing/post/\
    posting/type/typing/include/add/append/use/using/expect/expects/withhold/withholding/justify/warrant/following/literal/\
    string/signal/tag/token/marker/line/promise/saying/called/only/yet/still/therefore/just/merit/merits/\
        respond/responding/expecting";

/// Words that continue the sentence of the previous line.
pub(crate) const CONTINUATION_WORDS: &str = "because/since/until/till/unless/if/when/once/but/though/although/\
whereas/while/only/except/provided/pending/as/after/before/\
    assuming/not/yet/and/or/so/whenever/despite/in/at/for/from/to/with/without/just/even/however";

/// Words at the start of a line that make the tag before it the subject of the sentence.
pub(crate) const PREDICATE_VERBS: &str = "is/are/was/were/will/would/should/shall/must/may/might/can/could/has/\
had/does/did/ends/stops/\
    means/comes/follows/goes/stays/signals/marks/tells/closes/finishes/terminates/indicates/denotes/stands/exits/gets/needs/\
    appears/belongs/cannot/remains/waits/says/breaks/requires/represents/becomes/tag/line/signal/marker/\
        token";

/// Phrases that refer to a tag in the lines below.
pub(crate) const FORWARD_REFERENCES: &[&str] = &[
    "below $",
    "below ,/;/:/-/(",
    "line/tag/signal/promise/marker/token/what/see/statement/message/words/answer/one/string/text below",
    "following",
    "next line",
    "line after",
    "underneath",
    "< here is what",
    "< this is what",
    "this line",
    "follows",
    "what comes next",
    "last line of this",
    "after this line",
];
