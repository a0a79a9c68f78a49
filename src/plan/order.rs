//! In which order the trials are started. The report never depends on it.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::{Cell, Phase, Trial};
use crate::spec::Order;

/// Every trial of `cells` in its order.
pub(super) fn trials(cells: &[Cell], order: Order, seed: u64) -> Vec<Trial> {
    let mut trials = match order {
        Order::Sequential => cells.iter().flat_map(sequence).collect(),
        Order::Blocks => blocks(cells, seed),
    };
    for (index, trial) in trials.iter_mut().enumerate() {
        trial.order = index + 1;
    }
    trials
}

fn trial(cell: &Cell, phase: Phase, repetition: u32, block: u32) -> Trial {
    Trial { cell: cell.name.clone(), phase, repetition, block, order: 0 }
}

fn sequence(cell: &Cell) -> Vec<Trial> {
    let warmup = (1..=cell.warmup).map(|n| trial(cell, Phase::Warmup, n, n));
    warmup.chain((1..=cell.repetitions).map(|n| trial(cell, Phase::Measure, n, cell.warmup + n))).collect()
}

/// Randomised complete blocks: what drifts over time hits every cell alike.
fn blocks(cells: &[Cell], seed: u64) -> Vec<Trial> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut left: Vec<_> = cells.iter().map(|cell| sequence(cell).into_iter()).collect();
    let mut trials = Vec::new();
    loop {
        let mut block: Vec<Trial> = left.iter_mut().filter_map(Iterator::next).collect();
        if block.is_empty() {
            return trials;
        }
        block.shuffle(&mut random);
        trials.extend(block);
    }
}
