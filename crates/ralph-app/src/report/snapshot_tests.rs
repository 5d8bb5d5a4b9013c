//! The whole text of a report, in both formats.
use super::document::{ReportBlock, ReportCell, ReportDocument, ReportFact, ReportTable, ReportTone};
use super::{render_html, render_markdown};

fn sample_report() -> ReportDocument {
    let mark = |glyph, word, tone| ReportCell::Mark { glyph, word, tone };
    ReportDocument {
        title: "ralph run 3f2a9c41 · Make the <b>tests</b> pass".to_owned(),
        headline: "exhausted: Max iterations reached".to_owned(),
        tone: ReportTone::Bad,
        blocks: vec![
            ReportBlock::Facts(vec![ReportFact::new("outcome", "exhausted"), ReportFact::new("spent", "cost unknown")]),
            ReportBlock::Section("First failing evidence"),
            ReportBlock::Code("test a ... FAILED\n```\n".to_owned()),
            ReportBlock::Section("Why"),
            ReportBlock::Sentence("A run ends after its last iteration if that iteration did not complete it."),
            ReportBlock::List(vec!["iteration 1: the claim was rejected: `cargo test`".to_owned()]),
            ReportBlock::Section("Criteria by iteration"),
            ReportBlock::Table(ReportTable {
                columns: ["criterion", "1", "2"].map(str::to_owned).to_vec(),
                rows: vec![vec![
                    ReportCell::text("cargo test | tail"),
                    mark("✗", "rejected", ReportTone::Bad),
                    mark("✓", "accepted", ReportTone::Good),
                ]],
            }),
            ReportBlock::Part("reviewer · run 7c1d20e5".to_owned()),
            ReportBlock::Paragraph("it is there, says @agent".to_owned()),
            ReportBlock::Folded { summary: "Prompt of iteration 1".to_owned(), code: "Make it work.".to_owned() },
        ],
    }
}

// spec: U6
#[test]
fn a_report_in_markdown() {
    insta::assert_snapshot!(render_markdown(&sample_report()));
}

// spec: U6
#[test]
fn a_report_in_html() {
    let html = render_html(&sample_report());
    let (_, body) = html.split_once("</head>").unwrap();
    insta::assert_snapshot!(body);
}
