//! The forward pass of a BERT encoder with mean pooling, as the `MiniLM` sentence models have it.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, Slice};
use serde::Deserialize;

use super::weights::Weights;

/// What `config.json` says.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Shape {
    pub(super) model_type: String,
    pub(super) hidden_act: String,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) layer_norm_eps: f32,
}

impl Shape {
    /// Returns what keeps this model from being run here.
    pub(super) fn flaw(&self) -> Option<String> {
        let wrong = |what: &str, is: &dyn std::fmt::Display, wanted: &str| {
            Some(format!("{what} is {is}, and only {wanted} is known; take a model such as all-MiniLM-L6-v2"))
        };
        if self.model_type != "bert" {
            wrong("model_type", &self.model_type, "bert")
        } else if self.hidden_act != "gelu" {
            wrong("hidden_act", &self.hidden_act, "gelu")
        } else if self.num_attention_heads == 0 || !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            wrong("num_attention_heads", &self.num_attention_heads, "a divisor of hidden_size")
        } else {
            None
        }
    }
}

/// A linear layer: `x · weight + bias`, the weight as it stands in the file, a row an output.
#[derive(Debug)]
struct Linear {
    weight: Array2<f32>,
    bias: Array1<f32>,
}

impl Linear {
    fn read(weights: &Weights, name: &str, (inputs, outputs): (usize, usize)) -> Result<Self, String> {
        let weight = weights.table(&format!("{name}.weight"), inputs)?;
        Ok(Self { weight, bias: weights.list(&format!("{name}.bias"), outputs)? })
    }

    fn of(&self, x: &ArrayView2<'_, f32>) -> Array2<f32> {
        x.dot(&self.weight.t()) + &self.bias
    }
}

/// A layer that brings each row to mean 0 and variance 1, then to where the model wants it.
#[derive(Debug)]
struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
    epsilon: f32,
}

impl Norm {
    fn read(weights: &Weights, name: &str, shape: &Shape) -> Result<Self, String> {
        let list = |part: &str| weights.list(&format!("{name}.{part}"), shape.hidden_size);
        Ok(Self { weight: list("weight")?, bias: list("bias")?, epsilon: shape.layer_norm_eps })
    }

    fn apply(&self, x: &mut Array2<f32>) {
        for mut row in x.rows_mut() {
            let mean = row.mean().unwrap_or_default();
            row -= mean;
            let variance = row.iter().map(|number| number * number).sum::<f32>() / length(row.len());
            row *= 1.0 / (variance + self.epsilon).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    attended: Linear,
    attended_norm: Norm,
    wide: Linear,
    narrow: Linear,
    norm: Norm,
}

impl Layer {
    fn read(weights: &Weights, prefix: &str, shape: &Shape) -> Result<Self, String> {
        let (hidden, wide) = (shape.hidden_size, shape.intermediate_size);
        let linear = |name: &str, size| Linear::read(weights, &format!("{prefix}.{name}"), size);
        let norm = |name: &str| Norm::read(weights, &format!("{prefix}.{name}"), shape);
        Ok(Self {
            query: linear("attention.self.query", (hidden, hidden))?,
            key: linear("attention.self.key", (hidden, hidden))?,
            value: linear("attention.self.value", (hidden, hidden))?,
            attended: linear("attention.output.dense", (hidden, hidden))?,
            attended_norm: norm("attention.output.LayerNorm")?,
            wide: linear("intermediate.dense", (hidden, wide))?,
            narrow: linear("output.dense", (wide, hidden))?,
            norm: norm("output.LayerNorm")?,
        })
    }

    fn of(&self, x: &Array2<f32>, heads: usize) -> Array2<f32> {
        let mut attended = self.attended.of(&self.attention(x, heads).view()) + x;
        self.attended_norm.apply(&mut attended);
        let mut wide = self.wide.of(&attended.view());
        wide.mapv_inplace(gelu);
        let mut out = self.narrow.of(&wide.view()) + &attended;
        self.norm.apply(&mut out);
        out
    }

    fn attention(&self, x: &Array2<f32>, heads: usize) -> Array2<f32> {
        let view = x.view();
        let (queries, keys, values) = (self.query.of(&view), self.key.of(&view), self.value.of(&view));
        let width = queries.ncols() / heads;
        let mut context = Array2::zeros(queries.raw_dim());
        for head in 0..heads {
            let part = Slice::from(head * width..(head + 1) * width);
            let of_head = |all: &Array2<f32>| all.slice_axis(Axis(1), part).to_owned();
            let mut scores = of_head(&queries).dot(&of_head(&keys).t());
            scores *= 1.0 / length(width).sqrt();
            scores.rows_mut().into_iter().for_each(softmax);
            context.slice_axis_mut(Axis(1), part).assign(&scores.dot(&of_head(&values)));
        }
        context
    }
}

/// A model in memory, but for its table of words.
#[derive(Debug)]
pub(super) struct Bert {
    weights: Weights,
    shape: Shape,
    prefix: &'static str,
    positions: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

impl Bert {
    pub(super) fn read(weights: Weights, shape: Shape) -> Result<Self, String> {
        let prefix = if weights.has("bert.embeddings.LayerNorm.weight") { "bert." } else { "" };
        let hidden = shape.hidden_size;
        weights.rows(&format!("{prefix}embeddings.word_embeddings.weight"), hidden)?;
        let mut positions = weights.table(&format!("{prefix}embeddings.position_embeddings.weight"), hidden)?;
        // Each text is of the first kind of the two that the model tells apart.
        let kinds = weights.table(&format!("{prefix}embeddings.token_type_embeddings.weight"), hidden)?;
        positions += &kinds.row(0);
        let norm = Norm::read(&weights, &format!("{prefix}embeddings.LayerNorm"), &shape)?;
        let layer = |index| Layer::read(&weights, &format!("{prefix}encoder.layer.{index}"), &shape);
        let layers = (0..shape.num_hidden_layers).map(layer).collect::<Result<_, _>>()?;
        Ok(Self { weights, shape, prefix, positions, norm, layers })
    }

    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(super) fn mark(&self) -> &str {
        &self.weights.mark
    }

    /// Returns the mean of what the model makes of each piece.
    pub(super) fn mean(&self, pieces: &[u32]) -> Result<Vec<f32>, String> {
        let hidden = self.shape.hidden_size;
        let table = format!("{}embeddings.word_embeddings.weight", self.prefix);
        let mut x = Array2::zeros((pieces.len(), hidden));
        for (mut row, (piece, position)) in x.rows_mut().into_iter().zip(pieces.iter().zip(self.positions.rows())) {
            row.assign(&ArrayView1::from(&self.weights.row(&table, *piece as usize, hidden)?));
            row += &position;
        }
        self.norm.apply(&mut x);
        for layer in &self.layers {
            x = layer.of(&x, self.shape.num_attention_heads);
        }
        Ok(x.mean_axis(Axis(0)).unwrap_or_default().to_vec())
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes of layers")]
fn length(count: usize) -> f32 {
    count as f32
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + libm::erff(x * std::f32::consts::FRAC_1_SQRT_2))
}

fn softmax(mut row: ndarray::ArrayViewMut1<'_, f32>) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.mapv_inplace(|number| (number - most).exp());
    row /= row.sum();
}
