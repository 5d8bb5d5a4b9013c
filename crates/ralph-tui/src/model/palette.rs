//! The lines of the palette: filters, sorting, jumps and commands by their words.
use super::card_filter::CardFilter;
use super::card_sort::SortColumn;

/// The meaning of a line of the palette.
#[derive(Debug, Clone)]
pub(crate) enum PaletteLine {
    Filter(CardFilter),
    Sort(SortColumn),
    /// Select the task, run or workflow run whose id begins or ends so.
    Jump(String),
    /// Remove the filter and the order.
    ShowAll,
    Quit,
    Help,
}

impl PaletteLine {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_start_matches(':').trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match (word, rest.trim()) {
            ("", _) | ("all", "") => Ok(Self::ShowAll),
            ("q" | "quit", "") => Ok(Self::Quit),
            ("help" | "keys", "") => Ok(Self::Help),
            ("run" | "task" | "id", id) if !id.is_empty() => Ok(Self::Jump(id.to_owned())),
            ("run" | "task" | "id", _) => Err(format!(":{word} needs an id")),
            ("sort", column) => SortColumn::parse(column).map(Self::Sort).ok_or_else(|| {
                let names: Vec<&str> = SortColumn::ALL.iter().map(|column| column.as_str()).collect();
                format!("sort by one of {}", names.join(", "))
            }),
            ("filter", rest) => CardFilter::parse(rest).map(Self::Filter),
            (_, _) => CardFilter::parse(text).map(Self::Filter),
        }
    }
}
