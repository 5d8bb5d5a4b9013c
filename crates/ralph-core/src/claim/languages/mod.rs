//! The words that negate, condition, postpone, describe or withdraw a claim, and the words for open work: one data file
//! per language, with labelled examples at its end. The rules that use them are in `sentence_mood`, `tag_usage`,
//! `surrounding_lines`, `retraction` and `contradiction`.
//!
//! To add a wording, add it to a section of the file and add an example. A section that a file lacks is empty.
//! The pattern syntax is described in `pattern`.

#[cfg(test)]
mod example_tests;

use crate::claim::text::pattern::{PatternList, pattern_list, section_text};
use crate::claim::text::prose_words::ProseWord;

/// Declares the table and a macro that fills it from a data file.
macro_rules! declare_table {
    ($dollar:tt $($field:ident)*) => {
        /// The phrases of one language. Each field is the section of the same name in the language's file.
        pub(crate) struct LanguageTable {
            $(pub(crate) $field: PatternList,)*
        }

        macro_rules! language_table {
            ($dollar file:literal) => {{
                const FILE: &str = include_str!($dollar file);
                LanguageTable {
                    $($field: pattern_list!(section_text(FILE, stringify!($field))),)*
                }
            }};
        }
    };
}

declare_table! { $
    marks harmless denied conditional postponed asked described withdrawn dangling_words
    signal_verbs imperative_verbs imperative_verbs_or_nouns polite_adverbs signal_nouns given_now work_done final_labels
    condition_met protocol_references speaker_words speaker_now own_duty signal_handed tag_talk
    negators withholding_signal implicit_withholding signal_would_be_wrong work_not_done work_negations
    condition_phrases condition_openings time_conjunctions past_tense_verbs conditional_verbs harmless_conditional_verbs
    promised_time postponements postponed_after_all undone_work nothing_undone
    questions questions_about_tag example_phrases agent_duties dutiful protocol_descriptions fulfilled_conditions
    agent_nouns reporting_verbs speech_verbs present_time other_time_phrases other_speakers
    continuation_words predicate_verbs contrast_words withheld_below condition_below negation_below fragments_below
    short_fragments_below forward_references forward_denials title_participles bare_reports
    false_withdrawals reconsiderations problem_words tag_references pronoun_references aims invalidations
    continued_work offers backward_references other_turns
    open_work failing_checks failed_results passed_results settled_inside open_headings nothing_open still_open unsure
    settled settled_before settled_after repaired_next settled_headings
}

/// A language and its phrases.
pub(crate) struct Language {
    script: LanguageScript,
    table: LanguageTable,
}

/// The script of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LanguageScript {
    Latin,
    Other,
}

impl LanguageScript {
    /// How many marks a sentence has at least. A single word of the Latin script may belong to several languages.
    fn min_marks(self) -> usize {
        match self {
            Self::Latin => 2,
            Self::Other => 1,
        }
    }
}

/// The first letter that does not belong to the Latin script.
const FIRST_OTHER_LETTER: char = '\u{370}';
/// A sentence with this many marks of a language, which are a third of its words, is not compared with further ones.
const MIN_CERTAIN_MARKS: usize = 3;

/// The languages, English first.
pub(crate) static LANGUAGES: [Language; 10] = [
    Language { script: LanguageScript::Latin, table: language_table!("en.txt") },
    Language { script: LanguageScript::Latin, table: language_table!("de.txt") },
    Language { script: LanguageScript::Latin, table: language_table!("fr.txt") },
    Language { script: LanguageScript::Latin, table: language_table!("es.txt") },
    Language { script: LanguageScript::Latin, table: language_table!("pt.txt") },
    Language { script: LanguageScript::Latin, table: language_table!("it.txt") },
    Language { script: LanguageScript::Other, table: language_table!("ja.txt") },
    Language { script: LanguageScript::Other, table: language_table!("zh.txt") },
    Language { script: LanguageScript::Other, table: language_table!("ko.txt") },
    Language { script: LanguageScript::Other, table: language_table!("ru.txt") },
];

/// Returns the phrases of the language that a sentence is written in: the one whose marks occur most often, or English.
pub(crate) fn language_of(sentence: &[ProseWord]) -> &'static LanguageTable {
    let [english, ..] = &LANGUAGES;
    let is_latin = sentence.iter().all(|word| word.text.chars().all(|c| c < FIRST_OTHER_LETTER));
    let mut best = (english, 0);
    for language in LANGUAGES.iter().filter(|language| !is_latin || language.script == LanguageScript::Latin) {
        let count = sentence.iter().filter(|word| language.table.marks.matches_word(word)).count();
        if count >= MIN_CERTAIN_MARKS && count * 3 >= sentence.len() {
            return &language.table;
        }
        if count > best.1 && count >= language.script.min_marks() {
            best = (language, count);
        }
    }
    &best.0.table
}
