//! Real agents can reach only the model server.
use std::process::{Command, Stdio};

use serde_json::json;

use super::server::Server;
use crate::harness::Project;

/// Returns whether this machine supports network namespaces.
fn networks_can_be_made() -> bool {
    let made = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
    made.is_ok_and(|status| status.success())
}

// spec: A10
#[test]
fn real_agents_reach_only_loopback_where_network_namespaces_work() {
    let project = Project::new();
    let server = Server::start(&project, &json!([{"say": "hello"}]));
    let mut look = Command::new("cat");
    look.arg("/proc/net/dev");
    server.admit(&mut look);
    let seen = String::from_utf8(look.output().unwrap().stdout).unwrap();
    let interfaces: Vec<&str> =
        seen.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim()).collect();
    assert_eq!(interfaces == ["lo"], networks_can_be_made(), "{interfaces:?}");
}
