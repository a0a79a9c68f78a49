//! In which order the trials are started. The report never depends on it. Every place in the order is
//! computed from its number: no trial is stored.

use super::Inner;
use super::permutation::Permutation;
use super::trial::{Phase, Turn};
use crate::spec::Order;

/// The turns of a plan, one after the other.
#[derive(Debug, Clone)]
pub struct Turns<'a> {
    plan: &'a Inner,
    /// The stretches that the order is made of, of which this is the current one.
    stage: Stage,
    /// How many turns of the stage are over.
    position: usize,
    /// How many turns of the plan are over.
    over: usize,
}

#[derive(Debug, Clone)]
enum Stage {
    /// The cells of this grid, one after the other.
    Grid(usize),
    /// Block number `block`: the cells that have so many trials, in an order of their own.
    Block { block: u32, cells: Cells, order: Permutation },
    /// All trials.
    Whole { trials: Cells, order: Permutation },
    /// Nothing is left.
    End,
}

/// Stretches of numbers, one for each of some grids: those of its cells, or of its trials.
#[derive(Debug, Clone, Default)]
struct Cells {
    /// For each grid its number, and how many numbers lie before its own.
    grids: Vec<(usize, usize)>,
    count: usize,
}

impl Cells {
    fn push(&mut self, grid: usize, count: usize) {
        self.grids.push((grid, self.count));
        self.count += count;
    }

    /// The grid that has this number, and its number there.
    fn find(&self, number: usize) -> (usize, usize) {
        let after = self.grids.partition_point(|(_, before)| *before <= number);
        self.grids.get(after.saturating_sub(1)).map_or((0, 0), |(grid, before)| (*grid, number - before))
    }
}

impl<'a> Turns<'a> {
    pub(super) fn new(plan: &'a Inner) -> Self {
        let stage = match plan.order {
            Order::Sequential => Stage::Grid(0),
            Order::Blocks => block(plan, 1),
            Order::Shuffled => {
                let mut trials = Cells::default();
                for (number, grid) in plan.grids.iter().enumerate() {
                    trials.push(number, grid.cells * grid.trials_of_a_cell());
                }
                let order = Permutation::new(plan.seed, 0, trials.count);
                Stage::Whole { trials, order }
            }
        };
        Turns { plan, stage, position: 0, over: 0 }
    }

    /// How many turns the stage has.
    fn length(&self) -> usize {
        match &self.stage {
            Stage::Grid(number) => {
                self.plan.grids.get(*number).map_or(0, |grid| grid.cells * grid.trials_of_a_cell())
            }
            Stage::Block { order, .. } | Stage::Whole { order, .. } => order.length(),
            Stage::End => 0,
        }
    }

    fn next_stage(&mut self) {
        self.position = 0;
        self.stage = match &self.stage {
            Stage::Grid(number) if number + 1 < self.plan.grids.len() => Stage::Grid(number + 1),
            Stage::Block { block: number, .. } => block(self.plan, number + 1),
            _ => Stage::End,
        };
    }

    /// The number of the cell in the plan, which of its trials it is, from 1, and the block.
    fn current(&self) -> (usize, usize, u32) {
        match &self.stage {
            Stage::Grid(number) => {
                let trials = self.plan.grids[*number].trials_of_a_cell();
                let trial = self.position % trials + 1;
                (self.plan.starts[*number] + self.position / trials, trial, trial as u32)
            }
            Stage::Block { block, cells, order } => {
                let (grid, cell) = cells.find(order.at(self.position));
                (self.plan.starts[grid] + cell, *block as usize, *block)
            }
            Stage::Whole { trials, order } => {
                let place = order.at(self.position);
                let (grid, number) = trials.find(place);
                let of_a_cell = self.plan.grids[grid].trials_of_a_cell();
                // The places that the order gives to a cell are taken by its trials in their sequence.
                let first = place - number % of_a_cell;
                let places = (first..first + of_a_cell).map(|number| order.position(number));
                let trial = places.filter(|place| *place <= self.position).count();
                (self.plan.starts[grid] + number / of_a_cell, trial, 1)
            }
            Stage::End => (0, 0, 0),
        }
    }
}

/// Randomised complete blocks: what drifts over time hits every cell alike.
fn block(plan: &Inner, block: u32) -> Stage {
    let mut cells = Cells::default();
    for (number, grid) in plan.grids.iter().enumerate() {
        if grid.trials_of_a_cell() >= block as usize {
            cells.push(number, grid.cells);
        }
    }
    match cells.count {
        0 => Stage::End,
        count => Stage::Block { block, cells, order: Permutation::new(plan.seed, block.into(), count) },
    }
}

impl Iterator for Turns<'_> {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        while self.position >= self.length() {
            if matches!(self.stage, Stage::End) {
                return None;
            }
            self.next_stage();
        }
        let (cell, trial, block) = self.current();
        self.position += 1;
        self.over += 1;
        let warmup = self.plan.grid_of(cell).0.warmup;
        let trial = trial as u32;
        let (phase, repetition) = match trial.checked_sub(warmup) {
            None | Some(0) => (Phase::Warmup, trial),
            Some(repetition) => (Phase::Measure, repetition),
        };
        Some(Turn { cell, phase, repetition, order: self.over, block })
    }
}
