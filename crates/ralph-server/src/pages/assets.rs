//! The script, the stylesheet and the icon, embedded in the binary. Their addresses contain a hash, so that browsers may keep
//! them for a year.
use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A file of the dashboard.
struct Asset {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "dashboard.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../assets/dashboard.js"),
    },
    Asset {
        name: "dashboard.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../../assets/dashboard.css"),
    },
    Asset { name: "icon.svg", content_type: "image/svg+xml", bytes: include_bytes!("../../assets/icon.svg") },
];

const KEPT_FOR_A_YEAR: &str = "public, max-age=31536000, immutable";

/// The version of all assets together: a hash of their bytes.
pub(super) fn asset_version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION
        .get_or_init(|| format!("{:016x}", ASSETS.iter().fold(FNV_OFFSET, |hash, asset| hash_bytes(hash, asset.bytes))))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a: it only has to tell versions apart.
fn hash_bytes(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME))
}

/// Answers `/assets/VERSION/NAME`.
pub(super) async fn serve_asset(Path((_version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{:016x}\"", hash_bytes(FNV_OFFSET, asset.bytes));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let kept = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, KEPT_FOR_A_YEAR.to_owned())];
    if known == Some(&tag) {
        return (StatusCode::NOT_MODIFIED, kept).into_response();
    }
    (kept, [(header::CONTENT_TYPE, asset.content_type)], asset.bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn fetch(name: &str, tag: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(tag) = tag {
            headers.insert(header::IF_NONE_MATCH, tag.parse().unwrap());
        }
        serve_asset(Path((asset_version().to_owned(), name.to_owned())), headers).await
    }

    // spec: U5
    #[tokio::test]
    async fn a_known_asset_is_not_sent_again() {
        let first = fetch("dashboard.css", None).await;
        assert_eq!(first.status(), StatusCode::OK);
        let tag = first.headers()[header::ETAG].to_str().unwrap().to_owned();
        assert_eq!(fetch("dashboard.css", Some(&tag)).await.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(fetch("dashboard.css", Some("\"other\"")).await.status(), StatusCode::OK);
    }

    // fault: 103
    #[tokio::test]
    async fn only_the_embedded_files_are_assets() {
        for name in ["../Cargo.toml", "", "dashboard.js/"] {
            assert_eq!(fetch(name, None).await.status(), StatusCode::NOT_FOUND, "{name}");
        }
    }
}
