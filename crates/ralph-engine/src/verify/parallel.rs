//! Several looks at once. Every order reaches all of them, and a pause has been passed on when the last one has it.
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::verification_control::VerificationControl;
use ralph_process::JobCommand;

/// A look that has an ear for orders of its own.
pub(super) type CheckFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all looks and returns what they came to, in their order. `told` are their ears.
pub(super) async fn run_in_parallel<T: Send>(
    control: &mut VerificationControl,
    senders: &[UnboundedSender<JobCommand>],
    checks: Vec<CheckFuture<'_, T>>,
) -> Vec<T> {
    let mut looking: Vec<ParallelCheck<'_, T>> = checks.into_iter().map(ParallelCheck::Running).collect();
    loop {
        tokio::select! {
            () = wait_for_all(&mut looking) => break,
            order = control.next_command() => broadcast_command(order, senders),
        }
    }
    looking.into_iter().filter_map(ParallelCheck::into_result).collect()
}

enum ParallelCheck<'a, T> {
    Running(CheckFuture<'a, T>),
    Finished(T),
}

impl<T> ParallelCheck<'_, T> {
    fn into_result(self) -> Option<T> {
        match self {
            Self::Running(_) => None,
            Self::Finished(seen) => Some(seen),
        }
    }
}

/// Waits until none of them is looking any more.
async fn wait_for_all<T>(checks: &mut [ParallelCheck<'_, T>]) {
    poll_fn(|context| {
        let mut waiting = false;
        for one in checks.iter_mut() {
            if let ParallelCheck::Running(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(seen) => *one = ParallelCheck::Finished(seen),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

fn broadcast_command(order: JobCommand, senders: &[UnboundedSender<JobCommand>]) {
    let all = |order: fn() -> JobCommand| senders.iter().for_each(|tell| drop(tell.send(order())));
    match order {
        JobCommand::Stop { signal, grace } => {
            senders.iter().for_each(|tell| drop(tell.send(JobCommand::Stop { signal, grace })));
        }
        JobCommand::Kill => all(|| JobCommand::Kill),
        JobCommand::Resume => all(|| JobCommand::Resume),
        JobCommand::Pause { delivered: passed_on } => broadcast_pause(passed_on, senders),
    }
}

fn broadcast_pause(passed_on: oneshot::Sender<()>, senders: &[UnboundedSender<JobCommand>]) {
    let mut passed = Vec::new();
    for tell in senders {
        let (one, has_it) = oneshot::channel();
        let _ = tell.send(JobCommand::Pause { delivered: one });
        passed.push(has_it);
    }
    tokio::spawn(async move {
        for has_it in passed {
            // One that has ended in between needs no pause.
            let _ = has_it.await;
        }
        let _ = passed_on.send(());
    });
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;

    fn receive_pause(received: &mut UnboundedReceiver<JobCommand>) -> oneshot::Sender<()> {
        match received.try_recv() {
            Ok(JobCommand::Pause { delivered: passed_on }) => passed_on,
            other => panic!("{other:?}"),
        }
    }

    // spec: V4
    // fault: 18
    #[tokio::test]
    async fn a_pause_has_been_passed_on_when_the_last_one_has_it() {
        let ((first, mut a), (second, mut b)) = (unbounded_channel(), unbounded_channel());
        let (passed_on, mut passed) = oneshot::channel();
        broadcast_command(JobCommand::Pause { delivered: passed_on }, &[first, second]);
        receive_pause(&mut a).send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(passed.try_recv().is_err(), "the other one has not got it yet");
        drop(receive_pause(&mut b));
        passed.await.unwrap();
    }

    // spec: V4
    #[tokio::test]
    async fn results_keep_the_order_of_the_checks() {
        let (_orders, received) = unbounded_channel();
        let mut control = VerificationControl::new(received);
        let (late, is_late) = oneshot::channel();
        let looks: Vec<CheckFuture<'_, u32>> = vec![
            Box::pin(async { is_late.await.map_or(0, |()| 1) }),
            Box::pin(async {
                late.send(()).unwrap();
                2
            }),
        ];
        assert_eq!(run_in_parallel(&mut control, &[], looks).await, [1, 2]);
    }
}
