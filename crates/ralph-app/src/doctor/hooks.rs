//! Whether ralph's hooks in the sessions of an agent are those that this ralph would install.
use super::agents::Visit;
use super::finding::{Finding, Status};
use ralph_agents::install::{self, HOSTS, Host, Place, Scope, State};

/// Looks at the user's settings and at the project's. Where nothing is installed, nothing is said.
pub(super) fn look(agent: &str, visit: &Visit) -> Vec<Finding> {
    let host = HOSTS.iter().find(|host| host.name == agent);
    let scopes = [Scope::User, Scope::Project(visit.root.clone())];
    host.into_iter().flat_map(|host| scopes.iter().flat_map(|scope| findings(host, scope, visit))).collect()
}

fn findings(host: &Host, scope: &Scope, visit: &Visit) -> Vec<Finding> {
    let Some(own) = &visit.own else { return Vec::new() };
    let variable = |name: &str| std::env::var_os(name);
    let place = Place { scope: scope.clone(), around: Some(visit.root.clone()), variable: &variable };
    let (name, scope) = (host.name, scope.name());
    let of = |status, what: String| Finding::new("hooks", status, format!("of the {scope}: {what}"));
    let installed = match install::state(host, &place, own) {
        Ok(State::Absent) => return Vec::new(),
        Ok(State::Current) => host.obstacle(&place, own).map_or_else(
            || of(Status::Good, "those of this ralph".to_owned()),
            |obstacle| of(Status::Warning, obstacle),
        ),
        Ok(State::Outdated) => of(Status::Warning, "not those of this ralph, or not all of them".to_owned())
            .hint(format!("bring them up to date: ralph install {name} --{scope}")),
        Err(error) => of(Status::Warning, error.to_string())
            .hint(format!("`ralph install {name} --{scope}` says more, and what to do about it")),
    };
    let warnings =
        install::warnings(host, &place, own).into_iter().map(|warning| of(Status::Warning, warning));
    std::iter::once(installed).chain(warnings).collect()
}
