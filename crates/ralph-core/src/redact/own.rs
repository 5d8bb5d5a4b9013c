//! The words that our own records are made of. A value that is one of them is not hidden: the records could not be read
//! any more. The tests hold every stored record against this list.

const OWN: &str = "\
    acceptance acceptance_criteria accepted after_ms after_result_ms agent.changed allow_changes \
    anthropic assignee attempt.ended attempt.started attempt_ended attempt_started audience baseline \
    before_ms blind_verdicts cancelled cannot_run check_for claim_alone completed completion \
    conditional configured continuation contradiction contradictions cost_micros cost_usd \
    could_not_evaluate criteria_digest criterion cut_short delay_ms dependencies description \
    display_filter duration_ms each_iteration ended_in_error evidence executable exhausted exit_code \
    external extra_args fallback feedback final_text findings finished forbidden grace_ms \
    handshake_began handshake_done handshake_ms has_moved in_a_row input_tokens inside_other_tag \
    instruction interrupted is_always_fresh isolation iteration iteration.ended iteration.started \
    iteration_ms iteration_too_long iterations judgement judging leftovers limit.waiting limit_mb \
    limited log_limit_mb matching max_cost_micros max_duration_ms max_iterations max_memory_mb \
    max_retries max_tokens max_wait_ms mentioned messages mid_sentence multi_stage negative_patterns \
    no_handshake no_words not_alone not_complete not_started not_understood of_the_work on_error \
    only_repeats other_promise output_contains output_format output_not_contains output_tokens \
    over_budget over_memory overloaded overrides overspent parallel path_bytes permission plain_tag \
    planned_ms preparing preparing_stopped priority prompt_hash proves_nothing quotation \
    ralph_export rate_limit rate_limits redacted rejected repeating repeating_ms reported \
    require_all required reset_at response_filter result_seen retracted retry.scheduled reviewer \
    run.finished run.resumed run.sealed run.started semantic sent_back sentence session.fresh \
    session_logs settings signalled silence_ms spec_id spoke_again stage stages stall_after standing \
    started_at stayed_after_result stderr_tail stop.requested stopping string_match \
    success_exit_code template timed_out timeout_ms timeouts timer_fired too_silent uncommitted \
    understood unknown_cost unknown_records unpriced unverified unwatched variables verdicts \
    verification_config verification_method verified verified_by verifying waited_ms when_exhausted \
    working_dir wrong_nonce";

/// Tells whether a text stands in the words of our own records.
#[must_use]
pub fn is_own_word(text: &str) -> bool {
    OWN.split(' ').chain(OF_RECEIPTS.split(' ')).chain(OF_TASKS.split(' ')).any(|word| word.contains(text))
}

const OF_RECEIPTS: &str =
    "agent_version committed criteria_sha256 finished_at output_sha256 repository seal_sha256";

const OF_TASKS: &str = "approved generate generated_by spec_text";
