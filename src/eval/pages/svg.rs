//! Text in HTML and SVG, escaped, and the frame that every plot has.

/// Returns `text` so that HTML and SVG show it as it is, in elements and in quoted attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in text.chars() {
        match one {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Control characters are no part of a document, but for those that part words and lines.
            '\n' | '\t' => safe.push(one),
            one if one.is_control() => safe.push('\u{fffd}'),
            one => safe.push(one),
        }
    }
    safe
}

/// Returns a plot of this size that people who do not see it are told of in words.
pub(super) fn figure(id: &str, size: (f64, f64), title: &str, told: &str, drawn: &str) -> String {
    let (width, height) = size;
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"{id}-title {id}-told\" \
         style=\"max-width:{width:.0}px\">\n<title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-told\">{}</desc>\n{drawn}</svg>\n",
        escaped(title),
        escaped(told)
    )
}

/// Where a text stands to its point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Returns a text in a plot.
pub(super) fn text(at: (f64, f64), anchor: Anchor, class: &str, words: &str) -> String {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>\n",
        at.0,
        at.1,
        escaped(words)
    )
}

/// Returns a line in a plot.
pub(super) fn line(from: (f64, f64), to: (f64, f64), class: &str) -> String {
    format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>\n",
        from.0, from.1, to.0, to.1
    )
}

/// Returns a bar in a plot.
pub(super) fn bar(at: (f64, f64), size: (f64, f64), class: &str, told: &str) -> String {
    format!(
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" class=\"{class}\"><title>{}</title></rect>\n",
        at.0,
        at.1,
        size.0.max(0.0),
        size.1,
        escaped(told)
    )
}

/// Returns a point in a plot.
pub(super) fn point(at: (f64, f64), class: &str, told: &str) -> String {
    format!(
        "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"6\" class=\"{class}\"><title>{}</title></circle>\n",
        at.0,
        at.1,
        escaped(told)
    )
}

/// Returns a round number above `value`, for the end of an axis.
pub(super) fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let scale = 10_f64.powf(value.log10().floor());
    let step =
        [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].into_iter().find(|step| step * scale >= value * 1.05);
    step.unwrap_or(20.0) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_can_become_markup() {
        assert_eq!(escaped("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        assert_eq!(escaped("a \"b\" & c\u{0}\n"), "a &quot;b&quot; &amp; c\u{fffd}\n");
        let drawn = figure("f", (10.0, 10.0), "</title><script>", "\"><img>", "");
        assert!(!drawn.contains("<script") && !drawn.contains("<img"), "{drawn}");
    }

    #[test]
    fn axes_end_above_what_they_show() {
        for value in [0.000_3, 0.9, 1.0, 7.7, 9.9, 1_234.0] {
            let end = round_up(value);
            assert!(end >= value && end <= value * 2.5, "{value} {end}");
        }
        assert!((round_up(0.0) - 1.0).abs() < 1e-12);
    }
}
