//! Several looks at once. Every order reaches all of them, and a pause has been passed on when the last one has it.
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::orders::Orders;
use ralph_process::Order;

/// A look that has an ear for orders of its own.
pub(super) type Look<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits for all looks and returns what they came to, in their order. `told` are their ears.
pub(super) async fn side_by_side<T: Send>(
    orders: &mut Orders,
    told: &[UnboundedSender<Order>],
    looks: Vec<Look<'_, T>>,
) -> Vec<T> {
    let mut looking: Vec<Looking<'_, T>> = looks.into_iter().map(Looking::At).collect();
    loop {
        tokio::select! {
            () = all(&mut looking) => break,
            order = orders.next() => pass_on(order, told),
        }
    }
    looking.into_iter().filter_map(Looking::seen).collect()
}

enum Looking<'a, T> {
    At(Look<'a, T>),
    Done(T),
}

impl<T> Looking<'_, T> {
    fn seen(self) -> Option<T> {
        match self {
            Self::At(_) => None,
            Self::Done(seen) => Some(seen),
        }
    }
}

/// Waits until none of them is looking any more.
async fn all<T>(looking: &mut [Looking<'_, T>]) {
    poll_fn(|context| {
        let mut waiting = false;
        for one in looking.iter_mut() {
            if let Looking::At(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(seen) => *one = Looking::Done(seen),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
}

fn pass_on(order: Order, told: &[UnboundedSender<Order>]) {
    let all = |order: fn() -> Order| told.iter().for_each(|tell| drop(tell.send(order())));
    match order {
        Order::Stop { signal, grace } => {
            told.iter().for_each(|tell| drop(tell.send(Order::Stop { signal, grace })));
        }
        Order::Kill => all(|| Order::Kill),
        Order::Resume => all(|| Order::Resume),
        Order::Pause { passed_on } => pause(passed_on, told),
    }
}

fn pause(passed_on: oneshot::Sender<()>, told: &[UnboundedSender<Order>]) {
    let mut passed = Vec::new();
    for tell in told {
        let (one, has_it) = oneshot::channel();
        let _ = tell.send(Order::Pause { passed_on: one });
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

    fn take(received: &mut UnboundedReceiver<Order>) -> oneshot::Sender<()> {
        match received.try_recv() {
            Ok(Order::Pause { passed_on }) => passed_on,
            other => panic!("{other:?}"),
        }
    }

    // spec: V4
    // fault: 18
    #[tokio::test]
    async fn a_pause_has_been_passed_on_when_the_last_one_has_it() {
        let ((first, mut a), (second, mut b)) = (unbounded_channel(), unbounded_channel());
        let (passed_on, mut passed) = oneshot::channel();
        pass_on(Order::Pause { passed_on }, &[first, second]);
        take(&mut a).send(()).unwrap();
        tokio::task::yield_now().await;
        assert!(passed.try_recv().is_err(), "the other one has not got it yet");
        drop(take(&mut b));
        passed.await.unwrap();
    }

    // spec: V4
    #[tokio::test]
    async fn results_come_in_the_order_of_the_looks() {
        let (_orders, received) = unbounded_channel();
        let mut orders = Orders::new(received);
        let (late, is_late) = oneshot::channel();
        let looks: Vec<Look<'_, u32>> = vec![
            Box::pin(async { is_late.await.map_or(0, |()| 1) }),
            Box::pin(async {
                late.send(()).unwrap();
                2
            }),
        ];
        assert_eq!(side_by_side(&mut orders, &[], looks).await, [1, 2]);
    }
}
