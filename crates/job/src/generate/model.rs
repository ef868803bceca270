//! Shapes of published models, and the numbers that follow: parameters, bytes, operations.

use farloop_units::choice;

/// A decoder-only transformer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// Layers.
    pub layers: u32,
    /// Width of a token's state.
    pub hidden: u64,
    /// Width inside of the feed-forward part.
    pub feed_forward: u64,
    /// Matrices of the feed-forward part: 3 with a gate (SwiGLU), else 2.
    pub matrices: u64,
    /// Heads of attention.
    pub heads: u64,
    /// Heads that keys and values have.
    pub kv_heads: u64,
    /// Tokens that there are.
    pub vocabulary: u64,
    /// True if one matrix turns tokens into states and back.
    pub tied: bool,
    /// Positions that are learnt; 0 where they are computed.
    pub positions: u64,
    /// Experts of a layer's feed-forward part; 1 where it is dense.
    pub experts: u64,
    /// Experts that a token goes to.
    pub active: u64,
    /// Tokens of a sequence in training.
    pub sequence: u64,
}

choice! {
    /// Models whose layers are published.
    pub enum Model {
        /// Llama 3 8B (Llama Team, "The Llama 3 Herd of Models", 2024, table 3).
        Llama3Small = "llama3-8b",
        /// Llama 3 70B (the same).
        Llama3Medium = "llama3-70b",
        /// Llama 3.1 405B (the same).
        Llama3Large = "llama3-405b",
        /// GPT-3 175B (T. Brown et al., "Language Models are Few-Shot Learners", 2020, table 2.1).
        Gpt3 = "gpt3-175b",
        /// Mixtral 8x7B (A. Jiang et al., "Mixtral of Experts", 2024, table 1).
        Mixtral = "mixtral-8x7b",
    }
}

const LLAMA: Shape = Shape {
    layers: 32,
    hidden: 4096,
    feed_forward: 14_336,
    matrices: 3,
    heads: 32,
    kv_heads: 8,
    vocabulary: 128_256,
    tied: false,
    positions: 0,
    experts: 1,
    active: 1,
    sequence: 8192,
};

impl Model {
    /// Its layers.
    pub fn shape(self) -> Shape {
        match self {
            Model::Llama3Small => LLAMA,
            Model::Llama3Medium => Shape { layers: 80, hidden: 8192, feed_forward: 28_672, heads: 64, ..LLAMA },
            Model::Llama3Large => Shape { layers: 126, hidden: 16_384, feed_forward: 53_248, heads: 128, ..LLAMA },
            Model::Gpt3 => Shape {
                layers: 96,
                hidden: 12_288,
                feed_forward: 49_152,
                matrices: 2,
                heads: 96,
                kv_heads: 96,
                vocabulary: 50_257,
                tied: true,
                positions: 2048,
                sequence: 2048,
                ..LLAMA
            },
            Model::Mixtral => Shape { vocabulary: 32_000, experts: 8, active: 2, sequence: 32_768, ..LLAMA },
        }
    }
}

impl Shape {
    /// Parameters of a layer's attention.
    pub fn attention(&self) -> u64 {
        let kv = self.hidden / self.heads * self.kv_heads;
        2 * self.hidden * self.hidden + 2 * self.hidden * kv
    }

    /// Parameters of one expert of a layer, or of its dense feed-forward part.
    pub fn expert(&self) -> u64 {
        self.matrices * self.hidden * self.feed_forward
    }

    /// Parameters of a layer with all experts, norms and router.
    pub fn layer(&self) -> u64 {
        let router = if self.experts > 1 { self.hidden * self.experts } else { 0 };
        self.attention() + self.experts * self.expert() + router + 2 * self.hidden
    }

    /// Parameters of the matrices before and behind the layers.
    pub fn embedding(&self) -> u64 {
        (if self.tied { 1 } else { 2 }) * self.vocabulary * self.hidden + self.positions * self.hidden
    }

    /// All parameters.
    pub fn parameters(&self) -> u64 {
        u64::from(self.layers) * self.layer() + self.embedding()
    }

    /// Operations of a token in a layer's forward pass: two for each parameter that it meets, and 2 s h for scores and values of s/2 tokens
    /// before it on average (causal attention; Narayanan et al., SC 2021, section 5.1, count all s).
    pub fn layer_operations(&self, sequence: u64) -> u64 {
        2 * (self.attention() + self.active * self.expert()) + 2 * sequence * self.hidden
    }

    /// Operations of a token for the logits.
    pub fn logit_operations(&self) -> u64 {
        2 * self.vocabulary * self.hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_the_published_ones() {
        // Billions: the model cards of Meta and Mistral, and the paper of GPT-3.
        for (model, billions) in [
            (Model::Llama3Small, 8.03),
            (Model::Llama3Medium, 70.55),
            (Model::Llama3Large, 405.85),
            (Model::Gpt3, 174.6),
            (Model::Mixtral, 46.7),
        ] {
            let got = model.shape().parameters() as f64 / 1e9;
            assert!((got / billions - 1.0).abs() < 0.005, "{model:?}: {got}");
        }
    }

    #[test]
    fn operations_are_six_for_each_parameter_and_token() {
        // Llama 3 405B: 3.8e25 operations for 15.6e12 tokens (section 3.2: 6 N D).
        let shape = Model::Llama3Large.shape();
        let forward = u64::from(shape.layers) * shape.layer_operations(shape.sequence) + shape.logit_operations();
        let all = 3.0 * forward as f64 * 15.6e12;
        assert!((all / 3.8e25 - 1.0).abs() < 0.06, "{all:e}");
    }
}
