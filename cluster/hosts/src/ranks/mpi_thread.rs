//! The thread that has MPI to itself, from its begin to its end.

use super::frame::Line;
use super::mpi_relay::{Ended, MpiRelay, Order};
use fathomp_sys::mpi::{Mpi, MpiError};
use fathomp_transport::tcp::pipe::Pipe;
use std::io;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long all ranks may take to end MPI, once their programs have ended.
const FINALIZE_TIMEOUT: Duration = Duration::from_secs(3);

/// MPI in a thread of its own. Without this MPI goes on until the process ends.
#[derive(Clone)]
pub(crate) struct MpiThread {
    orders: Sender<Order>,
    processors_left: u16,
}

/// What MPI says when all ranks have met.
pub(super) struct Begun {
    pub(super) size: u32,
    pub(super) version: String,
    /// What each rank has, in their order, if there are as many as were expected.
    pub(super) all: Vec<Vec<u8>>,
}

/// MPI has not begun.
pub(super) enum NotBegun {
    Mpi(MpiError),
    System(io::Error),
    Late,
}

impl MpiThread {
    /// Begins MPI and has all ranks, of which there are to be so many, get what each of them has.
    /// If MPI is wanted for no more, it ends again, and there is no mpi_thread. `fails` is told why
    /// there is none any more, later.
    pub(super) fn begin(
        library: &Path,
        (mine, expected): (Vec<u8>, u32),
        stays: bool,
        patience: Duration,
        fails: impl Fn(String) + Send + 'static,
    ) -> Result<(Begun, Option<Self>), NotBegun> {
        let (orders, ordered) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let library = library.to_owned();
        thread::Builder::new()
            .name("mpi".to_owned())
            .spawn(move || {
                let mut mpi = match meet(&library, &mine, expected) {
                    Ok((mpi, begun)) if stays && begun.size == expected => {
                        let _ = tell.send(Ok(begun));
                        mpi
                    }
                    Ok((mpi, begun)) => {
                        let ended = mpi.finalize().map(|()| begun);
                        let _ = tell.send(ended);
                        return;
                    }
                    Err(error) => {
                        let _ = tell.send(Err(error));
                        return;
                    }
                };
                match MpiRelay::new(&mut mpi, &ordered).work() {
                    Ok(Ended::Finished(done)) => {
                        if mpi.finalize().is_ok() {
                            let _ = done.send(());
                        }
                    }
                    Ok(Ended::Left) => {}
                    Err(error) => {
                        fails(error.to_string());
                        wait_for_orders(&ordered);
                    }
                }
            })
            .map_err(NotBegun::System)?;
        match told.recv_timeout(patience) {
            Ok(Ok(begun)) => Ok((
                begun,
                stays.then_some(Self {
                    orders,
                    processors_left: 1,
                }),
            )),
            Ok(Err(error)) => Err(NotBegun::Mpi(error)),
            Err(RecvTimeoutError::Timeout) => Err(NotBegun::Late),
            Err(RecvTimeoutError::Disconnected) => {
                Err(NotBegun::System(io::ErrorKind::BrokenPipe.into()))
            }
        }
    }

    /// So many processors are left to the program beside the thread that has MPI.
    pub(super) fn leave(&mut self, processors: u16) {
        self.processors_left = processors;
    }

    /// How many processors are left to the program.
    pub(crate) fn processors_left(&self) -> u16 {
        self.processors_left
    }

    /// Has it carry connections of a program, which has the other ends of these pipes.
    pub(crate) fn open(&self, generation: u32, ends: Vec<(u16, u16, u32, Pipe)>) {
        let line = |(mine, peer, rank, pipe)| {
            let line = Line {
                generation,
                mine,
                peer,
            };
            (line, rank, pipe)
        };
        // If it is gone it has said why.
        let _ = self.orders.send(Order::Open {
            generation,
            ends: ends.into_iter().map(line).collect(),
            crowded: self.processors_left == 0,
        });
    }

    /// Ends MPI, which waits for all ranks to do so: not for long, since a rank that was killed
    /// never does.
    pub(crate) fn end(&self) {
        let (done, finished) = mpsc::channel();
        if self.orders.send(Order::Finish(done)).is_ok() {
            let _ = finished.recv_timeout(FINALIZE_TIMEOUT);
        }
    }
}

fn meet(library: &Path, mine: &[u8], expected: u32) -> Result<(Mpi, Begun), MpiError> {
    let mut mpi = Mpi::begin(library)?;
    let mut begun = Begun {
        size: mpi.size(),
        version: mpi.version(),
        all: Vec::new(),
    };
    if begun.size == expected {
        begun.all = mpi.gather(mine)?;
    }
    Ok((mpi, begun))
}

/// Closes pipes that programs still wait at, and keeps the thread that MPI knows.
fn wait_for_orders(ordered: &Receiver<Order>) {
    while let Ok(order) = ordered.recv() {
        drop(order);
    }
}
