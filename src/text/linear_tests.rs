//! Trains the weights of linear classifiers.

use super::Features;

/// Penalty of errors in comparison with the size of the weights.
const COST: f64 = 3.0;

/// Number of times that all examples are read.
const ROUNDS: usize = 40;

/// Number of places of the tables of weights.
const PLACES: usize = 1 << 18;

/// Factor between computed and stored weights.
const SCALE: f64 = 40.0;

/// Returns how much each place counts in training: its inverse document frequency, relative to the mean. Rare features say
/// more about a text than frequent ones.
fn rarity(examples: &[&(Features, bool)]) -> Vec<f64> {
    let mut frequency = vec![0_u32; PLACES];
    for (features, _) in examples {
        features.places(PLACES).for_each(|place| frequency[place] += 1);
    }
    let all = f64::from(u32::try_from(examples.len()).unwrap());
    let inverse: Vec<f64> = frequency.iter().map(|one| ((all + 1.0) / (f64::from(*one) + 1.0)).ln() + 1.0).collect();
    let mean = inverse.iter().sum::<f64>() / f64::from(u32::try_from(PLACES).unwrap());
    inverse.iter().map(|one| one / mean).collect()
}

/// Returns the weights for `examples`, each with the correct answer, in the form in which they are stored. They are those of
/// a linear support vector machine with squared hinge loss, computed by dual coordinate descent (Hsieh et al., "A Dual
/// Coordinate Descent Method for Large-scale Linear SVM", 2008).
pub(crate) fn trained(examples: &[&(Features, bool)]) -> Vec<u8> {
    let rarity = rarity(examples);
    // The values of the features of an example are multiplied by `size`, so that long and short texts are comparable.
    let size = |features: &Features| 1.0 / f64::from(u32::try_from(features.len().max(1)).unwrap()).sqrt();
    let norm = |features: &Features| {
        features.places(PLACES).map(|place| rarity[place].powi(2)).sum::<f64>() * size(features).powi(2)
    };
    let norms: Vec<f64> = examples.iter().map(|(features, _)| norm(features)).collect();
    let (mut weights, mut alphas) = (vec![0.0_f64; PLACES], vec![0.0_f64; examples.len()]);
    let mut order: Vec<usize> = (0..examples.len()).collect();
    let mut seed = 0x5eed_u64;
    let softness = 1.0 / (2.0 * COST);
    for _ in 0..ROUNDS {
        for at in (1..order.len()).rev() {
            // Knuth's linear congruential generator with the constants of MMIX.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(at, usize::try_from(seed >> 33).unwrap() % (at + 1));
        }
        for &at in &order {
            let (features, is_positive) = examples[at];
            let side = if *is_positive { 1.0 } else { -1.0 };
            let size = size(features);
            let score: f64 = features.places(PLACES).map(|place| weights[place] * rarity[place]).sum::<f64>() * size;
            let gradient = side * score - 1.0 + softness * alphas[at];
            let alpha = (alphas[at] - gradient / (norms[at] + softness)).max(0.0);
            let change = (alpha - alphas[at]) * side * size;
            if change != 0.0 {
                alphas[at] = alpha;
                features.places(PLACES).for_each(|place| weights[place] += change * rarity[place]);
            }
        }
    }
    let stored = weights.iter().zip(&rarity).map(|(weight, rarity)| (weight * rarity * SCALE).round());
    #[expect(clippy::cast_possible_truncation, reason = "the value is limited to the range of the type")]
    stored.map(|weight| (weight.clamp(-127.0, 127.0) as i8).cast_unsigned()).collect()
}
