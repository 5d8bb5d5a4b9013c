//! Whether ralph's hooks in the sessions of an agent are those that this ralph would install.
use super::agents::Visit;
use super::finding::{Finding, Status};
use crate::install::{self, HOSTS, Host, Place, Scope, State};

/// Looks at the user's settings and at the project's. Where nothing is installed, nothing is said.
pub(super) fn look(agent: &str, visit: &Visit) -> Vec<Finding> {
    let host = HOSTS.iter().find(|host| host.name == agent);
    let scopes = [Scope::User, Scope::Project(visit.root.clone())];
    host.into_iter().flat_map(|host| scopes.iter().filter_map(|scope| finding(host, scope, visit))).collect()
}

fn finding(host: &Host, scope: &Scope, visit: &Visit) -> Option<Finding> {
    let variable = |name: &str| std::env::var_os(name);
    let place = Place { scope: scope.clone(), variable: &variable };
    let (name, scope) = (host.name, scope.name());
    let of = |status, what: String| Finding::new("hooks", status, format!("of the {scope}: {what}"));
    match (install::state(host, &place, visit.own.as_ref()?), host.obstacle(&place)) {
        (Ok(State::Absent), _) => None,
        (Ok(State::Current), None) => Some(of(Status::Good, "those of this ralph".to_owned())),
        (Ok(State::Current), Some(obstacle)) => Some(of(Status::Warning, obstacle.to_owned())),
        (Ok(State::Outdated), _) => Some(
            of(Status::Warning, "not those of this ralph, or not all of them".to_owned())
                .hint(format!("bring them up to date: ralph install {name} --{scope}")),
        ),
        (Err(error), _) => Some(
            of(Status::Warning, error.to_string())
                .hint(format!("`ralph install {name} --{scope}` says more, and what to do about it")),
        ),
    }
}
