//! A way to a machine that can be broken at an exact moment: connections are closed after so many bytes, or
//! held as a network that swallows everything, and let go later.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A port of this machine whose connections go to another.
pub struct Proxy {
    pub port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Both ends of every connection that was taken.
    connections: Mutex<Vec<(TcpStream, TcpStream)>>,
    /// How many bytes the next connections take to the machine before they are closed.
    budgets: Mutex<Vec<usize>>,
    /// Whether connections that are there carry nothing.
    is_held: AtomicBool,
}

impl Proxy {
    /// A proxy to `port`; the connection number n is closed after `budgets[n]` bytes, later ones never.
    pub fn new(port: u16, mut budgets: Vec<usize>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        budgets.reverse();
        let state = Arc::new(State { budgets: Mutex::new(budgets), ..State::default() });
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), state: Arc::clone(&state) };
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", port))) else {
                    continue;
                };
                let budget = state.budgets.lock().unwrap().pop().unwrap_or(usize::MAX);
                let clones = (client.try_clone().unwrap(), server.try_clone().unwrap());
                state.connections.lock().unwrap().push(clones);
                carry(&state, client.try_clone().unwrap(), server.try_clone().unwrap(), budget);
                carry(&state, server, client, usize::MAX);
            }
        });
        proxy
    }

    /// How many connections are still to be closed.
    pub fn cuts_left(&self) -> usize {
        self.state.budgets.lock().unwrap().len()
    }

    /// From now on nothing arrives on either side.
    pub fn hold(&self) {
        self.state.is_held.store(true, Ordering::SeqCst);
    }

    /// Ends all connections on this side alone. New ones are carried again once [`Proxy::release`] is called.
    pub fn cut_here(&self) {
        for (client, _) in self.state.connections.lock().unwrap().iter() {
            let _ = client.shutdown(Shutdown::Both);
        }
    }

    /// What was held arrives.
    pub fn release(&self) {
        self.state.is_held.store(false, Ordering::SeqCst);
    }
}

/// Carries bytes one way until an end, or until the budget is used up, which closes both ways.
fn carry(state: &Arc<State>, mut from: TcpStream, mut to: TcpStream, mut budget: usize) {
    let state = Arc::clone(state);
    // A connection that is made while others are held is carried at once.
    let is_old = !state.is_held.load(Ordering::SeqCst);
    from.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 16 << 10];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count.min(budget),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(_) => break,
            };
            while is_old && state.is_held.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
            budget -= count;
            if to.write_all(&buffer[..count]).is_err() || budget == 0 {
                break;
            }
        }
        while is_old && state.is_held.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        for stream in [&from, &to] {
            let _ = stream.shutdown(Shutdown::Both);
        }
    });
}
