//! Runs several checks in parallel. Every command is sent to all of them, and a pause is confirmed when the last one
//! has confirmed it.
use std::pin::{Pin, pin};

use futures_util::future::join_all;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::verification_control::VerificationControl;
use ralph_process::JobCommand;

/// A check that receives control commands through a separate channel.
pub(super) type CheckFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all checks and returns their results in order. Commands are forwarded to `senders`, one for each check.
pub(super) async fn run_in_parallel<T: Send>(
    control: &mut VerificationControl,
    senders: &[UnboundedSender<JobCommand>],
    checks: Vec<CheckFuture<'_, T>>,
) -> Vec<T> {
    let mut results = pin!(join_all(checks));
    loop {
        tokio::select! {
            results = &mut results => return results,
            command = control.next_command() => broadcast_command(command, senders),
        }
    }
}

fn broadcast_command(command: JobCommand, senders: &[UnboundedSender<JobCommand>]) {
    let send_all = |command: fn() -> JobCommand| senders.iter().for_each(|sender| drop(sender.send(command())));
    match command {
        JobCommand::Stop { signal, grace } => {
            senders.iter().for_each(|sender| drop(sender.send(JobCommand::Stop { signal, grace })));
        }
        JobCommand::Kill => send_all(|| JobCommand::Kill),
        JobCommand::Resume => send_all(|| JobCommand::Resume),
        JobCommand::Pause { delivered } => broadcast_pause(delivered, senders),
    }
}

fn broadcast_pause(delivered: oneshot::Sender<()>, senders: &[UnboundedSender<JobCommand>]) {
    let mut confirmations = Vec::new();
    for sender in senders {
        let (delivered_to_check, confirmation) = oneshot::channel();
        let _ = sender.send(JobCommand::Pause { delivered: delivered_to_check });
        confirmations.push(confirmation);
    }
    tokio::spawn(async move {
        for confirmation in confirmations {
            // A check that has ended does not need the pause.
            let _ = confirmation.await;
        }
        let _ = delivered.send(());
    });
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn receive_pause(received: &mut UnboundedReceiver<JobCommand>) -> oneshot::Sender<()> {
        match received.try_recv() {
            Ok(JobCommand::Pause { delivered }) => delivered,
            other => panic!("{other:?}"),
        }
    }

    // spec: V4
    // fault: 18
    #[tokio::test]
    async fn a_pause_is_confirmed_when_the_last_check_has_confirmed_it() {
        let ((first, mut a), (second, mut b)) = (unbounded_channel(), unbounded_channel());
        let (delivered, mut confirmation) = oneshot::channel();
        broadcast_command(JobCommand::Pause { delivered }, &[first, second]);
        receive_pause(&mut a).send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(confirmation.try_recv().is_err(), "the second check has not confirmed it yet");
        drop(receive_pause(&mut b));
        confirmation.await.unwrap();
    }

    // spec: V4
    #[tokio::test]
    async fn results_keep_the_order_of_the_checks() {
        let (_sender, receiver) = unbounded_channel();
        let mut control = VerificationControl::new(receiver);
        let (late, is_late) = oneshot::channel();
        let checks: Vec<CheckFuture<'_, u32>> = vec![
            Box::pin(async { is_late.await.map_or(0, |()| 1) }),
            Box::pin(async {
                late.send(()).unwrap();
                2
            }),
        ];
        assert_eq!(run_in_parallel(&mut control, &[], checks).await, [1, 2]);
    }
}
