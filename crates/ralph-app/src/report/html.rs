//! Renders a report as one HTML file without scripts and without anything from elsewhere.
use std::fmt::Write;

use super::document::{ReportBlock, ReportCell, ReportDocument, ReportFact, ReportTable, ReportTone, clean_text};

const STYLE: &str = include_str!("report.css");

/// Returns the HTML of a report.
#[must_use]
pub fn render_html(report: &ReportDocument) -> String {
    let title = escape(&report.title);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <p class=\"kind\">{title}</p>\n<h1 class=\"{}\">{}</h1>\n",
        tone_class(report.tone),
        escape(&report.headline)
    );
    report.blocks.iter().for_each(|block| write_block(&mut html, block));
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

fn tone_class(tone: ReportTone) -> &'static str {
    match tone {
        ReportTone::Good => "good",
        ReportTone::Bad => "bad",
        ReportTone::Open => "open",
    }
}

fn write_block(html: &mut String, block: &ReportBlock) {
    // Writing to a string cannot fail.
    let _ = match block {
        ReportBlock::Section(title) => writeln!(html, "<h3>{}</h3>", escape(title)),
        ReportBlock::Part(title) => writeln!(html, "<h2>{}</h2>", escape(title)),
        ReportBlock::Facts(facts) => writeln!(html, "<dl>\n{}</dl>", facts.iter().map(fact_html).collect::<String>()),
        ReportBlock::Paragraph(text) => writeln!(html, "<p>{}</p>", escape(text)),
        ReportBlock::Sentence(text) => writeln!(html, "<p>{}</p>", escape(text)),
        ReportBlock::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escape(item))).collect();
            writeln!(html, "<ul>\n{items}</ul>")
        }
        ReportBlock::Table(table) => writeln!(html, "{}", table_html(table)),
        ReportBlock::Code(code) => writeln!(html, "<pre>{}</pre>", escape(code)),
        ReportBlock::Folded { summary, code } => {
            writeln!(html, "<details>\n<summary>{}</summary>\n<pre>{}</pre>\n</details>", escape(summary), escape(code))
        }
    };
}

fn fact_html(fact: &ReportFact) -> String {
    format!("<dt>{}</dt><dd>{}</dd>\n", escape(fact.label), escape(&fact.value))
}

fn table_html(table: &ReportTable) -> String {
    let head: String =
        table.columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", escape(column))).collect();
    let row = |cells: &Vec<ReportCell>| format!("<tr>{}</tr>\n", cells.iter().map(cell_html).collect::<String>());
    let rows: String = table.rows.iter().map(row).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>"
    )
}

fn cell_html(cell: &ReportCell) -> String {
    match cell {
        ReportCell::Text(text) => format!("<td>{}</td>", escape(text)),
        ReportCell::Mark { glyph, word, tone } => {
            format!("<td class=\"mark {}\"><span title=\"{word}\">{glyph}</span></td>", tone_class(*tone))
        }
    }
}

/// Escapes a text for elements and attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in clean_text(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::markdown::tests::hostile_report;

    // spec: U6, X1
    #[test]
    fn no_text_of_an_agent_becomes_an_element_or_an_attribute() {
        let html = render_html(&hostile_report());
        let tags: Vec<&str> = html
            .split('<')
            .skip(1)
            .filter_map(|rest| rest.split(['>', ' ', '\n']).next())
            .filter(|tag| !tag.starts_with('/') && !tag.starts_with('!'))
            .collect();
        let known = [
            "html", "head", "meta", "title", "style", "body", "main", "p", "h1", "h2", "h3", "dl", "dt", "dd", "ul",
            "li", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "pre", "details", "summary",
        ];
        let unknown: Vec<&&str> = tags.iter().filter(|tag| !known.contains(tag)).collect();
        assert_eq!(unknown, Vec::<&&str>::new());
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("<a "));
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
        assert!(!html.contains('\u{202e}'), "text that is shown backwards is escaped");
    }

    // spec: U6
    #[test]
    fn the_file_needs_nothing_from_elsewhere() {
        let html = render_html(&hostile_report());
        for name in ["src=", "href=", "@import", "url("] {
            let (style, body) = html.split_once("</style>").unwrap();
            assert!(!style.contains(name), "{name}");
            let tags = body.split('<').filter_map(|rest| rest.split('>').next());
            assert!(tags.into_iter().all(|tag| !tag.contains(name)), "{name}");
        }
        assert!(html.contains("default-src 'none'"));
    }
}
