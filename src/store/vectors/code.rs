//! Vectors as bytes, and their short form, by which most of them are passed over without being read.
//!
//! The short form keeps of each number whether it is positive, and of the whole how far that is from the vector:
//!
//! ```text
//! code = 4 bytes, 1 / (|v1| + |v2| + …) as f32, then one bit a number, the lowest bit of a byte first
//! q · v ≈ (± q1 ± q2 ± …) / (|v1| + |v2| + …), with the signs of v
//! ```
//!
//! The query keeps its numbers, so the estimate is closer than one between two rows of bits; and since it is made byte
//! by byte from a table, it costs one addition for eight numbers on any machine. Of many codes, those are not estimated
//! whose signs alone, 64 at a time, tell that they are far off.

/// Bytes of the factor before the bits.
const FACTOR_BYTES: usize = 4;
/// Values that one byte of a code can have.
const BYTE_VALUES: usize = 256;

/// Returns the bytes of a vector.
pub(super) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the product of `query` with a vector kept as bytes; both of one length.
pub(super) fn dot(query: &[f32], bytes: &[u8]) -> f64 {
    /// Sums kept apart, so that the processor adds them at a time.
    const LANES: usize = 8;
    let mut sums = [0.0_f32; LANES];
    let (wide, narrow) = query.as_chunks::<LANES>();
    let (wide_bytes, narrow_bytes) = bytes.split_at((wide.len() * LANES * 4).min(bytes.len()));
    for (numbers, bytes) in wide.iter().zip(wide_bytes.as_chunks::<{ LANES * 4 }>().0) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let at = lane * 4;
            *sum += numbers[lane] * f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        }
    }
    let rest = narrow.iter().zip(narrow_bytes.as_chunks::<4>().0);
    let rest: f32 = rest.map(|(number, bytes)| number * f32::from_le_bytes(*bytes)).sum();
    f64::from(sums.iter().sum::<f32>() + rest)
}

/// Returns the vector at length 1; `None` for one that has no direction.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let length = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    if !(length.is_finite() && length > 0.0) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "numbers are kept as f32")]
    Some(vector.iter().map(|number| (f64::from(*number) / length) as f32).collect())
}

/// Returns the short form of a vector.
pub(super) fn code(vector: &[f32]) -> Vec<u8> {
    let sum: f32 = vector.iter().map(|number| number.abs()).sum();
    let factor = if sum > 0.0 { 1.0 / sum } else { 0.0 };
    factor.to_le_bytes().into_iter().chain(signs(vector)).collect()
}

fn signs(vector: &[f32]) -> impl Iterator<Item = u8> {
    let of_eight = |eight: &[f32]| {
        eight.iter().enumerate().fold(0_u8, |byte, (bit, number)| byte | (u8::from(*number > 0.0) << bit))
    };
    vector.chunks(8).map(of_eight)
}

/// Short forms of vectors of one dimension, side by side.
#[derive(Debug, Default, Clone)]
pub(super) struct Codes {
    /// Which memory each is of.
    pub(super) seqs: Vec<i64>,
    factors: Vec<f32>,
    bits: Vec<u8>,
}

impl Codes {
    /// Adds a code of `dimension` numbers; one of another length is left out.
    pub(super) fn push(&mut self, seq: i64, code: &[u8], dimension: usize) {
        if let Some((factor, bits)) = code.split_first_chunk::<FACTOR_BYTES>()
            && bits.len() == dimension.div_ceil(8)
        {
            self.seqs.push(seq);
            self.factors.push(f32::from_le_bytes(*factor));
            self.bits.extend_from_slice(bits);
        }
    }
}

impl Codes {
    /// Returns of each code how many of its signs are not those of `signs`.
    pub(super) fn differing(&self, signs: &[u8]) -> impl Iterator<Item = u16> {
        let rows = self.bits.chunks_exact(signs.len().max(1));
        rows.map(|bits| u16::try_from(differing(bits, signs)).unwrap_or(u16::MAX))
    }
}

