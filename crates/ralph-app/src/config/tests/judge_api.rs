//! Judges over HTTP: which URLs and key variables are accepted.
use ralph_core::judge::JudgeApi;

use super::*;

fn settings_with_judge(text: &str) -> Result<Settings, ConfigError> {
    let settings = settings_from_yaml(&format!("verification: {{judge: {{{text}}}}}\nchecks: [{{check_for: x}}]"))?;
    settings.validate_judge().map(|()| settings)
}

// spec: V3
#[test]
fn an_api_without_a_url_uses_the_vendors_address_and_key() {
    assert!(settings_with_judge("model: small").unwrap().judge_endpoint().is_none());
    let endpoint = settings_with_judge("api: anthropic").unwrap().judge_endpoint().unwrap();
    assert_eq!((endpoint.api, endpoint.key_env.as_deref()), (JudgeApi::Anthropic, Some("ANTHROPIC_API_KEY")));
    assert_eq!(endpoint.host(), "api.anthropic.com");
    let endpoint = settings_with_judge("api: openai, key_env: MINE").unwrap().judge_endpoint().unwrap();
    assert_eq!((endpoint.host(), endpoint.key_env.as_deref()), ("api.openai.com", Some("MINE")));
}

// spec: V3, X3
#[test]
fn another_address_gets_a_key_only_if_key_env_is_set() {
    let local = "api: openai, url: 'http://127.0.0.1:11434/v1/chat/completions'";
    let endpoint = settings_with_judge(local).unwrap().judge_endpoint().unwrap();
    assert_eq!((endpoint.host(), endpoint.key_env.as_deref()), ("127.0.0.1:11434", None));
    let endpoint = settings_with_judge(&format!("{local}, key_env: MINE")).unwrap().judge_endpoint().unwrap();
    assert_eq!(endpoint.key_env.as_deref(), Some("MINE"));
}

// spec: V3, X3
#[test]
fn plain_http_is_allowed_only_for_this_machine() {
    for good in [
        "http://localhost/v1",
        "http://127.0.0.1:1/v1",
        "http://127.8.9.1/v1",
        "http://[::1]:80/v1",
        "https://gateway.example/v1?api-version=2",
        "https://10.0.0.1/v1",
    ] {
        settings_with_judge(&format!("api: openai, url: '{good}'")).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for (bad, reason) in [
        ("http://api.openai.com/v1", "unencrypted"),
        ("http://127.0.0.1.evil.example/v1", "unencrypted"),
        ("http://localhost.evil.example/v1", "unencrypted"),
        ("http://10.0.0.1/v1", "unencrypted"),
        ("http://0.0.0.0/v1", "unencrypted"),
        ("http://[::ffff:8.8.8.8]/v1", "unencrypted"),
        ("https://me:secret@api.openai.com/v1", "contains a user name or password"),
        ("http://127.0.0.1@evil.example/", "contains a user name or password"),
        ("ftp://127.0.0.1/v1", "not an http or https URL"),
        ("file:///etc/passwd", "not an http or https URL"),
        ("api.openai.com/v1", "is not a valid URL"),
        ("https://", "is not a valid URL"),
    ] {
        let error = settings_with_judge(&format!("api: openai, url: '{bad}'")).err().unwrap();
        assert!(
            error.message.starts_with("verification.judge.url: ") && error.message.contains(reason),
            "{bad}: {error}"
        );
        assert!(!error.message.contains("secret"), "{error}");
    }
}

// spec: V3, X3
#[test]
fn a_key_in_place_of_its_variable_name_is_refused_and_not_repeated() {
    let error = settings_with_judge("api: openai, key_env: sk-proj-abcdefgh").err().unwrap();
    assert!(error.message.contains("not a valid variable name"), "{error}");
    assert!(
        !format!("{error:?}").contains("abcdefgh") && error.hint.unwrap().text().unwrap().contains("JUDGE_API_KEY")
    );
    for alone in ["url: 'https://a.example/'", "key_env: MINE"] {
        let error = settings_with_judge(alone).err().unwrap();
        assert!(error.message.contains("it requires verification.judge.api"), "{error}");
    }
    let error = settings_with_judge("api: anthropics").err().unwrap();
    assert!(error.hint.unwrap().text().unwrap().contains("anthropic"), "{}", error.message);
}

// spec: V3, X6
#[test]
fn the_address_of_the_judge_needs_approval_like_a_command() {
    let used = |settings: &Settings, checks| {
        let used =
            SettingsUse { agents: Vec::new(), permission: SettingsPart::Used, checks, criteria: &[], templates: &[] };
        let commands = settings.project_commands(&used).into_iter();
        commands.map(|command| command.key).filter(|key| key.starts_with("verification")).collect::<Vec<_>>()
    };
    let settings =
        settings_with_judge("api: openai, url: 'https://evil.example/', key_env: AWS_SECRET_ACCESS_KEY").unwrap();
    let all = ["verification.judge.api", "verification.judge.url", "verification.judge.key_env"];
    assert_eq!(used(&settings, SettingsPart::Used), all);
    assert!(used(&settings, SettingsPart::Unused).is_empty(), "no judge is used");
    let mut mine = Settings::default();
    let text = "verification: {judge: {api: openai}}\nchecks: [{check_for: x}]";
    document::apply_document(&mut mine, text, &file_source(FileLayer::User, "mine.yaml")).unwrap();
    assert!(used(&mine, SettingsPart::Used).is_empty());
    let text = "verification: {judge: {url: 'https://evil.example/'}}";
    document::apply_document(&mut mine, text, &file_source(FileLayer::Project, "its.yaml")).unwrap();
    assert_eq!(used(&mine, SettingsPart::Used), ["verification.judge.url"], "the project changes the user's setting");
}
