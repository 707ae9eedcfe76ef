//! Stacks of all samples, merged as they arrive.

use std::collections::HashMap;

use crate::profile::Group;

/// Maximum number of frames of all stacks together. Samples with further stacks are counted without
/// their frames. A frame needs at most 40 bytes.
pub const FRAMES_MAX: usize = 1 << 20;
/// Maximum number of frames of one stack. The outermost frames beyond that are left out.
pub(crate) const DEPTH_MAX: usize = 256;

/// Place in a program: its image, and the address in the image's own numbering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) image: u32,
    pub(crate) address: u64,
}

/// Group of processes, indexes of the places of a stack, and number of samples with this stack.
pub(crate) type CountedStack = (Group, Box<[u32]>, u64);

/// Number of samples of each stack.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    places: Vec<Place>,
    numbers: HashMap<Place, u32>,
    counts: HashMap<(Group, Box<[u32]>), u64>,
    frames: usize,
    frames_max: usize,
}

impl Stacks {
    /// Creates an empty table of at most `frames_max` frames.
    pub(crate) fn new(frames_max: usize) -> Stacks {
        Stacks {
            frames_max,
            ..Stacks::default()
        }
    }

    /// Counts a sample. `stack` begins with the innermost frame.
    pub(crate) fn count(&mut self, group: Group, stack: &[Place]) {
        let mut numbers: Vec<u32> = Vec::with_capacity(stack.len());
        for place in stack.iter().take(DEPTH_MAX) {
            let next = self.places.len();
            let number = match self.numbers.get(place) {
                Some(number) => *number,
                None if next == self.frames_max => return self.count_without_frames(group),
                None => {
                    let number = u32::try_from(next).expect("at most FRAMES_MAX places");
                    self.places.push(*place);
                    self.numbers.insert(*place, number);
                    number
                }
            };
            numbers.push(number);
        }
        let key = (group, numbers.into_boxed_slice());
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            return;
        }
        if self.frames_max < self.frames + key.1.len() {
            return self.count_without_frames(group);
        }
        self.frames += key.1.len();
        self.counts.insert(key, 1);
    }

    fn count_without_frames(&mut self, group: Group) {
        *self.counts.entry((group, Box::default())).or_default() += 1;
    }

    /// Returns the places, and the stacks as indexes of places with their counts, in a stable
    /// order.
    pub(crate) fn finish(self) -> (Vec<Place>, Vec<CountedStack>) {
        let counts = self.counts.into_iter();
        let mut stacks: Vec<_> = counts
            .map(|((group, frames), count)| (group, frames, count))
            .collect();
        stacks.sort_unstable();
        (self.places, stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Stacks};
    use crate::profile::Group;

    fn place(address: u64) -> Place {
        Place { image: 0, address }
    }

    #[test]
    fn equal_stacks_are_one_stack() {
        let mut stacks = Stacks::new(100);
        stacks.count(Group::Server, &[place(2), place(1)]);
        stacks.count(Group::Workers, &[place(2), place(1)]);
        stacks.count(Group::Server, &[place(2), place(1)]);
        let (places, stacks) = stacks.finish();
        assert_eq!(places, [place(2), place(1)]);
        let frames = || Box::from([0, 1]);
        assert_eq!(
            stacks,
            [(Group::Server, frames(), 2), (Group::Workers, frames(), 1)]
        );
    }

    #[test]
    fn samples_beyond_the_limit_are_counted_without_frames() {
        let mut stacks = Stacks::new(3);
        stacks.count(Group::Server, &[place(1), place(2)]);
        stacks.count(Group::Server, &[place(2), place(1)]);
        stacks.count(Group::Server, &[place(3)]);
        stacks.count(Group::Server, &[place(4)]);
        stacks.count(Group::Server, &[place(1), place(2)]);
        let (places, stacks) = stacks.finish();
        assert_eq!(places, [place(1), place(2), place(3)]);
        assert_eq!(
            stacks,
            [
                (Group::Server, Box::default(), 2),
                (Group::Server, Box::from([0, 1]), 2),
                (Group::Server, Box::from([2]), 1),
            ]
        );
    }
}