/// Returns how many bits are not the same in both.
fn differing(a: &[u8], b: &[u8]) -> u32 {
    let ((wide, narrow), (other_wide, other_narrow)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let word = |(a, b): (&[u8; 8], &[u8; 8])| u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
    let ((threes, rest), (other_threes, other_rest)) = (wide.as_chunks::<3>(), other_wide.as_chunks::<3>());
    let mut sum = 0;
    for (three, others) in threes.iter().zip(other_threes) {
        let [first, second, third] = std::array::from_fn(|at| word((&three[at], &others[at])));
        // Three bits added up are a sum of one bit and a carry: two words to count instead of three.
        let half = first ^ second;
        sum += (half ^ third).count_ones() + 2 * ((first & second) | (half & third)).count_ones();
    }
    let rest: u32 = rest.iter().zip(other_rest).map(|pair| word(pair).count_ones()).sum();
    let narrow: u32 = narrow.iter().zip(other_narrow).map(|(a, b)| (a ^ b).count_ones()).sum();
    sum + rest + narrow
}

/// What each byte of a code adds to the estimate for one query.
#[derive(Debug)]
pub(super) struct Estimator {
    tables: Vec<[i16; BYTE_VALUES]>,
    scale: f32,
    /// Which numbers of the query are positive, as in a code.
    pub(super) signs: Vec<u8>,
}

impl Estimator {
    /// Returns the estimator for a query of length 1.
    pub(super) fn new(query: &[f32]) -> Self {
        // A table entry sums at most eight numbers.
        let most = query.chunks(8).map(|eight| eight.iter().map(|number| number.abs()).sum()).fold(0.0_f32, f32::max);
        let scale = if most > 0.0 { most / f32::from(i16::MAX) } else { 1.0 };
        let table = |eight: &[f32]| {
            let mut sums = [-eight.iter().sum::<f32>(); BYTE_VALUES];
            for byte in 1..BYTE_VALUES {
                // As without the lowest bit, but that number counts for and not against.
                let number = eight.get(byte.trailing_zeros() as usize).copied().unwrap_or_default();
                sums[byte] = sums[byte & (byte - 1)] + 2.0 * number;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the scale keeps it within 16 bits")]
            sums.map(|sum| (sum / scale).round() as i16)
        };
        Self { tables: query.chunks(8).map(table).collect(), scale, signs: signs(query).collect() }
    }

    /// Calls `found` with each memory and the estimate of its cosine.
    pub(super) fn each(&self, codes: &Codes, mut found: impl FnMut(i64, f32)) {
        if !self.tables.is_empty() {
            let rows = codes.bits.chunks_exact(self.tables.len());
            for ((bits, factor), seq) in rows.zip(&codes.factors).zip(&codes.seqs) {
                found(*seq, self.estimate(bits, *factor));
            }
        }
    }

    /// Calls `found` with the memories at these places and the estimates of their cosines.
    pub(super) fn each_of(&self, codes: &Codes, places: &[u32], mut found: impl FnMut(i64, f32)) {
        let width = self.tables.len();
        for place in places.iter().map(|place| *place as usize) {
            let bits = &codes.bits[place * width..(place + 1) * width];
            found(codes.seqs[place], self.estimate(bits, codes.factors[place]));
        }
    }

    fn estimate(&self, bits: &[u8], factor: f32) -> f32 {
        let sum: i32 = bits.iter().zip(&self.tables).map(|(byte, table)| i32::from(table[usize::from(*byte)])).sum();
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let sum = sum as f32;
        sum * self.scale * factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers that look like chance and are the same every time.
    fn drawn(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(i16::try_from(state >> 17).unwrap()) / 16_384.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn products_of_bytes_are_those_of_the_numbers() {
        for length in [0, 1, 7, 8, 9, 384, 385] {
            let (a, b) = (drawn(1, length), drawn(2, length));
            let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            assert!((dot(&a, &to_bytes(&b)) - exact).abs() < 1e-3, "{length}");
        }
    }

    #[test]
    fn units_have_length_one_and_nothing_has_none() {
        let unit_of = unit(&[3.0, 4.0]).unwrap();
        assert_eq!(unit_of, [0.6, 0.8]);
        for none in [&[][..], &[0.0, 0.0], &[f32::NAN, 1.0], &[f32::INFINITY, 1.0]] {
            assert_eq!(unit(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_code_holds_signs_and_how_far_they_are_off() {
        assert_eq!(code(&[0.5, -0.5, 0.0, 1.0]), [&0.5_f32.to_le_bytes()[..], &[0b1001]].concat());
        assert_eq!(code(&[0.0; 9]), [0; 6]);
    }

    #[test]
    fn signs_that_differ_are_counted_whatever_the_length() {
        for length in [1, 8, 9, 64, 65, 192, 384, 385, 768 + 64 + 3] {
            let (a, b) = (drawn(3, length), drawn(4, length));
            let expected = a.iter().zip(&b).filter(|(a, b)| (**a > 0.0) != (**b > 0.0)).count();
            let mut codes = Codes::default();
            codes.push(1, &code(&a), length);
            codes.push(2, &code(&b), length);
            let found: Vec<usize> = codes.differing(&Estimator::new(&b).signs).map(usize::from).collect();
            assert_eq!(found, [expected, 0], "{length}");
        }
    }

    #[test]
    fn estimates_are_near_the_cosines() {
        let query = unit(&drawn(7, 384)).unwrap();
        let vectors: Vec<Vec<f32>> = (0_u8..50)
            .map(|seed| {
                let noise = drawn(100 + u32::from(seed), 384);
                let mixed: Vec<f32> =
                    query.iter().zip(noise).map(|(q, n)| q * 4.0 + n * f32::from(seed) / 10.0).collect();
                unit(&mixed).unwrap()
            })
            .collect();
        let mut codes = Codes::default();
        for (seq, vector) in (0..).zip(&vectors) {
            codes.push(seq, &code(vector), 384);
        }
        codes.push(99, &[0; 3], 384);
        let mut seen = 0;
        Estimator::new(&query).each(&codes, |seq, estimate| {
            let exact = dot(&query, &to_bytes(&vectors[usize::try_from(seq).unwrap()]));
            assert!((f64::from(estimate) - exact).abs() < 0.15, "{seq}: {estimate} for {exact}");
            seen += 1;
        });
        assert_eq!(seen, 50);
        let (mut all, mut some) = (Vec::new(), Vec::new());
        Estimator::new(&query).each(&codes, |seq, estimate| all.push((seq, estimate)));
        Estimator::new(&query).each_of(&codes, &[49, 7], |seq, estimate| some.push((seq, estimate)));
        assert_eq!(some, [all[49], all[7]]);
    }
}
