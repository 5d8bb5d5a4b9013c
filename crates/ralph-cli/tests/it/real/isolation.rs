//! The world that the real agents see: the model server, and nothing else.
use std::process::{Command, Stdio};

use serde_json::json;

use super::server::Server;
use crate::harness::Project;

/// Tells whether this machine lets us make a network at all.
fn networks_can_be_made() -> bool {
    let made = Command::new("unshare").args(["--net", "true"]).stderr(Stdio::null()).status();
    made.is_ok_and(|status| status.success())
}

// spec: A10
#[test]
fn where_a_network_can_be_made_real_agents_see_only_loopback() {
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
