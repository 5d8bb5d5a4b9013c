//! What is in the way of hooks that are installed, or goes wrong with them, whoever has put it there.
use super::call;
use super::host::Host;
use super::own::Own;
use super::place::{Place, Scope};
use super::take_out;

/// Says what people should know about what is installed at a place.
#[must_use]
pub fn warnings(host: &Host, place: &Place<'_>, own: &Own) -> Vec<String> {
    let misnamed = own.misnamed().filter(|_| host.is_by_name(&place.scope));
    [misnamed, host.ban(place), doubled(host, place, own)].into_iter().flatten().collect()
}

/// Where the user has hooks of ours and the project too, the program calls both.
fn doubled(host: &Host, place: &Place<'_>, own: &Own) -> Option<String> {
    let scope = match (&place.scope, &place.around) {
        (Scope::User, Some(root)) => Scope::Project(root.clone()),
        (Scope::Project(_), _) => Scope::User,
        (Scope::User, None) | (Scope::Plugin(_), _) => return None,
    };
    let other = Place { scope, around: place.around.clone(), variable: place.variable };
    let is_elsewhere = host.folder(&other).ok()? != host.folder(place).ok()?;
    let is_there = is_elsewhere && take_out(host, &other, own).is_ok_and(|found| found.is_known());
    let (name, ralph) = (host.name, call::NAME);
    is_there.then(|| {
        format!(
            "it is installed for you and for this project, so each hook is called twice, of which one is answered: \
             take one out with `{ralph} uninstall {name} --user` or `{ralph} uninstall {name} --project`"
        )
    })
}
