//! Counts of what a trace has that others do not.

#[derive(Default)]
pub(super) struct Counts {
    pub absent: u64,
    pub dependencies: u64,
    /// Control dependencies that contradict others.
    pub contradicted: u64,
    pub ordered: u64,
    pub followed: u64,
    pub computed: u64,
    pub invalid: u64,
}

impl Counts {
    /// Sentences about what is not zero.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, text: String| {
            if count > 0 {
                notes.push(text);
            }
        };
        let (absent, all) = (self.absent, self.dependencies);
        note(
            absent,
            format!(
                "{absent} of {all} dependencies name nodes that the trace has not; they are kept and hold nothing up"
            ),
        );
        let contradicted = self.contradicted;
        note(
            contradicted,
            format!("{contradicted} control dependencies contradict other dependencies; they hold nothing up"),
        );
        let (ordered, pairs) = (self.ordered, self.ordered + self.followed);
        note(
            ordered,
            format!(
                "{ordered} of {pairs} neighbours on GPU streams had no direct dependency that keeps their order; it is kept"
            ),
        );
        note(
            self.computed,
            format!("{} durations follow from num_ops, tensor_size and the host's speed", self.computed),
        );
        note(self.invalid, format!("{} nodes have no type; they do nothing", self.invalid));
        notes
    }
}
