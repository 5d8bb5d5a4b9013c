//! Words for giving a signal, and phrases that show that it is really given.

/// Verbs for giving a signal.
pub(crate) const SIGNAL_VERBS: &str = "%output/%print/%emit/%say/said/%give/giving/given/gave/%answer/%reply/\
%respond/%send/sent/\
    %write/wrote/written/%return/%issue/%post/%produce/%declare/%claim/%announce/%signal/signalled/signalling/%state/\
    %end/%finish/%close/%conclude/%promise/%utter/%type/%display/%add/%append/%include/%put/putting/%submit/%deliver/\
    %provide/%raise/%trigger/%earn/%deserve/%justify/%warrant/%grant/%confirm/%report/%release/%assert/%fire/%hand/\
    %offer/%use/%leave/%place/%call/%mark/%sign/%publish/%supply/%speak/%commit/%make/making/made/%drop/\
        %set/%pronounce";

/// Verbs whose bare form at the start of a clause is an order.
pub(crate) const IMPERATIVE_VERBS: &str = "print/emit/say/respond/write/send/type/put/add/append/include/use/declare/\
conclude/issue/\
    submit/announce/produce/utter/give/post/raise/display/provide/remember/leave/place/deliver";

/// Verbs that are also nouns. They are an order only if an object follows.
pub(crate) const IMPERATIVE_VERBS_OR_NOUNS: &str =
    "output/answer/reply/end/finish/signal/return/close/report/state/claim/call/mark";

/// Words for the signal itself.
pub(crate) const SIGNAL_NOUNS: &str = "signal/promise/tag/token/marker/line/lines/word/words/keyword/phrase/\
string/statement/\
    sentinel/this/following/it/that/these/below/here/\u{1}/sign-off/message/reply/answer/response/claim/\
        completion";

/// Phrases that show that the signal is given in this message.
pub(crate) const GIVEN_NOW: &[&str] = &[
    "now",
    "hereby",
    "herewith",
    "here is",
    "here comes",
    "here you go",
    "here it is",
    "here goes",
    "here we go",
    "at last",
    "this time",
    "today",
    "finally",
];

/// Words about finished work.
pub(crate) const WORK_DONE: &[&str] = &[
    "in place",
    "done/complete/completed/finished/pass/passes/passed/passing/green/met/ready/works/satisfied/verified/\
    implemented/hold/holds/ticked/closed/\
    resolved/delivered/shipped/clean/wrapped/fulfilled/over/finish/accomplished/merged/approved/exhausted/checked/covered/tested/fixed/true/\
    confirmed/achieved/reached/solved/settled/succeeded/successful/successfully",
];

/// Labels that introduce the agent's final statement.
pub(crate) const FINAL_LABELS: &[&str] =
    &["status/signal/promise/result/verdict/answer/conclusion/completion/outcome/final/state/statement/output/\
    summary/reply/response/closing/signing/\
    sign-off/report/wrap-up/confirmation/finale"];

/// Statements that a named condition is met.
pub(crate) const CONDITION_MET: &[&str] = &[
    "and/which/as they/it/that/this/all/both/everything do/does/is/are",
    "they do",
    "it does",
    "which is the case",
    "that is the case",
    "is now the case",
    "is met",
    "are met",
    "is satisfied",
    "are satisfied",
    "is fulfilled",
    "and now",
    "that time is now",
    "which they/it now/all? do/does/did",
    "that is now",
    "has come",
    "has happened",
    "is true now",
    "now holds",
    "they all do",
    "they now do",
    "which it is",
    "which they are",
    "and it is",
    "and they are",
    "that point is/has",
];

/// Phrases with which a speaker follows the protocol instead of describing it.
pub(crate) const PROTOCOL_REFERENCES: &[&str] = &[
    "per",
    "as/following/under/with/by the/your/our contract/protocol/rule/rules/instruction/instructions/prompt/\
        specification/spec/task/brief",
    "in line with",
    "according to",
    "in accordance with",
    "as instructed",
    "as requested",
    "as agreed",
    "as required",
    "as promised",
    "as per",
    "as asked",
    "as you asked",
    "as specified",
];
