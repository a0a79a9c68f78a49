//! Work on all cores whose results come in the order of the work, a few of them at a time. Read [`in_order`].

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

/// So many results a core may be ahead of who takes them.
const AHEAD: usize = 2;

/// Gives to `take` what `work` makes of each number below `count`, in order. `start` makes what a core keeps from one to
/// the next.
///
/// # Errors
/// Those of `take`, the first of which ends it.
pub fn in_order<S, T: Send, E>(
    count: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, usize::from).min(count);
    let (start, work) = (&start, &work);
    thread::scope(|scope| {
        let spawn = |core: usize| {
            let (send, receive) = sync_channel(AHEAD);
            scope.spawn(move || {
                let mut state = start();
                let mut numbers = (core..count).step_by(cores);
                numbers.all(|number| send.send(work(&mut state, number)).is_ok())
            });
            receive
        };
        let results: Vec<_> = (0..cores).map(spawn).collect();
        // A core that is lost ends with a panic, which the scope passes on.
        (0..count).map_while(|number| results[number % cores].recv().ok()).try_for_each(&mut take)
    })
}

/// Does `one` on another core while `other` is done here; both are done when it returns.
pub fn beside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| resume_unwind(panic)), other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_one_is_refused() {
        for count in [0, 1, 2, 3, 100] {
            let mut taken = Vec::new();
            let square = |worked: &mut usize, number: usize| {
                *worked += 1;
                (*worked, number * number)
            };
            let refuse = |(worked, square): (usize, usize)| {
                assert!(worked > 0);
                taken.push(square);
                if square == 49 { Err("seven") } else { Ok(()) }
            };
            let ended = in_order(count, || 0, square, refuse);
            assert_eq!(ended, if count > 7 { Err("seven") } else { Ok(()) });
            assert!(taken.into_iter().eq((0..count.min(8)).map(|number| number * number)));
        }
    }
}
