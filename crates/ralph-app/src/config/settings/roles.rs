//! Settings of the roles of a task.
use ralph_core::role_duty::RoleDuty;
use ralph_core::task::{CompletionSpec, MethodName, Role, RoleRules};

use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::{Setting, SettingOrigin};

#[derive(Debug, Clone)]
pub struct AllRoleSettings {
    /// Run stages as loops; otherwise as single passes.
    pub enabled: Setting<bool>,
    pub default_verification: Setting<MethodName>,
    pub verify_promises: Setting<bool>,
    pub coder: RoleSettings,
    pub reviewer: RoleSettings,
    pub tester: RoleSettings,
    pub qa: RoleSettings,
}

#[derive(Debug, Clone)]
pub struct RoleSettings {
    pub enabled: Setting<bool>,
    pub max_iterations: Setting<u32>,
    pub completion_promise: Setting<String>,
    pub agent: Setting<Option<String>>,
    pub model: Setting<Option<String>>,
    /// Enforce the role's duty.
    pub role_check: Setting<bool>,
}

impl Default for AllRoleSettings {
    fn default() -> Self {
        Self {
            enabled: Setting::built_in(true),
            default_verification: Setting::built_in(MethodName::StringMatch),
            verify_promises: Setting::built_in(true),
            coder: RoleSettings::default_for(&Role::Coder),
            reviewer: RoleSettings::default_for(&Role::Reviewer),
            tester: RoleSettings::default_for(&Role::Tester),
            qa: RoleSettings::default_for(&Role::Qa),
        }
    }
}

impl RoleSettings {
    fn default_for(role: &Role) -> Self {
        Self {
            enabled: Setting::built_in(true),
            max_iterations: Setting::built_in(role.default_iterations().unwrap_or(1)),
            completion_promise: Setting::built_in(role.default_promise().to_owned()),
            agent: Setting::default(),
            model: Setting::default(),
            role_check: Setting::built_in(true),
        }
    }
}

impl AllRoleSettings {
    /// Returns the settings of a built-in role; `None` for a custom one.
    fn for_role(&self, role: &Role) -> Option<&RoleSettings> {
        match role {
            Role::Coder => Some(&self.coder),
            Role::Reviewer => Some(&self.reviewer),
            Role::Tester => Some(&self.tester),
            Role::Qa => Some(&self.qa),
            Role::Other(_) => None,
        }
    }

    pub(in crate::config) fn known_roles(&self) -> [&RoleSettings; 4] {
        [&self.coder, &self.reviewer, &self.tester, &self.qa]
    }
}

impl Settings {
    #[must_use]
    pub fn role_rules(&self, role: &Role) -> RoleRules {
        let own = self.roles.for_role(role);
        RoleRules {
            is_loop: self.roles.enabled.value && own.is_none_or(|own| own.enabled.value),
            max_iterations: own.map(|own| own.max_iterations.value),
            default_max_iterations: self.default_max_iterations.value,
            promise: own.map(|own| own.completion_promise.value.clone()),
            default_verification: self.roles.default_verification.value,
            verify_promises: self.roles.verify_promises.value,
            checks: self.criteria(),
        }
    }

    /// Returns the duty of a role, in addition to its criteria.
    #[must_use]
    pub fn role_duty(&self, role: &Role) -> RoleDuty {
        let is_enforced = self.roles.for_role(role).is_none_or(|own| own.role_check.value);
        if self.verification.role_checks.value && is_enforced { RoleDuty::for_role(role) } else { RoleDuty::None }
    }

    /// Applies the completion settings of a task. Its guarded and allowed files are added; its isolation overrides
    /// every layer except a flag.
    pub fn apply_completion(&mut self, spec: &CompletionSpec) {
        let verification = &mut self.verification;
        verification.guard.value.extend(spec.guard.iter().flatten().cloned());
        verification.allow_changes.value.extend(spec.allow_changes.iter().flatten().cloned());
        let is_flag = matches!(verification.isolation.origin, SettingOrigin::Flag { .. });
        if let (Some(isolation), false) = (spec.isolation, is_flag) {
            verification.isolation.value = isolation;
        }
    }

    /// Applies the agent and model of a role, if set. The general model does not apply to the role's own agent.
    pub fn apply_role(&mut self, role: &Role) {
        let Some(RoleSettings { agent, model, .. }) = self.roles.for_role(role).cloned() else { return };
        if let Setting { value: Some(name), origin } = agent {
            if name != self.agent.value {
                self.model = Setting::default();
            }
            self.agent = Setting { value: name, origin };
        }
        if model.origin != SettingOrigin::BuiltIn && model.value.is_some() {
            self.model = model;
        }
    }

    /// Returns the settings with the agent and model of a role.
    #[must_use]
    pub fn for_role(&self, role: &Role) -> Self {
        let mut settings = self.clone();
        settings.apply_role(role);
        settings
    }
}
