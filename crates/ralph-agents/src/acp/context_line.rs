//! The context of an agent that speaks ACP: the notification `usage_update` has the used tokens and the size.
use crate::stream::context_use::ContextUse;
use ralph_util::json;

pub(crate) fn read_context_line(line: &[u8], found: &mut ContextUse) {
    let [params] = json::pick_members_or_none(Some(line), ["params"]);
    let [update] = json::pick_members_or_none(params, ["update"]);
    let [kind, used, size] = json::pick_members_or_none(update, ["sessionUpdate", "used", "size"]);
    if json::as_name(kind) == "usage_update" {
        found.used_tokens = json::parse_u64(used);
        found.size_tokens = json::parse_u64(size);
    }
}
