//! Hints for the findings of `ralph doctor`.
use ralph_app::doctor::DoctorAdvice;

pub(super) fn for_doctor_advice(advice: &DoctorAdvice) -> String {
    match advice {
        DoctorAdvice::UpdateHooks { host, scope } => format!("update them with `ralph install {host} --{scope}`"),
        DoctorAdvice::InspectHooks { host, scope } => format!("run `ralph install {host} --{scope}` for details"),
        DoctorAdvice::RemoveDuplicateHooks { host } => duplicate_hooks_hint(host),
        DoctorAdvice::InspectState => "run `ralph runs` for details".to_owned(),
        DoctorAdvice::FreeDiskSpace => "free disk space: `ralph gc` removes old logs".to_owned(),
        DoctorAdvice::LimitLogSize => {
            "the raw logs of a run can use up to `limits.log_limit`; `ralph gc` removes old logs".to_owned()
        }
    }
}

pub(super) fn duplicate_hooks_hint(host: &str) -> String {
    format!("remove one with `ralph uninstall {host} --user` or `ralph uninstall {host} --project`")
}
