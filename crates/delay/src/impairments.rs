//! Impairments: losses, damage and delays of packets at random on an emulated link.

use farloop_engine::random::RandomStream;

/// Losses, damage and delays at random. The default is none.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Impairments {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet is damaged.
    pub corruption: f64,
    /// Losses in bursts.
    pub bursts: Option<BurstLoss>,
    /// Each packet takes up to so many ns longer, uniformly at random; packets do not overtake those before them.
    pub jitter: u64,
    /// Probability that a packet arrives late, and by how many ns; others may overtake it.
    pub reordering: Option<(f64, u64)>,
}

/// Losses by the two states of Gilbert (1960) and Elliott (1963); `netem` calls it `gemodel`, with 1 - h and 1 - k for the two losses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BurstLoss {
    /// Probability that the bad state follows the good one, packet by packet.
    pub to_bad: f64,
    /// Probability that the good state follows the bad one.
    pub to_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_bad: f64,
    /// Probability of a loss in the good state.
    pub loss_good: f64,
}

impl BurstLoss {
    /// The part of packets that it loses on average.
    pub fn mean_loss(&self) -> f64 {
        let leaves = self.to_bad + self.to_good;
        if leaves <= 0.0 {
            return self.loss_good;
        }
        (self.to_good * self.loss_good + self.to_bad * self.loss_bad) / leaves
    }
}

/// The state of a link that loses in bursts; the good one at first.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bursts {
    is_bad: bool,
}

impl Bursts {
    /// Decides about the next packet. The state changes before.
    pub fn is_lost(&mut self, law: &BurstLoss, random: &mut RandomStream) -> bool {
        let leaves = if self.is_bad { law.to_good } else { law.to_bad };
        if random.chance(leaves) {
            self.is_bad = !self.is_bad;
        }
        random.chance(if self.is_bad { law.loss_bad } else { law.loss_good })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(law: &BurstLoss, packets: usize) -> Vec<bool> {
        let (mut bursts, mut random) = (Bursts::default(), RandomStream::new(7, "bursts", 0));
        (0..packets).map(|_| bursts.is_lost(law, &mut random)).collect()
    }

    #[test]
    fn bursts_are_as_long_and_as_frequent_as_the_law_says() {
        let law = BurstLoss { to_bad: 0.01, to_good: 0.25, loss_bad: 1.0, loss_good: 0.0 };
        let lost = losses(&law, 1_000_000);
        let mean = lost.iter().filter(|lost| **lost).count() as f64 / 1e6;
        // 0.01 / 0.26; bursts of 1 / 0.25 packets. Some 9,600 bursts: 3 % are three standard deviations of each.
        assert!((law.mean_loss() - 0.038_461_5).abs() < 1e-6 && (mean / law.mean_loss() - 1.0).abs() < 0.04, "{mean}");
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let length = mean * 1e6 / bursts as f64;
        assert!((length / 4.0 - 1.0).abs() < 0.04, "{length}");
    }

    #[test]
    fn both_states_may_lose() {
        let law = BurstLoss { to_bad: 0.0, to_good: 1.0, loss_bad: 1.0, loss_good: 0.1 };
        let mean = losses(&law, 100_000).iter().filter(|lost| **lost).count() as f64 / 1e5;
        assert!((mean - law.mean_loss()).abs() < 0.003 && law.mean_loss() == 0.1, "{mean}");
        let never = BurstLoss { to_bad: 0.0, to_good: 0.0, loss_bad: 1.0, loss_good: 0.0 };
        assert!(never.mean_loss() == 0.0 && !losses(&never, 1000).contains(&true));
    }
}
