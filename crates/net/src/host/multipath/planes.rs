//! The planes of a sprayed flow. Each has a chooser of its own, so that equally many entropy values belong to each.

use farloop_cc::paths::AnyChooser;

/// The planes of a sprayed flow: the NIC ports that lead to its destination, by their places.
pub(crate) struct Planes {
    /// Number of ports of the host.
    pub places: u8,
    /// Those that lead there, a bit each, by the routes with this number.
    pub leading: u64,
    pub routing: usize,
    /// Choosers of all planes but the first.
    pub choosers: Vec<AnyChooser>,
}

impl Planes {
    /// Number of planes that lead there.
    pub fn count(&self) -> u32 {
        self.leading.count_ones().max(1)
    }
}

/// The chooser of a plane.
#[inline]
pub(super) fn chooser_of<'a>(
    first: &'a mut AnyChooser,
    planes: &'a mut Option<Box<Planes>>,
    plane: u8,
) -> &'a mut AnyChooser {
    match planes {
        Some(planes) if plane > 0 => &mut planes.choosers[usize::from(plane) - 1],
        _ => first,
    }
}
